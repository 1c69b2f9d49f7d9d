"""Predict the effect of changed durations by replaying the dependencies of a trace."""

from __future__ import annotations

import math
from collections.abc import Mapping
from numbers import Real
from typing import Any

import numpy as np

from tfvis_nb.analysis._validate import validate_input
from tfvis_nb.analysis.communication.participants import participants
from tfvis_nb.analysis.communication.stragglers import stragglers
from tfvis_nb.analysis.critical_path.backtrack import backtracker
from tfvis_nb.analysis.critical_path.dependency_table import KIND, Dependencies
from tfvis_nb.analysis.dataflow.edges import edges as edges_of
from tfvis_nb.analysis.events.activity import NUMBER, activity
from tfvis_nb.analysis.prediction.changed_events import (
    OF_OPS,
    SELECTORS,
    line_matcher,
    names_of,
    of_input_python,
    work_of,
)
from tfvis_nb.analysis.prediction.factors import (
    early_factors,
    gpu_factors,
    without_lock_waits,
    without_shared_cores,
)
from tfvis_nb.analysis.prediction.predicted import Predicted, predicted_trace
from tfvis_nb.analysis.prediction.python_time import between_steps as python_between_steps
from tfvis_nb.analysis.prediction.python_time import no_python_time, of_sampled_lines
from tfvis_nb.analysis.prediction.replay import Altered, no_change, replay, unchanged
from tfvis_nb.analysis.prediction.trust import MOST_DRIFT, doubt
from tfvis_nb.analysis.steps.outside_steps import is_one_recording, outside_steps
from tfvis_nb.core.format import format_percent
from tfvis_nb.core.labels import natural, shown_task
from tfvis_nb.core.options import near, some_of
from tfvis_nb.core.prediction import BETWEEN, HIDDEN, HOW, ON_GPU, ON_TIME, Change
from tfvis_nb.core.trace import Trace
from tfvis_nb.events import LATEST_NS, MOST_IN_ALL, NO_STEP
from tfvis_nb.texts import Text

Changes = Mapping[str, float | str]
"""Names, or patterns with ``*`` and ``?``, to the change of matching events: a factor of their duration,
``"hidden"`` or ``"gpu"``."""

_MOST_TASKS = 8
_MOST = 0.5
"""Python of which this part is gone no longer holds the interpreter for most of its time."""

_LAGS = {"launch": ("launch",), "communication": ("transfer", "channel")}
"""The dependencies whose lags are part of an activity: launching a kernel, and sending a tensor."""


