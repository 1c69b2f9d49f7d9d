"""``--lane-filter`` where it would leave a page without lanes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from tfvis_nb.cli.errors import Failure
from tfvis_nb.core.labels import lane_label, printable

if TYPE_CHECKING:
    from tfvis_nb.core.trace import Trace

_NAMED = 12
_LETTERS = 80
_TASK = re.compile(r"^/job:([^/]+)(?:/replica:(\d+))?/task:(\d+)")
_NUMBER = re.compile(r"[0-9]+")


def check_lane_filter(trace: Trace, text: str | None) -> None:
    """Refuse a filter that no lane of a trace passes, nor the memory of an allocator.

    `text` are words that a lane's task, device and name must all contain. The message names the lanes there
    are.
    """
    words = (text or "").lower().split()
    if not words:
        return
    lanes = trace.lanes[["task", "device", "lane"]].astype(str).drop_duplicates().to_numpy().tolist()
    if any(_is_called(lane, words) for lane in lanes):
        return
    from tfvis_nb.display.wire.memory import memory_tracks

    tracks = memory_tracks(trace)[0]
    if any(
        _is_called([track["task"], track["device"], f"{track['allocator']} memory"], words)
        for track in tracks
    ):
        return
    names = [printable(lane_label(*lane), _LETTERS) for lane in lanes]
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    raise Failure(
        f"--lane-filter {text!r} matches none of the lanes; they are {', '.join(names[:_NAMED])}{more}"
    )


def _is_called(names: Sequence[str], words: Iterable[str]) -> bool:
    """Whether a lane has all the words, as the page looks for them: in full and in short spelling.

    A number is a word of the short spelling: the 0 of a replica says nothing of worker 0.
    """
    short = " ".join(_short(*names)).lower()
    full = f"{' '.join(names).lower()} {short}"
    return all(word in (short.split(" ") if _NUMBER.fullmatch(word) else full) for word in words)


def _short(task: str, device: str, lane: str) -> tuple[str, str, str]:
    """Spell a lane's task, device and name as the page shows them."""
    job = _TASK.match(task)
    if job is not None:
        replica = f" replica {job[2]}" if job[2] and job[2] != "0" else ""
        task = "" if job[1] == "localhost" else f"{job[1]} {job[3]}{replica}"
    device = _TASK.sub("", device).removeprefix("/")
    if lane.startswith("memcpy "):
        lane = lane.replace("memcpy", "copy", 1)
    elif lane.startswith("stream:"):
        lane = lane.replace(":", " ", 1)
    return task, device.removeprefix("device:"), "receive" if lane == "recv" else lane
