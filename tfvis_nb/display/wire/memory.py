"""Memory in the timeline: allocated bytes of each allocator, and its buffers.

``js/model/wire/memory.ts`` reads it.
"""

import re
from bisect import bisect_left
from typing import NamedTuple, NotRequired, TypedDict

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from tfvis_nb.analysis.memory.tensor_lifetimes import ROLES
from tfvis_nb.core.categories import is_kind
from tfvis_nb.core.trace import Trace
from tfvis_nb.display.wire.container import WireColumn, pack
from tfvis_nb.display.wire.header import origin_ns
from tfvis_nb.display.wire.lane_times import length_column, signed_column
from tfvis_nb.display.wire.string_table import number_texts, stored_texts
from tfvis_nb.events import NO_STEP
from tfvis_nb.kinds import NODES

MAX_BUFFERS = 200_000
"""If there are more buffers, only the largest are sent; curves with more than twice as many changes only send
peaks."""

Levels = tuple[np.ndarray, np.ndarray]
"""Times, and the allocated bytes from each time on."""

_MICROSECOND = 1000
_OF_GPU = re.compile(r"^GPU_(\d+)_")
_OF_TPU = re.compile(r"^device (\d+)$")
_SLOT = re.compile("[0-9]{1,9}")


class MemoryHeader(TypedDict):
    """The memory of an allocator of a task; times in ns from the origin."""

    task: str
    allocator: str
    device: str  # Of its lanes; empty without one
    peak: int  # Bytes
    at: int  # The time of the first peak
    first: int  # The time of the first allocation
    unit: int  # Of the times in the columns, in ns
    buffers: int
    unsent: int  # Smaller buffers that are not sent
    estimated: NotRequired[bool]  # Whether lifetimes are estimated from what read outputs


class MemoryTracks(NamedTuple):
    """Memory in the timeline: a track for each allocator of a task, with its columns."""

    header: list[MemoryHeader]
    columns: dict[str, WireColumn]
    names: pd.Series  # of the tensor in each buffer, track by track


def memory_tracks(trace: Trace) -> MemoryTracks:
    """Return the tracks of a trace; none if nothing is known about its memory."""
    curve, buffers = trace.memory, _ended(trace)
    # A part of a trace may contain the end of a curve whose buffers were all freed before.
    tracks = MemoryTracks([], {}, buffers["name"].iloc[:0])
    if buffers.empty and curve.empty:
        return tracks
    origin = origin_ns(trace.events)
    keys = ["task", "allocator"]
    reported = dict(list(curve[curve["step"] == NO_STEP].groupby(keys, observed=True)))
    by_allocator = dict(list(buffers.groupby(keys, observed=True)))
    names = [tracks.names]
    for number, where in enumerate(sorted({*reported, *by_allocator})):
        own = by_allocator.get(where, buffers.iloc[:0])
        levels = _reported(reported[where], own, origin) if where in reported else _added_up(own)
        sent = own if len(own) <= MAX_BUFFERS else own.nlargest(MAX_BUFFERS, "bytes").sort_index()
        times, columns = _track(levels, sent, origin)
        columns |= alias_columns(trace, sent)
        task, allocator = map(str, where)
        header: MemoryHeader = {
            "task": task,
            "allocator": allocator,
            "device": _device(trace, task, allocator),
            "peak": times["peak"],
            "at": times["at"],
            "first": times["first"],
            "unit": times["unit"],
            "buffers": len(sent),
            "unsent": len(own) - len(sent),
        }
        if own["estimated"].any():
            header["estimated"] = True
        tracks.header.append(header)
        tracks.columns.update({f"track_{number}_{name}": column for name, column in columns.items()})
        names.append(sent["name"])
    return tracks._replace(names=pd.concat(names))


