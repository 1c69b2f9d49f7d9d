"""Compare the findings of two traces: which are added or removed, and their shares in both."""

import math
from typing import Any

import pandas as pd

from tfvis_nb.analysis._validate import validate_input
from tfvis_nb.analysis.findings.findings import findings
from tfvis_nb.analysis.findings.measurements import measurements
from tfvis_nb.analysis.findings.table import FindingsTable, table_of
from tfvis_nb.analysis.unavailable import NONE, dtypes, why_not
from tfvis_nb.core.format import format_percent
from tfvis_nb.core.trace import Trace
from tfvis_nb.texts import Text

FIGURES: dict[str, str] = {
    "change": "added if only the second has the finding, removed if only the first, otherwise kept.",
    "share_a": "Share of the finding in the first, from 0 to 1. If it is not a finding there, the share that"
    " its cause has, as in measurements. No test covers how much it varies.",
    "share_b": "The same in the second.",
    "reason": "Why the trace without the finding cannot have it, such as no recorded kernels; empty if it"
    " could.",
}

_COLUMNS = {
    "id": "str",
    "title": "str",
    "change": "str",
    "share_a": "float64",
    "share_b": "float64",
    "reason": "object",
}


@validate_input
def compare_findings(a: Trace, b: Trace) -> pd.DataFrame:
    """Return the findings of two traces, and which of them only one has.

    Parameters
    ----------
    a, b
        Two traces.

    Returns
    -------
    pandas.DataFrame
        One row per finding of `b` in the order of its findings, then those that only `a` has: ``id``,
        ``title``, ``change`` (str; ``added``, ``removed`` or ``kept``), ``share_a``, ``share_b`` (float64,
        NaN if unknown) and ``reason`` (str), as in `FIGURES`.

    Examples
    --------
    >>> from tfvis_nb import Trace, events
    >>> from tfvis_nb.analysis import compare_findings
    >>> def step(input_ns):
    ...     columns = {"start_ns": [0, input_ns], "duration_ns": [input_ns, 6_000_000], "kind": ["op"] * 2,
    ...                "op": ["IteratorGetNext", "MatMul"], "device": ["/device:CPU:0"] * 2}
    ...     return Trace(events.build(columns))
    >>> result = compare_findings(step(120_000), step(4_000_000))
    >>> result[["id", "change", "share_a", "share_b"]].round(2).values.tolist()
    [['input_bound.one', 'added', 0.02, 0.4], ['host_compute', 'kept', 0.98, 0.6]]
    """
    first, second = findings(a), findings(b)
    keyed = {_key(row, first): row for row in first.to_dict("records")}
    rows: list[dict[Any, Any]] = []
    for row in second.to_dict("records"):
        other = keyed.pop(_key(row, second), None)
        if other is None:
            share, reason = _measured(a, row["id"])
            rows.append(_row(row, "added", share, row["share"], reason))
        else:
            rows.append(_row(row, "kept", other["share"], row["share"], NONE))
    for row in keyed.values():
        share, reason = _measured(b, row["id"])
        rows.append(_row(row, "removed", row["share"], share, reason))
    return pd.DataFrame(rows, columns=list(_COLUMNS)).astype(dtypes(_COLUMNS))


def findings_against(trace: Trace, base: Trace | None) -> tuple[FindingsTable, list[Text]]:
    """Return the findings, with a sentence about the base at the end of their texts, and those removed.

    >>> from tfvis_nb import events
    >>> trace = Trace(events.build({"start_ns": [0], "duration_ns": [9], "kind": ["op"]}))
    >>> table, removed = findings_against(trace, trace)
    >>> len(table), removed
    (0, [])
    """
    table = findings(trace)
    if base is None:
        return table, []
    changes = compare_findings(base, trace)
    texts = [_text(row) for row in changes.to_dict("records")]
    added = zip(table["text"], texts, strict=False)
    return table_of(table.assign(text=[f"{text} {words}" for text, words in added])), texts[len(table) :]


def _text(row: dict[Any, Any]) -> Text:
    """Return a sentence about the base for a finding, or a removed finding with both shares."""
    if row["change"] == "removed":
        known = {} if math.isnan(row["share_a"]) else {"share": format_percent(row["share_a"])}
        here = Text("finding_gone")
        if not math.isnan(row["share_b"]):
            here = Text("finding_share_here", share=format_percent(row["share_b"]))
        elif row["reason"]:
            here = Text("finding_unknown_here", reason=row["reason"])
        key = "finding_removed" if known else "finding_removed_unmeasured"
        return Text(key, title=row["title"], here=here, **known)
    if row["reason"]:
        return Text("finding_unknown", reason=row["reason"])
    is_kept = row["change"] == "kept"
    if math.isnan(row["share_a"]):
        return Text("finding_kept_unmeasured" if is_kept else "finding_added_unmeasured")
    return Text("finding_kept" if is_kept else "finding_added", share=format_percent(row["share_a"]))


def _key(row: dict[Any, Any], table: pd.DataFrame) -> tuple[str, str]:
    """Identify a finding by its id; several of one id by their titles."""
    return row["id"], row["title"] if (table["id"] == row["id"]).sum() > 1 else ""


def _row(finding: dict[Any, Any], change: str, a: float, b: float, reason: Text) -> dict[Any, Any]:
    shares = {"share_a": a, "share_b": b, "reason": reason}
    return {"id": finding["id"], "title": finding["title"], "change": change} | shares


def _measured(trace: Trace, finding: str) -> tuple[float, Text]:
    """Return the share of the cause of a finding where it is not reported, and why it is unknown."""
    table = measurements(trace)
    if why_not(table):
        return math.nan, why_not(table)
    figures = table[table["id"] == finding.partition(".")[0]]
    if figures.empty:
        return math.nan, NONE
    share = float(figures["share"].iloc[0])
    reason = figures["figures"].iloc[0].get("reason", NONE) if math.isnan(share) else NONE
    return share, reason or NONE
