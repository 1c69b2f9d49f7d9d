"""Short texts for people: lanes, times and one-line summaries."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tfvis_nb.core.trace import Trace

_TASK = re.compile(r"/job:([^/]+)(?:/replica:\d+)?/task:(\d+)")
_UNITS = ((1_000_000_000, "s"), (1_000_000, "ms"), (1_000, "\N{MICRO SIGN}s"))


def lane_label(task: str, device: str, lane: str) -> str:
    """Name a lane briefly."""
    where = _TASK.search(task)
    job = "" if where is None or where[1] == "localhost" else f"{where[1]} {where[2]}"
    short = device.removeprefix(task).removeprefix("/device:") or device
    return " \u00b7 ".join(part for part in (job, short, lane) if part)


def duration_label(nanoseconds: float) -> str:
    """Write a duration with three or four digits and its unit."""
    for size, unit in _UNITS:
        if nanoseconds >= size:
            value = nanoseconds / size
            return f"{value:.2f} {unit}" if value < 100 else f"{value:.0f} {unit}"
    return f"{nanoseconds:.0f} ns"


def printable(text: str, most: int) -> str:
    r"""Cut a text from a trace to `most` characters, with a mark for each that would act or not be seen.

    Terminals act on control characters, pages on those that turn the direction of
    writing, and XML has no way to write some of them at all.
    """
    cut = text if len(text) <= most else text[: most - 1] + "\u2026"
    return "".join(letter if letter.isprintable() else "\ufffd" for letter in cut)


def one_line(trace: Trace, title: str | None = None) -> str:
    """Say in one line how much a trace holds."""
    events = trace.events
    title = trace.title if title is None else title
    counts = [_count(len(events), "event")]
    if len(events):
        end = int((events["start_ns"] + events["duration_ns"]).max())
        tasks = events["task"].nunique()
        counts += [_count(tasks, "task")] if tasks > 1 else []
        # Events of no step have -1.
        steps = int((events["step"].unique() >= 0).sum())
        counts += [_count(events["device"].nunique(), "device"), _count(steps, "step")]
        counts.append(duration_label(end - int(events["start_ns"].iloc[0])))
    # A title comes from a file name or a user: kept to one line and in bounds.
    brief = printable(" ".join(title.split()), 80)
    return f"{brief}: {', '.join(counts)}" if brief else ", ".join(counts)


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
