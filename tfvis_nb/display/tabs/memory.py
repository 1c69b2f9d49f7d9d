"""The tab of memory: allocated bytes over time, and buffers at the peak."""

import numpy as np
import pandas as pd

from tfvis_nb.analysis.memory import (
    buffer_origins,
    device_memory,
    memory_breakdown,
    memory_usage,
    out_of_memory,
    tensor_lifetimes,
)
from tfvis_nb.analysis.programs import program_memory
from tfvis_nb.analysis.unavailable import why_not
from tfvis_nb.core.labels import printable
from tfvis_nb.core.metadata import DEVICE_MEMORY
from tfvis_nb.core.trace import Trace
from tfvis_nb.display.tabs.against import with_exact_changes
from tfvis_nb.display.tabs.blocks import (
    LONGEST_TEXT,
    MOST_ROWS,
    Block,
    Figure,
    FlameBlock,
    TableBlock,
    TableColumn,
    chart,
    figures,
    key,
    step_key,
    table,
)
from tfvis_nb.display.tabs.wording import named, unnumbered
from tfvis_nb.display.tabs.zoom_targets import ZoomTargets
from tfvis_nb.events import NO_STEP
from tfvis_nb.texts import Text

_KINDS = {
    "parameter": "Parameters",
    "constant": "Constants",
    "output": "Outputs",
    "temporary": "Temporaries",
}
_TOTALS = (
    TableColumn("total", "Total", "bytes", "What the program needs at its peak, without gaps."),
    *(TableColumn(kind, label, "bytes", f"Bytes of {label.lower()}.") for kind, label in _KINDS.items()),
)

_ALLOCATOR = TableColumn(
    "allocator",
    "Allocator",
    "text",
    f"The allocator of a GPU or of the host. (estimated): {tensor_lifetimes.FIGURES['estimated']}",
)

_ORIGINS: tuple[tuple[memory_breakdown.By, str], ...] = (("layer", "Layer"), ("line", "Line"))
_MOST_LIVE = 20
_MOST_FRAMES = 800
"""Smaller frames of a flame graph count as part of their parent."""
_ASKED = (
    TableColumn("node", "Node", "name", "The node that asked for memory; empty for an eager op."),
    key("op", "Op"),
    *figures(
        out_of_memory.FIGURES,
        ("requested_bytes", "Requested", "bytes"),
        ("free_bytes", "Free", "bytes"),
        ("largest_free_bytes", "Largest free block", "bytes"),
    ),
    TableColumn("shape", "Tensor", "text", "Type and shape of the tensor that the memory was for."),
    TableColumn("at", "Line", "text", buffer_origins.ORIGINS["line"]),
    *figures(
        out_of_memory.FIGURES,
        ("layer", "Layer", "text"),
        ("fitting_rows", "Rows that fit", "count"),
        ("in_use_bytes", "In use", "bytes"),
        ("fragmentation", "Fragmentation", "share"),
    ),
    _ALLOCATOR,
)


def why_none(trace: Trace) -> str:
    """Return why there is nothing to show; empty if there is."""
    peaks = memory_usage.memory_peaks(trace)
    if why_not(trace.out_of_memory) and why_not(trace.program_memory) and DEVICE_MEMORY not in trace.metadata:
        return why_not(peaks)
    return ""


def blocks(trace: Trace, against: Trace | None = None) -> list[Block]:
    """Return the curve, the peaks, the buffers alive at the peaks, and those of compiled programs."""
    return [
        *_failure(trace),
        *_profile(trace, against),
        chart(trace, "memory", memory_usage.FIGURES["bytes"]),
        _peaks(trace, against),
        _use(trace, "op", key("op", "Op", "name"), against),
        *(
            _use(trace, by, column, against)
            for by, label in _ORIGINS
            for column in figures(buffer_origins.ORIGINS, (by, label, "name"))
        ),
        _buffers(trace),
        *_program_tables(trace, against),
    ]


def _marked(rows: pd.DataFrame) -> pd.DataFrame:
    """Return rows with allocators whose times are estimated marked as such."""
    names = rows["allocator"].astype(str)
    return rows.assign(allocator=names.where(~rows["estimated"], names + " (estimated)"))


