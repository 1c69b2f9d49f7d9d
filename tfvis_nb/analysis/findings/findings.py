"""What makes the steps of a trace slow: a short ranked list, in figures and in words, with its evidence."""

from typing import Any

import pandas as pd

from tfvis_nb.analysis._validate import validate_input
from tfvis_nb.analysis.findings.finding import Finding
from tfvis_nb.analysis.findings.rule import Rule
from tfvis_nb.analysis.findings.rules import RULES
from tfvis_nb.analysis.unavailable import cannot_say, dtypes, why_not
from tfvis_nb.core.trace import Trace
from tfvis_nb.texts import Text

FIGURES = {
    "share": "Fraction of the time of all steps that is lost, from 0 to 1; if several tasks lose time at "
    "once, the largest loss counts.",
    "lost_ns": "share times the time of all steps, in ns.",
}

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
    "id": "str",
    "figures": "object",
}


@validate_input
def findings(trace: Trace) -> pd.DataFrame:
    """Return what made the steps slow, the most costly first; no rows where nothing stands out.

    Communication ranks below a straggler even if its share is larger, because waiting for the straggler is
    communication too.

    Parameters
    ----------
    trace
        Any trace.

    Returns
    -------
    pandas.DataFrame
        ``kind`` (str; ``input``, ``late task``, ``communication``, ``cpu ops``, ``launches``, ``copies``,
        ``compiling`` or ``slow steps``), ``title``, ``text`` and ``advice`` (str), ``share`` (float64) and
        ``lost_ns`` (int64) as in `FIGURES`, and the evidence: ``step`` (int64), ``start_ns`` and ``end_ns``
        (int64 epoch nanoseconds, the range that shows it best) and ``events`` (lists of event ids, the
        longest first). ``id`` (str), such as ``input_bound.first``, stays the same when texts change;
        ``figures`` (dicts) has the numbers and names in the texts. `cannot_say` if no step takes time.

    Examples
    --------
    >>> from tfvis_nb import Trace, events
    >>> columns = {"start_ns": [0, 6_000_000], "duration_ns": [6_000_000, 4_000_000], "kind": ["op"] * 2,
    ...            "op": ["IteratorGetNext", "MatMul"], "device": ["/device:CPU:0"] * 2}
    >>> found = Trace(events.build(columns)).findings
    >>> found[["id", "title", "share"]].values.tolist()
    [['input_bound.one', 'The step waits for input', 0.6]]
    >>> found["figures"][0]["here_ns"]
    6000000
    """
    reason = why_not(trace.breakdown)
    if reason:
        return cannot_say(_COLUMNS, reason)
    total = int(trace.breakdown.drop_duplicates("step")["step_ns"].sum())
    if not total:
        return cannot_say(_COLUMNS, Text("no_step_length"))
    found = [(rule, finding) for rule in RULES.values() for finding in rule.find(trace)]
    largest: dict[str, float] = {}
    for rule, finding in found:
        largest[rule.kind] = max(finding.share, largest.get(rule.kind, 0.0))

    def rank(pair: tuple[Rule, Finding]) -> tuple[float, bool]:
        rule, finding = pair
        return -min(finding.share, largest.get(rule.below, finding.share)), rule.below in largest

    rows = [
        _row(rule, finding, total, is_below=rule.below in largest)
        for rule, finding in sorted(found, key=rank)
    ]
    return pd.DataFrame(rows, columns=list(_COLUMNS)).astype(dtypes(_COLUMNS))


def _row(rule: Rule, finding: Finding, total: int, *, is_below: bool) -> dict[str, Any]:
    figures = finding.figures | ({"is_below": is_below} if rule.below else {})
    row: dict[str, Any] = {"kind": rule.kind, "lost_ns": round(finding.share * total)}
    return row | finding._asdict() | {"figures": figures} | rule.word(finding.id, figures)._asdict()
