"""The options of displays, pages and pictures, as types that checkers and Shift-Tab know.

`only_known_options` of `tfvis_nb.core.options` shows them in the signatures of functions.
"""

from collections.abc import Mapping
from typing import Any, Literal, TypedDict

from tfvis_nb.core.time_ranges import TimeRange

GroupBy = Literal["device", "kind", "none"]
ColorBy = Literal["kind", "op", "device"]
Theme = Literal["light", "print", "dark"]


class TimelineOptions(TypedDict, total=False):
    """Options of `tfvis_nb.show_timeline` that are also attributes of the widget."""

    height: int
    group_by: GroupBy
    color_by: ColorBy
    lane_filter: str


class HtmlOptions(TypedDict, total=False):
    """Options of every ``to_html``."""

    max_bytes: float | None
    source: bool
    anonymize: bool


class FleetHtmlOptions(HtmlOptions, total=False):
    """Options of `tfvis_nb.Fleet.to_html`."""

    timelines: int


class ViewHtmlOptions(HtmlOptions, total=False):
    """Options of `tfvis_nb.Dashboard.to_html`."""

    view: Mapping[str, Any] | None


class TimelineHtmlOptions(ViewHtmlOptions, total=False):
    """Options of `tfvis_nb.TimelineWidget.to_html`."""

    time_range: TimeRange | None


class TraceHtmlOptions(TimelineHtmlOptions, TimelineOptions, total=False):
    """Options of `tfvis_nb.Trace.to_html`."""

    selection: Any
    tracks: Mapping[str, Any] | None
    against: Any


class PictureOptions(TypedDict, total=False):
    """Options of ``to_svg``, ``to_pdf`` and ``to_png``."""

    time_range: TimeRange | None
    lanes: str
    width: str | float
    height: str | float | None
    theme: Theme
    title: str | None
    tracks: Mapping[str, Any] | None