@validate_input
def what_if(
    trace: Trace,
    *,
    ops: Changes | None = None,
    kernels: Changes | None = None,
    layers: Changes | None = None,
    lines: Changes | None = None,
    activities: Changes | None = None,
    on_time: str | None = None,
    between_steps: float | None = None,
) -> Predicted:
    """Predict the steps of a trace if some of its events took longer or shorter.

    A change is a factor of a duration, ``{"MatMul": 0.5}``, or one of two words. The factor of an op, a layer
    or a line scales its work. If that work is kernels, launching them still takes the host as long as before;
    only a factor of 0 also removes the launches. ``"hidden"`` is perfect overlap, like work for the next
    step: it starts with its step, keeps its duration, waits for no other work and delays none. ``"gpu"``
    gives CPU ops the speed of a GPU of the trace: that of the same op type there, or else the minimum time
    that the GPU needs for the op's operations and bytes. Copies to and from the op do not change.

    Parameters
    ----------
    trace
        Any trace with steps.
    ops, kernels, layers, lines
        Changed work, by op type, kernel name, layer (with nested layers) or line of code, such as
        ``train.py:12``. A factor of 0 removes it, with the calls that launch it and the time before its
        start. Lines of Python that samples of a recording have seen take a factor alone.
    activities
        Changed activities: all events that count as one on the critical path. Calls that launch work of a
        device stay. ``{"launch": 0}`` makes launches free, including the time from a launch to its kernel.
        ``{"input": 0}`` makes input free: no step waits for it. ``{"communication": "hidden"}`` hides
        communication; its factor also applies to the time from the end of an op until its tensor is sent.
        ``{"compile": 0}`` removes tracing and the preparation of new graphs, but not their first run.
        ``h2d``, ``d2h`` and ``d2d`` are copies.
    on_time
        A task or device that arrives at each barrier no later than the last of the others: ``"worker 1"``,
        ``"CPU:1"`` or its full name.
    between_steps
        A factor of the time between the steps, except for that of input. ``typical_loop`` of the result has
        its effect.

    Returns
    -------
    Predicted
        A trace of predicted times, with step times, the drift of the replay and the new critical path.
        ``doubt`` has the reason if the prediction is not trusted, and is also a note.

    Raises
    ------
    TypeError
        If the changes of ops, kernels, layers, lines or activities are not a mapping.
    ValueError
        If a name matches no event or sample, nothing is known of time between steps, a factor is negative or
        makes times too large for int64, the speed of an op on a GPU is unknown, the task is unknown or at no
        barrier, or the trace cannot be replayed: it has no steps, the replay of the recorded times is off by
        more than `MOST_DRIFT`, or less work makes the loop or a step longer by more than that.

    Notes
    -----
    `tfvis_nb.analysis.prediction.replay.replay` is the model. It keeps the order of work on each thread and
    stream, and starts nothing before its dependencies allow.

    Examples
    --------
    >>> from tfvis_nb import Trace, events
    >>> from tfvis_nb.analysis import what_if
    >>> table = events.build({
    ...     "start_ns": [0, 0, 60], "duration_ns": [50, 20, 30], "kind": ["op"] * 3, "lane": ["ops"] * 3,
    ...     "name": ["a", "b", "c"], "op": ["Const", "Const", "Add"],
    ...     "detail": ["a = Const()", "b = Const()", "c = Add(a, b)"],
    ... })
    >>> result = what_if(Trace(table), ops={"Add": 0.5})
    >>> result.times[["recorded_ns", "predicted_ns"]].values.tolist(), result.drift
    ([[90, 75]], 0.0)
    >>> result.path.values.tolist()
    [['host_compute', 80, 65], ['scheduling', 10, 10]]
    """
    given = zip(SELECTORS, (ops, kernels, layers, lines, activities), strict=True)
    changes = {subject: _checked(subject, of_names) for subject, of_names in given}
    if on_time is not None:
        on_time = _task_called(trace, on_time)
    if between_steps is not None:
        (between_steps,) = _checked(BETWEEN, {BETWEEN: between_steps}, only_factors=True).values()
    altered = requested(trace, changes, on_time, between_steps)
    listed, times = _listed(changes, on_time, between_steps), backtracker(trace).times
    replayed = replay(trace, altered) if listed else unchanged(trace)
    latest = int(times.start[0]) + replayed.end[times.counts].max(initial=0)
    if latest > LATEST_NS or (replayed.end - replayed.start)[times.counts].sum() > MOST_IN_ALL:
        raise ValueError(Text("predicted_too_long"))
    predicted = predicted_trace(trace, altered, replayed, listed)
    if predicted.drift > MOST_DRIFT:
        raise ValueError(Text("replay_drifts", drift=format_percent(predicted.drift)))
    if predicted.lengthening > MOST_DRIFT and not altered.adds_work:
        raise ValueError(Text("replay_lacks_dependencies", longer=format_percent(predicted.lengthening)))
    predicted.doubt = doubt(trace, altered, predicted.times)
    if predicted.doubt is not None:
        predicted.notes.insert(0, Text("prediction_not_trusted", reason=predicted.doubt))
    return predicted


def _checked(subject: str, given: Any, *, only_factors: bool = False) -> dict[str, Any]:
    """Return the changes of a subject if they are valid for `what_if`."""
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise TypeError(Text("no_changes", subject=subject, given=given))
    for name, how in given.items():
        number = isinstance(how, Real) and not isinstance(how, bool)
        if not (0 <= how < math.inf if number else isinstance(how, str) and how in HOW and not only_factors):
            raise ValueError(Text("not_a_change", name=name, given=how))
        if number and how > LATEST_NS:
            raise ValueError(Text("predicted_too_long"))
    return {str(name): how if isinstance(how, str) else float(how) for name, how in given.items()}


def _task_called(trace: Trace, name: str) -> str:
    """Return the full name of a task; if there is none, the message lists those at barriers, or else all."""
    tasks: list[str] = participants(trace).cat.categories.astype(str).tolist()
    for task in tasks:
        if name in (task, shown_task(task)):
            return task
    at_barriers = {*stragglers(trace)["task"].astype(str)} & {*tasks}
    known = [shown_task(task) for task in sorted(at_barriers or tasks, key=natural)]
    raise ValueError(Text("no_such_task", task=name, known=some_of(known, _MOST_TASKS)))


def _listed(
    changes: Mapping[str, Mapping[str, Any]], on_time: str | None, between_steps: float | None
) -> list[Change]:
    listed = [
        Change(subject, name, None, how) if isinstance(how, str) else Change(subject, name, how)
        for subject, of_names in changes.items()
        for name, how in of_names.items()
    ]
    if on_time is not None:
        listed.append(Change(ON_TIME, on_time, None))
    return listed if between_steps is None else [*listed, Change(BETWEEN, "", between_steps)]


