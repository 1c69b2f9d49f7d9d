"""Check ``--lane-filter``, which must not leave a page without lanes."""

from tfvis_nb.cli.errors import Failure
from tfvis_nb.core.labels import lane_label, matches_lane, printable
from tfvis_nb.core.trace import Trace
from tfvis_nb.texts import Text

_NAMED = 12
_LETTERS = 80


def check_lane_filter(trace: Trace, text: str | None) -> None:
    """Reject a filter that matches no lane of a trace and no allocator.

    `text` are words that a lane's task, device and name must all contain. The message lists the existing
    lanes.
    """
    terms = (text or "").lower().split()
    if not terms:
        return
    lanes = trace.lanes[["task", "device", "lane"]].astype(str).drop_duplicates().to_numpy().tolist()
    if any(matches_lane(lane, terms) for lane in lanes):
        return
    from tfvis_nb.display.wire.memory import memory_tracks

    tracks = memory_tracks(trace).header
    if any(
        matches_lane([track["task"], track["device"], f"{track['allocator']} memory"], terms)
        for track in tracks
    ):
        return
    names = [printable(lane_label(*lane), _LETTERS) for lane in lanes]
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    raise Failure(Text("lane_filter_matches_none", text=text, lanes=", ".join(names[:_NAMED]), more=more))
