"""The recorder of TensorFlow: sessions, profiler, and notes on the executed code."""

from __future__ import annotations

import contextlib

from tfvis_nb.recording.options import TraceOptions
from tfvis_nb.recording.profiler.profiles import ProfileTracer
from tfvis_nb.recording.sessions.runs import SessionTracer
from tfvis_nb.recording.stacks.functions import SeenFunctions
from tfvis_nb.recording.stacks.watch import SourceWatch


class TensorFlowTracer:
    """Records between `install` and `remove`, several times if needed."""

    def __init__(self, options: TraceOptions) -> None:
        self.profiles = ProfileTracer(options)
        self.sessions = SessionTracer(options, lambda: self.profiles.active)
        self.functions = SeenFunctions()
        self.sources = SourceWatch(self.functions) if options.source else None
        self._graphs = options.partition_graphs

    def watch(self) -> None:
        """Start to note the code that runs, until `end`; this imports TensorFlow."""
        if self.sources is not None:
            self.sources.install()
        elif self._graphs:
            # Another release of TensorFlow may lack what is replaced.
            with contextlib.suppress(Exception):
                self.functions.watch()

    def install(self) -> None:
        """Start or continue recording."""
        self.sessions.install()
        self.profiles.install()

    def remove(self) -> None:
        """Stop recording, and restore TensorFlow."""
        try:
            self.sessions.remove()
        finally:
            self.profiles.remove()

    def end(self) -> None:
        """End the notes."""
        if self.sources is not None:
            self.sources.remove()
        else:
            self.functions.end()

    def take(self, other: TensorFlowTracer | None) -> None:
        """Add what another tracer has recorded since `remove`."""
        if other is not None:
            self.sessions.take(other.sessions)
            self.profiles.take(other.profiles)

    def leave(self) -> None:
        """Restore TensorFlow in a forked process, whose parent is recording."""
        self.sessions.leave()
        self.profiles.leave()
        self.end()
