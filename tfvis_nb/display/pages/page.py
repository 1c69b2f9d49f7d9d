"""The exported page: a timeline as one HTML file that opens offline, from disk or in a sandboxed frame."""

import gzip
import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, TypedDict

import numpy as np

from tfvis_nb.analysis.events.lane_order import order_lanes
from tfvis_nb.analysis.subset import in_range
from tfvis_nb.anonymizing.anonymized import anonymized
from tfvis_nb.anonymizing.names import is_public
from tfvis_nb.core.format import format_file_size
from tfvis_nb.core.html_export import MAX_BYTES
from tfvis_nb.core.labels import one_line, printable
from tfvis_nb.core.options import check_title
from tfvis_nb.core.time_ranges import TimeRange, is_time_range, recorded_range
from tfvis_nb.core.trace import Trace
from tfvis_nb.display.bundles import bundle
from tfvis_nb.display.options import validate_options
from tfvis_nb.display.pages.static_html import static_html
from tfvis_nb.display.pages.template import framed
from tfvis_nb.display.shaping.annotations import Annotation, drawn_annotations
from tfvis_nb.display.shaping.gap_compression import compress_gaps
from tfvis_nb.display.shaping.lane_filter import check_lane_filter
from tfvis_nb.display.shaping.selection import drawn_selection, selection_of
from tfvis_nb.display.shaping.trace_views import TraceViews
from tfvis_nb.display.shaping.tracks import checked_tracks, drawn_tracks
from tfvis_nb.display.shaping.views import OPTIONS, DrawnView
from tfvis_nb.display.tabs.blocks import Part
from tfvis_nb.display.wire.bars import bar_bytes
from tfvis_nb.display.wire.code import without_code
from tfvis_nb.display.wire.details import details as write_details
from tfvis_nb.display.wire.header import MOST_LANES
from tfvis_nb.texts import Text

_SAMPLES = 3
_SAMPLE = 8_000
"""How many events are packed in each sample to estimate the total size."""
_ESTIMATE_MARGIN = 1.5
"""The factor by which an estimate must exceed the limit to count."""


class PageTooLargeError(ValueError):
    """Raised instead of writing a page that is larger than ``max_bytes``."""


def html_page(
    trace: Trace,
    title: str | None = None,
    *,
    selection: Any = None,
    view: Mapping[str, Any] | None = None,
    tracks: Mapping[str, Any] | None = None,
    against: Trace | None = None,
    time_range: TimeRange | None = None,
    max_bytes: int | None = MAX_BYTES,
    source: bool = True,
    anonymize: bool = False,
    **options: Any,
) -> str:
    """Write a trace's timeline as one HTML text; `tfvis_nb.Trace.to_html` describes parameters and errors."""
    check_title(title)
    if against is not None and not isinstance(against, Trace):
        raise TypeError(Text("no_trace", function="to_html", given=type(against).__name__))
    values = validate_options(options)
    # All times are of the whole trace; those of a part count from its own first event.
    ends = None if time_range is None else recorded_range(trace.events, time_range)
    if is_time_range(selection):
        selection = recorded_range(trace.events, selection)
    if isinstance(view, Mapping) and is_time_range(view.get("selection")):
        view = {**view, "selection": recorded_range(trace.events, view["selection"])}
    own = checked_tracks(tracks, trace)
    check_lane_filter(trace, values["lane_filter"], own)
    if view is not None:
        # Convert here, so that errors use the user's terms.
        _drawn_view(trace, compress_gaps(trace), view, values, None)
    if anonymize:
        title, values, own = title or "", anonymized_options(values), {}
        if against is not None:
            # Together, so that the same names get the same replacements.
            _, against = anonymized([trace, against])
        trace, ends, selection, view = _anonymized(trace, ends, selection, view)
    if ends is not None:
        whole, trace = trace, trace.between(ends)
        selection = _in_part(whole, ends, selection)
        outside = [name for name, track in own.items() if not track.reaches(*ends)]
        own = {name: track for name, track in own.items() if name not in outside}
        if outside:
            trace.notes = [
                *trace.notes,
                Text("tracks_outside_range", tracks=len(outside), names=", ".join(outside)),
            ]
        if view is not None:
            view = _with_lanes(view, {lane: lane for lane in _lane_names(trace)})
            if "selection" in view:
                view["selection"] = _in_part(whole, ends, view["selection"])
    shown = compress_gaps(trace)
    now = _drawn_view(trace, shown, view or {}, values, drawn_selection(trace, shown, selection))
    return page_text(
        shown,
        title=title,
        selection=now.selection,
        annotations=drawn_annotations(trace, shown),
        view=None if view is None else now.view,
        tracks=drawn_tracks(own, trace, shown),
        against=against,
        max_bytes=max_bytes,
        source=source,
        **values | now.options,
    )


