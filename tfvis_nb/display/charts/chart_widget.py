"""A chart as the last expression of a cell, drawn by the installed BokehJS."""

from __future__ import annotations

import json
import uuid
from typing import TYPE_CHECKING

import anywidget
import traitlets

from tfvis_nb.display import bokehjs
from tfvis_nb.display.bundles import bundle, bundle_path, widget_bundle
from tfvis_nb.display.messages import Replies, answer_messages, message

if TYPE_CHECKING:
    from bokeh.plotting import figure


class ChartWidget(anywidget.AnyWidget):
    """A Bokeh figure in a cell in its current state, in the notebook's theme, without a timeline."""

    if bundle_path("chart.js").is_file():
        # A path instead of its text, so that anywidget can watch it (ANYWIDGET_HMR) and reload the view.
        _esm = widget_bundle("chart.js")

    title = traitlets.Unicode(read_only=True).tag(sync=True)
    _item = traitlets.Unicode().tag(sync=True)
    _link = traitlets.Unicode().tag(sync=True)
    _bokeh = traitlets.Unicode().tag(sync=True)

    def __init__(self, chart: figure, *, title: str) -> None:
        from bokeh.embed import json_item

        if not hasattr(type(self), "_esm"):
            bundle("chart.js")
        self.set_trait("title", title)
        item = json.dumps(json_item(chart), allow_nan=False)
        super().__init__(_item=item, _link=uuid.uuid4().hex, _bokeh=bokehjs.version())
        answer_messages(self)

    @message()
    def _on_bokeh(self) -> Replies:
        return bokehjs.answer()
