"""How near compiled instructions come to what their device can compute and load: the roofline model."""

from typing import Any

import numpy as np
import pandas as pd

from tfvis_nb.analysis._validate import validate_input
from tfvis_nb.analysis.hardware.peak_rates import peak_rate, type_of
from tfvis_nb.analysis.programs.hlo_ops import hlo_ops
from tfvis_nb.analysis.unavailable import cannot_say, dtypes, why_not
from tfvis_nb.core.trace import Trace
from tfvis_nb.texts import Text

BY: dict[str, tuple[str, ...]] = {
    "hlo_op": ("program", "hlo_op"),
    "category": ("category",),
    "op_name": ("op_name",),
    "source": ("source",),
    "program": ("program",),
}
"""What instructions are added up by."""

FIGURES: dict[str, str] = {
    "count": "Number of times it ran, on all devices.",
    "self_ns": "As in hlo_ops: the sum of the durations without those of other events within them, in ns.",
    "flops": "Floating-point operations of all runs, as counted in hlo_ops.",
    "bytes": "Bytes that all runs read and write, as counted in hlo_ops.",
    "intensity": "flops / bytes, in operations per byte.",
    "flop_rate": "flops / self_ns, in floating-point operations a second.",
    "byte_rate": "bytes / self_ns, in bytes a second.",
    "peak_flops": "Highest rate of its device for its type of numbers, in operations a second.",
    "peak_bytes": "Highest bandwidth of its device's memory, in bytes a second.",
    "bound": "What limits it: memory where intensity < peak_flops / peak_bytes, and else compute.",
    "ideal_ns": "The least time that its device needs: the larger of flops / peak_flops and bytes /"
    " peak_bytes, in ns, added up over the instructions.",
    "efficiency": "ideal_ns / self_ns. More than 1 where data came from a cache, which is faster.",
}
"""Williams, Waterman and Patterson, "Roofline", Communications of the ACM 52 (2009). Left out are
instructions whose flops or bytes are not known, and those that only start what another one ends."""

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
    by: str = "hlo_op",
    *,
    peak_flops: float | None = None,
    memory_bandwidth: float | None = None,
) -> pd.DataFrame:
    """Compare the rates of compiled instructions with the highest ones of their devices.

    Parameters
    ----------
    trace
        A trace of compiled programs; see `tfvis_nb.analysis.hlo_ops`.
    by
        What instructions are added up by, of `BY`.
    peak_flops
        Highest rate of the devices, in floating-point operations a second. If not given that of the profile
        (TPUs), or of the compute capability, SMs and clock rate that it has (NVIDIA's GPUs from 7.0 on).
    memory_bandwidth
        Highest bandwidth of the devices' memory, in bytes a second. If not given that of the profile.

    Returns
    -------
    pandas.DataFrame
        One row per instruction or group, the largest self time first: the columns of `BY` (str), ``count``,
        ``self_ns`` (int64), ``flops``, ``bytes``, ``intensity``, ``flop_rate``, ``byte_rate``,
        ``peak_flops``, ``peak_bytes``, ``ideal_ns``, ``efficiency`` (float64) and ``bound`` (str) as in
        `FIGURES`, and ``longest`` (int64), the event with the longest duration. What needs a highest rate is
        NaN, and ``bound`` empty, where that is not known or, ``peak_flops``, not the same in a group.
        `cannot_say` where no instruction has both operations and bytes.

    Raises
    ------
    ValueError
        If `by` is no key of `BY`, or a rate is not above 0.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from tfvis_nb import Trace, events
    >>> from tfvis_nb.analysis import roofline
    >>> table = events.build({"start_ns": [0], "duration_ns": [100], "kind": ["kernel"]})
    >>> nested = pa.table({"program": ["jit_f(3)"], "hlo_op": ["dot.1"], "flops": [4000],
    ...                    "bytes_accessed": [1000]})
    >>> found = roofline(Trace(table, nested=nested), peak_flops=1e11, memory_bandwidth=2e10)
    >>> found[["intensity", "flop_rate", "bound", "ideal_ns", "efficiency"]].values.tolist()
    [[4.0, 40000000000.0, 'memory', 50.0, 0.5]]
    """
    if by not in BY:
        raise ValueError(Text("not_one_of", choices=", ".join(BY), by=by))
    for name, rate in (("peak_flops", peak_flops), ("memory_bandwidth", memory_bandwidth)):
        if rate is not None and not rate > 0:
            raise ValueError(Text("rate_not_positive", name=name, given=rate))
    keys = list(BY[by])
    columns = dict.fromkeys(keys, "str") | _COLUMNS
    ops = hlo_ops(trace)
    if why_not(ops):
        return cannot_say(columns, why_not(ops))
    known = ops["flops"].notna() & ops["bytes_accessed"].notna() & (ops["self_ns"] > 0)
    ops = ops[known & ~ops["category"].str.endswith("-start").fillna(False)]
    if ops.empty:
        return cannot_say(columns, Text("no_hlo_costs"))
    table = ops.assign(
        flops=ops["flops"].astype("float64") * ops["count"],
        bytes=ops["bytes_accessed"].astype("float64") * ops["count"],
        **_peaks(trace, ops, peak_flops, memory_bandwidth),
    )
    seconds = np.maximum(table["flops"] / table["peak_flops"], table["bytes"] / table["peak_bytes"])
    table["ideal_ns"] = seconds * 1e9
    # The first has the largest self time.
    groups = table.groupby(keys, sort=False)
    found = groups.agg(longest=("longest", "first")).reset_index()
    for name in ("count", "self_ns", "flops", "bytes", "ideal_ns"):
        found[name] = groups[name].sum(min_count=1).to_numpy()
    whole = groups["ideal_ns"].count().to_numpy() == groups.size().to_numpy()
    found["ideal_ns"] = found["ideal_ns"].where(whole)
    for name in ("peak_flops", "peak_bytes"):
        least, most = groups[name].min().to_numpy(), groups[name].max().to_numpy()
        found[name] = np.where(least == most, least, np.nan)
    found["intensity"] = found["flops"] / found["bytes"].where(found["bytes"] > 0)
    found["flop_rate"] = found["flops"] / found["self_ns"] * 1e9
    found["byte_rate"] = found["bytes"] / found["self_ns"] * 1e9
    found["efficiency"] = found["ideal_ns"] / found["self_ns"]
    balance = found["peak_flops"] / found["peak_bytes"]
    bound = np.where(found["intensity"] < balance, "memory", "compute")
    found["bound"] = np.where(balance.notna() & found["intensity"].notna(), bound, "")
    found = found.sort_values("self_ns", ascending=False, kind="stable").reset_index(drop=True)
    return found[list(columns)].astype(dtypes(columns))


def _peaks(
    trace: Trace, ops: pd.DataFrame, peak_flops: float | None, memory_bandwidth: float | None
) -> dict[str, list[Any]]:
    """Return the highest rates of the device that each instruction ran on."""
    hardware = {str(row["device"]): row for row in trace.devices.to_dict("records")}
    flops, bandwidths = [], []
    for event, expression in zip(ops["longest"], ops["expression"], strict=True):
        known = hardware.get(str(trace.events["device"].iloc[event]), {})
        flops.append(peak_flops or _highest(known, expression))
        bandwidths.append(memory_bandwidth or _number(known, "memory_bandwidth"))
    return {"peak_flops": flops, "peak_bytes": bandwidths}


def _highest(known: dict[Any, Any], expression: str) -> float:
    recorded = _number(known, "peak_flops")
    cores, clock = (_number(known, name) for name in ("cores", "clock_hz"))
    if recorded > 0 or not (cores > 0 and clock > 0):
        return recorded
    capability = known.get("compute_capability")
    return peak_rate(str(capability), int(cores), int(clock), type_of(expression)) or float("nan")


def _number(known: dict[Any, Any], name: str) -> float:
    value = known.get(name)
    return float("nan") if value is None or pd.isna(value) or value <= 0 else float(value)
