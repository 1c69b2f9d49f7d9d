"""Check a lane filter, which must not leave a page without lanes."""

from collections.abc import Iterable

from tfvis_nb.core.counters import SERIES
from tfvis_nb.core.labels import lane_label, matches_lane, printable
from tfvis_nb.core.trace import Trace
from tfvis_nb.display.wire.memory import memory_tracks
from tfvis_nb.texts import Text

_NAMED = 12
_LETTERS = 80


def check_lane_filter(trace: Trace, text: str, tracks: Iterable[str] = ()) -> None:
    """Raise ValueError for a filter that matches no lane of a trace, no allocator, counter or own track.

    `text` are words that a lane's task, device and name must all contain, and `tracks` the names of the
    user's own tracks. The message lists the existing lanes.
    """
    terms = text.lower().split()
    if not terms:
        return
    lanes = trace.lanes[["task", "device", "lane"]].astype(str).drop_duplicates().to_numpy().tolist()
    if any(matches_lane(lane, terms) for lane in [*lanes, *(("", "", name) for name in tracks)]):
        return
    counters = trace.counters[[*SERIES]].drop_duplicates().astype(str).to_numpy().tolist()
    if any(matches_lane([task, device, f"{name} counter"], terms) for task, device, name, *_ in counters):
        return
    memory = memory_tracks(trace).header
    if any(
        matches_lane([track["task"], track["device"], f"{track['allocator']} memory"], terms)
        for track in memory
    ):
        return
    names = [printable(lane_label(*lane), _LETTERS) for lane in lanes]
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    raise ValueError(
        Text("lane_filter_matches_none", text=text, lanes=", ".join(names[:_NAMED]) or "none", more=more)
    )