def _failure(trace: Trace) -> list[Block]:
    """Return the failed allocation, if any, and the largest buffers allocated at that time."""
    failed, live = trace.out_of_memory, out_of_memory.live_at_failure(trace)
    if why_not(failed):
        return []
    targets = ZoomTargets(trace) if len(trace.events) else None
    lines = zip(failed["file"], failed["line"], strict=True)
    rows = failed.assign(
        at=[f"{file}:{line}" if file else "" for file, line in lines],
        shape=failed["dtype"] + " " + failed["shape"],
    )
    # An eager op has no node, and not every op a layer.
    columns = [
        column for column in _ASKED if column.unit != "text" or (rows[column.name].str.strip() != "").any()
    ]
    largest = live.head(_MOST_LIVE)
    unnamed = np.where(largest["event"] < 0, "(not recorded)", "(unknown tensor)")
    largest = largest.assign(name=largest["name"].where(largest["name"] != "", unnamed))
    return [
        table(
            "Out of memory",
            rows,
            columns,
            definition="The allocation that failed, which ended the recording.",
            zoom=targets.of_events(failed["event"]) if targets else [],
        ),
        table(
            "Live when memory ran out",
            largest,
            [
                key("name", "Tensor", "name"),
                *figures(
                    out_of_memory.FIGURES,
                    ("bytes", "Size", "bytes"),
                    ("requested_bytes", "Requested", "bytes"),
                    ("share", "Share", "share"),
                    ("line", "Line", "text"),
                    ("layer", "Layer", "text"),
                    ("sharding", "Sharding", "text") if (live["sharding"] != "").any() else None,
                ),
                key("op", "Op"),
            ],
            definition="The largest buffers of that allocator that are known to be allocated then. For a"
            " plain CPU allocator, which records none: the variables and eager tensors of the program. For"
            " JAX: its arrays, and what the failed program needs.",
            zoom=targets.of_events(largest["event"]) if targets else [],
            light="name",
            reason=why_not(live),
            row_count=len(live),
            order="largest",
        ),
    ]


def _profile(trace: Trace, against: Trace | None) -> list[Block]:
    """Return the lines that made the buffers of a device memory profile, if one was read."""
    rows = _made(trace)
    if rows is None:
        return []
    rows, change = with_exact_changes(
        rows, None if against is None else _made(against), ["line", "frame"], "self_bytes", "Bytes"
    )
    return [
        _flame(device_memory.device_memory(trace)),
        table(
            "Device memory by line",
            rows.sort_values("self_bytes", ascending=False, kind="stable"),
            [
                TableColumn("line", "Line", "name", "The innermost line of your own code that made them."),
                TableColumn("frame", "Kind", "text", "Buffers or programs, and the device that holds them."),
                *figures(device_memory.FIGURES, ("self_bytes", "Bytes", "bytes")),
                *change,
                *figures(device_memory.FIGURES, ("buffers", "Buffers", "count")),
            ],
            definition="The buffers of the device memory profile by the line that made them.",
            bar="self_bytes",
            order="largest",
        ),
    ]


def _flame(tree: pd.DataFrame) -> FlameBlock:
    """Return the largest frames of a device memory profile; smaller ones count as part of their parent."""
    total, parent = (tree[name].to_numpy(np.int64) for name in ("total_bytes", "parent"))
    least = np.sort(total)[-_MOST_FRAMES] if len(total) > _MOST_FRAMES else -1
    kept = np.append(True, total[1:] > least)
    shown_in = np.where(kept, np.arange(len(total)), parent)
    while not kept[shown_in].all():
        shown_in = shown_in[shown_in]
    number, shown = np.cumsum(kept) - 1, np.flatnonzero(kept)
    own = np.zeros(len(shown), np.int64)
    np.add.at(own, number[shown_in], tree["self_bytes"].to_numpy(np.int64))
    frames = np.flatnonzero(own).tolist()
    return {
        "kind": "flame",
        "title": "Device memory",
        "definition": "Bytes of buffers: each frame is as wide as its own buffers and all frames in it.",
        "cannot_say": "",
        "graphs": [
            {
                "by": "stack",
                "side": "memory",
                "cannot_say": "",
                "labels": [printable(text, LONGEST_TEXT) for text in tree["frame"].take(shown)],
                "parents": [-1, *number[parent[shown[1:]]].tolist()],
                "colours": [""] * len(shown),
                "parts": [
                    {
                        "step": None,
                        "frames": frames,
                        "self_ns": own[frames].tolist(),
                        "events": [[] for _ in frames],
                    }
                ],
            }
        ],
    }


