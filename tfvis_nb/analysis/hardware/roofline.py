"""The roofline model: how close ops and instructions come to the limits of their device."""

from typing import Literal

import numpy as np
import pandas as pd
import pyarrow as pa

from tfvis_nb.analysis._validate import validate_input
from tfvis_nb.analysis.hardware.ceilings import check_rates, highest_rates
from tfvis_nb.analysis.hardware.kernel_runs import kernel_runs
from tfvis_nb.analysis.hardware.peak_rates import type_of
from tfvis_nb.analysis.hardware.work import is_end, is_start, of_ops, work
from tfvis_nb.analysis.programs.hlo_ops import hlo_ops, instruction_events
from tfvis_nb.analysis.steps.layers import event_layers
from tfvis_nb.analysis.unavailable import cannot_say, dtypes, why_not
from tfvis_nb.core.stacks import PHASES
from tfvis_nb.core.trace import Trace
from tfvis_nb.texts import Text

By = Literal["hlo_op", "category", "op_name", "source", "program", "name", "op", "kernel", "layer", "step"]
BY: dict[By, tuple[str, ...]] = {
    "hlo_op": ("program", "hlo_op"),
    "category": ("category",),
    "op_name": ("op_name",),
    "source": ("source",),
    "program": ("program",),
    "name": ("name", "op"),
    "op": ("op",),
    "kernel": ("kernel", "op"),
    "layer": ("layer", "phase"),
    "step": ("step",),
}
"""Columns to group by: the first five for instructions of compiled programs, ``name`` and ``op`` for nodes
and types of TensorFlow's ops, the others for both."""

_OF_OPS = ("name", "op")
_OF_INSTRUCTIONS = ("hlo_op", "category", "op_name", "source", "program")

FIGURES: dict[str, str] = {
    "count": "Number of times it ran, on all devices; of a layer or step the number of ops and instructions.",
    "self_ns": "Sum of the durations without those of other events within them, in ns; of an op on a GPU"
    " those of its kernels.",
    "flops": "Floating-point operations of all runs: of instructions as in hlo_ops, of TensorFlow's ops from"
    " shapes, by TensorFlow's own formulas where it has some. Kernels of one op divide its operations and"
    " bytes by their durations.",
    "bytes": "Bytes that all runs read and write: of instructions as in hlo_ops, of TensorFlow's ops each"
    " input and each output once.",
    "intensity": "flops / bytes, in operations per byte.",
    "flop_rate": "flops / self_ns, in floating-point operations a second.",
    "byte_rate": "bytes / self_ns, in bytes a second.",
    "peak_flops": "Highest rate of its device for its type of numbers, in operations a second.",
    "peak_bytes": "Highest bandwidth of its device's memory, in bytes a second.",
    "bound": "What limits it: memory where intensity < peak_flops / peak_bytes, and else compute.",
    "ideal_ns": "The least time that its device needs: the larger of flops / peak_flops and bytes /"
    " peak_bytes, in ns, added up over the instructions.",
    "efficiency": "ideal_ns / self_ns. More than 1 where data came from a cache, which is faster. Missing"
    " for instructions that wait for the end of what others started, such as copy-done.",
}
"""Williams, Waterman and Patterson, "Roofline", Communications of the ACM 52 (2009). It leaves out ops and
instructions without known flops or bytes, and instructions that only start what another one ends."""

_COLUMNS = {
    "count": "int64",
    "self_ns": "int64",
    "flops": "float64",
    "bytes": "float64",
    "intensity": "float64",
    "flop_rate": "float64",
    "byte_rate": "float64",
    "peak_flops": "float64",
    "peak_bytes": "float64",
    "bound": "str",
    "ideal_ns": "float64",
    "efficiency": "float64",
    "longest": "int64",
}


