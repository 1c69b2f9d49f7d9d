"""Time ranges as users give them: ``"10ms:25ms"``, or a pair of times."""

from __future__ import annotations

import datetime as dt
import re
from typing import Any

import numpy as np
import pandas as pd

from tfvis_nb.core.amounts import NANOSECONDS
from tfvis_nb.texts import Text

Time = int | str | dt.timedelta
"""Epoch nanoseconds, or a time since the first event: a text such as ``"10ms"``, or a timedelta."""

TimeRange = str | tuple[Time | None, Time | None]
"""``"10ms:25ms"``, or a pair of times. One end may be left out, or None: the trace then limits it."""

_TIME = re.compile(rf"(-?)(\d+(?:\.\d+)?)\s*({'|'.join(NANOSECONDS)})|(\d+)")


def is_time_range(value: Any) -> bool:
    """Return whether a selection is meant as a time range."""
    return isinstance(value, tuple) or (isinstance(value, str) and ":" in value)


def range_ends(ends: Any, first_ns: int, last_ns: int) -> tuple[int, int]:
    """Return the start and end of a `TimeRange` in epoch nanoseconds; ValueError if it is invalid.

    `first_ns` and `last_ns` are the first start and the last end of all events.

    >>> range_ends("1.5us:2ms", 10**18, 10**19)
    (1000000000000001500, 1000000000002000000)
    >>> range_ends(("1.5us", dt.timedelta(milliseconds=2)), 10**18, 10**19)
    (1000000000000001500, 1000000000002000000)
    >>> range_ends("7:", 0, 9), range_ends((None, 7), 0, 9)
    ((7, 9), (0, 7))
    """
    pair = tuple(ends.split(":")) if isinstance(ends, str) else ends
    if not isinstance(pair, tuple) or len(pair) != 2 or all(end in ("", None) for end in pair):
        raise ValueError(Text("range_no_pair", ends=ends))
    times = [_time(end, first_ns) for end in pair]
    given = [end not in ("", None) for end in pair]
    start, end = (
        one if is_given else limit
        for one, is_given, limit in zip(times, given, (first_ns, last_ns), strict=True)
    )
    if start is None or end is None:
        raise ValueError(Text("range_no_pair", ends=ends))
    if start > end:
        raise ValueError(Text("range_reversed", end=end, start=start))
    return start, end


def recorded_range(events: pd.DataFrame, ends: Any) -> tuple[int, int]:
    """Return the ends of a `TimeRange` of a trace in epoch nanoseconds; ValueError if it lies outside."""
    first = int(events["start_ns"].min()) if len(events) else 0
    last = int((events["start_ns"] + events["duration_ns"]).max()) if len(events) else 0
    start, end = range_ends(ends, first, last)
    if end < first or start > last:
        raise ValueError(Text("range_outside", start=start, end=end, origin=first, last=last))
    return start, end


def _time(value: Any, first_ns: int) -> int | None:
    """Return a time in epoch nanoseconds; None if it is none."""
    if isinstance(value, dt.timedelta):
        # pandas' Timedelta has nanoseconds, which `value // microsecond` would drop.
        exact = getattr(value, "value", None)
        whole = value // dt.timedelta(microseconds=1) * 1000
        return first_ns + (int(exact) if isinstance(exact, int) else whole)
    if isinstance(value, int | np.integer) and not isinstance(value, bool):
        return int(value)
    match = _TIME.fullmatch(value.strip()) if isinstance(value, str) else None
    if match is None:
        return None
    if match[4]:
        return int(match[4])
    whole_part, _, part = match[2].partition(".")
    # In whole numbers: a float has too few digits for nanoseconds over hours.
    unit = NANOSECONDS[match[3]]
    distance = int(whole_part) * unit + (int(part) * unit // 10 ** len(part) if part else 0)
    return first_ns - distance if match[1] else first_ns + distance
