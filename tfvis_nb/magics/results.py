"""The results of a magic: bind the trace to a name, write it, and show it below the cell."""

import argparse
import weakref
from pathlib import Path
from typing import Any

from IPython.display import display

from tfvis_nb.core.running_cell import cell_id
from tfvis_nb.core.trace import Trace
from tfvis_nb.texts import Text
from tfvis_nb.writing.save import save


class Results:
    """The results of one shell's magics.

    Parameters
    ----------
    shell
        The IPython shell whose cells show them.
    """

    def __init__(self, shell: Any) -> None:
        self._shell = shell
        self._shown: dict[str, weakref.ref[Any]] = {}

    def bind(self, recorded: Trace, name: str | None) -> None:
        """Set a variable of the user."""
        if name:
            self._shell.push({name: recorded})

    def show(self, recorded: Trace, arguments: argparse.Namespace, magic: str) -> None:
        """Write the requested files, and show the timeline."""
        for path in arguments.output:
            try:
                written = save(recorded, path)
            except (OSError, ValueError) as error:
                # The cell has run, so show its recording and write the other files.
                print(f"{magic}: {_not_written(path, error)}")  # noqa: T201
                continue
            if not arguments.quiet or written != [path]:
                print(Text("files_written", files=", ".join(map(str, written))))  # noqa: T201 - where to look
        if not arguments.quiet:
            self._draw(recorded, keep=arguments.keep, report=not arguments.no_report)

    def _draw(self, recorded: Trace, *, keep: bool, report: bool) -> None:
        from tfvis_nb.display.timeline.timeline_widget import show_timeline

        widget = show_timeline(recorded, keep=keep, report=report)
        publish: Any = display  # it has no types
        publish(widget)
        cell = cell_id(self._shell)
        if cell is not None:
            # When the cell runs again, it loses its old output, but the widget in it would stay in the kernel
            # and in the saved notebook.
            previous = self._shown.pop(cell, lambda: None)()
            if previous is not None:
                previous.close()
            self._shown[cell] = weakref.ref(widget)


def _not_written(path: Path, error: OSError | ValueError) -> str:
    """Describe in one line which file was not written, and the reason."""
    reason = (error.strerror if isinstance(error, OSError) else None) or " ".join(str(error).split())
    start = f"cannot write {str(path)!r}: "
    return start + reason.removeprefix(start)
