"""Notes on the code that runs during a recording."""

from tfvis_nb.recording.stacks.eager_lines import EagerLines
from tfvis_nb.recording.stacks.functions import SeenFunctions
from tfvis_nb.recording.stacks.tracings import TracingWatch


class SourceWatch:
    """Notes functions, tracings and eager calls between `install` and `remove`. It never breaks the code."""

    def __init__(self) -> None:
        self.functions = SeenFunctions()
        self.lines = EagerLines()
        self.tracings = TracingWatch()
        self.failed = ""

    def install(self) -> None:
        """Start noting."""
        try:
            self.functions.watch()
            self.lines.watch()
            self.tracings.watch()
        except Exception as error:  # noqa: BLE001 - another release of TensorFlow may lack what is replaced
            self.failed = repr(error)

    def remove(self) -> None:
        """Restore TensorFlow."""
        self.functions.end()
        self.lines.end()
        self.tracings.end()
