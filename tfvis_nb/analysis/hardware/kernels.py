"""GPU kernels: their runs and times, and how well their launches fill the GPU.

Limits and allocation units are those of NVIDIA's CUDA C++ Programming Guide ("Technical Specifications per
Compute Capability") and of its occupancy calculator.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from tfvis_nb import events as event_table
from tfvis_nb.analysis._validate import validate_input
from tfvis_nb.analysis.hardware.kernel_runs import kernel_runs
from tfvis_nb.analysis.hardware.launch_configuration import LaunchConfiguration, launch_configuration
from tfvis_nb.analysis.hardware.work import work
from tfvis_nb.analysis.steps.op_statistics import SortedDurations
from tfvis_nb.analysis.unavailable import cannot_say
from tfvis_nb.core.trace import Trace
from tfvis_nb.texts import Text

FIGURES: dict[str, str] = {
    "name": "Name of the kernel as the tracer recorded it; the event's name if there is none.",
    "op": "Type of the op that launched it; empty if that is not known.",
    "count": "Number of times it ran for ops of this type.",
    "total_ns": "Sum of the durations, in ns; simultaneous kernels all count.",
    "mean_ns": "total_ns / count.",
    "min_ns": "Shortest duration, in ns.",
    "max_ns": "Longest duration, in ns.",
    "p99_ns": "Shortest duration that at least 99 % of its runs do not exceed (nearest rank), in ns.",
    "share": "total_ns / sum of total_ns of all kernels, from 0 to 1.",
    "registers": "Registers per thread of its longest run, if recorded.",
    "grid": "Blocks in the grid of its longest run, in x, y and z, if recorded.",
    "block": "Threads in a block of its longest run, in x, y and z, if recorded.",
    "static_shared_bytes": "Shared memory of a block of its longest run, set at compile time, if recorded.",
    "dynamic_shared_bytes": "Shared memory of a block of its longest run, set at launch, if recorded.",
    "occupancy": "Threads of its longest run that an SM (streaming multiprocessor) can hold at once / all "
    "that it can hold, from 0 to 1: the theoretical occupancy by registers, shared memory and block. As in "
    "the profile where the limits of the GPU are not known.",
    "limited_by": "What allows no more blocks in an SM: threads, blocks, registers or shared memory.",
    "suggested_block": "Threads of a block with which its longest run would have the highest occupancy, by"
    " the rule of CUDA's occupancy calculator.",
    "waves": "Blocks in the grid of its longest run / blocks that all SMs together can hold at once. Below 1 "
    "some SMs have room left; what exceeds a whole number is the last, partial wave.",
    "tensor_cores": "Whether it uses Tensor Cores, by its name; missing where the name does not show it.",
    "eligible": "Whether it does, or ops of its type have kernels that do; missing if the op is not known.",
    "flop_rate": "Floating-point operations a second of the runs for which roofline knows them: flops /"
    " self_ns; missing if it knows none.",
    "byte_rate": "Bytes that these runs read and write a second, likewise: bytes / self_ns.",
}

_COLUMNS = {
    "name": "str",
    "op": "str",
    "count": "int64",
    "total_ns": "int64",
    "mean_ns": "float64",
    "min_ns": "int64",
    "max_ns": "int64",
    "p99_ns": "int64",
    "share": "float64",
    "registers": "Int64",
    "grid": "str",
    "block": "str",
    "static_shared_bytes": "Int64",
    "dynamic_shared_bytes": "Int64",
    "occupancy": "Float64",
    "limited_by": "str",
    "suggested_block": "Int64",
    "waves": "Float64",
    "tensor_cores": "boolean",
    "eligible": "boolean",
    "flop_rate": "Float64",
    "byte_rate": "Float64",
    "longest": "int64",
}
_WARP = 32
_LARGEST_BLOCK = 1024
"""Maximum threads of a block on all GPUs."""
_REGISTERS = 65_536
"""Registers of an SM for all compute capabilities in `LIMITS`; TensorFlow 2 does not support older ones."""
_REGISTER_UNIT, _WARP_UNIT = 256, 4
"""A warp gets registers in units of 256; each of an SM's four schedulers has a quarter of them."""
_BEFORE_AMPERE = {"shared_unit": 256, "reserved_bytes": 0}
_KIB = 1024


