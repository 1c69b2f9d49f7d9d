"""Record runs and batches of a session that ran out of memory."""

import contextlib
import dataclasses
import sys
import threading
from collections.abc import Callable
from typing import Any

from tfvis_nb import events as event_table
from tfvis_nb.core.metadata import Metadata
from tfvis_nb.core.temporary_folder import TemporaryFolder
from tfvis_nb.core.trace import Trace
from tfvis_nb.recording.out_of_memory import is_out_of_memory, out_of_memory
from tfvis_nb.recording.patches import Replacements
from tfvis_nb.recording.stacks.functions import graphs_of_functions
from tfvis_nb.session.file.entries import Recording
from tfvis_nb.session.stored_trace import PARQUET, StoredTrace
from tfvis_nb.texts import Text


def failure_of(error: BaseException, graphs: list[Any], functions: Callable[[], dict[str, Any]]) -> Metadata:
    """Return the facts about the failed allocation behind an error; nothing for other errors.

    Unlike in a recording, causes of the error do not count, because the program may have survived them.
    """
    # The user's error is being raised and must not be replaced.
    with contextlib.suppress(Exception):
        if is_out_of_memory(error):
            return out_of_memory(error, functions, graphs)
    return {}


def with_failure(recording: Recording, failure: Metadata, label: str) -> Recording | None:
    """Return a failed run, with its profile or no data, as a complete trace; None if that is impossible."""
    with contextlib.suppress(Exception):
        from tfvis_nb.analysis.findings.out_of_memory import ended

        trace = _trace_of(recording, label)
        trace.metadata |= failure
        trace.notes.insert(0, Text("ended_out_of_memory", failure=ended(trace)))
        with TemporaryFolder() as folder:
            data = trace.to_parquet(folder.path / "trace.parquet").read_bytes()
        return dataclasses.replace(recording, format=PARQUET, data=data, epoch_ns=0, layers=None)
    return None


def _trace_of(recording: Recording, label: str) -> Trace:
    if not recording.data:
        return Trace(event_table.build({}, rows=0))
    values = (recording.epoch_ns, label, recording.run, recording.note, recording.layers)
    return StoredTrace(recording.data, recording.format, *values).read()


class FailedAllocations:
    """The last failed allocation of each thread between `begin` and `take`: Keras reports no errors."""

    def __init__(self) -> None:
        self._failed: dict[int, Metadata] = {}

    def install(self, replacements: Replacements) -> None:
        """Start to note errors when TensorFlow creates them: they may be gone when a batch is given up."""
        from tensorflow.python.framework import errors

        for kind in (errors.ResourceExhaustedError, errors.InvalidArgumentError):
            replacements.put(kind, "__init__", self._noting)

    def begin(self) -> None:
        """Start to note failures in this thread."""
        self._failed[threading.get_ident()] = {}

    def take(self, thread: int) -> Metadata:
        """Return the failures of a thread, and stop noting them."""
        return self._failed.pop(thread, {})

    def _noting(self, original: Any) -> Any:
        def init(error: Any, *args: Any, **kwargs: Any) -> None:
            original(error, *args, **kwargs)
            thread = threading.get_ident()
            # Keras and TensorFlow replace the error by one with a longer message, further from the op.
            is_first = not isinstance(sys.exception(), type(error))
            if is_first and thread in self._failed:
                self._failed[thread] = failure_of(error, [], graphs_of_functions)

        return init
