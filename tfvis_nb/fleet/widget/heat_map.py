"""The heat map of a fleet in a notebook cell; values of metrics are sent on demand."""

import uuid
from collections.abc import Callable
from typing import Any

import traitlets

from tfvis_nb.display.composed import PartOfWidget
from tfvis_nb.display.refusals import answer_message
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
        self.on_msg(self._answer)

    def _answer(self, _: Any, content: Any, __: Any) -> None:
        """Answer a message of the front end, in JupyterLab on a separate thread."""
        kind = content.get("kind") if isinstance(content, dict) else None
        if kind in ("values", "open", "close", "since", "stored"):
            answer_message(self, content, lambda: self._reply(kind, content))

    def _reply(self, kind: str, content: dict[str, Any]) -> None:
        message = {"kind": kind, "id": content.get("id")}
        if kind == "values":
            self.send(message, buffers=[self._cells.packed_values(str(content["metric"]))])
        elif kind == "open":
            answer = self._opens(int(content["task"]), int(content["column"]))
            self.send({**message, "answer": answer})
        elif kind == "close":
            self._closes()
        elif kind == "stored":
            self._send_stored(content)
        else:
            self._compares(int(content["column"]))