def requested(
    trace: Trace,
    changes: Mapping[str, Mapping[str, Any]],
    on_time: str | None = None,
    between_steps: float | None = None,
) -> Altered:
    """Return the changes of `what_if` for a trace, given its arguments by name."""
    if not (trace.events["step"] != NO_STEP).any():
        raise ValueError(Text("no_steps"))
    times = backtracker(trace).times
    if not (times.counts & (times.step != NO_STEP)).any():
        raise ValueError(Text("steps_without_work"))
    altered, table = no_change(trace), backtracker(trace).dependencies
    removed = np.zeros(len(times.start), bool)
    ahead = times.with_nested(activity(trace) == NUMBER["preprocessing"])
    later, lost = table.satisfied_at > times.start[table.target], no_python_time(trace)
    for subject, of_names in changes.items():
        for name, how in of_names.items():
            chosen = SELECTORS[subject](trace, name)
            if subject in OF_OPS and how != 0:
                chosen = work_of(trace, chosen)
            python = of_sampled_lines(trace, line_matcher(name)) if subject == "lines" else None
            if python is not None and (python.own.any() or python.lag.any()):
                if isinstance(how, str):
                    if not chosen.any():
                        raise ValueError(Text("only_sampled", name=name, how=how))
                else:
                    own = np.where(chosen, 0, python.own)
                    lost = lost.more(python._replace(own=own), 1 - how)
            elif not chosen.any():
                if SELECTORS[subject](trace, name).any():
                    raise ValueError(Text("no_work_to_change", name=name))
                hint = near(name, names_of(trace, subject))
                raise ValueError(Text("nothing_to_change", subject=subject, name=name, hint=hint))
            if subject != "activities":
                chosen = times.with_nested(chosen)
            if subject == "lines":
                chosen &= ~of_input_python(trace)
            if how == HIDDEN:
                altered.hidden[chosen] = True
                continue
            if how == ON_GPU:
                altered.factor[:] *= gpu_factors(trace, chosen, name)
                continue
            altered.factor[chosen] *= how
            if subject == "activities":
                lags = np.isin(table.kind, [KIND[kind] for kind in _LAGS.get(name, ())])
                if name == "launch":
                    lags |= _unlaunched(table)
                altered.lag_factor[lags] *= how
                if name == "input" and not how:
                    waits = later | ahead[table.source]
                    altered.met[:] |= waits & chosen[table.target] & ~chosen[table.source]
                    removed |= ahead
            if not how and subject != "activities":
                chosen |= _around(trace, chosen)
                altered.factor[chosen] = 0
                handed = ahead[table.source] & ~ahead[table.target]
                altered.met[:] |= handed & chosen[table.target] & ~chosen[table.source]
            if not how and (subject, name) != ("activities", "launch"):
                altered.lag_factor[chosen[table.target]] = 0
    if between_steps is not None:
        outside = outside_steps(trace)
        if outside is None or not outside.between_ns or not is_one_recording(trace):
            raise ValueError(Text("no_time_between_steps"))
        lost = lost.more(python_between_steps(trace), 1 - between_steps)
    altered.factor[:] *= 1 - lost.own
    altered.python_factor[:] *= 1 - lost.lag
    removed |= lost.own >= _MOST
    removed |= altered.factor == 0
    lock, cores = without_lock_waits(trace, removed), without_shared_cores(trace, removed)
    altered.core_factor[:] = np.minimum(cores / np.maximum(lock, cores), 1)
    altered.factor[:] *= lock * altered.core_factor
    if on_time is not None:
        early = early_factors(trace, on_time)
        altered.factor[:] *= early
        altered.lag_factor[:] *= early[table.target]
    given = [how for of_names in changes.values() for how in of_names.values()]
    factors = [
        how for how in (*given, between_steps, None if on_time is None else 0) if isinstance(how, Real)
    ]
    return altered._replace(removes=min(factors, default=1) < _MOST)


def _unlaunched(table: Dependencies) -> np.ndarray:
    """Return a mask of stream dependencies of work without a recorded launch, which counts as late."""
    launched = table.target[table.kind == KIND["launch"]]
    late: np.ndarray = (table.kind == KIND["stream"]) & ~np.isin(table.target, launched)
    return late


def _around(trace: Trace, removed: np.ndarray) -> np.ndarray:
    """Return a mask of work that removed calls launch, and of calls that only launch removed work."""
    edges = edges_of(trace)[(edges_of(trace)["kind"] == "launch").to_numpy()]
    call, work = (edges[name].to_numpy(np.int64) for name in ("source", "target"))
    launched, calls = removed.copy(), np.zeros(len(removed), bool)
    launched[work[removed[call]]] = True
    calls[call] = True
    calls[call[~launched[work]]] = False
    around: np.ndarray = launched | backtracker(trace).times.with_nested(calls)
    return around
