"""The line, layer or op on the host that takes most of the steps."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import pandas as pd

from tfvis_nb.analysis.events.activity import NUMBER, activity
from tfvis_nb.analysis.events.nesting import self_times_of
from tfvis_nb.analysis.events.step_devices import step_devices
from tfvis_nb.analysis.findings.finding import whole_tasks
from tfvis_nb.analysis.findings.time_share import TimeShare, largest_share
from tfvis_nb.analysis.steps.layers import event_layers
from tfvis_nb.core.intervals import lengths, priority_union
from tfvis_nb.core.per_trace import per_trace
from tfvis_nb.core.stacks import event_stacks
from tfvis_nb.core.trace import Trace

LEAST = 0.1
"""The share of step time from which something is measured."""
_ALL = 0.9
"""The part from which one of several is practically the whole."""
_CANDIDATES = 3
"""How many of the longest lines, layers and ops are measured."""


class HostWork(NamedTuple):
    """Work on the host that is one thing, and the time of steps that it takes."""

    spent: TimeShare
    subject: str
    """A subject of `tfvis_nb.analysis.what_if`: ``lines``, ``layers`` or ``ops``."""
    name: str
    """Its line, layer or op type."""
    line: str
    """The line of the user's code with most of its time; empty if not recorded."""
    op: str
    """The op type with most of its time."""
    op_share: float
    """The part of its time that this op type has."""
    events: np.ndarray
    """Its events, the longest first."""


class _Work(NamedTuple):
    """Computing ops of a task's steps: their ids, self times and labels."""

    event: np.ndarray
    own: np.ndarray
    lines: np.ndarray
    layers: np.ndarray
    ops: np.ndarray


@per_trace
def host_work(trace: Trace) -> list[HostWork]:
    """Return the single things among the computing on hosts that take `LEAST` of the steps or more.

    Lines come first, then layers, then op types, each the longest first. A line is one thing unless it calls
    all of a model, as ``model.fit`` does. Its time is that in which its ops run while nothing happens that
    takes precedence in the breakdown, such as work of a device.
    """
    computing = largest_share(trace, "host_compute_ns")
    if computing is None or computing.share < LEAST:
        return []
    work = _work(trace, computing.task)
    least_ns = LEAST * computing.mean_ns / computing.share * computing.steps
    found = []
    for subject, name, chosen in _things(work):
        own = work.own[chosen]
        spent = _spent(trace, computing.task, work.event[chosen]) if own.sum() >= least_ns else None
        if spent is None or spent.share < LEAST:
            continue
        ops, lines = (_sums(labels[chosen], own) for labels in (work.ops, work.lines))
        events = work.event[chosen][np.argsort(-own, kind="stable")]
        op_share = float(ops.iloc[0] / max(int(ops.sum()), 1))
        found.append(HostWork(spent, subject, name, str(lines.index[0]), str(ops.index[0]), op_share, events))
    return found


def _work(trace: Trace, task: str) -> _Work:
    here = step_devices(trace)
    assert here is not None
    of_task = (here.table["task"].astype(str) == task).to_numpy()[here.device_row]
    event = np.unique(here.event[of_task & (activity(trace)[here.event] == NUMBER["host_compute"])])
    lines = np.full(len(event), "", object)
    if trace.stacks is not None:
        lines = np.append(trace.stacks.own_lines(), "")[event_stacks(trace)[event]]
    layer, _ = event_layers(trace)
    names = np.array([name or "" for name in layer.dictionary.to_pylist()], object)
    ops = trace.events["op"].iloc[event].astype(object).fillna("").to_numpy()
    return _Work(event, self_times_of(trace)[0][event], lines, names[np.asarray(layer.indices)[event]], ops)


def _things(work: _Work) -> Iterator[tuple[str, str, np.ndarray]]:
    """Yield what may be one thing, the longest first: its subject, its name and a mask of its ops."""
    whole = int(work.own.sum())
    for line, took in _sums(work.lines, work.own).head(_CANDIDATES).items():
        mine = work.lines == line
        layers = _sums(work.layers[mine], work.own[mine])
        if line != "" and (layers.iloc[0] >= _ALL * took or took < _ALL * whole):
            yield "lines", str(line), mine
    for subject, labels in (("layers", work.layers), ("ops", work.ops)):
        for name in _sums(labels, work.own).head(_CANDIDATES).index:
            if name:
                yield subject, str(name), labels == name


def _sums(labels: np.ndarray, own: np.ndarray) -> pd.Series:
    """Return the time of each label, the longest first."""
    return pd.Series(own).groupby(labels).sum().sort_values(ascending=False, kind="stable")


def _spent(trace: Trace, task: str, events: np.ndarray) -> TimeShare | None:
    """Return the time of steps that ops of a task take, without what takes precedence in the breakdown."""
    here = step_devices(trace)
    assert here is not None
    chosen = np.zeros(len(trace.events), bool)
    chosen[events] = True
    active = activity(trace)[here.event]
    level = np.where(active > NUMBER["host_compute"], 2, chosen[here.event])
    found = priority_union(here.whole[here.device_row], here.start, here.end, level)
    took = lengths(found, len(here.table), 3)[:, 1]
    own = here.table.assign(own_ns=took)[["step", "task", "own_ns", "device"]]
    own = own[(own["device"].astype(str) == "") & (own["task"].astype(str) == task)]
    table = whole_tasks(trace).merge(own[["step", "own_ns"]], on="step")
    return largest_share(trace, "own_ns", table[table["task"].astype(str) == task])
