"""When the steps of a trace start and end."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from tfvis_nb.core.categories import beginning, containing, is_kind
from tfvis_nb.core.devices import ACCELERATOR
from tfvis_nb.core.row_numbers import number_rows
from tfvis_nb.events import NO_STEP, TEXT
from tfvis_nb.kinds import DEVICE
from tfvis_nb.texts import Text

if TYPE_CHECKING:
    from tfvis_nb.core.trace import Trace

CALL = "PjitFunction"
"""The op of the event of a call of a function that JAX compiled."""

_EXECUTOR = re.compile(r"Executor(?:State::|DoneCallback|PropagateOutputs)")
"""Rows of TensorFlow's executor on host threads, which wrap ops."""

_NEVER = np.iinfo(np.int64).min

OF_SPANS = ("step", "task", "device", "lane", "thread", "kind", "op", "start_ns", "duration_ns")
"""The columns of events that `step_spans` reads."""

STEP_NS = (
    "From the start of a step to the return of its call or the end of its last work on a device, on all"
    " tasks, in ns. While a device still runs an earlier step, the next one has not started."
)


def step_spans(
    events: pd.DataFrame, late: np.ndarray | None = None, *, from_first_events: bool = False
) -> pd.DataFrame:
    """Return the start and end of each step: ``start_ns``, ``end_ns`` and ``events``, indexed by ``step``.

    A step lasts from its first event to its last that is not `late`: by default host events on threads
    of TensorFlow's executor other than that of the call: it records some after the call has returned.

    A device can still run one step while the host launches the next. That one starts when the device has
    done the work of all steps that ended earlier, if it uses the same device. So a device works for one step
    at a time, and the steps of a loop that never waits add up to the run. JAX returns from a call before the
    call has run, also on a CPU, so a step of JAX starts at the end of the step that ended before it. With
    `from_first_events` only steps of JAX start later than their first events.

    >>> from tfvis_nb import events
    >>> columns = {"start_ns": [0, 5, 10, 45], "duration_ns": [9, 40, 9, 40], "step": [0, 0, 1, 1],
    ...            "kind": ["host", "kernel"] * 2, "device": ["/device:CPU:0", "/device:GPU:0"] * 2}
    >>> step_spans(events.build(columns)).to_numpy().tolist()
    [[0, 45, 2], [45, 85, 2]]
    """
    # On few events `groupby` takes ten times as long.
    codes, steps = pd.factorize(events["step"].to_numpy(), sort=True)
    counts = np.bincount(codes, minlength=len(steps))
    begin = events["start_ns"].to_numpy(np.int64)
    finish = begin + events["duration_ns"].to_numpy(np.int64)
    of_jax = _calls_of_jax(events)
    if late is None:
        late = np.zeros(len(events), bool) if of_jax else _on_pools(events, codes)
    order = np.argsort(codes, kind="stable")
    first = np.cumsum(counts) - counts
    start = np.minimum.reduceat(begin[order], first)
    end = np.maximum(np.maximum.reduceat(np.where(late, _NEVER, finish)[order], first), start)
    own = np.flatnonzero(steps != NO_STEP)
    own = own[np.lexsort((start[own], end[own]))]
    if (of_jax or not from_first_events) and (start[own][1:] < end[own][:-1]).any():
        done = end[own][:-1] if of_jax else _done_before(events, finish, codes, own)
        start[own[1:]] = np.maximum(start[own[1:]], np.minimum(done, end[own[1:]]))
    spans = {"start_ns": start, "end_ns": end, "events": counts}
    return pd.DataFrame(spans, index=pd.Index(steps, name="step"))


