"""The recorded buffer of each output: its own, or one handed on to it."""

from typing import NamedTuple

import numpy as np
import pandas as pd

from tfvis_nb.analysis.events.recorded_outputs import recorded_outputs
from tfvis_nb.core.trace import Trace

_MICROSECOND = 1000


class OutputBuffers(NamedTuple):
    """The tensors in some buffers."""

    slot: np.ndarray  # The output of its op that a buffer was allocated for; -1 if none
    # The outputs that a buffer was handed on to, ``node`` or ``node:slot``, joined by ", "
    aliases: list[str]
    requested: np.ndarray  # The bytes that its op requested for it; 0 if unknown


def output_buffers(trace: Trace, buffers: pd.DataFrame) -> OutputBuffers:
    """Find the outputs that lie in recorded buffers.

    A buffer belongs to an output of its op with the same bytes and allocator. If several buffers are equal,
    the one that lives longest belongs to the first output, because buffers freed within their op were
    scratch. An output without such a buffer was handed on: it is in the live buffer with its address.
    """
    produced = recorded_outputs(trace).sort_values(["event", "slot"], ignore_index=True)
    keys = ["event", "allocator", "bytes"]
    made = buffers[keys].assign(
        allocator=buffers["allocator"].astype(object),
        until=buffers["free_ns"],
        buffer=np.arange(len(buffers)),
    )
    made = made.sort_values([*keys, "until"], ascending=[True, True, True, False], kind="stable")
    made["number"] = made.groupby(keys, sort=False).cumcount()
    produced["number"] = produced.groupby(keys, sort=False).cumcount()
    matched = produced.merge(made[[*keys, "number", "buffer"]], on=[*keys, "number"], how="left")
    own = matched["buffer"].notna().to_numpy()
    buffer = matched["buffer"][own].to_numpy(np.int64)
    slot = np.full(len(buffers), -1, np.int64)
    slot[buffer] = matched["slot"][own]
    requested = np.zeros(len(buffers), np.int64)
    requested[buffer] = matched["requested"][own]
    address = np.zeros(len(buffers), np.uint64)
    address[buffer] = matched["ptr"][own]
    handed_on = matched[~own & (matched["ptr"] > 0)]
    return OutputBuffers(slot, _aliases(trace, buffers.assign(ptr=address), handed_on), requested)


def _aliases(trace: Trace, buffers: pd.DataFrame, handed_on: pd.DataFrame) -> list[str]:
    texts = [""] * len(buffers)
    if handed_on.empty:
        return texts
    events = trace.events
    where = pd.DataFrame({"step": events["step"], "task": events["task"].cat.codes})
    start = events["start_ns"].to_numpy()
    end = start + events["duration_ns"].to_numpy()

    def placed(table: pd.DataFrame, when: np.ndarray) -> pd.DataFrame:
        here = where.take(table["event"].to_numpy()).set_axis(table.index)
        there = table.assign(allocator=table["allocator"].astype(object), when=when, **here)
        return there.sort_values("when", kind="stable")

    row = handed_on["event"].to_numpy()
    wanted = placed(handed_on.drop(columns="buffer").assign(start=start[row]), end[row])
    held = placed(buffers.assign(buffer=np.arange(len(buffers))), buffers["alloc_ns"].to_numpy())
    held = held.loc[held["ptr"] > 0, ["step", "task", "allocator", "ptr", "when", "free_ns", "buffer"]]
    found = pd.merge_asof(wanted, held, on="when", by=["step", "task", "allocator", "ptr"])
    # Frees are rounded down to microseconds; starts of ops are not.
    found = found[found["buffer"].notna() & (found["free_ns"] + _MICROSECOND > found["start"])]
    names = events["name"].to_numpy()
    for buffer, event, slot in zip(found["buffer"].astype(int), found["event"], found["slot"], strict=True):
        tensor = f"{names[event]}:{slot}" if slot else str(names[event])
        texts[buffer] = f"{texts[buffer]}, {tensor}" if texts[buffer] else tensor
    return texts
