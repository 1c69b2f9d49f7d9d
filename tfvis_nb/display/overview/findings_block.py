"""The block of findings: why the steps were slow."""

import math
from typing import Any

from tfvis_nb.analysis.findings.measurements import measurements
from tfvis_nb.analysis.findings.table import NOTHING
from tfvis_nb.analysis.unavailable import why_not
from tfvis_nb.core.format import unbroken
from tfvis_nb.core.labels import printable
from tfvis_nb.core.trace import Trace
from tfvis_nb.core.undivided import whole

_LONGEST = 2000
_WITHOUT_DEVICE = ("no_devices", "no_kernels", "no_gpu_events", "no_gpu_kernels")
_WORDS = ("level", "title", "text", "advice", "how")


def findings_block(trace: Trace) -> dict[str, Any]:
    """Return one block with all findings; times count from the trace's first event."""
    table = trace.findings
    reason = why_not(table)
    origin = int(trace.events["start_ns"].min()) if len(trace.events) else 0
    columns = [[unbroken(printable(str(text), _LONGEST)) for text in table[name]] for name in _WORDS]
    rows = zip(
        *columns,
        table["share"],
        table["start_ns"],
        table["end_ns"],
        table["events"],
        table["event_count"],
        table["figures"],
        strict=True,
    )
    items = [
        dict(zip(_WORDS, texts, strict=True))
        | {
            "share": None if math.isnan(share) else float(share),
            "of": whole(figures),
            "zoom": {"start": int(start) - origin, "end": int(end) - origin}
            | ({"events": [int(event) for event in events], "of": int(count)} if events else {}),
        }
        for *texts, share, start, end, events, count, figures in rows
    ]
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