@validate_input
def kernels(trace: Trace) -> pd.DataFrame:
    """Add up the kernels of a trace by name and the type of the op that launched them.

    Parameters
    ----------
    trace
        Any trace.

    Returns
    -------
    pandas.DataFrame
        One row per kernel and op type, the longest total first: ``name``, ``op`` (str), ``count``,
        ``total_ns``, ``min_ns``, ``max_ns``, ``p99_ns`` (int64), ``mean_ns``, ``share`` (float64),
        ``registers``, ``static_shared_bytes``, ``dynamic_shared_bytes``, ``suggested_block`` (Int64),
        ``grid``, ``block`` and ``limited_by`` (str, empty if unknown), ``occupancy``, ``waves``,
        ``flop_rate``, ``byte_rate`` (Float64), ``tensor_cores`` and ``eligible`` (boolean) as in `FIGURES`,
        and ``longest`` (int64), the event with the longest duration. Collectives that are kernels count,
        copies and memsets do not. `cannot_say` if there are no kernels.

    Examples
    --------
    >>> from tfvis_nb import Trace, events
    >>> from tfvis_nb.analysis import kernels
    >>> table = events.build({"start_ns": [0, 9], "duration_ns": [5, 3], "kind": ["kernel"] * 2,
    ...                       "op": ["MatMul"] * 2, "detail": ["gemm regs:92 grid:32,2,1 block:128,1,1"] * 2})
    >>> result = kernels(Trace(table))
    >>> result[["name", "op", "count", "total_ns", "registers", "grid"]].values.tolist()
    [['gemm', 'MatMul', 2, 8, 92, '32,2,1']]
    """
    ran = kernel_runs(trace)
    if ran.empty:
        return cannot_say(_COLUMNS, Text("no_kernels"))
    grouped = ran.groupby(["name", "op"], sort=False)
    table = (
        grouped["duration_ns"]
        .agg(count="size", total_ns="sum", min_ns="min", max_ns="max", at="idxmax")
        .reset_index()
    )
    table["mean_ns"] = table["total_ns"] / table["count"]
    table["p99_ns"] = SortedDurations(
        grouped.ngroup().to_numpy(), len(table), ran["duration_ns"].to_numpy()
    ).percentile(99)
    table["share"] = table["total_ns"] / max(int(ran["duration_ns"].sum()), 1)
    longest = ran.loc[table["at"]].reset_index(drop=True)
    # One by one, because Arrow copies whole columns of texts to take a few rows.
    detail = trace.events["detail"].array
    details = [detail[event] for event in longest["event"].tolist()]
    launches = [launch_configuration("" if pd.isna(text) else str(text)) for text in details]
    table = table.assign(**_of_launches(launches, zip(longest["capability"], longest["cores"], strict=True)))
    known = ran[["name", "op", "event"]].merge(work(trace), on="event").groupby(["name", "op"])
    totals = (
        known[["flops", "bytes", "self_ns"]].sum().reindex(pd.MultiIndex.from_frame(table[["name", "op"]]))
    )
    for name, amount in (("flop_rate", "flops"), ("byte_rate", "bytes")):
        rate = totals[amount] / totals["self_ns"].where(totals["self_ns"] > 0) * 1e9
        table[name] = pd.array(rate.to_list(), "Float64")
    for name in ("tensor_cores", "eligible"):
        table[name] = pd.array(longest[name].tolist(), "boolean")
    table["longest"] = longest["event"]
    table = table.sort_values("total_ns", ascending=False, kind="stable").reset_index(drop=True)
    return table[list(_COLUMNS)].astype(dict.fromkeys(("name", "op"), event_table.TEXT))


def _of_launches(
    launches: Sequence[LaunchConfiguration], hardware: Iterable[tuple[str, int]]
) -> dict[str, Any]:
    """Return the columns derived from launches and their GPUs."""
    shares: list[float | None] = []
    waves: list[float | None] = []
    limits: list[str] = []
    blocks: list[int | None] = []
    for launch, (capability, cores) in zip(launches, hardware, strict=True):
        shared = (launch.static_shared or 0) + (launch.dynamic_shared or 0)
        full = (
            None
            if launch.registers is None
            else occupancy(capability, launch.registers, shared, launch.threads)
        )
        shares.append(full.share if full else launch.occupancy)
        limits.append(full.limited_by if full else "")
        blocks.append(suggested_block(capability, launch.registers or 0, shared) if full else None)
        waves.append(launch.blocks / (full.blocks * cores) if full and cores and launch.blocks else None)
    return {
        "registers": pd.array([launch.registers for launch in launches], "Int64"),
        "static_shared_bytes": pd.array([launch.static_shared for launch in launches], "Int64"),
        "dynamic_shared_bytes": pd.array([launch.dynamic_shared for launch in launches], "Int64"),
        "grid": pd.array([",".join(map(str, launch.grid)) for launch in launches], event_table.TEXT),
        "block": pd.array([",".join(map(str, launch.block)) for launch in launches], event_table.TEXT),
        "occupancy": pd.array(shares, "Float64"),
        "limited_by": pd.array(limits, event_table.TEXT),
        "suggested_block": pd.array(blocks, "Int64"),
        "waves": pd.array(waves, "Float64"),
    }


