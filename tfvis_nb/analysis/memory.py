"""How much memory each allocator gave out over time, and what was alive at the peak.

TensorFlow's ``timeline.py`` adds up the outputs of ops from the start of the op that made them,
and so counts a buffer that is handed on from op to op once for each, and variables at every read.
Here allocations and frees are added up as they were recorded.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from tfvis_nb import events as event_table
from tfvis_nb.analysis.allocations import NEVER, NO_RECORDS, allocations
from tfvis_nb.analysis.allocations_profiled import memory_events
from tfvis_nb.analysis.answers import cannot_say, why_not
from tfvis_nb.analysis.tensor_lifetimes import tensor_lifetimes

if TYPE_CHECKING:
    from tfvis_nb._trace import Trace

FIGURES = {
    "bytes": "Bytes that an allocator had given out: of a RunMetadata what was allocated minus what was freed"
    " since the step began, without variables, changes within one microsecond added up; of a profile"
    " bytes_allocated as the allocator says it, with variables.",
    "peak_bytes": "The largest of `bytes` of an allocator in a step; of a profile, over all of it.",
    "at_ns": "Epoch nanoseconds at which the peak is reached first.",
    "share": "Bytes of a buffer divided by those of all that were alive then; the shares add up to 1.",
}

_CURVE = {"step": "int32", "task": "str", "allocator": "str", "time_ns": "int64", "bytes": "int64"}
_PEAKS = {
    "step": "int32",
    "task": "str",
    "allocator": "str",
    "peak_bytes": "int64",
    "at_ns": "int64",
    "alive": "int64",
    "alive_bytes": "int64",
}


def memory_curve(trace: Trace) -> pd.DataFrame:
    """Return how much each allocator had given out, whenever that changed.

    Parameters
    ----------
    trace
        Any trace with allocation records (``RunMetadata``) or allocation events (a profile).

    Returns
    -------
    pandas.DataFrame
        ``step`` (int32; -1 for a profile, whose curve does not begin anew at a step), ``task``,
        ``allocator``, ``time_ns`` (int64 epoch nanoseconds) and ``bytes`` (int64; from that time on),
        ordered by step, task, allocator and time. Without rows, and with a reason (see
        `tfvis_nb.analysis.answers`), when neither was recorded.

    Examples
    --------
    >>> from tfvis_nb import Trace, events
    >>> from tfvis_nb.analysis.memory import memory_curve
    >>> memory_curve(Trace(events.build({"start_ns": [0], "duration_ns": [1], "kind": ["op"]}))).empty
    True
    """
    buffers = allocations(trace)
    if buffers is None:
        return _profiled_curve(trace)
    events = trace.events
    row = buffers["event"].to_numpy()
    made = pd.DataFrame(
        {
            "step": events["step"].to_numpy()[row],
            "task": events["task"].astype(object).to_numpy()[row],
            "allocator": buffers["allocator"].astype(object),
            "time_ns": buffers["from_ns"],
            "bytes": buffers["bytes"],
        }
    )
    ends = (buffers["to_ns"] < NEVER).to_numpy()
    freed = made[ends].assign(time_ns=buffers["to_ns"][ends], bytes=-buffers["bytes"][ends])
    keys = ["step", "task", "allocator"]
    at_once = pd.concat([made, freed]).groupby([*keys, "time_ns"], sort=True)["bytes"].sum()
    changes = at_once.reset_index()
    changes["bytes"] = changes.groupby(keys)["bytes"].cumsum()
    return _typed(changes, _CURVE)


def _profiled_curve(trace: Trace) -> pd.DataFrame:
    table = memory_events(trace)
    if table is None:
        return cannot_say(_CURVE, NO_RECORDS)
    known = table[table["in_use"].notna()]
    if known.empty:
        return cannot_say(_CURVE, "the profile's allocation events do not say how much is given out")
    curve = known.assign(step=-1).rename(columns={"ns": "time_ns"})
    curve["bytes"] = curve["in_use"]
    keys = ["step", "task", "allocator", "time_ns"]
    curve = curve.sort_values(keys, kind="stable").drop_duplicates(keys, keep="last")
    return _typed(curve, _CURVE)


def memory_peaks(trace: Trace) -> pd.DataFrame:
    """Return the peak of each allocator in each step.

    Returns
    -------
    pandas.DataFrame
        ``step``, ``task``, ``allocator``, ``peak_bytes`` and ``at_ns`` (int64); ``alive`` (int64), how
        many buffers of `alive_at` there are then, and ``alive_bytes`` (int64), their sum: of a
        ``RunMetadata`` equal to ``peak_bytes``, of a profile less by what was allocated before it
        began. Without rows, and with a reason, when there is no curve.

    Examples
    --------
    >>> from tfvis_nb import Trace, events
    >>> from tfvis_nb.analysis.memory import memory_peaks
    >>> memory_peaks(Trace(events.build({"start_ns": [0], "duration_ns": [1], "kind": ["op"]}))).empty
    True
    """
    curve = memory_curve(trace)
    if why_not(curve):
        return cannot_say(_PEAKS, why_not(curve))
    peaks = curve.loc[curve.groupby(["step", "task", "allocator"])["bytes"].idxmax()]
    peaks = peaks.rename(columns={"time_ns": "at_ns", "bytes": "peak_bytes"}).reset_index(drop=True)
    lifetimes = tensor_lifetimes(trace)
    places = peaks[["step", "task", "allocator", "at_ns"]].to_dict("list")
    alive = [_alive(lifetimes, *place) for place in zip(*places.values(), strict=True)]
    peaks["alive"] = [int(mask.sum()) for mask in alive]
    sizes = lifetimes["bytes"].to_numpy()
    peaks["alive_bytes"] = [int(sizes[mask].sum()) for mask in alive]
    return _typed(peaks, _PEAKS)


def alive_at(trace: Trace, time_ns: int, *, allocator: str, step: int = -1, task: str = "") -> pd.DataFrame:
    """Return the buffers that were allocated at a time, the largest first.

    Parameters
    ----------
    trace
        Any trace with memory records.
    time_ns
        Epoch nanoseconds, such as ``at_ns`` of `memory_peaks`.
    allocator, step, task
        As in `memory_peaks`; step -1 is that of a profile's curve.

    Returns
    -------
    pandas.DataFrame
        Rows of `tfvis_nb.analysis.tensor_lifetimes.tensor_lifetimes`, and ``share`` (float64) of
        their bytes.

    Examples
    --------
    >>> from tfvis_nb import Trace, events
    >>> from tfvis_nb.analysis.memory import alive_at
    >>> table = events.build({"start_ns": [0], "duration_ns": [1], "kind": ["op"]})
    >>> len(alive_at(Trace(table), 0, allocator="cpu"))
    0
    """
    lifetimes = tensor_lifetimes(trace)
    found = lifetimes[_alive(lifetimes, step, task, allocator, time_ns)]
    found = found.sort_values(["bytes", "from_ns"], ascending=[False, True], ignore_index=True)
    return found.assign(share=found["bytes"] / max(int(found["bytes"].sum()), 1))


def _alive(lifetimes: pd.DataFrame, step: int, task: str, allocator: str, time_ns: int) -> np.ndarray:
    mask = (lifetimes["allocator"] == allocator) & (lifetimes["task"] == task)
    if step >= 0:
        mask &= lifetimes["step"] == step
    until = lifetimes["to_ns"].to_numpy(np.int64, na_value=NEVER)
    alive: np.ndarray = mask.to_numpy(bool) & (lifetimes["from_ns"].to_numpy() <= time_ns) & (until > time_ns)
    return alive


def _typed(table: pd.DataFrame, columns: dict[str, str]) -> pd.DataFrame:
    dtypes = {name: event_table.TEXT if dtype == "str" else dtype for name, dtype in columns.items()}
    return table[list(columns)].astype(dtypes).reset_index(drop=True)