def _anonymized(trace: Trace, time_range: Any, selection: Any, view: Any) -> tuple[Trace, Any, Any, Any]:
    """Return an anonymized trace, with range, selection and view converted to its terms."""
    (other,) = anonymized([trace])
    later = (
        int(other.events["start_ns"].iloc[0]) - int(trace.events["start_ns"].iloc[0])
        if len(trace.events)
        else 0
    )

    def chosen(value: Any) -> Any:
        if is_time_range(value):
            start, end = value
            return (start + later, end + later)
        # Rows of tables are checked against their own trace.
        events = selection_of(trace.events, value)
        return None if events is None else events["events"]

    if time_range is not None:
        start, end = time_range
        time_range = (start + later, end + later)
    if view is not None:
        view = anonymized_options(with_lanes_of(view, trace, other))
        view |= {name: view[name] + later for name in ("start_ns", "end_ns") if name in view}
        view |= {"selection": chosen(view["selection"])} if "selection" in view else {}
    return other, time_range, chosen(selection), view


def _drawn_view(trace: Trace, shown: Trace, view: Any, options: dict[str, Any], selection: Any) -> DrawnView:
    lanes = order_lanes(trace.events, at_most=MOST_LANES)
    now = DrawnView({}, {name: options[name] for name in OPTIONS}, selection)
    return TraceViews(trace, shown, lanes).drawn(view, now)


def _lane_names(trace: Trace) -> list[tuple[str, ...]]:
    """Return the lanes as (task, device, lane), ordered by their first events."""
    lanes = trace.events[["task", "device", "lane"]].drop_duplicates().astype(str)
    return list(lanes.itertuples(index=False, name=None))


def _with_lanes(view: Mapping[str, Any], names: Mapping[tuple[str, ...], tuple[str, ...]]) -> dict[str, Any]:
    """Return a view with renamed lanes and groups, without those that have no new name."""
    known = {lane[:size]: name[:size] for lane, name in names.items() for size in (1, 2, 3)}
    lanes = {name: view[name] for name in ("hidden", "pinned") if name in view}
    return {**view} | {
        name: [known[tuple(lane)] for lane in listed if tuple(lane) in known]
        for name, listed in lanes.items()
    }


def with_lanes_of(view: Mapping[str, Any], trace: Trace, other: Trace) -> dict[str, Any]:
    """Return a view of `trace` with the names of its lanes and groups in its anonymized copy `other`."""
    return _with_lanes(view, dict(zip(_lane_names(trace), _lane_names(other), strict=True)))


def anonymized_options(options: dict[str, Any]) -> dict[str, Any]:
    """Return options of a timeline without annotations, views, and a lane filter that uses replaced names."""
    is_kept = is_public(options.get("lane_filter") or "")
    empty: dict[str, Any] = {"annotations": [], "view": None, "views": [], "tracks": []}
    emptied = {name: value for name, value in empty.items() if name in options}
    return {**options, **emptied} | ({} if is_kept else {"lane_filter": ""})


def _in_part(trace: Trace, time_range: tuple[int, int], selection: Any) -> Any:
    """Return a selection in the part of a trace: events have other numbers there, or are not in it."""
    chosen = None if is_time_range(selection) else selection_of(trace.events, selection)
    if chosen is None:
        return selection
    return np.flatnonzero(np.isin(in_range(trace, *time_range), chosen["events"]))


