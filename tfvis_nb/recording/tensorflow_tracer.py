"""What records TensorFlow: its sessions, its profiler, and notes on the code that it runs."""

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
        """Begin; this imports TensorFlow."""
        if self.sources is not None:
            self.sources.install()
        self.sessions.install()
        self.profiles.install()

    def remove(self) -> None:
        """End, and put TensorFlow back."""
        try:
            self.sessions.remove()
        finally:
            if self.sources is not None:
                self.sources.remove()
            self.profiles.remove()
