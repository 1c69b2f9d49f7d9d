"""Check a lane filter, which must not leave a timeline without lanes."""

from collections.abc import Iterable

from tfvis_nb.core.counters import SERIES
from tfvis_nb.core.labels import lane_label, matches_lane, printable
from tfvis_nb.core.trace import Trace
from tfvis_nb.display.wire.memory import memory_tracks
from tfvis_nb.texts import Text

_NAMED = 12
_LETTERS = 80


def filters_to_some(trace: Trace, text: str, tracks: Iterable[str] = ()) -> bool:
    """Return whether a filter matches a lane of a trace, an allocator, a counter or an own track.

    `text` are words that a lane's task, device and name must all contain, and `tracks` the names of the
    user's own tracks.
    """
    terms = text.lower().split()
    if not terms:
        return True
    names = [*_lanes(trace), *(["", "", name] for name in tracks)]
    if any(matches_lane(lane, terms) for lane in names):
        return True
    counters = trace.counters[[*SERIES]].drop_duplicates().astype(str).to_numpy().tolist()
    if any(matches_lane([task, device, f"{name} counter"], terms) for task, device, name, *_ in counters):
        return True
    memory = memory_tracks(trace).header
    return any(
        matches_lane([track["task"], track["device"], f"{track['allocator']} memory"], terms)
        for track in memory
    )


def check_lane_filter(trace: Trace, text: str, tracks: Iterable[str] = ()) -> None:
    """Raise ValueError, which lists the existing lanes, for a filter that matches nothing."""
    if filters_to_some(trace, text, tracks):
        return
    names = [printable(lane_label(*lane), _LETTERS) for lane in _lanes(trace)]
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    raise ValueError(
        Text("lane_filter_matches_none", text=text, lanes=", ".join(names[:_NAMED]) or "none", more=more)
    )


def _lanes(trace: Trace) -> list[list[str]]:
    table = trace.lanes[["task", "device", "lane"]].astype(str).drop_duplicates()
    lanes: list[list[str]] = table.to_numpy().tolist()
    return lanes
