"""A timeline that is part of a dashboard or a comparison."""

import uuid
from collections.abc import Callable, Collection, Mapping
from typing import Any, Protocol

import traitlets

from tfvis_nb.display import options as timeline_options
from tfvis_nb.display.after_cell import after_cell
from tfvis_nb.display.composed import PartOfWidget
from tfvis_nb.display.pages.page import file_stem
from tfvis_nb.display.timeline.timeline_widget import TimelineWidget
from tfvis_nb.display.timeline.view import TimelineView


class Tabs(Protocol):
    """Tabs below a timeline."""

    def _take_over(self, other: Any) -> None:
        """Show what the tabs of another run of the same cell show."""


class OpenedTimeline(PartOfWidget, TimelineWidget):
    """A timeline that is opened in a dashboard or a fleet."""


class LinkedTimeline(PartOfWidget, TimelineWidget):
    """A timeline with its own link, exported as the page of the widget it is part of.

    The container sets `_write_page`, which writes that page, `_before_details`, which is called before the
    details are computed and may wait for more urgent work, and the `_tabs` below it.

    `_pair` is set for one of two timelines of a comparison: its ``side``, 0 or 1, and what both have in
    common, ``extent`` (the minimum ns that both show), ``memory`` (see `highest_memory`) and ``headline``.
    """

    _pair = traitlets.Dict().tag(sync=True)

    _write_page: Callable[[], str]
    _before_details: Callable[[], object] | None = None
    _tabs: Tabs | None = None

    @traitlets.default("_link")
    def _new_link(self) -> str:
        return uuid.uuid4().hex

    def _take_over(self, other: TimelineView, *, but: Collection[str] = ()) -> None:
        """Show what another timeline shows, and in the tabs what its tabs show; of two, only annotations."""
        if self._pair:
            self._take_over_annotations(other)  # the view, which both share, opens anew
            return
        super()._take_over(other, but=but)
        if self._tabs is not None and isinstance(other, LinkedTimeline) and other._tabs is not None:
            self._tabs._take_over(other._tabs)

    def _as_now(self, title: str | None, view: Mapping[str, Any] | None = None) -> dict[str, Any]:
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

    def _send_details_soon(self) -> None:
        """Send the details after the cell, because a kernel busy with later cells cannot answer requests."""
        if not self._details and not self._delivery.rest:
            after_cell(self._send_details)

    def _send_details(self) -> None:
        if self._before_details is not None:
            self._before_details()
        super()._send_details()

    def _exported(self, form: Any) -> tuple[str, str]:
        if form == "html":
            return f"{file_stem(self._title)}.html", self._write_page()
        return super()._exported(form)
