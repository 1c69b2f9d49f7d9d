"""The line, function, layer or op on the host that takes most of the steps, and ops too small to be seen."""

import re
from collections import defaultdict
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import pandas as pd

from tfvis_nb.analysis.events.activity import NUMBER, accelerators, activity
from tfvis_nb.analysis.events.nesting import self_times_of
from tfvis_nb.analysis.events.step_devices import step_devices
from tfvis_nb.analysis.findings.finding import of_task, step_times, whole_tasks
from tfvis_nb.analysis.findings.program import recorded
from tfvis_nb.analysis.findings.slow_steps import reported_steps
from tfvis_nb.analysis.findings.time_share import TimeShare, largest_share
from tfvis_nb.analysis.source.python_samples import SampledLine, sampled_line
from tfvis_nb.analysis.steps.layers import event_layers, has_layers, live_layers
from tfvis_nb.core.categories import beginning
from tfvis_nb.core.intervals import lengths, priority_union
from tfvis_nb.core.per_trace import per_trace
from tfvis_nb.core.search_sorted import distinct_numbers
from tfvis_nb.core.stacks import PHASES, OwnCall, event_lines, event_stacks
from tfvis_nb.core.trace import Trace
from tfvis_nb.events import NO_STEP

LEAST = 0.1
"""The share of step time from which something is measured."""
_ALL = 0.9
"""The part from which one of several is practically the whole."""
_MOST = 0.5
"""The part from which one of several is most of the whole."""
_STEP = 0.99
"""A function or line with this part of the ops calls the step itself."""
_CANDIDATES = 3
"""How many of the longest lines, functions, layers and ops are measured."""
_START = re.compile(r"ExecutorState::Process$")
"""The runtime's event of running an op, and those that follow it on the same thread."""
_OF_LOOP = re.compile("TensorList")
"""Ops of a tf.TensorArray, such as that in which tf.map_fn collects its results."""
_NO_FUNCTION = ("", "<module>")
"""Names of frames outside functions, such as those of a notebook's cell."""
_JAX_CALL = re.compile(r"PjitFunction")


class HostWork(NamedTuple):
    """Work on the host that is one thing, and the time of steps that it takes."""

    spent: TimeShare
    subject: str
    """``functions``, ``scopes`` for name scopes of programs without a model, ``outside`` for ops of neither a
    layer nor an optimizer in programs with one, or a subject of `tfvis_nb.analysis.what_if`: ``lines``,
    ``layers`` or ``ops``."""
    name: str
    """Its line, layer or op type, or the name of the user's function."""
    line: str
    """The line of the user's code that calls the function, or the function's own line with most of its time.
    Other subjects have the line with most of their time; lines that call a whole model come last. Empty if
    not recorded."""
    line_share: float
    """The part of its time that this line has."""
    next_line: str
    """The line with the most time after ``line``, if that is at least half as much: for a line among all
    lines, for an op type among its own; otherwise empty."""
    next_ratio: float
    """Its time divided by that of ``line``."""
    op: str
    """The op type with most of its time."""
    op_share: float
    """The part of its time that this op type has."""
    each_ns: float
    """The mean time of its ops."""
    optimizer: bool
    """Whether an optimizer is practically all of it."""
    events: np.ndarray
    """Its events, the longest first."""


class SmallOps(NamedTuple):
    """Time of steps in which TensorFlow's executor starts ops, and nothing else happens."""

    spent: TimeShare
    starts: int
    """How often it starts working, in all steps: once for each op that does not follow another at once."""
    line: str
    """The line of the loop with most of the time of recorded ops, or else the line with most of it. Empty if
    most ops are not recorded, and none of a loop is: TensorFlow leaves out ops that were short before."""


class Overhead(NamedTuple):
    """Time of steps in which Python and the runtime work around recorded ops."""

    spent: TimeShare
    ops: int
    """How many ops are recorded in all steps."""
    each_ns: float
    """The mean time of these ops."""
    calls: int
    """How often Python calls something compiled: each step, or each function of JAX."""
    sampled: SampledLine | None
    """The line of the user's code with the most samples in steps; None if none were recorded."""
    line: str
    """The line with at least half of the ops, or the line or caller of the deepest function that has as many;
    empty if none has. Not a line or function that calls the step."""
    function: str
    """The name of that function; empty for a line."""
    line_share: float
    """The part of the ops that this line or function has."""