@validate_input
def roofline(
    trace: Trace,
    by: By | None = None,
    *,
    peak_flops: float | None = None,
    memory_bandwidth: float | None = None,
) -> pd.DataFrame:
    """Compare the rates of ops, kernels and compiled instructions with the peak rates of their devices.

    Parameters
    ----------
    trace
        A trace of compiled programs (see `tfvis_nb.analysis.hlo_ops`), or one with the shapes of tensors: a
        RunMetadata, or a profile recorded with ``shapes=True``.
    by
        The grouping, one of `BY`; None means ``hlo_op`` if the trace has instructions, else ``name``.
    peak_flops
        Peak rate of the devices, in floating-point operations per second. By default that in the profile
        (TPUs), or derived from its compute capability, SMs and clock rate (NVIDIA GPUs of 7.0 and later).
    memory_bandwidth
        Peak memory bandwidth of the devices, in bytes per second. By default that in the profile.

    Returns
    -------
    pandas.DataFrame
        One row per instruction, node or group, the largest self time first: the columns of `BY` (str,
        ``step`` int32), ``count``, ``self_ns`` (int64), ``flops``, ``bytes``, ``intensity``, ``flop_rate``,
        ``byte_rate``, ``peak_flops``, ``peak_bytes``, ``ideal_ns``, ``efficiency`` (float64) and ``bound``
        (str) as in `FIGURES`, and ``longest`` (int64), the event with the longest duration. Columns that need
        a peak rate are NaN, and ``bound`` is empty, if that rate is unknown or, for ``peak_flops``, differs
        within a group. `cannot_say` if nothing has both operations and bytes.

    Raises
    ------
    ValueError
        If `by` is not a key of `BY`, or a rate is not above 0.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from tfvis_nb import Trace, events
    >>> from tfvis_nb.analysis import roofline
    >>> table = events.build({"start_ns": [0], "duration_ns": [100], "kind": ["kernel"]})
    >>> nested = pa.table({"program": ["jit_f(3)"], "hlo_op": ["dot.1"], "flops": [4000],
    ...                    "bytes_accessed": [1000]})
    >>> result = roofline(Trace(table, nested=nested), peak_flops=1e11, memory_bandwidth=2e10)
    >>> result[["intensity", "flop_rate", "bound", "ideal_ns", "efficiency"]].values.tolist()
    [[4.0, 40000000000.0, 'memory', 50.0, 0.5]]
    """
    if by is None:
        by = "hlo_op" if len(instruction_events(trace)) else "name"
    if by not in BY:
        raise ValueError(Text("not_one_of", choices=", ".join(BY), by=by))
    check_rates(peak_flops, memory_bandwidth)
    keys = list(BY[by])
    columns = {key: "int32" if key == "step" else "str" for key in keys} | _COLUMNS
    table, reason = _instructions(trace) if by in _OF_INSTRUCTIONS else _events(trace, by)
    if not table["self_ns"].any():
        return cannot_say(columns, reason)
    table = table.assign(**highest_rates(trace, table, peak_flops, memory_bandwidth))
    seconds = np.maximum(table["flops"] / table["peak_flops"], table["bytes"] / table["peak_bytes"])
    table["ideal_ns"] = seconds * 1e9
    # The first has the largest self time.
    groups = table.groupby(keys, sort=False)
    rows = groups.agg(longest=("longest", "first")).reset_index()
    for name in ("count", "self_ns", "flops", "bytes", "ideal_ns"):
        rows[name] = groups[name].sum(min_count=1).to_numpy()
    took_time = rows["self_ns"] > 0
    whole = groups["ideal_ns"].count().to_numpy() == groups.size().to_numpy()
    rows["ideal_ns"] = rows["ideal_ns"].where(whole)
    for name in ("peak_flops", "peak_bytes"):
        least, most = groups[name].min().to_numpy(), groups[name].max().to_numpy()
        rows[name] = np.where(least == most, least, np.nan)
    rows["intensity"] = rows["flops"] / rows["bytes"].where(rows["bytes"] > 0)
    rows["flop_rate"] = rows["flops"] / rows["self_ns"] * 1e9
    rows["byte_rate"] = rows["bytes"] / rows["self_ns"] * 1e9
    rows["efficiency"] = (rows["ideal_ns"] / rows["self_ns"]).where(~groups["awaited"].all().to_numpy())
    balance = rows["peak_flops"] / rows["peak_bytes"]
    bound = np.where(rows["intensity"] < balance, "memory", "compute")
    rows["bound"] = np.where(balance.notna() & rows["intensity"].notna(), bound, "")
    rows = rows[took_time].sort_values("self_ns", ascending=False, kind="stable").reset_index(drop=True)
    return rows[list(columns)].astype(dtypes(columns))


def _instructions(trace: Trace) -> tuple[pd.DataFrame, Text]:
    """Return the instructions with known work, and the reason if there are none."""
    ops = hlo_ops(trace)
    counted = ops[ops["flops"].notna() & ops["bytes_accessed"].notna() & ~is_start(ops)]
    table = counted.assign(
        flops=counted["flops"].astype("float64") * counted["count"],
        bytes=counted["bytes_accessed"].astype("float64") * counted["count"],
        type=np.array([type_of(expression) for expression in counted["expression"]], object),
        awaited=is_end(counted),
    )
    return table, why_not(ops) or Text("no_hlo_costs")


def _events(trace: Trace, by: By) -> tuple[pd.DataFrame, Text]:
    """Return the events with known work and their groups, the longest first."""
    table = of_ops(trace) if by in _OF_OPS else work(trace)
    reason = Text("no_op_costs") if table.empty else Text("no_kernels")
    if by == "kernel":
        ran = kernel_runs(trace)[["event", "name", "op"]].rename(columns={"name": "kernel"})
        table = table.merge(ran, on="event").assign(count=1)
    else:
        # Kernels of one execution count as one.
        table = table.assign(count=(~table["execution"].duplicated()).astype("int64"))
    event, execution = table["event"].to_numpy(), table["execution"].to_numpy()
    if by in _OF_OPS:
        for name in BY[by]:
            table[name] = trace.events[name].iloc[execution].astype(object).fillna("").to_numpy()
    elif by == "layer":
        layer, phase = event_layers(trace)
        table["layer"] = layer.take(pa.array(event)).to_pylist()
        table["phase"] = np.array([*PHASES, ""], object)[phase[event]]
    elif by == "step":
        table["step"] = trace.events["step"].to_numpy()[event]
    table = table.assign(longest=event, awaited=False).sort_values("self_ns", ascending=False, kind="stable")
    return table, reason