def _made(trace: Trace) -> pd.DataFrame | None:
    """Return the bytes of a device memory profile by innermost line and kind."""
    tree = device_memory.device_memory(trace)
    if why_not(tree):
        return None
    own = tree[tree["self_bytes"] > 0]
    line = tree["frame"].take(own["parent"].to_numpy()).to_numpy()
    return own.assign(line=line).groupby(["line", "frame"], as_index=False)[["self_bytes", "buffers"]].sum()


def _peaks(trace: Trace, against: Trace | None) -> TableBlock:
    peaks = memory_usage.memory_peaks(trace)
    before = None if against is None else memory_usage.memory_peaks(against)
    peaks, change = with_exact_changes(peaks, before, ["task", "allocator"], "peak_bytes", "Peak")
    columns = [
        _ALLOCATOR,
        # In a profile a curve spans all steps; its peak lies in one.
        *(figures(memory_usage.FIGURES, ("at_step", "Step", "step")) if step_key(trace) else ()),
        key("task", "Task"),
        *figures(
            memory_usage.FIGURES,
            ("peak_bytes", "Peak", "bytes"),
        ),
        *change,
        *figures(
            memory_usage.FIGURES,
            ("at_ns", "At", "time"),
            ("alive", "Live buffers", "count"),
            ("requested_share", "Requested", "share"),
            ("free_bytes", "Free", "bytes"),
            ("fragmentation", "Fragmentation", "share"),
            ("in_use_bytes", "Allocator-reported", "bytes"),
        ),
    ]
    rows = peaks.sort_values("peak_bytes", ascending=False, kind="stable")
    zoom = []
    if not why_not(peaks):
        targets = ZoomTargets(trace)
        zoom = targets.of_steps(rows["at_step"].fillna(rows["step"]).astype("int64").head(MOST_ROWS))
        rows = rows.assign(at_ns=rows["at_ns"] - targets.origin)
    block = table("Peaks", _marked(named(rows)), columns, zoom=zoom, reason=why_not(peaks), order="largest")
    if not why_not(peaks):
        # Profiles have it as a share of the allocator's memory, but not the size of that memory.
        block["absent"].append("Largest free block")
    return block


def _use(trace: Trace, by: memory_breakdown.By, column: TableColumn, against: Trace | None) -> TableBlock:
    """Return the use of memory at the highest peak of each allocator."""
    parts = memory_breakdown.memory_breakdown(trace, by)
    before = None if against is None else _at_highest_peaks(against, by)
    parts, change = with_exact_changes(parts, before, ["task", "allocator", by], "bytes", "Bytes")
    columns = [
        column,
        _ALLOCATOR,
        *figures(
            memory_breakdown.FIGURES,
            ("bytes", "Bytes", "bytes"),
        ),
        *change,
        *figures(
            memory_breakdown.FIGURES,
            ("share", "Share", "share"),
            ("count", "Buffers", "count"),
        ),
    ]
    rows, reason = parts, why_not(parts)
    if by == "layer" and not reason and not (parts[by] != "").any():
        reason = Text("no_scopes")
    if not reason:
        rows = _marked(_at_highest(trace, parts)).sort_values("bytes", ascending=False, kind="stable")
        rows = rows.assign(**{by: rows[by].astype(str).replace("", f"(no {by})")})
    return table(
        f"Peak memory by {by}",
        parts.head(0) if reason else rows,
        columns,
        definition="Use of each allocator's memory at its highest peak.",
        light=by if by == "op" else None,
        reason=reason,
        order="largest",
    )


def _at_highest_peaks(trace: Trace, by: memory_breakdown.By) -> pd.DataFrame:
    parts = memory_breakdown.memory_breakdown(trace, by)
    return parts if why_not(parts) else _at_highest(trace, parts)


def _at_highest(trace: Trace, parts: pd.DataFrame) -> pd.DataFrame:
    """Return the parts of the highest peak of each allocator."""
    peaks = memory_usage.memory_peaks(trace)
    where = ["step", "task", "allocator"]
    highest = peaks.sort_values("peak_bytes", ascending=False).drop_duplicates(where[1:])
    return parts.merge(highest[[*where, "estimated"]], on=where)