class _Work(NamedTuple):
    """Computing ops of a task's steps: their ids, self times and labels."""

    event: np.ndarray
    own: np.ndarray
    lines: np.ndarray
    layers: np.ndarray
    live: np.ndarray
    """The same without name scopes where these are not layers."""
    ops: np.ndarray
    optimizer: np.ndarray
    stacks: np.ndarray
    has_layers: bool
    """Whether name scopes are layers of a model."""


class _Thing(NamedTuple):
    """A candidate for one thing: a subject with its name, a mask of its ops, and its line if known."""

    subject: str
    name: str
    chosen: np.ndarray
    line: tuple[str, float] | None = None
    """The line that calls it or has most of its time, and the part of its time that this line has."""


@per_trace
def host_work(trace: Trace) -> list[HostWork]:
    """Return the single things among the computing on hosts that take `LEAST` of the steps or more.

    Lines come first, then functions, layers, ops of no layer, and op types: functions the deepest first,
    which are the most specific, others the longest first. A line is one thing unless it calls all of a model,
    as ``model.fit`` does, or an optimizer. Its time is that in which its ops run while nothing happens that
    takes precedence in the breakdown, such as work of a device.
    """
    computing = largest_share(trace, "host_compute_ns")
    if computing is None or computing.share < LEAST:
        return []
    work = _work(trace, computing.task)
    least_ns = LEAST * computing.mean_ns / computing.share * computing.steps
    works = []
    for subject, name, chosen, known in _things(trace, work):
        own = work.own[chosen]
        spent = _spent(trace, computing.task, work.event[chosen]) if own.sum() >= least_ns else None
        if spent is None or spent.share < LEAST:
            continue
        ops = _sums(work.ops[chosen], own)
        events = work.event[chosen][np.argsort(-own, kind="stable")]
        op_share = float(ops.iloc[0] / max(int(ops.sum()), 1))
        line = known or _line(work, chosen)
        others = {"lines": np.ones(len(work.own), bool), "ops": chosen}.get(subject)
        following = ("", 0.0) if others is None else _next_line(work, others, line[0])
        op = str(ops.index[0])
        optimizer = bool(own[work.optimizer[chosen]].sum() >= _ALL * own.sum())
        works.append(
            HostWork(
                spent, subject, name, *line, *following, op, op_share, float(own.mean()), optimizer, events
            )
        )
    return works


@per_trace
def small_ops(trace: Trace) -> SmallOps | None:
    """Return the time of steps in which TensorFlow's executor only starts ops; None if all have events.

    Ops that take less time than starting them have no events, for example those of a loop. With as many
    events as starts, the time between them is that of the runtime and of tracing, whatever the ops take.
    """
    spent = None if accelerators(trace.events).any() else largest_share(trace, "runtime_ns")
    if spent is None or spent.share < LEAST:
        return None
    starts = beginning(trace.events["op"], _START) & of_task(trace, spent.task)
    ops = (trace.events["kind"] == "op").to_numpy() & of_task(trace, spent.task)
    count, recorded = (
        int((one & (trace.events["step"] != NO_STEP).to_numpy()).sum()) for one in (starts, ops)
    )
    if count <= recorded:
        return None
    work = _work(trace, spent.task)
    lines = work.lines if 2 * recorded >= count else np.full(len(work.lines), "", object)
    if trace.stacks is not None:
        # How many ops of a loop are long enough to be recorded varies; its line is the same for all of them.
        loops = np.append(trace.stacks.loop_lines(), "")[event_stacks(trace)[work.event]]
        is_array = np.array([_OF_LOOP.match(op) is not None for op in work.ops], bool)
        loops = np.where((loops == "") & is_array, work.lines, loops)
        lines = loops if (loops != "").any() else lines
    named = lines != ""
    return SmallOps(spent, count, str(_sums(lines[named], work.own[named]).index[0]) if named.any() else "")


