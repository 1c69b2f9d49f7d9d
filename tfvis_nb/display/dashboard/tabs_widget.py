"""The tabs of a dashboard in a notebook cell."""

import threading
from collections.abc import Callable

import traitlets

from tfvis_nb.core.trace import Trace
from tfvis_nb.display.dashboard.computed_tabs import PATIENCE_S, ComputedTabs
from tfvis_nb.display.messages import Change, Replies, message
from tfvis_nb.display.tabs import COMPARISON, TABS, parts, tab
from tfvis_nb.display.tabs.blocks import Part
from tfvis_nb.display.tabs.what_if import changed, outcome

EVENTS_PER_S = 100_000
"""A timeline is surely drawn after `PATIENCE_S`, plus a second for this many events."""


class PanelsWidget(ComputedTabs):
    """Charts and tables of a trace, optionally `against` another, in tabs that `link` with a timeline."""

    _what_if = traitlets.Dict(default_value=None, allow_none=True).tag(sync=True, kept=True)

    _opens: Callable[[Trace], object] | None = None
    """Shows a predicted trace; set by the dashboard."""

    def __init__(self, trace: Trace, *, link: str, against: Trace | None = None) -> None:
        self._trace = trace
        self._against = against
        self._predicting = threading.Lock()
        super().__init__(self._names(), link=link)

    def _names(self) -> list[str]:
        """Return the titles of all parts that tabs may have."""
        return [*(title for titles in TABS.values() for title in titles), COMPARISON]

    def _parts_there(self) -> list[tuple[str, str]]:
        return parts(self._trace, self._against)

    def _compute(self, title: str) -> Part:
        return tab(self._trace, title, self._against)

    def _patience_s(self) -> float:
        return PATIENCE_S + len(self._trace.events) / EVENTS_PER_S

    @message()
    def _on_what_if(self, change: Change) -> Replies:
        """Predict the effect of a change."""
        # One at a time, because each takes a processor.
        with self._predicting:
            answer = outcome(self._trace, change)
        return [({"answer": answer}, [])]

    @message()
    def _on_open(self, change: Change) -> Replies:
        """Show the predicted trace."""
        with self._predicting:
            predicted = changed(self._trace, change)
            if self._opens is not None and not self._closing.is_set():
                self._opens(predicted)
        return [({}, [])]
