"""Python's part of the steps: ops that it runs one by one, and its own code between them."""

import re
from collections import Counter
from typing import NamedTuple

import numpy as np

from tfvis_nb.analysis.events.activity import accelerators, during_steps
from tfvis_nb.analysis.findings.finding import of_task, whole_tasks
from tfvis_nb.analysis.findings.host_work import LEAST, typical_time
from tfvis_nb.analysis.findings.idle_python import idle_python
from tfvis_nb.analysis.findings.program import calls_compiled_model, recorded
from tfvis_nb.analysis.findings.time_share import TimeShare, largest_share
from tfvis_nb.analysis.source.lock_waits import lock_times, lock_waits
from tfvis_nb.analysis.source.python_samples import SampledLine, mostly_at, sampled_figures
from tfvis_nb.core.categories import beginning, is_kind
from tfvis_nb.core.intervals import lengths, union
from tfvis_nb.core.per_trace import per_trace
from tfvis_nb.core.stacks import event_lines, event_stacks
from tfvis_nb.core.trace import Trace
from tfvis_nb.events import NO_STEP

_NEARLY_ALL = 0.8
"""The part of the ops that a line calls if it stands for all: some are of metrics and callbacks."""
_MOST = 0.5
_KERNEL = re.compile(r"KernelAndDevice\w*::Run$")


class EagerOps(NamedTuple):
    """Ops that Python runs one by one, and the time of steps that is neither their kernels' nor waits."""

    spent: TimeShare
    ops: int
    """How many there are in all steps."""
    line: str
    """The innermost line of the user's code that calls all of them, or else the one that calls most; empty if
    not recorded."""
    of_all: bool
    """Whether it calls all of them."""
    compiled: bool
    """Whether steps also call the function that Keras compiles a model's step to."""
    events: np.ndarray


class PythonWork(NamedTuple):
    """Time of steps that Python takes."""

    spent: TimeShare
    sampled: SampledLine | None
    """The line of the user's code with the most samples; None if none were recorded."""


@per_trace
def eager_ops(trace: Trace) -> EagerOps | None:
    """Return the ops of steps that Python runs one by one; None if an accelerator or no such op is there."""
    if accelerators(trace.events).any():
        return None
    rows = np.flatnonzero(is_eager_op(trace) & (trace.events["step"] != NO_STEP).to_numpy())
    table = whole_tasks(trace)
    if not len(rows) or table.empty:
        return None
    task = str(trace.events["task"].iloc[rows].astype(object).fillna("").mode().iloc[0])
    table = table[table["task"].astype(str) == task]
    event, step, start, end = during_steps(trace)
    runs = beginning(trace.events["op"], _KERNEL) & of_task(trace, task)
    chosen = runs[event]
    numbers = table["step"].to_numpy(np.int64)
    group = np.searchsorted(numbers, step[chosen])
    busy = lengths(union(group, start[chosen], end[chosen]), len(numbers), 2)[:, 1]
    busy += lock_times(trace, table, of_input=True) + lock_times(trace, table, of_input=False)
    calling, _ = typical_time(
        trace, table.assign(calling_ns=(table["step_ns"] - busy).clip(lower=0)), "calling_ns"
    )
    spent = largest_share(trace, "calling_ns", calling)
    if spent is None:
        return None
    return EagerOps(spent, len(rows), *_caller(trace, rows), calls_compiled_model(trace), rows)


def is_eager_op(trace: Trace) -> np.ndarray:
    """Return a mask of the ops that Python runs one by one."""
    called = trace.events["detail"].str.startswith("EagerLocalExecute: ").fillna(value=False)
    mask: np.ndarray = is_kind(trace.events, "op") & called.to_numpy(bool)
    return mask


def _caller(trace: Trace, rows: np.ndarray) -> tuple[str, bool]:
    """Return the innermost line of the user's own code that is on the stacks of nearly all events, and True.

    If none is, as in a cell without functions, return the line that calls most of them, and False.
    """
    if trace.stacks is None:
        return "", False
    numbers, counts = np.unique(event_stacks(trace)[rows], return_counts=True)
    stacks = [
        ([f"{frame.file}:{frame.line}" for frame in trace.stacks.frames_of(number)[::-1] if frame.own], count)
        for number, count in zip(numbers.tolist(), counts.tolist(), strict=True)
        if number >= 0
    ]
    least, common = _NEARLY_ALL * sum(count for _, count in stacks), ""
    for level in range(max((len(lines) for lines, _ in stacks), default=0)):
        called: Counter[str] = Counter()
        for lines, count in stacks:
            if len(lines) > level:
                called[lines[level]] += count
        # Only the stacks below the common line are left, and they may be shorter than the others.
        line, count = next(iter(called.most_common(1)), ("", 0))
        if count < least:
            break
        common = line
        stacks = [(lines, count) for lines, count in stacks if len(lines) > level and lines[level] == line]
    if common:
        return common, True
    calling: Counter[str] = Counter()
    for lines, count in stacks:
        calling.update(dict.fromkeys(lines[-1:], count))
    return next(iter(calling.most_common(1)), ("", 0))[0], False


def other_python(trace: Trace, eager: EagerOps, most_ns: float) -> bool:
    """Return whether most of the time around eager ops is that of one line, and not of calling them.

    Each op that the line calls may take `most_ns`.
    """
    python = python_work(trace)
    if python is None or python.sampled is None or trace.stacks is None:
        return False
    took = python.sampled.share * python.spent.mean_ns * python.spent.steps
    ops = int((event_lines(trace, eager.events) == python.sampled.line).sum())
    return took > most_ns * ops and took >= _MOST * eager.spent.mean_ns * eager.spent.steps


@per_trace
def lock_of_thread(trace: Trace) -> PythonWork | None:
    """Return the time of steps spent waiting for the lock that a thread of the program's own holds."""
    table = whole_tasks(trace)
    spent = largest_share(trace, "lock_ns", table.assign(lock_ns=lock_times(trace, table, of_input=False)))
    if spent is None or not spent.share:
        return None
    return PythonWork(spent, lock_waits(trace)[spent.task].holder)


@per_trace
def python_work(trace: Trace) -> PythonWork | None:
    """Return the time of steps in which Python ran, but nothing of the framework besides the input pipeline.

    Only for processes that record calls of TensorFlow or JAX. The extra time of slow steps is not part of it.

    None for other programs, and where an accelerator is: idle_device explains what that waits for. Also None
    if samples show that it is the time of calling the step.
    """
    program = recorded(trace)["program"]
    if program not in ("keras", "function", "eager", "jax") or accelerators(trace.events).any():
        return None
    table = whole_tasks(trace)
    # The input pipeline works on other threads: the step does not wait for it.
    own = table["idle_ns"].fillna(0) + table["preprocessing_ns"]
    table, slow = typical_time(trace, table.assign(own_ns=own.astype("int64")), "own_ns")
    spent = largest_share(trace, "own_ns", table)
    if spent is None or spent.share < LEAST:
        return None
    line, calls_step = idle_python(trace, spent.task, table["step"][~table["step"].isin(slow)].unique())
    # JAX does not record all that its steps do.
    is_unsure = program == "jax" and not mostly_at(sampled_figures(line))
    return None if calls_step or is_unsure else PythonWork(spent, line)