@per_trace
def overhead(trace: Trace) -> Overhead | None:
    """Return the time of steps that is neither an op nor a wait; None if an accelerator or no op is there."""
    spent = None if accelerators(trace.events).any() else largest_share(trace, "runtime_ns")
    if spent is None or spent.share < LEAST:
        return None
    ops = (trace.events["kind"] == "op").to_numpy() & of_task(trace, spent.task)
    in_steps = (trace.events["step"] != NO_STEP).to_numpy()
    took = trace.events["duration_ns"][ops & in_steps]
    if not len(took):
        return None
    calls = int((beginning(trace.events["op"], _JAX_CALL) & of_task(trace, spent.task) & in_steps).sum())
    steps = step_times(trace).sort_values("start_ns")
    start, end = (steps[name].to_numpy(np.int64) for name in ("start_ns", "end_ns"))
    sampled = sampled_line(trace, start, end, spent.task)
    where = _where(trace, _work(trace, spent.task))
    return Overhead(spent, len(took), float(took.mean()), max(calls, spent.steps), sampled, *where)


def _where(trace: Trace, work: _Work) -> tuple[str, str, float]:
    """Return the line that has most of some ops, or else the deepest function that does: see `Overhead`."""
    counted = work._replace(own=np.ones(len(work.own), np.int64))
    for line, ops in _sums(counted.lines, counted.own).head(1).items():
        if line != "" and _MOST * len(work.own) <= ops < _STEP * len(work.own):
            return str(line), "", float(ops / len(work.own))
    for thing in _functions(trace, counted):
        if thing.line is not None:
            return thing.line[0], thing.name, float(thing.chosen.mean())
    return "", "", 0.0


def _work(trace: Trace, task: str) -> _Work:
    here = step_devices(trace)
    assert here is not None
    of_task = (here.table["task"].astype(str) == task).to_numpy()[here.device_row]
    event = distinct_numbers(here.event[of_task & (activity(trace)[here.event] == NUMBER["host_compute"])])
    lines, stacks = event_lines(trace, event), event_stacks(trace)[event]
    layer, phase = event_layers(trace)
    names = np.array([name or "" for name in layer.dictionary.to_pylist()], object)
    layers = names[np.asarray(layer.indices)[event]]
    # A recording of TensorFlow 2 has the layers of its models: other scopes are those of composite ops.
    program = recorded(trace)["program"]
    live = live_layers(trace)[event] if program in ("keras", "function", "eager") else layers
    is_model = program in ("keras", "jax") or has_layers(trace)
    ops = trace.events["op"].iloc[event].astype(object).fillna("").to_numpy()
    optimizer = phase[event] == PHASES.index("optimizer")
    return _Work(event, self_times_of(trace)[0][event], lines, layers, live, ops, optimizer, stacks, is_model)


def _things(trace: Trace, work: _Work) -> Iterator[_Thing]:
    """Yield what may be one thing, in the order of `host_work`."""
    whole = int(work.own.sum())
    for line, took in _sums(work.lines, work.own).head(_CANDIDATES).items():
        mine = work.lines == line
        if line != "" and not _is_of_optimizer(work, mine) and (took < _ALL * whole or _is_one(work, mine)):
            yield _Thing("lines", str(line), mine)
    yield from _functions(trace, work)
    of_scopes = "layers" if work.has_layers else "scopes"
    for subject, labels in ((of_scopes, work.layers), ("ops", work.ops)):
        if subject == "ops" and work.has_layers and (work.live != "").any():
            # Ops without a stack are unknown in the graph, and so are their layers.
            yield _Thing("outside", "", (work.layers == "") & ~work.optimizer & (work.stacks >= 0))
        for name in _sums(labels, work.own).head(_CANDIDATES).index:
            if name:
                yield _Thing(subject, str(name), labels == name)


def _functions(trace: Trace, work: _Work) -> Iterator[_Thing]:
    """Yield functions of the user's code with most of the time, which do not call the step or a whole model.

    The code of a module is no function. Callers are named unless they call the step, as ``model.fit`` calls
    the loss; otherwise a line of the function itself.
    """
    if trace.stacks is None:
        return
    stacks, number = np.unique(work.stacks, return_inverse=True)
    took = dict(zip(stacks.tolist(), np.bincount(number, work.own).tolist(), strict=True))
    took.pop(-1, None)
    of_function: dict[tuple[str, str], list[OwnCall]] = defaultdict(list)
    of_line: dict[str, set[int]] = defaultdict(set)
    for call in trace.stacks.own_calls(list(took)):
        of_function[call.file, call.function].append(call)
        of_line[call.line].add(call.stack)
    most, step = _MOST * float(work.own.sum()), _STEP * sum(took.values())
    times = {key: sum(took[call.stack] for call in calls) for key, calls in of_function.items()}
    chosen = [key for key, took_ns in times.items() if key[1] not in _NO_FUNCTION and most <= took_ns < step]
    chosen.sort(key=lambda key: max(call.depth for call in of_function[key]), reverse=True)
    for key in chosen[:_CANDIDATES]:
        mine = np.isin(work.stacks, [call.stack for call in of_function[key]])
        callers = {call.caller for call in of_function[key]}
        caller = callers.pop() if len(callers) == 1 else ""
        is_of_step = sum(took[stack] for stack in of_line[caller]) >= step
        line = (caller, 1.0)
        if not caller or is_of_step:
            own = pd.Series({call.stack: call.line for call in of_function[key]})
            sums = _sums(own.to_numpy(object), own.index.map(took).to_numpy(np.int64))
            line = (str(sums.index[0]), float(sums.iloc[0] / times[key]))
        if _is_one(work, mine, work.live):
            yield _Thing("functions", key[1], mine, line)


