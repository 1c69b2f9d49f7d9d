"""What the verbs that read traces have in common: reading, sessions too, and the part asked for."""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tfvis_nb.cli.failures import Failure, UsageError

if TYPE_CHECKING:
    from tfvis_nb._trace import Trace

_UNITS = {"ns": 1, "us": 1_000, "ms": 1_000_000, "s": 1_000_000_000}
_TIME = re.compile(r"(-?)(\d+(?:\.\d+)?)(ns|us|ms|s)|(\d+)")


def read(traces: Sequence[str], title: str | None = None) -> Trace:
    """Read the traces that a command line names.

    Raises
    ------
    Failure
        When one cannot be read; the message names it.
    """
    from tfvis_nb.reading import TraceFormatError, read_trace

    paths = [Path(trace).expanduser() for trace in traces]
    try:
        sources = [source for path in paths for source in _sources(path)]
        if title is None and len(paths) == 1 and len(sources) > 1:
            title = paths[0].name
        return read_trace(sources[0] if len(sources) == 1 else sources, title=title)
    except FileNotFoundError as error:
        what = "no file matches the pattern" if "pattern" in str(error) else "there is no such file or folder"
        raise Failure(f"{error.filename}: {what}; check the path") from None
    except OSError as error:
        name = error.filename or ", ".join(traces)
        raise Failure(f"{name}: cannot be read: {(error.strerror or str(error)).lower()}") from None
    except TraceFormatError as error:
        named = any(str(path) in str(error) for path in paths)
        raise Failure(str(error) if named else f"{', '.join(traces)}: {error}") from None


def _sources(path: Path) -> Sequence[Path | Trace]:
    """Return the traces that a session keeps, or the path where it is none's."""
    from tfvis_nb.cli.sessions import is_session, session_traces

    if path.is_char_device() or path.is_block_device():
        raise Failure(f"{path}: this is a device; name a file, a folder or a pattern")
    return session_traces(path) if is_session(path) else [path]


def in_asked_range(trace: Trace, arguments: argparse.Namespace) -> Trace:
    """Return the part of a trace that ``--time-range`` names, or all of it.

    Raises
    ------
    UsageError
        When it is no range.
    Failure
        When nothing of the trace is in it.
    """
    if arguments.time_range is None:
        return trace
    from tfvis_nb.display.page import in_time_range

    events = trace.events
    ends = int(events["start_ns"].iloc[0]), int((events["start_ns"] + events["duration_ns"]).max())
    first, last = time_range(arguments.time_range, *ends)
    named, asked = ", ".join(arguments.traces), f"--time-range {arguments.time_range}"
    if first > ends[1] or last < ends[0]:
        raise Failure(f"{named}: {asked} lies outside of the trace, which is {_length(ends)} long")
    try:
        return in_time_range(trace, (first, last))
    except ValueError:
        raise Failure(f"{named}: no event overlaps {asked}; the trace is {_length(ends)} long") from None


def _length(ends: tuple[int, int]) -> str:
    return f"{(ends[1] - ends[0]) / 1e6:,.3f} ms"


def time_range(text: str, origin_ns: int, latest_ns: int) -> tuple[int, int]:
    """Return the ends of a range in epoch nanoseconds.

    Parameters
    ----------
    text
        ``START:END``, each with a unit (from the first event on), without one (epoch
        nanoseconds) or left out.
    origin_ns, latest_ns
        When the first event starts, and the last one ends; epoch nanoseconds.

    Raises
    ------
    UsageError
        If it is none.

    Examples
    --------
    >>> from tfvis_nb.cli.reading import time_range
    >>> time_range("1.5us:2ms", 10**18, 10**19)
    (1000000000000001500, 1000000000002000000)
    >>> time_range("7:", 0, 9)
    (7, 9)
    """
    start, colon, end = text.partition(":")
    ends = [_end(word, origin_ns) for word in (start, end)]
    if not colon or None in ends or not (start or end):
        raise UsageError(f"--time-range {text!r} is no range; it is START:END, such as 10ms:25ms")
    first = origin_ns if not start else ends[0]
    last = latest_ns if not end else ends[1]
    assert first is not None
    assert last is not None
    if first > last:
        raise UsageError(f"--time-range {text!r} ends before it starts")
    return first, last


def _end(word: str, origin_ns: int) -> int | None:
    found = _TIME.fullmatch(word) if word else None
    if found is None:
        return None if word else 0
    if found[4]:
        return int(found[4])
    whole, _, part = found[2].partition(".")
    # In whole numbers: a float has not enough digits for the nanoseconds of hours.
    unit = _UNITS[found[3]]
    distance = int(whole) * unit + (int(part) * unit // 10 ** len(part) if part else 0)
    return origin_ns - distance if found[1] else origin_ns + distance