def _on_pools(events: pd.DataFrame, codes: np.ndarray) -> np.ndarray:
    """Return host events of steps on threads of TensorFlow's executor, but for those on a call's thread.

    The call of a step and task is its first event.
    """
    pooled = np.zeros(len(events), bool)
    is_host = is_kind(events, "host")
    executes = is_host & beginning(events["op"], _EXECUTOR)
    if not executes.any():
        return pooled
    tasks = events["task"].cat
    group = codes * (len(tasks.categories) + 1) + tasks.codes.to_numpy(np.int64) + 1
    begin, long = (events[name].to_numpy(np.int64) for name in ("start_ns", "duration_ns"))
    groups = int(group.max()) + 1
    earliest = np.full(groups, np.iinfo(np.int64).max)
    np.minimum.at(earliest, group, begin)
    rows = np.flatnonzero(begin == earliest[group])
    rows = rows[np.lexsort((-long[rows], group[rows]))]
    first = rows[np.diff(group[rows], prepend=-1) != 0]
    is_call, has_call = np.zeros(len(events), bool), np.zeros(groups, bool)
    is_call[first] = is_host[first]
    has_call[group[is_call]] = True
    rows = np.flatnonzero(is_host & has_call[group] & (events["step"] != NO_STEP).to_numpy())
    thread, numbers = number_rows(
        codes[rows], *(events[name].iloc[rows] for name in ("task", "device", "lane", "thread"))
    )
    of_pool, of_call = np.zeros(len(numbers), bool), np.zeros(len(numbers), bool)
    of_pool[thread[executes[rows]]] = True
    of_call[thread[is_call[rows]]] = True
    pooled[rows] = of_pool[thread] & ~of_call[thread]
    return pooled


def _done_before(events: pd.DataFrame, finish: np.ndarray, codes: np.ndarray, own: np.ndarray) -> np.ndarray:
    """Return for each step but the first when the devices that it uses have done the work of earlier ones."""
    works = is_kind(events, *DEVICE)
    works &= containing(events["device"], ACCELERATOR)
    place = np.full(len(codes), -1)
    place[own] = np.arange(len(own))
    rows = np.flatnonzero(works & (place[codes] >= 0))
    task, device = (events[name].cat.codes.to_numpy(np.int64)[rows] for name in ("task", "device"))
    used, which = np.unique(np.stack([task, device, place[codes[rows]]]), axis=1, return_inverse=True)
    done = np.full(used.shape[1], _NEVER)
    np.maximum.at(done, which.ravel(), finish[rows])
    before = pd.Series(done).groupby([used[0], used[1]])
    latest = np.full(len(own), _NEVER)
    np.maximum.at(latest, used[2], before.cummax().groupby([used[0], used[1]]).shift(fill_value=_NEVER))
    return latest[1:]


def step_table(
    events: pd.DataFrame, step_labels: Mapping[int, str], late: np.ndarray | None = None
) -> pd.DataFrame:
    """Return the table `Trace.steps`; `late` is as in `step_spans`."""
    table = step_spans(events, late).reset_index()
    table.insert(3, "duration_ns", table["end_ns"] - table["start_ns"])
    labels = [step_labels.get(step, "") for step in table["step"].tolist()]
    table["label"] = pd.array(labels, dtype=TEXT)
    return table


def of_steps(trace: Trace, steps: Collection[int] | None) -> np.ndarray:
    """Return the events of some steps; all events, including those outside steps, if `steps` is None."""
    step = trace.events["step"].to_numpy(np.int64)
    if steps is None:
        return np.arange(len(step))
    if isinstance(steps, str | bytes) or not isinstance(steps, Iterable):
        raise TypeError(Text("steps_no_list", steps=steps))
    wanted = sorted(set(steps))
    missing = set(wanted) - set(trace.steps["step"].tolist())
    if missing:
        raise ValueError(Text("no_step", step=min(missing)))
    return np.flatnonzero(np.isin(step, wanted))


def within_steps(trace: Trace) -> tuple[np.ndarray, np.ndarray]:
    """Return the start and end of each event, without what lies outside its step (int64 ns)."""
    start = trace.events["start_ns"].to_numpy(np.int64)
    return cut_to_steps(trace, start, start + trace.events["duration_ns"].to_numpy(np.int64))


def cut_to_steps(trace: Trace, start: np.ndarray, end: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return a start and end for each event, without what lies outside its step (int64 ns)."""
    steps = trace.steps
    step = np.searchsorted(steps["step"].to_numpy(np.int64), trace.events["step"].to_numpy(np.int64))
    limits = [steps[name].to_numpy(np.int64)[step] for name in ("start_ns", "end_ns")]
    return np.clip(start, *limits), np.clip(end, *limits)


def _calls_of_jax(events: pd.DataFrame) -> bool:
    """Return whether a step has a call of JAX."""
    if not any(str(op).startswith(CALL) for op in events["op"].cat.categories):
        return False
    return bool((beginning(events["op"], re.compile(CALL)) & (events["step"] != NO_STEP).to_numpy()).any())
