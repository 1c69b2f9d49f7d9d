"""A timeline that is part of a dashboard or a comparison."""

import uuid
from collections.abc import Callable, Collection, Mapping
from typing import Any, Protocol

import traitlets

from tfvis_nb.core.trace import Trace
from tfvis_nb.display import options as timeline_options
from tfvis_nb.display.after_cell import after_cell
from tfvis_nb.display.composed import PartOfWidget
from tfvis_nb.display.pages.page import file_stem
from tfvis_nb.display.timeline.viewed import ViewedTimeline
from tfvis_nb.display.timeline.widget import TimelineWidget


class Tabs(Protocol):
    """Tabs below a timeline."""

    def _take_over(self, other: Any) -> None:
        """Show what the tabs of another run of the same cell show."""


class LinkedTimeline(PartOfWidget, TimelineWidget):
    """A timeline with its own link, exported as the page of the widget it is part of.

    `page` writes that page. `before_details` is called before the details are computed, for example to wait
    for more urgent work. `tabs` are below it. The container sets them.
    """

    page: Callable[[], str]
    before_details: Callable[[], object] | None = None
    tabs: Tabs | None = None

    @traitlets.default("_link")
    def _new_link(self) -> str:
        return uuid.uuid4().hex

    @property
    def link(self) -> str:
        """The name of its link with other widgets."""
        return self._link

    @property
    def shown(self) -> Trace:
        """The trace with the drawn times."""
        return self._shown

    @property
    def title(self) -> str:
        """The title in its toolbar."""
        return self._title

    def _take_over(self, other: ViewedTimeline, *, but: Collection[str] = ()) -> None:
        """Show what another timeline shows, and in the tabs what its tabs show."""
        super()._take_over(other, but=but)
        if self.tabs is not None and isinstance(other, LinkedTimeline) and other.tabs is not None:
            self.tabs._take_over(other.tabs)

    def as_now(self, title: str | None, view: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Return the data for a page of the timeline, with its current options, selection and view.

        `view` overrides some of these, as in `to_html`.
        """
        now = self._now() if view is None else self._views_of.drawn(view, self._now())
        values = {name: getattr(self, name) for name in timeline_options.DEFAULTS}
        payloads = self._delivery.payloads if title in (None, self._title) else {}
        return {
            "title": self._title if title is None else title,
            "options": values
            | now.options
            | {"selection": now.selection, "annotations": self._annotations}
            | {"view": now.view or None, "views": self._views, "tracks": self._tracks},
            **payloads,
        }

    def send_details_soon(self) -> None:
        """Send the details after the cell, because a kernel busy with later cells cannot answer requests."""
        if not self._details and not self._delivery.rest:
            after_cell(self._send_details)

    def _send_details(self) -> None:
        if self.before_details is not None:
            self.before_details()
        super()._send_details()

    def _exported(self, form: Any) -> tuple[str, str]:
        if form == "html":
            return f"{file_stem(self._title)}.html", self.page()
        return super()._exported(form)