@dataclass(frozen=True)
class Limits:
    """The limits of an SM.

    - `blocks`, `warps`: Blocks and warps at once.
    - `shared_bytes`: Shared memory.
    - `shared_unit`: Allocation unit of shared memory, in bytes.
    - `reserved_bytes`: Shared memory of each block that the driver keeps.
    """

    blocks: int
    warps: int
    shared_bytes: int
    shared_unit: int = 128
    reserved_bytes: int = 1024


LIMITS: dict[str, Limits] = {
    "5.0": Limits(32, 64, 64 * _KIB, **_BEFORE_AMPERE),
    "5.2": Limits(32, 64, 96 * _KIB, **_BEFORE_AMPERE),
    "6.0": Limits(32, 64, 64 * _KIB, **_BEFORE_AMPERE),
    "6.1": Limits(32, 64, 96 * _KIB, **_BEFORE_AMPERE),
    "7.0": Limits(32, 64, 96 * _KIB, **_BEFORE_AMPERE),
    "7.5": Limits(16, 32, 64 * _KIB, **_BEFORE_AMPERE),
    "8.0": Limits(32, 64, 164 * _KIB),
    "8.6": Limits(16, 48, 100 * _KIB),
    "8.7": Limits(16, 48, 164 * _KIB),
    "8.9": Limits(24, 48, 100 * _KIB),
    "9.0": Limits(32, 64, 228 * _KIB),
    "10.0": Limits(32, 64, 228 * _KIB),
    "12.0": Limits(24, 48, 100 * _KIB),
}
"""By compute capability."""


@dataclass(frozen=True)
class Occupancy:
    """How well a kernel can fill an SM.

    - `blocks`: Blocks at once.
    - `share`: Their threads as a share of the SM's maximum, from 0 to 1.
    - `limited_by`: The resource that allows the fewest blocks: ``threads``, ``blocks``, ``registers``,
      ``shared memory``.
    """

    blocks: int
    share: float
    limited_by: str


def occupancy(capability: str, registers: int, shared_bytes: int, threads: int) -> Occupancy | None:
    """Return the theoretical occupancy of a kernel; None if the limits of the GPU are unknown.

    Parameters
    ----------
    capability
        Compute capability of the GPU, such as ``"9.0"``.
    registers
        Registers per thread.
    shared_bytes
        Static and dynamic shared memory of a block.
    threads
        Threads of a block.

    Examples
    --------
    >>> occupancy("9.0", registers=166, shared_bytes=16_896, threads=128)
    Occupancy(blocks=3, share=0.1875, limited_by='registers')
    """
    limits = LIMITS.get(capability)
    if limits is None or threads < 1 or registers < 0 or shared_bytes < 0:
        return None
    warps = -(-threads // _WARP)
    fitting = {"threads": limits.warps // warps, "blocks": limits.blocks}
    if registers:
        of_warp = -(-registers * _WARP // _REGISTER_UNIT) * _REGISTER_UNIT
        fitting["registers"] = _REGISTERS // of_warp // _WARP_UNIT * _WARP_UNIT // warps
    if shared_bytes:
        unit = limits.shared_unit
        fitting["shared memory"] = limits.shared_bytes // (
            -(-(shared_bytes + limits.reserved_bytes) // unit) * unit
        )
    limited_by = min(fitting, key=lambda name: fitting[name])
    blocks = fitting[limited_by]
    return Occupancy(blocks, blocks * threads / (limits.warps * _WARP), limited_by) if blocks else None


def suggested_block(capability: str, registers: int, shared_bytes: int) -> int | None:
    """Return the block size with the highest occupancy of a kernel; of several, the largest.

    CUDA's ``cudaOccupancyMaxPotentialBlockSize`` suggests the same for these registers per thread and shared
    memory of a block. None if the limits of the GPU are unknown or no block fits.

    Examples
    --------
    >>> suggested_block("9.0", registers=193, shared_bytes=73_728)
    256
    """
    warps = {
        threads: full.share
        for threads in range(_LARGEST_BLOCK, 0, -_WARP)
        if (full := occupancy(capability, registers, shared_bytes, threads))
    }
    return max(warps, key=lambda threads: warps[threads], default=None)
