"""What made the steps slow, in plain words with figures: a short ranked list, each with its evidence."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import pandas as pd

from tfvis_nb import events as event_table
from tfvis_nb.analysis._validate import validate_input
from tfvis_nb.analysis.findings.cpu_ops import cpu_ops
from tfvis_nb.analysis.findings.devices import copies, launches
from tfvis_nb.analysis.findings.finding import Finding
from tfvis_nb.analysis.findings.parts import compiling, input_wait
from tfvis_nb.analysis.findings.peers import communication_exposed, late_tasks
from tfvis_nb.analysis.findings.slow_steps import slow_steps
from tfvis_nb.analysis.unavailable import cannot_say, why_not

if TYPE_CHECKING:
    from tfvis_nb.core.trace import Trace

FIGURES = {
    "share": "The part of all steps' time that is lost to it, from 0 to 1; of what several tasks lose at"
    " once, that of the task that loses most.",
    "lost_ns": "share times the time of all steps, in ns.",
}

SEARCHES: tuple[Callable[[Trace], Sequence[Finding]], ...] = (
    input_wait,
    late_tasks,
    communication_exposed,
    cpu_ops,
    launches,
    copies,
    compiling,
    slow_steps,
)
"""What is looked for. Each gives a finding only where its figures exceed a limit that it names."""

_PARTLY_LATE = "It stands behind the late task, as waiting for that one is part of it."

_COLUMNS = {
    "kind": "str",
    "title": "str",
    "text": "str",
    "advice": "str",
    "share": "float64",
    "lost_ns": "int64",
    "step": "int64",
    "start_ns": "int64",
    "end_ns": "int64",
    "events": "object",
}


@validate_input
def findings(trace: Trace) -> pd.DataFrame:
    """Return what made the steps slow, the most costly first; no rows where nothing stands out.

    Communication comes after a task that is late, also where its share is larger, as waiting for that one
    is communication too.

    Parameters
    ----------
    trace
        Any trace.

    Returns
    -------
    pandas.DataFrame
        ``kind`` (str; ``input``, ``late task``, ``communication``, ``cpu ops``, ``launches``,
        ``copies``, ``compiling`` or ``slow steps``), ``title``, ``text`` and ``advice`` (str),
        ``share`` (float64) and ``lost_ns`` (int64) as `FIGURES` says, and the evidence: ``step``
        (int64), ``start_ns`` and ``end_ns`` (int64 epoch nanoseconds, the range that shows it best)
        and ``events`` (lists of event ids, the longest first). `cannot_say` when the trace has no steps,
        or none that takes time.

    Examples
    --------
    >>> from tfvis_nb import Trace, events
    >>> from tfvis_nb.analysis.findings.findings import findings
    >>> columns = {"start_ns": [0, 6_000_000], "duration_ns": [6_000_000, 4_000_000], "kind": ["op"] * 2,
    ...            "op": ["IteratorGetNext", "MatMul"], "device": ["/device:CPU:0"] * 2}
    >>> findings(Trace(events.build(columns)))["title"].tolist()
    ['The step waits for input']
    """
    reason = why_not(trace.breakdown)
    if reason:
        return cannot_say(_COLUMNS, reason)
    total = int(trace.breakdown.drop_duplicates("step")["step_ns"].sum())
    if not total:
        return cannot_say(_COLUMNS, "all steps last 0 ns")
    found = [one for search in SEARCHES for one in search(trace)]
    late = max((one.share for one in found if one.kind == "late task"), default=0.0)

    def rank(one: Finding) -> tuple[float, int]:
        behind = late > 0 and one.kind == "communication"
        return (-min(one.share, late) if behind else -one.share, int(behind))

    found.sort(key=rank)
    found = [
        one._replace(text=f"{one.text} {_PARTLY_LATE}") if late and one.kind == "communication" else one
        for one in found
    ]
    rows = [one._asdict() | {"lost_ns": round(one.share * total)} for one in found]
    table = pd.DataFrame(rows, columns=list(_COLUMNS))
    dtypes = {name: event_table.TEXT if dtype == "str" else dtype for name, dtype in _COLUMNS.items()}
    return table.astype(dtypes)
