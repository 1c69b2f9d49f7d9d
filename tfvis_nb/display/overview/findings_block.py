"""The block of findings: why the steps were slow."""

import math
from typing import Literal, NotRequired, TypedDict

from tfvis_nb.analysis.findings.measurements import measurements
from tfvis_nb.analysis.findings.table import NOTHING
from tfvis_nb.analysis.overview.compare_findings import findings_against
from tfvis_nb.analysis.unavailable import why_not
from tfvis_nb.core.format import unbroken
from tfvis_nb.core.labels import printable
from tfvis_nb.core.trace import Trace
from tfvis_nb.core.undivided import whole

_LONGEST = 2000
_WITHOUT_DEVICE = ("no_devices", "no_kernels", "no_gpu_events", "no_gpu_kernels")
_WORDS = ("level", "title", "text", "advice", "how")


class Zoom(TypedDict):
    """A place in the timeline: times in ns from the first event, events by id, lanes by number."""

    start: int
    end: int
    events: NotRequired[list[int]]
    of: NotRequired[int]  # How many events there are; those listed are the longest or the first
    lanes: NotRequired[list[int]]
    sides: NotRequired[list[list[int]]]  # Of two timelines, the events of the upper and the lower one


class Finding(TypedDict):
    """A finding."""

    level: Literal["problem", "minor", "observation"]
    title: str
    text: str
    advice: str
    how: str  # The other figures, and how they were measured
    share: float | None  # Of step time; None for findings outside steps
    of: str  # "step time", or "the recording" if nothing divides it into steps
    zoom: Zoom
    steps: NotRequired[list[int]]  # The slow steps that it explains, by number


class FindingsBlock(TypedDict):
    """All findings of a trace."""

    kind: Literal["findings"]
    items: list[Finding]
    cannot_say: str  # Why nothing is available, as the rest of "Not available:"; else empty
    nothing: str  # Shown if there are no items
    measured: list[str]  # Everything that findings look for, reported or not


def findings_block(trace: Trace, against: Trace | None = None) -> FindingsBlock:
    """Return one block with all findings; times count from the trace's first event.

    Their texts end with a sentence about the same finding in a base `against`.
    """
    table, _ = findings_against(trace, against)
    reason = why_not(table)
    origin = int(trace.events["start_ns"].min()) if len(trace.events) else 0
    words = [[unbroken(printable(str(text), _LONGEST)) for text in table[name]] for name in _WORDS]
    rows = zip(
        *words,
        table["share"],
        table["start_ns"],
        table["end_ns"],
        table["events"],
        table["event_count"],
        table["figures"],
        strict=True,
    )
    items: list[Finding] = []
    for level, title, text, advice, how, share, start, end, events, count, figures in rows:
        zoom: Zoom = {"start": int(start) - origin, "end": int(end) - origin}
        if events:
            zoom |= {"events": [int(event) for event in events], "of": int(count)}
        finding: Finding = {
            "level": level,
            "title": title,
            "text": text,
            "advice": advice,
            "how": how,
            "share": None if math.isnan(share) else float(share),
            "of": whole(figures),
            "zoom": zoom,
        }
        if isinstance(steps := figures.get("steps"), list):
            finding["steps"] = steps
        items.append(finding)
    return {
        "kind": "findings",
        "items": items,
        "cannot_say": reason,
        "nothing": NOTHING,
        "measured": [] if reason else _sentences(trace),
    }


def _sentences(trace: Trace) -> list[str]:
    """Describe the measurements behind all findings, reported or not; those of devices only if one worked."""
    table = measurements(trace)
    reasons = [getattr(figures.get("reason"), "id", "") for figures in table["figures"]]
    return [
        unbroken(printable(str(text), _LONGEST))
        for text, reason in zip(table["text"], reasons, strict=True)
        if reason not in _WITHOUT_DEVICE
    ]
