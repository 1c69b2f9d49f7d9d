"""The recorder of TensorFlow: sessions, profiler, and notes on the executed code."""

from tfvis_nb.recording.options import TraceOptions
from tfvis_nb.recording.profiler.profiles import ProfileTracer
from tfvis_nb.recording.sessions.runs import SessionTracer
from tfvis_nb.recording.stacks.watch import SourceWatch


class TensorFlowTracer:
    """Records between `install` and `remove`."""

    def __init__(self, options: TraceOptions) -> None:
        self.profiles = ProfileTracer(options)
        self.sessions = SessionTracer(options, lambda: self.profiles.active)
        self.sources = SourceWatch() if options.source else None

    def install(self) -> None:
        """Start recording; this imports TensorFlow."""
        if self.sources is not None:
            self.sources.install()
        self.sessions.install()
        self.profiles.install()

    def remove(self) -> None:
        """End the recording, and restore TensorFlow."""
        try:
            self.sessions.remove()
        finally:
            if self.sources is not None:
                self.sources.remove()
            self.profiles.remove()
