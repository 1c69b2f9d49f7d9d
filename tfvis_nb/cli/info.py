"""``tfvis-nb info``: show the content of a trace, for people or as JSON."""

import json
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import click
import pandas as pd

from tfvis_nb.analysis.communication.collective_waits import late_ranks
from tfvis_nb.analysis.communication.transfer_matrix import transfer_matrix
from tfvis_nb.analysis.findings.table import NOTHING, findings_lines
from tfvis_nb.analysis.gates.gate_metrics import gate_metrics
from tfvis_nb.analysis.overview.compare_findings import findings_against
from tfvis_nb.analysis.overview.overview import Overview, overview
from tfvis_nb.analysis.steps.comparison_headline import comparison_headline
from tfvis_nb.analysis.steps.op_statistics import op_statistics
from tfvis_nb.analysis.unavailable import why_not
from tfvis_nb.cli.traces import ABOUT_TRACES, SOURCE, TRACES, Source, read
from tfvis_nb.cli.verb import verb
from tfvis_nb.core.format import format_bytes, format_duration, format_percent
from tfvis_nb.core.labels import NO_NAME, NO_OP, lane_label, one_line, printable
from tfvis_nb.core.note_order import most_important_first
from tfvis_nb.core.trace import Trace
from tfvis_nb.events import NO_STEP

_Cell = Callable[[dict[str, Any]], str]
_Columns = Mapping[str, _Cell]

SCHEMA_VERSION = 1
"""Version of the JSON; it increases when a field changes or is removed."""

_LETTERS = 80
_LONGEST = 1000


_EXAMPLES = """
tfvis-nb info step.pb
tfvis-nb info logs/ --json | jq '.lanes[] | select(.kind == "kernel")'
"""


@verb("info", ABOUT_TRACES, _EXAMPLES)
@TRACES
@click.option(
    "--json", "as_json", is_flag=True, help="Write JSON with all rows, times in ns, sizes in bytes."
)
@click.option(
    "--markdown", is_flag=True, help="Write a report of at most 1,000 words, as for a pull request."
)
@click.option("--against", metavar="BASE", type=SOURCE, help="A trace to compare with.")
@click.option(
    "--top",
    metavar="N",
    type=click.IntRange(min=1),
    default=5,
    show_default=True,
    help="Number of rows of each table.",
)
def command(
    traces: tuple[Source, ...],
    *,
    max_unpacked: int | None,
    as_json: bool,
    markdown: bool,
    against: Source | None,
    top: int,
) -> int:
    """Summarize the traces; return the exit code."""
    trace = read(traces, max_unpacked=max_unpacked)
    base = None if against is None else read([against], max_unpacked=max_unpacked)
    if markdown:
        print(trace.report(against=base), end="")  # noqa: T201
        return 0
    if as_json:
        # A node's name may hold half a surrogate pair, which can only be written as an escape.
        print(json.dumps(summary(trace, base), indent=1))  # noqa: T201
    else:
        print("\n".join(lines(trace, top, base)))  # noqa: T201
    return 0


def summary(trace: Trace, base: Trace | None = None) -> dict[str, Any]:
    """Gather the content of a trace: times in ns, sizes in bytes, None for unknown."""
    events = trace.events
    end = int((events["start_ns"] + events["duration_ns"]).max()) if len(events) else 0
    start = int(events["start_ns"].iloc[0]) if len(events) else 0
    devices = events.groupby(["task", "device"], observed=True, sort=False).agg(
        lanes=("lane", "nunique"), events=("start_ns", "size")
    )
    findings, removed = findings_against(trace, base)
    return {
        "schema_version": SCHEMA_VERSION,
        "title": trace.title,
        "overview": {name: value for name, value in _overview(trace, base).items() if name != "notes"},
        "comparison": None if base is None else list(map(str, comparison_headline(base, trace))),
        "findings": _records(findings),
        "findings_of_base": None if base is None else removed,
        "findings_reason": why_not(findings) or None,
        "metrics": _records(gate_metrics(trace)),
        "events": len(events),
        "start_ns": start,
        "end_ns": end,
        "steps": _records(trace.steps),
        "tasks": [str(task) for task in events["task"].unique()],
        "devices": _records(devices.reset_index()),
        "lanes": _records(trace.lanes),
        "ops": _records(_ops(trace)),
        "transfers": _records(transfer_matrix(trace).drop(columns="largest")),
        "ranks": _records(late_ranks(trace)),
        "notes": most_important_first(trace.notes),
    }


def _ops(trace: Trace) -> pd.DataFrame:
    """Sum up the op types of each kind, those with the most self time first."""
    table = op_statistics(trace)[["kind", "side", "op", "count", "self_ns", "total_ns", "mean_ns"]]
    return table.sort_values(["self_ns", "total_ns"], ascending=False, kind="stable", na_position="last")


def _records(table: pd.DataFrame) -> list[dict[str, Any]]:
    columns = [column.astype(object).where(column.notna(), None).tolist() for _, column in table.items()]
    return [
        {name: _plain(value) for name, value in zip(table.columns, row, strict=True)}
        for row in zip(*columns, strict=True)
    ]


