"""The tab of findings: what made the steps slow, in words."""

from typing import Any

from tfvis_nb.analysis.findings.measurements import measurements
from tfvis_nb.analysis.unavailable import why_not
from tfvis_nb.core.labels import printable
from tfvis_nb.core.trace import Trace
from tfvis_nb.display.tabs.zoom_targets import ZoomTargets

_LONGEST = 2000
_WORDS = ("title", "text", "advice")


def blocks(trace: Trace) -> list[dict[str, Any]]:
    """Return one block, of all findings."""
    found = trace.findings
    reason = why_not(found)
    block: dict[str, Any] = {
        "kind": "findings",
        "items": [],
        "cannot_say": reason,
        "measured": [] if reason or len(found) else _sentences(trace),
    }
    if reason:
        return [block]
    targets = ZoomTargets(trace).of_ranges(found["start_ns"].to_numpy(), found["end_ns"].to_numpy())
    columns = [[printable(str(text), _LONGEST) for text in found[name]] for name in _WORDS]
    block["items"] = [
        dict(zip(_WORDS, texts, strict=True)) | {"share": share, "zoom": _with_events(target, events)}
        for *texts, share, target, events in zip(
            *columns, found["share"].tolist(), targets, found["events"], strict=True
        )
    ]
    return [block]


def _sentences(trace: Trace) -> list[str]:
    """Say how large everything is that findings look for, none of which is reported."""
    return [printable(str(text), _LONGEST) for text in measurements(trace)["text"]]


def _with_events(target: dict[str, Any] | None, events: list[int]) -> dict[str, Any] | None:
    if target is None or not events:
        return target
    return target | {"events": [int(event) for event in events]}
