"""Notice the first op that TensorFlow runs eagerly, before it runs.

Eager ops, calls of a ``tf.function`` and all work of Keras end in three C functions, which TensorFlow's
Python calls as attributes of one module. Calls of functions and marks of steps also have an outer event that
only a running profiler records. All of these are replaced until the recording no longer needs them; a
replaced one costs a fraction of a microsecond.
"""

from collections.abc import Callable
from typing import Any

from tfvis_nb.recording.patches import Replacements

CALLS = ("TFE_Py_FastPathExecute", "TFE_Py_Execute", "TFE_Py_ExecuteCancelable")


class EagerCalls:
    """Calls `before` before every eager call or mark, in its thread, until that returns True."""

    def __init__(self, before: Callable[[], bool]) -> None:
        self._before = before
        self._replacements = Replacements()
        self._watching = False

    def watch(self) -> None:
        """Start or resume reporting."""
        from tensorflow.python import pywrap_tfe
        from tensorflow.python.profiler.trace import Trace

        if self._watching:
            return
        self._watching = True
        for name in CALLS:
            self._replacements.put(pywrap_tfe, name, self._telling)
        self._replacements.put(Trace, "__init__", self._telling_of_marks)

    def end(self) -> None:
        """Restore TensorFlow's functions."""
        self._watching = False
        self._replacements.undo()

    def _telling(self, original: Any) -> Any:
        def execute(*args: Any) -> Any:
            if self._watching and self._before():
                self.end()
            return original(*args)

        return execute

    def _telling_of_marks(self, original: Any) -> Any:
        from tensorflow.python.eager.context import executing_eagerly

        def mark(event: Any, name: str, **stats: Any) -> None:
            if self._watching and executing_eagerly() and self._before():
                self.end()
            original(event, name, **stats)

        return mark
