"""Traces of a session as a timeline, as a file, or in a copy of the session.

Nothing is kept in memory, because a long job has many traces.
"""

from pathlib import Path
from typing import Any, get_args

from tfvis_nb.analysis.events.lane_order import order_lanes
from tfvis_nb.core.annotations import to_json
from tfvis_nb.core.format import format_file_size
from tfvis_nb.core.temporary_folder import TemporaryFolder
from tfvis_nb.display.messages import DownloadFormat
from tfvis_nb.display.pages.dashboard import html_dashboard
from tfvis_nb.display.pages.page import file_stem, html_page
from tfvis_nb.display.shaping.annotations import drawn_annotations, recorded_annotations
from tfvis_nb.display.shaping.gap_compression import compress_gaps
from tfvis_nb.display.shaping.views import check_named
from tfvis_nb.display.timeline.delivery import MOST_HELD
from tfvis_nb.display.wire.bars import bar_bytes
from tfvis_nb.display.wire.details import details
from tfvis_nb.display.wire.header import MOST_LANES
from tfvis_nb.session.session import SavedSession
from tfvis_nb.session.stored_trace import PARQUET, StoredTrace
from tfvis_nb.texts import Text
from tfvis_nb.writing.chrome_trace import chrome_trace_text
from tfvis_nb.writing.save import MESSAGES, message_file

FORMATS: tuple[str, ...] = get_args(DownloadFormat)
"""Formats for downloading a trace; the last two contain TensorFlow's own message."""

MOST_COPIED = 256_000_000
"""Maximum bytes of a session that a browser holds at once to save a copy of it."""


def timeline_payload(session: SavedSession, trace: object) -> tuple[str, bytes, bytes]:
    """Return a trace's title, its drawing and its details, both complete.

    ValueError if there is no such trace, it is damaged, or it is larger than a browser can hold.
    """
    trace_read = _stored(session, trace).read()
    if len(trace_read.events) > MOST_HELD:
        call = f"tfvis_nb.show_timeline(tfvis_nb.open_session({str(session.path)!r}).read({trace}))"
        raise ValueError(Text("trace_too_large_to_send", events=len(trace_read.events), call=call))
    shown = compress_gaps(trace_read)
    return trace_read.title, bar_bytes(shown, title=trace_read.title), details(shown)


def stored_notes(session: SavedSession, trace: object) -> dict[str, Any]:
    """Return the annotations and views that a session has of a trace, for the front end."""
    number = _number(trace)
    rows, views = session.notes(number)
    drawn: list[Any] = []
    if rows:
        stored = _stored(session, number).read()
        drawn = drawn_annotations(stored, compress_gaps(stored))
    try:
        check_named(views)
    except (TypeError, ValueError):  # damaged
        views = []
    return {"annotations": drawn, "views": views}


def store_notes(session: SavedSession, trace: object, annotations: object, views: object) -> None:
    """Store annotations and views of the front end; ValueError or TypeError if they do not fit the trace."""
    number = _number(trace)
    if not isinstance(annotations, list) or not isinstance(views, list):
        raise ValueError(Text("notes_no_lists"))  # noqa: TRY004 - of a message
    check_named(views)
    rows = []
    if annotations:
        stored = _stored(session, number).read()
        lanes = order_lanes(stored.events, at_most=MOST_LANES)
        rows = to_json(recorded_annotations(annotations, stored, compress_gaps(stored), lanes))
    session.put_notes(number, (rows, views))


def export_trace(session: SavedSession, trace: object, form: object) -> tuple[str, bytes]:
    """Return a trace as a file in one of `FORMATS`: its name and content; ValueError if impossible."""
    if form not in FORMATS:
        raise ValueError(Text("no_such_format", format=str(form)[:60], formats=", ".join(FORMATS)))
    stored = _stored(session, trace)
    stem = file_stem(f"{session.path.stem}-{stored.title}")
    if f".{form}" in MESSAGES:
        if stored.format == PARQUET:
            raise ValueError(Text("no_messages_to_write", path=stored.title))
        suffix, message = message_file(stored.message, f".{form}", is_profile=stored.is_profile)
        return stem + suffix, message
    trace_read = stored.read()
    if form == "dashboard":
        return f"{stem}-dashboard.html", html_dashboard(trace_read).encode()
    name = f"{stem}.{form}"
    if form == "html":
        return name, html_page(trace_read).encode()
    if form == "json":
        return name, chrome_trace_text(trace_read).encode()
    with TemporaryFolder() as folder:
        return name, trace_read.to_parquet(folder.path / "trace.parquet").read_bytes()


def export_session(session: SavedSession) -> tuple[str, bytes]:
    """Return the name and content of a complete copy of a session.

    Above `MOST_COPIED` bytes, a ValueError names the call that writes such a copy.
    """
    wal = Path(f"{session.path}-wal")
    size = session.path.stat().st_size + (wal.stat().st_size if wal.exists() else 0)
    if size > MOST_COPIED:
        raise ValueError(Text("session_too_large", size=format_file_size(size), path=str(session.path)))
    with TemporaryFolder() as folder:
        return session.path.name, session.save(folder.path / "copy.tfvis").read_bytes()


def _number(trace: object) -> int:
    if isinstance(trace, bool) or not isinstance(trace, int):
        raise ValueError(Text("trace_not_a_number", trace=str(trace)[:60]))  # noqa: TRY004 - of a message
    if abs(trace) >= 2**63:  # more than SQLite has
        raise ValueError(Text("trace_gone", trace=trace))
    return trace


def _stored(session: SavedSession, trace: object) -> StoredTrace:
    number = _number(trace)
    try:
        return session.stored(number)
    except (KeyError, OverflowError):
        raise ValueError(Text("trace_gone", trace=trace)) from None
