"""``tfvis-nb info``: what a trace holds, for people and for machines."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tfvis_nb.analysis.communication.collective_arrivals import late_ranks
from tfvis_nb.cli import verb
from tfvis_nb.cli.traces import ABOUT_TRACES, TRACES, read
from tfvis_nb.core.labels import duration_label, lane_label, one_line, printable

if TYPE_CHECKING:
    import pandas as pd

    from tfvis_nb.core.trace import Trace

_LETTERS = 80
_SIZES = ((10**9, "GB"), (10**6, "MB"), (10**3, "kB"))


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
    "--top",
    metavar="N",
    type=click.IntRange(min=1),
    default=5,
    show_default=True,
    help="Number of rows of each table.",
)
def command(traces: tuple[Path, ...], *, max_unpacked: int | None, as_json: bool, top: int) -> int:
    """Summarize the traces; return the exit code."""
    trace = read(traces, max_unpacked=max_unpacked)
    if as_json:
        # A node may be named by half a surrogate pair, which no output takes but as an escape.
        print(json.dumps(summary(trace), indent=1))  # noqa: T201
    else:
        print("\n".join(lines(trace, top)))  # noqa: T201
    return 0


def summary(trace: Trace) -> dict[str, Any]:
    """Gather what a trace holds: times in ns, sizes in bytes, None for unknown."""
    events = trace.events
    end = int((events["start_ns"] + events["duration_ns"]).max()) if len(events) else 0
    start = int(events["start_ns"].iloc[0]) if len(events) else 0
    devices = events.groupby(["task", "device"], observed=True, sort=False).agg(
        lanes=("lane", "nunique"), events=("start_ns", "size")
    )
    return {
        "title": trace.title,
        "events": len(events),
        "start_ns": start,
        "end_ns": end,
        "steps": _records(trace.steps),
        "tasks": [str(task) for task in events["task"].unique()],
        "devices": _records(devices.reset_index()),
        "lanes": _records(trace.lanes),
        "ops": _records(_ops(events)),
        "transfers": _records(_transfers(trace.transfers)),
        "ranks": _records(late_ranks(trace.arrivals)),
        "notes": trace.notes,
    }


def _ops(events: pd.DataFrame) -> pd.DataFrame:
    """Sum up the op types of each kind, those with the most time first."""
    grouped = events.groupby(["kind", "op"], observed=True)["duration_ns"]
    table = grouped.agg(count="size", total_ns="sum", mean_ns="mean").reset_index()
    return table.sort_values("total_ns", ascending=False, kind="stable")


def _transfers(transfers: pd.DataFrame) -> pd.DataFrame:
    """Sum up what moved from each device to each other."""
    grouped = transfers.groupby(["kind", "source", "destination"], observed=True)
    sums = {name: (name, "sum") for name in ("bytes", "wait_ns", "transfer_ns")}
    table = grouped.agg(count=("event", "size"), **sums).reset_index()
    return table.sort_values("transfer_ns", ascending=False, kind="stable")


def _records(table: pd.DataFrame) -> list[dict[str, Any]]:
    columns = [column.astype(object).where(column.notna(), None).tolist() for _, column in table.items()]
    return [
        {name: _plain(value) for name, value in zip(table.columns, row, strict=True)}
        for row in zip(*columns, strict=True)
    ]


def _plain(value: Any) -> Any:
    """Return a value as JSON has it, which has no NaN."""
    return None if isinstance(value, float) and not math.isfinite(value) else value


def lines(trace: Trace, top: int) -> list[str]:
    """Write the summary for people."""
    facts = summary(trace)
    span = max(facts["end_ns"] - facts["start_ns"], 1)
    out = [one_line(trace)]
    out += _table(
        "steps",
        ("step", "label", "duration", "events"),
        (
            (
                "none" if step["step"] < 0 else str(step["step"]),
                step["label"],
                duration_label(step["duration_ns"]),
                f"{step['events']:,}",
            )
            for step in facts["steps"]
        ),
        top,
    )
    if len(facts["tasks"]) > 1:
        out += _table("tasks", ("task",), ((task or "unnamed",) for task in facts["tasks"]), top)
    out += _table(
        "devices",
        ("device", "lanes", "events"),
        ((row["device"] or "unnamed", f"{row['lanes']}", f"{row['events']:,}") for row in facts["devices"]),
        top,
    )
    busiest = sorted(facts["lanes"], key=lambda lane: -lane["busy_ns"])
    out += _table(
        "busiest lanes",
        ("lane", "kind", "events", "busy", "of the run"),
        (
            (
                lane_label(lane["task"], lane["device"], lane["lane"]),
                lane["kind"],
                f"{lane['events']:,}",
                duration_label(lane["busy_ns"]),
                f"{lane['busy_ns'] / span:.1%}",
            )
            for lane in busiest
        ),
        top,
    )
    for kind in dict.fromkeys(op["kind"] for op in facts["ops"]):
        out += _table(
            f"longest: {kind}",
            ("op", "count", "total", "mean"),
            (
                (
                    op["op"] or "unnamed",
                    f"{op['count']:,}",
                    duration_label(op["total_ns"]),
                    duration_label(op["mean_ns"]),
                )
                for op in facts["ops"]
                if op["kind"] == kind
            ),
            top,
        )
    out += _table(
        "transfers and copies",
        ("kind", "from", "to", "count", "bytes", "waited", "moved"),
        (
            (
                row["kind"],
                row["source"] or "unknown",
                row["destination"] or "unknown",
                f"{row['count']:,}",
                _size(row["bytes"]),
                duration_label(row["wait_ns"] or 0),
                duration_label(row["transfer_ns"] or 0),
            )
            for row in facts["transfers"]
        ),
        top,
    )
    out += _table(
        "ranks, in each step the slowest first",
        ("step", "task", "came last", "others waited for it", "it waited"),
        (
            (
                str(row["step"]),
                row["task"],
                f"{row['last']:,} of {row['collectives']:,}",
                duration_label(row["awaited_ns"]),
                duration_label(row["waited_ns"]),
            )
            for row in facts["ranks"]
        ),
        top,
    )
    if facts["notes"]:
        out += ["", "notes", *(f"  {printable(' '.join(note.split()), 500)}" for note in facts["notes"])]
    return out


def _size(count: int | None) -> str:
    for size, unit in _SIZES:
        if (count or 0) >= size:
            return f"{(count or 0) / size:.3g} {unit}"
    return f"{count or 0} B"


def _table(title: str, head: Sequence[str], rows: Iterable[Sequence[str]], top: int) -> list[str]:
    """Write a table's first rows under its title, and how many more there are; nothing of an empty one."""
    # Texts stand left, figures right.
    cells = [[printable(" ".join(cell.split()), _LETTERS) for cell in row] for row in rows]
    if not cells:
        return []
    shown = cells[:top]
    texts = {"step", "label", "task", "device", "lane", "kind", "op", "from", "to"}
    widths = [max(len(line[place]) for line in [list(head), *shown]) for place in range(len(head))]
    out = ["", title]
    for line in [head, *shown]:
        parts = [
            cell.ljust(width) if name in texts else cell.rjust(width)
            for cell, width, name in zip(line, widths, head, strict=True)
        ]
        out.append("  " + "  ".join(parts).rstrip())
    if len(cells) > top:
        out.append(f"  ({len(cells) - top:,} more; --top {len(cells)} shows all)")
    return out
