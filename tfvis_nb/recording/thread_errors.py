"""Errors that end threads of the program during a recording; they do not reach the recording's block."""

import threading
from typing import Any

from tfvis_nb.recording.out_of_memory import is_out_of_memory
from tfvis_nb.recording.patches import Replacements


class ThreadErrors:
    """The first out-of-memory error that ended a thread."""

    def __init__(self) -> None:
        self.error: BaseException | None = None
        self._replacements = Replacements()

    def install(self) -> None:
        """Begin to note errors."""
        self._replacements.put(threading, "excepthook", self._noting)

    def remove(self) -> None:
        """Stop noting them."""
        self._replacements.undo()

    def _noting(self, original: Any) -> Any:
        def excepthook(args: Any) -> None:
            if self.error is None and is_out_of_memory(args.exc_value):
                self.error = args.exc_value
            original(args)

        return excepthook
