"""The heat map of a fleet in a notebook cell; values of metrics are sent on demand."""

import uuid
from collections.abc import Callable

import traitlets

from tfvis_nb.display.composed import PartOfWidget
from tfvis_nb.display.messages import Replies, answer_messages, message
from tfvis_nb.display.stored_output import StoredWidget
from tfvis_nb.fleet.analysis.grid import DURATION
from tfvis_nb.fleet.widget.cells import Cells

_HEIGHT = 480


class HeatMapWidget(PartOfWidget, StoredWidget):
    """Steps and tasks as coloured cells.

    `_opens` shows the timeline of a task and step, given their indexes in the grid, and returns a message;
    `_closes` removes it; `_compares` compares ops since a step, given its index. All are set by the fleet.
    """

    height = traitlets.Int(_HEIGHT)
    _grid = traitlets.Bytes().tag(sync=True, echo_update=False)
    _values = traitlets.Bytes().tag(sync=True, echo_update=False)
    _since = traitlets.Int(0).tag(sync=True)
    _link = traitlets.Unicode().tag(sync=True)

    _opens: Callable[[int, int], str]
    _closes: Callable[[], None]
    _compares: Callable[[int], None]

    def __init__(self, cells: Cells, *, title: str, since: int) -> None:
        self._cells = cells
        super().__init__(
            _grid=cells.packed(title),
            _values=cells.packed_values(DURATION),
            _since=since,
            _link=uuid.uuid4().hex,
        )
        answer_messages(self)

    @message()
    def _on_values(self, metric: str) -> Replies:
        """Reply with the values of a metric."""
        return [({}, [self._cells.packed_values(str(metric))])]

    @message()
    def _on_open(self, task: int, column: int) -> Replies:
        """Show the timeline of a task and step, given by their indexes; the reply is a text about it."""
        return [({"answer": self._opens(int(task), int(column))}, [])]

    @message()
    def _on_close(self) -> None:
        """Remove the timeline."""
        self._closes()

    @message()
    def _on_since(self, column: int) -> None:
        """Compare ops since a step, given by its index."""
        self._compares(int(column))