def page_text(
    trace: Trace,
    *,
    title: str | None = None,
    selection: dict[str, Any] | None = None,
    annotations: Sequence[Annotation] = (),
    view: dict[str, Any] | None = None,
    views: Sequence[dict[str, Any]] = (),
    tracks: Sequence[dict[str, Any]] = (),
    against: Trace | None = None,
    drawn: bytes | None = None,
    details: bytes | None = None,
    max_bytes: int | None = None,
    source: bool = True,
    **options: Any,
) -> str:
    """Fill in the page; selection, annotations, views and tracks are in the front end's form.

    Without `source` it has no code.
    """
    if not source:
        trace, details = without_code(trace), None
        against = None if against is None else without_code(against)
    title = trace.title if title is None else title
    values = {**validate_options(options), "selection": selection, "annotations": list(annotations)}
    values |= {"view": view, "views": list(views), "tracks": list(tracks)}
    parts = packed_parts(trace, title, against=against, drawn=drawn, details=details, max_bytes=max_bytes)
    return framed(
        what="timeline",
        title=printable(title, 200) or "Timeline",
        summary=one_line(trace, title),
        fallback=static_html(trace, title=title, annotated=False),
        parts=parts,
        options=values,
        code=bundle("page.js"),
    )


class PageTabs(TypedDict):
    """The tabs of a page, and the version of BokehJS that their charts need; empty without charts."""

    bokeh: str
    tabs: list[Part]


def packed_tabs(tabs: Sequence[Part], bokeh: str = "") -> bytes:
    """Return tabs as a part of a page."""
    content: PageTabs = {"bokeh": bokeh, "tabs": list(tabs)}
    return gzip.compress(json.dumps(content, allow_nan=False).encode(), mtime=0)


def packed_parts(
    trace: Trace,
    title: str,
    *,
    against: Trace | None = None,
    drawn: bytes | None = None,
    details: bytes | None = None,
    beside: int = 0,
    max_bytes: int | None = None,
) -> dict[str, bytes]:
    """Return the parts of a trace for a page, by name; packed ones are taken unchanged.

    Raises PageTooLargeError if the page, with `beside` more bytes, would exceed `max_bytes`.
    """
    if max_bytes is not None and (
        isinstance(max_bytes, bool) or not isinstance(max_bytes, int | float | np.number)
    ):
        raise TypeError(Text("max_bytes_no_number", max_bytes=max_bytes))
    # Before anything that grows with the number of lanes.
    lanes = order_lanes(trace.events, at_most=MOST_LANES)
    packed = drawn is not None and details is not None
    if max_bytes is not None and not packed and len(trace.events) > _SAMPLES * _SAMPLE:
        estimate = estimated_bytes(trace)
        if estimate > max_bytes * _ESTIMATE_MARGIN:
            raise _too_large(trace, estimate, max_bytes)
    parts = {
        "drawn": bar_bytes(trace, lanes, title=title) if drawn is None else drawn,
        "details": write_details(trace, lanes, against=against) if details is None else details,
    }
    size = _in_base64(*parts.values()) + beside
    if max_bytes is not None and size > max_bytes:
        raise _too_large(trace, size, max_bytes)
    return parts


def estimated_bytes(trace: Trace) -> int:
    """Estimate the size of a page from some of its events, because packing all of them is slow."""
    count, size = len(trace.events), 0
    for start in np.linspace(0, count - _SAMPLE, _SAMPLES).astype("i8").tolist():
        nested = None if trace.nested is None else trace.nested.slice(start, _SAMPLE)
        rows = trace.events.iloc[start : start + _SAMPLE].reset_index(drop=True)
        sample = Trace(rows, nested=nested)
        size += _in_base64(bar_bytes(sample), write_details(sample, overview=False))
    return size * count // (_SAMPLES * _SAMPLE)


def _in_base64(*parts: bytes) -> int:
    return sum(len(part) for part in parts) * 4 // 3


def _too_large(trace: Trace, size: int, most: int) -> PageTooLargeError:
    start = int(trace.events["start_ns"].iloc[0])
    span = int((trace.events["start_ns"] + trace.events["duration_ns"]).max()) - start
    part = start + span * most // size
    return PageTooLargeError(
        Text(
            "page_too_large",
            events=len(trace.events),
            size=format_file_size(size),
            most=format_file_size(most),
            start=start,
            part=part,
        )
    )


def file_stem(title: str) -> str:
    """Convert a title to a file name that is valid on all platforms.

    Examples
    --------
    >>> from tfvis_nb.display.pages.page import file_stem
    >>> file_stem("step 3: a/b")
    'step-3-a-b'
    """
    return re.sub(r"[^\w.-]+", "-", title)[:80].strip("-.") or "timeline"