def _track(
    levels: Levels, buffers: pd.DataFrame, origin: int
) -> tuple[dict[str, int], dict[str, WireColumn]]:
    """Store a curve and its buffers in the largest unit that keeps all times exact."""
    time, level = levels
    start = buffers["alloc_ns"].to_numpy()
    peak = int(np.argmax(level))
    # An allocator that only freed earlier buffers has a curve, but no buffers.
    first = min([time[0], *start[:1]])
    times = {"peak": int(level[peak]), "at": int(time[peak]) - origin, "first": int(first) - origin}
    time, level = _reduced(time, level)
    gap, start_gap = np.diff(time, prepend=first), np.diff(start, prepend=first)
    length = (buffers["free_ns"] - buffers["alloc_ns"]).to_numpy()
    unit = int(np.gcd.reduce(np.concatenate([gap, start_gap, length]))) or 1
    # Neighbouring levels differ by sizes of buffers, which repeat.
    small = level.max() < 2**32
    columns = {
        "gap": length_column(gap // unit),
        "level": WireColumn(level.astype("u4"), "delta-shuffle") if small else length_column(level),
        "start_gap": length_column(start_gap // unit),
        "length": length_column(length // unit),
        "bytes": length_column(buffers["bytes"].to_numpy()),
        # The bytes that the allocator added to the request; 0 if unknown.
        "excess": length_column((buffers["bytes"] - buffers["requested_bytes"]).fillna(0).to_numpy(np.int64)),
        # 0 for events outside the trace, the id plus 1 for all others.
        "event": WireColumn((buffers["event"].to_numpy() + 1).astype("u4"), "delta-shuffle"),
        # The role, and after all roles those of buffers that nothing freed.
        "state": WireColumn((buffers["role"].cat.codes + len(ROLES) * buffers["is_kept"]).to_numpy("u1")),
    }
    return {**times, "unit": unit}, columns


def memory_bytes(trace: Trace) -> bytes:
    """Write `memory_tracks` as a separate container, for a front end without the details."""
    tracks = memory_tracks(trace)
    (names,), texts = number_texts([tracks.names])
    header = {"tracks": tracks.header}
    return pack(header, {**tracks.columns, **name_columns(tracks.header, names), **stored_texts(texts)})


def name_columns(tracks: list[MemoryHeader], names: np.ndarray) -> dict[str, WireColumn]:
    """Store the name numbers of the buffers, in the order of `memory_tracks`, track by track."""
    ends = np.cumsum([track["buffers"] for track in tracks])
    parts = np.split(names, ends[:-1]) if tracks else []
    return {f"track_{number}_name": WireColumn(part, "delta-shuffle") for number, part in enumerate(parts)}


def _ended(trace: Trace) -> pd.DataFrame:
    """Let buffers that nothing freed end after everything else of their step or, in a profile, of the trace.

    Their lifetimes are whole microseconds, like all others of a step.
    """
    buffers = trace.lifetimes
    steps = trace.steps.set_index("step")["end_ns"]
    latest = buffers[["alloc_ns", "free_ns"]].astype("Int64").max(axis=1)
    last = latest.groupby(buffers["step"]).max()
    end = pd.concat([last, steps], axis=1).max(axis=1)
    end[-1] = end.max()
    longest = (buffers["step"].map(end) - buffers["alloc_ns"]) // _MICROSECOND * _MICROSECOND + _MICROSECOND
    until = buffers["free_ns"].fillna(buffers["alloc_ns"] + longest).astype("int64")
    return buffers.assign(free_ns=until, is_kept=buffers["free_ns"].isna())


def _reported(curve: pd.DataFrame, buffers: pd.DataFrame, origin: int) -> Levels:
    """Use an allocator's reports; before the first one it had allocated less by the reported amount."""
    time, level = curve["time_ns"].to_numpy(), curve["bytes"].to_numpy()
    new = buffers.loc[buffers["alloc_ns"] == time[0], "bytes"].sum()
    if time[0] <= origin:
        return time, level
    return np.concatenate([[origin], time]), np.concatenate([[max(level[0] - new, 0)], level])


def _added_up(buffers: pd.DataFrame) -> Levels:
    """Add up the buffers of all steps, including steps at the same time."""
    time = np.concatenate([buffers["alloc_ns"], buffers["free_ns"]])
    size = buffers["bytes"].to_numpy()
    order = np.argsort(time, kind="stable")
    time, level = time[order], np.cumsum(np.concatenate([size, -size])[order])
    last = np.append(np.diff(time) != 0, True)
    return time[last], level[last]


def _reduced(time: np.ndarray, level: np.ndarray) -> Levels:
    """Keep only the highest point of each part of a long curve."""
    if len(time) <= 2 * MAX_BUFFERS:
        return time, level
    part = (time - time[0]) * (2 * MAX_BUFFERS / (int(time[-1] - time[0]) + 1))
    heads = np.flatnonzero(np.diff(part.astype("i8"), prepend=-1))
    return time[heads], np.maximum.reduceat(level, heads)


def _device(trace: Trace, task: str, allocator: str) -> str:
    """Return the device whose memory an allocator allocates: by number, or else the first CPU."""
    gpu, tpu = _OF_GPU.match(allocator), _OF_TPU.match(allocator)
    wanted = f"GPU:{gpu[1]}" if gpu else f"TPU:{tpu[1]}" if tpu else "CPU:0"
    lanes = trace.lanes
    devices = lanes.loc[lanes["task"] == task, "device"].astype(str).unique()
    return min((device for device in devices if device.endswith(f"device:{wanted}")), default="")


def alias_columns(trace: Trace, buffers: pd.DataFrame) -> dict[str, WireColumn]:
    """Store the number of aliases of each buffer, and the event and slot of each; nothing if there are none.

    An event is stored as its distance to the one that allocated the buffer. Aliases of events that are not in
    the trace, for example in a part of it, are left out.
    """
    texts = buffers["aliases"].to_numpy(object)
    having = np.flatnonzero(texts != "")
    runs = _Runs(trace, {tensor for row in having for tensor in texts[row].split(", ")})
    counts = np.zeros(len(buffers), "i8")
    aliases: list[tuple[int, int]] = []
    owners: list[int] = []
    columns = ("step", "task", "alloc_ns", "free_ns", "event")
    for row, *where, start, end, owner in zip(
        having, *(buffers[name].iloc[having] for name in columns), strict=True
    ):
        seen: set[int] = set()
        for tensor in texts[row].split(", "):
            alias = runs.find((*where, tensor), start, end, seen)
            if alias is not None:
                seen.add(alias[0])
                aliases.append(alias)
                owners.append(owner)
        counts[row] = len(seen)
    if not aliases:
        return {}
    event, slot = np.array(aliases, "i8").T
    return {
        "alias_count": length_column(counts),
        "alias_distance": signed_column(event - np.array(owners, "i8")),
        "alias_slot": length_column(slot),
    }


class _Runs:
    """The runs of the nodes of tensors, by step and task."""

    def __init__(self, trace: Trace, tensors: set[str]) -> None:
        events = trace.events
        nodes = tensors | {tensor.rpartition(":")[0] for tensor in tensors}
        names = pa.array(events["name"], pa.large_string())
        is_named = pc.is_in(names, pa.array(sorted(nodes), pa.large_string())).to_numpy(zero_copy_only=False)
        rows = np.flatnonzero(is_named & is_kind(events, *NODES))
        here = events[["step", "task", "name", "start_ns"]].take(rows)
        self._runs: dict[tuple[int, str, str], tuple[list[int], list[int]]] = {}
        for row, step, task, name, start in zip(rows.tolist(), *(here[key] for key in here), strict=True):
            starts, ids = self._runs.setdefault((step, task, name), ([], []))
            starts.append(start)
            ids.append(row)

    def find(
        self, tensor: tuple[int, str, str], start: int, end: int, seen: set[int]
    ) -> tuple[int, int] | None:
        """Return event and slot of a tensor's first run while a buffer lived that is not in `seen`."""
        step, task, name = tensor
        node, _, slot = name.rpartition(":")
        whole = (step, task, name) in self._runs
        starts, ids = self._runs.get((step, task, name if whole else node), ([], []))
        # Records are rounded down to microseconds.
        for at in range(bisect_left(starts, start), len(starts)):
            if starts[at] >= end + _MICROSECOND:
                break
            if ids[at] not in seen:
                return ids[at], 0 if whole or not _SLOT.fullmatch(slot) else int(slot)
        return None