def _buffers(trace: Trace) -> TableBlock:
    """Return the buffers alive at any of the peaks, the largest first."""
    buffers = trace.lifetimes
    peaks = memory_usage.memory_peaks(trace)
    reason = why_not(buffers) or why_not(peaks)
    rows, zoom, origins, steps = buffers, [], [], step_key(trace)
    if not reason:
        alive = memory_usage.alive_at_peak(buffers, peaks) >= 0
        rows = buffers[alive].sort_values("bytes", ascending=False, kind="stable")
        targets = ZoomTargets(trace)
        first = rows.head(MOST_ROWS)
        zoom = targets.of_ranges(
            first["alloc_ns"].to_numpy(), first["free_ns"].to_numpy(np.int64, na_value=0)
        )
        rows = rows.assign(
            alloc_ns=rows["alloc_ns"] - targets.origin, **buffer_origins.buffer_origins(trace, rows)
        )
        # Buffers in a profile do not belong to steps.
        steps = steps if (rows["step"] != NO_STEP).any() else []
        origins = [(name, label, "text") for name, label in _ORIGINS if (rows[name] != "").any()]
    columns = [
        key("name", "Tensor", "name"),
        key("op", "Op"),
        *figures(buffer_origins.ORIGINS, *origins),
        _ALLOCATOR,
        *steps,
        *figures(
            tensor_lifetimes.FIGURES,
            ("bytes", "Size", "bytes"),
            ("requested_bytes", "Requested", "bytes"),
            ("role", "Role", "text"),
            ("alloc_ns", "Allocated", "time"),
            ("lifetime_ns", "Lifetime", "ns"),
        ),
    ]
    return table(
        "Live at peak",
        _marked(rows),
        columns,
        definition="Buffers alive at the peak of their allocator in their step.",
        zoom=zoom,
        light="name",
        reason=reason,
        order="largest",
    )


def _program_tables(trace: Trace, against: Trace | None) -> list[TableBlock]:
    """Return the tables of programs and buffers, if a compiled program has its buffer assignment."""
    parts = trace.program_memory
    if why_not(parts):
        return []
    # Memory other than the main memory of the device has its own size.
    space: Figure | None = ("memory_space", "Memory space", "number") if parts["memory_space"].any() else None
    columns = figures(
        program_memory.FIGURES,
        ("hlo_op", "Instruction", "name"),
        ("kind", "Kind", "text"),
        ("bytes", "Size", "bytes"),
        space,
        ("op_name", "Op", "text"),
        ("program", "Program", "text"),
        ("shape", "Shape", "text"),
    )
    shown = parts.head(MOST_ROWS)
    before = None if against is None or why_not(against.program_memory) else _totals(against.program_memory)
    totals, change = with_exact_changes(
        _totals(parts), before, ["unnumbered", "memory_space"], "total", "Total"
    )
    return [
        table(
            "Memory of compiled programs",
            totals,
            [
                *figures(program_memory.FIGURES, ("program", "Program", "name"), space),
                *_TOTALS[:1],
                *change,
                *_TOTALS[1:],
            ],
            definition="Bytes of the buffers below. Programs share buffers if the output of one is the"
            " parameter of another, so their totals do not add up.",
            bar="total",
            order="largest",
        ),
        table(
            "Buffers of compiled programs",
            parts,
            columns,
            definition="Buffers alive when a program needs most memory, as XLA assigned them when it compiled"
            " the program. Those with grey bars are alive as long as it runs.",
            bar="bytes",
            colours=["device_compute" if one == "temporary" else "idle" for one in shown["kind"]],
        ),
    ]


def _totals(parts: pd.DataFrame) -> pd.DataFrame:
    where = ["program", "memory_space"]
    sums = parts.pivot_table(index=where, columns="kind", values="bytes", aggfunc="sum", fill_value=0)
    sums = sums.reindex(columns=[*_KINDS], fill_value=0)
    sums = sums.assign(total=sums.sum(axis=1)).sort_values("total", ascending=False, kind="stable")
    return sums.reset_index().assign(unnumbered=lambda rows: unnumbered(rows["program"]))
