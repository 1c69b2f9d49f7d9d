"""The batches of Keras's ``fit``, ``evaluate`` and ``predict`` as steps of a profile.

Keras 2 marked them itself, Keras 3 does not. It runs one function per batch with eager ops around it, and a
profile records neither that they belong together nor the number of the batch.
"""

import itertools
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Any

from tfvis_nb.recording.patches import Replacements

MODULE = "keras.src.callbacks.callback_list"
PHASES = ("train", "test", "predict")


_BACKEND = "keras.src.backend.config"


def backend() -> str:
    """Return the backend of Keras, which is imported."""
    # Keras 2 has no choice.
    name = getattr(sys.modules.get(_BACKEND), "backend", None)
    return "tensorflow" if name is None else str(name())


class KerasSteps:
    """Marks the batches while it is installed.

    Parameters
    ----------
    backend
        The backend of Keras whose batches are marked.
    mark
        Starts a mark of the framework's profiler, which has ``set_metadata`` and ends with ``__exit__``.
    """

    def __init__(self, backend: str, mark: Callable[[str], Any]) -> None:
        self._backend = backend
        self._mark = mark
        self._replacements = Replacements()
        self._numbers: dict[str, Iterator[int]] = defaultdict(itertools.count)
        self._begun: dict[tuple[int, str], Any] = {}
        self._marking = False

    def install(self) -> bool:
        """Start marking if Keras is loaded; return whether it is."""
        module = sys.modules.get(MODULE)
        callbacks = getattr(module, "CallbackList", None)  # absent while the module is being imported
        if callbacks is None:
            return False
        if not self._marking and backend() == self._backend:
            self._marking = True
            for phase in PHASES:
                self._replacements.put(callbacks, f"on_{phase}_batch_begin", self._beginning(phase))
                self._replacements.put(callbacks, f"on_{phase}_batch_end", self._ending(phase))
        return True

    def remove(self) -> None:
        """Restore Keras's methods."""
        self._marking = False
        self._replacements.undo()
        self._begun.clear()

    def _beginning(self, phase: str) -> Any:
        def make(original: Any) -> Any:
            def on_batch_begin(callbacks: Any, batch: Any, logs: Any = None) -> Any:
                if self._marking:
                    # Replaces one that never ended because of an exhausted data set or an error.
                    self._begun[id(callbacks), phase] = self._mark(phase)
                return original(callbacks, batch, logs)

            return on_batch_begin

        return make

    def _ending(self, phase: str) -> Any:
        def make(original: Any) -> Any:
            def on_batch_end(callbacks: Any, batch: Any, logs: Any = None) -> Any:
                result = original(callbacks, batch, logs)
                mark = self._begun.pop((id(callbacks), phase), None)
                if mark is not None:
                    # `callbacks.model` would copy the state of a model that JAX runs.
                    model = getattr(callbacks, "_model", None)
                    eager = {"run_eagerly": 1} if getattr(model, "run_eagerly", False) else {}
                    # Only now, because unfinished batches do not count.
                    mark.set_metadata(step_num=next(self._numbers[phase]), _r=1, **eager)
                    mark.__exit__(None, None, None)
                return result

            return on_batch_end

        return make