def _plain(value: Any) -> Any:
    """Return a value as JSON can hold it: NaN becomes None."""
    if isinstance(value, dict):
        return {name: _plain(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def lines(trace: Trace, top: int, base: Trace | None = None) -> list[str]:
    """Write the summary for people, `top` rows of each table."""
    facts = summary(trace, base)
    run_ns = max(facts["end_ns"] - facts["start_ns"], 1)
    busiest = sorted(facts["lanes"], key=lambda lane: -lane["busy_ns"])
    undivided = facts["overview"]["undivided"]
    ranks = {name: cell for name, cell in _RANKS.items() if name != "step" or not undivided}
    tables = [
        ("steps", _STEPS, [] if undivided else _steps(facts)),
        ("tasks", _TASKS, [{"task": task} for task in facts["tasks"] if len(facts["tasks"]) > 1]),
        ("devices", _DEVICES, facts["devices"]),
        ("busiest lanes", _LANES, [lane | {"share": lane["busy_ns"] / run_ns} for lane in busiest]),
    ]
    # Many received tensors wait at the same time: the table of transfers counts that time once.
    ops = [op for op in facts["ops"] if op["side"] != "network"]
    tables += [
        (f"ops by self time: {kind}", _OPS, [op for op in ops if op["kind"] == kind])
        for kind in dict.fromkeys(op["kind"] for op in ops)
    ]
    tables += [
        ("transfers and copies", _TRANSFERS, facts["transfers"]),
        (f"ranks, {'' if undivided else 'in each step '}the slowest first", ranks, facts["ranks"]),
    ]
    compared = (
        [f"Compared with {base.title or 'the base'} (A): {' '.join(facts['comparison'])}", ""] if base else []
    )
    overview = [*compared, *str(_overview(trace, base)).splitlines()]
    out = [one_line(trace), "", *_printable(overview), *_findings(trace, top, base)]
    for title, columns, rows in tables:
        out += _table(title, columns, rows, top)
    if facts["notes"]:
        out += ["", "notes", *(f"  {printable(' '.join(note.split()), 500)}" for note in facts["notes"])]
    return out


def _steps(facts: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the steps; the row of events outside steps gets the time outside steps, not their span."""
    outside = facts["overview"]["outside"]
    return [
        row | {"duration_ns": outside["outside_ns"]} if row["step"] == NO_STEP and outside else row
        for row in facts["steps"]
    ]


def _overview(trace: Trace, base: Trace | None) -> Overview:
    return trace.overview if base is None else overview(trace, base)


def _findings(trace: Trace, top: int, base: Trace | None) -> list[str]:
    """Write the first findings in full, the number of the others, and those that only a base has."""
    findings, removed = findings_against(trace, base)
    if reason := why_not(findings):
        return ["", f"findings are not available: {reason}"]
    out = ["", "findings", *(f"  {line}" for line in findings_lines(findings.head(top)))]
    if findings.empty:
        out = ["", NOTHING]
    if len(findings) > top:
        out.append(f"  ({len(findings) - top:,} more; --top {len(findings)} shows all)")
    if removed:
        out += ["", "findings of the base only", *(f"  {printable(text, _LONGEST)}" for text in removed)]
    return out


def _printable(texts: Sequence[str]) -> list[str]:
    return [printable(text, _LONGEST) for text in texts]


def _text(name: str, missing: str = "") -> _Cell:
    return lambda row: row[name] or missing


def _count(name: str) -> _Cell:
    return lambda row: f"{row[name]:,}"


def _duration(name: str) -> _Cell:
    return lambda row: "" if row[name] is None else format_duration(row[name])


# Tables for people: the head of each column, and its cell for a row of `summary`.
_STEPS: _Columns = {
    "step": lambda row: "outside" if row["step"] == NO_STEP else str(row["step"]),
    "label": _text("label"),
    "duration": _duration("duration_ns"),
    "events": _count("events"),
}
_TASKS: _Columns = {"task": _text("task", "local")}
_DEVICES: _Columns = {
    "device": _text("device", NO_NAME),
    "lanes": lambda row: str(row["lanes"]),
    "events": _count("events"),
}
_LANES: _Columns = {
    "lane": lambda row: lane_label(row["task"], row["device"], row["lane"]),
    "kind": _text("kind"),
    "events": _count("events"),
    "busy": _duration("busy_ns"),
    "of the run": lambda row: format_percent(row["share"]),
}
_OPS: _Columns = {
    "op": _text("op", NO_OP),
    "count": _count("count"),
    "self": _duration("self_ns"),
    "total": _duration("total_ns"),
    "mean": _duration("mean_ns"),
}
_TRANSFERS: _Columns = {
    "kind": _text("kind"),
    "from": _text("source", "unknown"),
    "to": _text("destination", "unknown"),
    "count": _count("count"),
    "bytes": lambda row: "" if row["bytes"] is None else format_bytes(row["bytes"]),
    "any moving": _duration("busy_ns"),
    "any waiting": _duration("wait_ns"),
    "mean wait": _duration("mean_wait_ns"),
}
_RANKS: _Columns = {
    "step": lambda row: str(row["step"]),
    "task": _text("task"),
    "came last": lambda row: f"{row['last']:,} of {row['collectives']:,}",
    "others waited for it": _duration("sole_wait_ns"),
    "it waited": _duration("waited_ns"),
}
_LEFT_ALIGNED = {"step", "label", "task", "device", "lane", "kind", "op", "from", "to"}


def _table(title: str, columns: _Columns, rows: Sequence[dict[str, Any]], top: int) -> list[str]:
    """Write a table's first rows under its title, and the number of the others; nothing if it is empty."""
    if not rows:
        return []
    cells = [
        [printable(" ".join(cell(row).split()), _LETTERS) for cell in columns.values()] for row in rows[:top]
    ]
    table = [list(columns), *cells]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    out = ["", title]
    for line in table:
        parts = [
            cell.ljust(width) if name in _LEFT_ALIGNED else cell.rjust(width)
            for cell, width, name in zip(line, widths, columns, strict=True)
        ]
        out.append("  " + "  ".join(parts).rstrip())
    if len(rows) > top:
        out.append(f"  ({len(rows) - top:,} more; --top {len(rows)} shows all)")
    return out
