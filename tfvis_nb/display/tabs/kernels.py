"""Kernels of GPUs and instructions of compiled programs: times, and how close they come to the peak."""

from collections.abc import Mapping

import numpy as np
import pandas as pd

from tfvis_nb.analysis.hardware import roofline
from tfvis_nb.analysis.hardware.kernel_runs import kernel_runs
from tfvis_nb.analysis.hardware.kernels import FIGURES as KERNEL_FIGURES
from tfvis_nb.analysis.programs import hlo_ops
from tfvis_nb.analysis.unavailable import why_not
from tfvis_nb.core.row_numbers import number_rows
from tfvis_nb.core.trace import Trace
from tfvis_nb.display.tabs.against import with_group_changes
from tfvis_nb.display.tabs.blocks import MOST_ROWS, Block, Figure, chart, figures, table
from tfvis_nb.display.tabs.wording import unnumbered
from tfvis_nb.display.tabs.zoom_targets import ZoomTargets

_ROOFLINE = (
    "Each point is an instruction of a compiled program or a node; its area is the self time. Lines are what"
    " the device computes at most, at the left as much as its memory allows. Without lines the trace does not"
    " have these rates: trace.charts.roofline(peak_flops=..., memory_bandwidth=...). Click a point to select"
    " its events."
)

_KERNELS = (
    "A click selects its runs. trace.kernels also has registers, shared memory, grid and block. Limits"
    " and waves need the model of the GPU, which only profiles have; operations need the shapes of tensors,"
    " which RunMetadata and profiles recorded with shapes=True have."
)

_LIMITS: Mapping[str, Figure] = {
    "bound": ("bound", "Limited by", "text"),
    "efficiency": ("efficiency", "Efficiency", "share"),
}


def why_none(trace: Trace) -> str:
    """Return why there is nothing to show; empty if there is."""
    if why_not(trace.hlo_ops) and why_not(trace.roofline):
        return why_not(trace.kernels)
    return ""


def blocks(trace: Trace, against: Trace | None = None) -> list[Block]:
    """Return the tables of kernels and instructions, and the chart of their rates."""
    return [*_kernels(trace, against), *_instructions(trace, against), *_roofline(trace)]


def _kernels(trace: Trace, against: Trace | None) -> list[Block]:
    """Return the table of kernels, if there are any."""
    kernels = trace.kernels
    if why_not(kernels):
        return []
    kernels = kernels.assign(tensor_cores=kernels["tensor_cores"].map({True: "yes", False: "no"}))
    kernels, change = with_group_changes(kernels, trace, against, ["name", "op"], _times)
    columns = figures(
        KERNEL_FIGURES,
        ("name", "Kernel", "name"),
        ("op", "Op", "name"),
        ("total_ns", "Total", "ns"),
    )
    columns += change
    columns += figures(
        KERNEL_FIGURES,
        ("share", "% of GPU time", "share"),
        ("count", "Count", "count"),
        ("mean_ns", "Mean", "ns"),
        ("occupancy", "Occupancy", "share"),
        ("limited_by", "Limited by", "text"),
        ("waves", "Waves", "ratio"),
        ("tensor_cores", "Tensor Cores", "text"),
        ("flop_rate", "Operations a second", "operations/s"),
    )
    rows = kernels.head(MOST_ROWS)
    return [
        table(
            "By kernel",
            rows,
            columns,
            definition=_KERNELS,
            zoom=ZoomTargets(trace).of_device_events(rows["longest"], _runs(trace)),
            light="op",
            bar="total_ns",
            colours=["device_compute"] * len(rows),
            row_count=len(kernels),
            order="longest",
        )
    ]


def _times(trace: Trace) -> pd.DataFrame:
    """Return kernel, op, step and time of each run."""
    runs = kernel_runs(trace)
    step = trace.events["step"].to_numpy()[runs["event"]]
    return runs[["name", "op"]].assign(step=step, amount=runs["duration_ns"])


def _runs(trace: Trace) -> np.ndarray:
    """Return the number of the kernel that each event is a run of."""
    return number_rows(*(trace.events[column] for column in ("name", "op", "kind")))[0]


def _instructions(trace: Trace, against: Trace | None) -> list[Block]:
    """Return the table of instructions, if events ran any."""
    instructions = trace.hlo_ops
    if why_not(instructions):
        return []
    keys = ["program", "hlo_op"]
    instructions = instructions.merge(trace.roofline[[*keys, *_LIMITS]], on=keys, how="left")
    instructions = instructions.assign(unnumbered=unnumbered(instructions["program"]))
    keys = ["unnumbered", "hlo_op"]
    instructions, change = with_group_changes(instructions, trace, against, keys, _self_times)
    columns = figures(
        hlo_ops.FIGURES,
        ("hlo_op", "Instruction", "name"),
        ("category", "Category", "text"),
        ("self_ns", "Self", "ns"),
    )
    columns += change
    columns += figures(
        hlo_ops.FIGURES | roofline.FIGURES,
        ("share", "% of time", "share"),
        ("count", "Count", "count"),
        ("flops", "Operations", "operations"),
        ("bytes_accessed", "Bytes", "bytes"),
        *_LIMITS.values(),
        ("source", "Line", "text"),
        ("op_name", "Op", "text"),
        ("program", "Program", "text"),
    )
    rows = instructions.head(MOST_ROWS)
    # The folder of the file would hide the line.
    rows = rows.assign(source=rows["source"].str.rpartition("/")[2])
    return [
        table(
            "By instruction of compiled programs",
            rows,
            columns,
            definition="Operations and bytes are those of one run. A click shows the longest run. Efficiency:"
            " the least time that the device needs / self time.",
            zoom=ZoomTargets(trace).of_events(rows["longest"]),
            bar="self_ns",
            colours=["device_compute"] * len(rows),
            row_count=len(instructions),
            order="longest",
        )
    ]


def _self_times(trace: Trace) -> pd.DataFrame:
    """Return program, instruction, step and self time of each run."""
    runs = hlo_ops.instruction_runs(trace)
    return runs.assign(unnumbered=unnumbered(runs["program"])).rename(columns={"self_ns": "amount"})


def _roofline(trace: Trace) -> list[Block]:
    """Return the chart of the rates of ops, if they are known or the trace has kernels."""
    block = chart(trace, "roofline", _ROOFLINE)
    return [] if block["cannot_say"] and why_not(trace.kernels) else [block | {"wide": True}]