def _is_of_optimizer(work: _Work, mine: np.ndarray) -> bool:
    """Return whether practically all of some ops are of an optimizer that has a name."""
    named = mine & work.optimizer & (work.layers != "")
    return bool(work.own[named].sum() >= _ALL * work.own[mine].sum())


def _line(work: _Work, chosen: np.ndarray) -> tuple[str, float]:
    """Return the line with most of the time of ops, and its part; one that calls a whole model comes last."""
    sums = _sums(work.lines[chosen], work.own[chosen])
    longest = [line for line in sums.head(_CANDIDATES).index if line != ""]
    calling = [line for line in longest if work.has_layers and not _is_one(work, work.lines == line)]
    ranked = sums.drop(calling) if len(calling) < len(sums) else sums
    line = str(ranked.index[0]) if ranked.iloc[0] else str(sums.index[0])
    return line, float(sums[line] / max(int(sums.sum()), 1))


def _next_line(work: _Work, chosen: np.ndarray, line: str) -> tuple[str, float]:
    """Return the line with the most time after another one, and the ratio of their times; empty if small.

    A line that calls a whole model is not one thing, so it is left out.
    """
    sums = _sums(work.lines[chosen], work.own[chosen])
    for other, took in sums.drop([line, ""], errors="ignore").head(_CANDIDATES).items():
        if line and 0 < _MOST * sums[line] <= took and _is_one(work, work.lines == other):
            return str(other), float(took / sums[line])
    return "", 0.0


def _is_one(work: _Work, mine: np.ndarray, labels: np.ndarray | None = None) -> bool:
    """Return whether practically all of some ops are of one layer, or of none."""
    layers = _sums((work.layers if labels is None else labels)[mine], work.own[mine])
    return bool(layers.iloc[0] >= _ALL * layers.sum())


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
    swept = priority_union(here.whole[here.device_row], here.start, here.end, level)
    took = lengths(swept, len(here.table), 3)[:, 1]
    own = here.table.assign(own_ns=took)[["step", "task", "own_ns", "device"]]
    own = own[(own["device"].astype(str) == "") & (own["task"].astype(str) == task)]
    # Events without a device have a row of their own beside that of the task.
    table = whole_tasks(trace).merge(own.groupby("step", as_index=False)["own_ns"].max(), on="step")
    table, _ = typical_time(trace, table[table["task"].astype(str) == task], "own_ns")
    return largest_share(trace, "own_ns", table)


def typical_time(trace: Trace, table: pd.DataFrame, part: str) -> tuple[pd.DataFrame, list[int]]:
    """Return a table of tasks and steps without the extra time of slow steps, and the steps that have some.

    A reported slow step then takes as much of the part as the median step. If most of the part is not such
    extra time, the table stays as it is, and no steps are returned.
    """
    medians = reported_steps(trace)
    if medians.empty:
        return table, []
    task, step = table["task"].astype(str), table["step"].astype("int64")
    took = pd.Series(table[part].to_numpy(np.int64, na_value=0), index=[task, step])
    compared = medians.reindex(step).fillna(-1).astype("int64").to_numpy()
    median = took.reindex(pd.MultiIndex.from_arrays([task, compared]), fill_value=0)
    extra = np.where(step.isin(medians.index), took.to_numpy() - median.to_numpy(), 0).clip(0)
    if not extra.sum() or extra.sum() < _MOST * took.sum():
        return table, []
    return table.assign(**{part: took.to_numpy() - extra}), step[extra > 0].unique().tolist()
