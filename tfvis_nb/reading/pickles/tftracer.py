"""Read names, counts, times and traces of each run from a saved tftracer session."""

import datetime as dt
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from tfvis_nb.core.errors import TraceFormatError
from tfvis_nb.reading.pickles.restricted_vm import Global, Object
from tfvis_nb.texts import Text

SESSION = Global("tftracer.tracing_server", "TracingSource")

_DATETIME = Global("datetime", "datetime")
_TIMEDELTA = Global("datetime", "timedelta")
_EPOCH = dt.datetime(1970, 1, 1)  # noqa: DTZ001 - as naive as the times that are counted from it
_MICROSECOND = dt.timedelta(microseconds=1)
_MOST = 1 << 53
"""Limit of runs and of microseconds: more than any job has, and products fit 128 bits."""

_NAME = re.compile(r"<tf\.\w+ '([^'\n]+)'")
_TYPE = re.compile(
    r"<tf\.\w+ '(?P<name>[^'\n]+)' shape=(?:\((?P<shape>[?0-9, ]*)\)|<unknown>) dtype=(?P<dtype>[a-z]\w*)>"
)


@dataclass
class SavedRun:
    """The runs with one ``SessionRunArgs``, as stored by tftracer.

    - `number`: Its number in the session.
    - `fetches`, `targets`, `feeds`: The names of tensors and ops; of a fetch stored without names, its text.
    - `options`: The ``RunOptions`` as text.
    - `types`: Type and shape of tensors by name; None is an unknown size or, as the shape, an unknown rank.
    - `runs`: The number of runs that ended.
    - `mean_us`: Their mean duration.
    - `first_us`, `last_us`: When the first and the last started, in microseconds since 1970 in local time:
      the time zone was not saved. None if the stored time is invalid.
    - `traces`: The end of each trace's run, in local time, and its message; None if tftracer no longer kept
      it.
    """

    number: Any
    fetches: list[str]
    targets: list[str]
    feeds: list[str]
    options: str
    runs: int
    mean_us: int
    first_us: int | None
    last_us: int | None
    traces: list[tuple[int | None, Any]] = field(default_factory=list)
    types: dict[str, tuple[str, list[int | None] | None]] = field(default_factory=dict)


def _kept_traces(session: Object, label: str) -> dict[Any, list[Any]]:
    """Return the messages of each run, by number; None for those that tftracer no longer kept."""
    runs = _items(session.state).get("_traces", _items(session.state).get(b"_traces"))
    runs = runs.items if isinstance(runs, Object) else runs
    if not isinstance(runs, dict) or not all(isinstance(kept, list) for kept in runs.values()):
        raise TraceFormatError(Text("tftracer_session_empty", label=label))
    return runs


def saved_runs(session: Object, label: str) -> list[SavedRun]:
    """Return a session's record of each run; TraceFormatError if it has no list of traces."""
    kept = _kept_traces(session, label)
    return list(_runs(_items(_items(session.state).get("_run_profile")), kept))


def _runs(profiles: Mapping[Any, Any], kept: Mapping[Any, list[Any]]) -> Iterator[SavedRun]:
    described = [_items(profile) for profile in profiles.values()]
    known = {number: profile for profile in described if isinstance(number := profile.get("run_id"), int)}
    # Nothing is left out: traces of a run without description are still traces.
    for run in [*known, *(run for run in kept if run not in known)]:
        profile = known.get(run, {})
        info, stats = _items(profile.get("info")), _items(profile.get("stats"))
        fetched = _text(info.get("fetches"))
        names = _NAME.findall(fetched) or [" ".join((fetched or f"run {run}")[:200].split())]
        feeds = _text(info.get("feeds"))
        options = _text(info.get("options"))
        ended = [_items(trace).get("date") for trace in _list(profile.get("traces"))]
        traces = kept.get(run, [])
        ended += [None] * (len(traces) - len(ended))
        yield SavedRun(
            run,
            [name for name in names if ":" in name],
            [name for name in names if ":" not in name],
            _NAME.findall(feeds),
            "" if options == "None" else options.strip(),
            _bounded(stats.get("runs")),
            _duration_us(stats.get("runtimes")),
            _wall_us(stats.get("first_run")),
            _wall_us(stats.get("last_run")),
            list(zip(map(_wall_us, ended), traces, strict=False)),
            {
                tensor["name"]: (tensor["dtype"], _shape(tensor["shape"]))
                for tensor in _TYPE.finditer(fetched + feeds)
            },
        )


def _shape(text: str | None) -> list[int | None] | None:
    """Read a shape such as ``?, 784`` or ``10,``; None if its rank is unknown."""
    if text is None:
        return None
    sizes = (size.strip() for size in text.split(","))
    return [None if size == "?" else int(size) for size in sizes if size == "?" or size.isdecimal()]


def _items(value: Any) -> dict[Any, Any]:
    value = value.items if isinstance(value, Object) else value
    return value if isinstance(value, dict) else {}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _bounded(value: Any) -> int:
    return min(max(value, 0), _MOST) if isinstance(value, int) else 0


def _duration_us(value: Any) -> int:
    if not isinstance(value, Object) or value.made_by != _TIMEDELTA or len(value.arguments) != 3:
        return 0
    days, seconds, microseconds = map(_bounded, value.arguments)
    return min((days * 86_400 + seconds) * 1_000_000 + microseconds, _MOST)


def _wall_us(value: Any) -> int | None:
    """Return the microseconds since 1970 in the bytes of ``datetime.__reduce__``; None if damaged."""
    if not isinstance(value, Object) or value.made_by != _DATETIME or not value.arguments:
        return None
    packed = value.arguments[0]
    if not isinstance(packed, bytes) or len(packed) != 10:
        return None
    year, microsecond = int.from_bytes(packed[:2], "big"), int.from_bytes(packed[7:], "big")
    month, day, hour, minute, second = packed[2] & 0x7F, *packed[3:7]
    try:
        wall = dt.datetime(year, month, day, hour, minute, second, microsecond)  # noqa: DTZ001
    except ValueError:
        return None
    return (wall - _EPOCH) // _MICROSECOND
