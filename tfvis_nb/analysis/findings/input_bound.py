"""Steps wait for the next batch."""

import re
from typing import Any

import numpy as np
import pandas as pd

from tfvis_nb.analysis.events.activity import NUMBER, activity, during_steps
from tfvis_nb.analysis.events.nesting import self_times_of
from tfvis_nb.analysis.findings import time_share
from tfvis_nb.analysis.findings.finding import OBSERVATION, Finding, of_task, whole_tasks
from tfvis_nb.analysis.findings.program import faster_input, recorded
from tfvis_nb.analysis.findings.python_batches import (
    batches_line,
    python_batches,
    queue_sentence,
    source_of,
)
from tfvis_nb.analysis.findings.rule import (
    Figures,
    Measurement,
    Remedy,
    Rule,
    Texts,
    Threshold,
    all_time,
    beyond,
    capital,
    example,
    not_reported,
    per_step,
    step_time,
)
from tfvis_nb.analysis.input.input_pipeline import input_pipeline
from tfvis_nb.analysis.input.shuffle_fills import shuffle_fills
from tfvis_nb.analysis.input.stage_names import stage_label
from tfvis_nb.analysis.source.calling_thread import PYTHON_CALL
from tfvis_nb.analysis.source.dataset_calls import only_call
from tfvis_nb.analysis.source.lock_waits import lock_times, lock_waits
from tfvis_nb.analysis.source.python_samples import called_line, sampled_clause, sampled_figures
from tfvis_nb.core.categories import is_kind
from tfvis_nb.core.format import format_duration, format_number, format_percent
from tfvis_nb.core.intervals import overlap, union
from tfvis_nb.core.labels import task_label
from tfvis_nb.core.per_trace import per_trace
from tfvis_nb.core.stacks import event_lines
from tfvis_nb.core.trace import Trace
from tfvis_nb.core.undivided import whole
from tfvis_nb.events import NO_STEP

SHARE = Threshold(
    0.05,
    "share of step time spent waiting for input, `input_ns`; XProf calls such a step moderately input bound",
)
HIGH = Threshold(
    0.2, 'share at which the title leaves out "a little"; XProf calls such a step highly input bound'
)
MEAN_NS = Threshold(
    500_000,
    "mean `input_ns` of a step: taking a batch that is ready lasts up to 480 µs in traces of healthy runs",
)

PART = Threshold(
    0.1, "time of the slowest part of the pipeline as a fraction of the wait, if the text names it as such"
)

MOST = Threshold(
    0.5,
    "time of the ops in the functions of the pipeline as a fraction of the slowest stage before a batch: with"
    " less, it mostly calls its function for one element at a time",
)

_METHODS = {"Map": "map", "ParallelMap": "map", "MapAndBatch": "map", "Filter": "filter"}
"""Stages that call functions, and the methods of a dataset that make them."""
_PLUMBING = re.compile(r"(?!Make)Iterator::|InstantiatedCapturedFunction|Executor|\w+(?:Produce|Consume)$")
"""Events that run other stages of an input pipeline, or wait for them."""
_AWAITING = re.compile(
    r"(?:MakeIterator|InstantiatedCapturedFunction|Executor)|\w+(?:Produce|Consume)$"
    r"|Iterator::(?:.*::)?(?:Model|Root|Prefetch|MapAndBatch|Parallel\w*)(?:V\d+)?(?:\[\d+\])?$"
)
"""The ones among them that wait for stages on other threads."""

ONCE = "Trace later steps: only the first one starts the input pipeline and fills its shuffle buffer."


@per_trace
def _waits(trace: Trace) -> pd.DataFrame:
    """Return the rows of whole tasks; ``input_ns`` includes ``lock_ns``, waits for the pipeline's Python."""
    table = whole_tasks(trace)
    lock_ns = lock_times(trace, table, of_input=True)
    # A step can wait for both on different threads.
    return table.assign(input_ns=(table["input_ns"] + lock_ns).clip(upper=table["step_ns"]), lock_ns=lock_ns)


@per_trace
def _spent(trace: Trace) -> time_share.TimeShare | None:
    return time_share.largest_share(trace, "input_ns", _waits(trace))


def _case(trace: Trace) -> str:
    spent = _spent(trace)
    return spent.case(SHARE.value, MEAN_NS.value) if spent else ""


def input_times(trace: Trace) -> pd.Series | None:
    """Return the time of waits for input, in ns, by task and step; None unless all steps are said to wait."""
    return _waits(trace).set_index(["task", "step"])["input_ns"] if _case(trace) == "all" else None


def _find(trace: Trace) -> list[Finding]:
    spent, case = _spent(trace), _case(trace)
    if spent is None or not case:
        return []
    filling = _filling(trace, spent.task)
    if spent.share - filling < SHARE.value:
        return []  # the finding about the shuffle buffer says it all
    slowest = slowest_stage(trace, spent.task)
    figures = {
        "explained_by": ["shuffle buffer"] if filling else [],
        "slowest_stage": slowest,
        "needed": _needed(trace, spent.task, slowest),
        "bottleneck": limiting_stage(trace, spent.task),
        "buffer": _buffer(trace, spent.task),
        "lock": _lock(trace, spent.task),
        **recorded(trace),
    }
    finding = time_share.finding(trace, f"input_bound.{case}", "input", spent, figures)
    # What only the first step waits for happens once.
    return [finding._replace(level=OBSERVATION) if case == "first" else finding]


def _lock(trace: Trace, task: str) -> dict[str, Any] | None:
    """Return the share of step time in which a task waits for the lock, and the line that holds it.

    None if it is not a notable part of the wait for input.
    """
    own = _waits(trace)
    own = own[own["task"].astype(str) == task]
    lock_ns = int(own["lock_ns"].sum())
    if not lock_ns or lock_ns < PART.value * int(own["input_ns"].sum()):
        return None
    python = sampled_figures(lock_waits(trace)[task].holder)
    return {"share": lock_ns / int(own["step_ns"].sum()), "python": python}


def _filling(trace: Trace, task: str) -> float:
    """Return the share of step time in which a task waits for a shuffle buffer to be filled, if reported."""
    fills = shuffle_fills(trace)
    if fills is None or not fills.is_long or fills.task not in ("", task):
        return 0.0
    own = whole_tasks(trace)
    own = own[own["task"].astype(str) == task]
    return int(fills.by_step.reindex(own["step"], fill_value=0).sum()) / int(own["step_ns"].sum())


def slowest_stage(trace: Trace, task: str | None, *, outside: bool = False) -> dict[str, Any] | None:
    """Return the op on which the input pipeline's threads spent most of their own time during the steps.

    Events that run or await other stages do not count; if there are no others, running ones count. Without a
    task those of all count, and with `outside` also time outside steps. An iterator written in Python is the
    only stage that is recorded: its time is that of waiting for it.
    """
    if (batches := python_batches(trace, task, outside=outside)) is not None:
        return batches
    own, known = self_times_of(trace)
    counted = np.full(len(trace.events), outside)
    counted[during_steps(trace)[0]] = True
    pipeline = counted & (activity(trace) == NUMBER["preprocessing"])
    here = known if task is None else known & of_task(trace, task)
    chosen = np.flatnonzero(here & (pipeline | _while_waiting(trace)))
    rows = trace.events.iloc[chosen]
    op = rows["op"].astype(object).fillna("")
    called = op.where(op != "", rows["name"]).astype(str)
    total = pd.Series(own[chosen]).groupby(called.to_numpy()).agg(["sum", "size"])
    for pattern in (_PLUMBING, _AWAITING):
        works = total[~total.index.str.match(pattern) & (total.index != "") & (total["sum"] > 0)]
        if len(works):
            slowest = works.sort_values("sum", kind="stable").iloc[-1]
            here = (called == slowest.name).to_numpy()
            own_rows = rows[here]
            start, duration = (own_rows[name].to_numpy(np.int64) for name in ("start_ns", "duration_ns"))
            busy = union(np.zeros(len(start), np.int64), start, start + duration).length.sum()
            is_python = PYTHON_CALL.match(str(slowest.name)) is not None
            sampled = called_line(trace, chosen[here], task or "") if is_python else None
            return {
                "op": str(slowest.name),
                "count": int(slowest["size"]),
                "self_ns": int(slowest["sum"]),
                "ops_ns": int(works["sum"].sum()) if pattern is _PLUMBING else 0,
                "at_once": int(duration.sum()) / max(int(busy), 1),
                "line": _line(trace, chosen[here], own[chosen][here]),
                "python": sampled_figures(sampled),
            }
    return None


def _line(trace: Trace, rows: np.ndarray, own: np.ndarray) -> str | None:
    """Return the line of the user's code with the most self time of events; None if there is none."""
    lines = pd.Series(event_lines(trace, rows))
    total = pd.Series(own)[lines != ""].groupby(lines[lines != ""]).sum()
    return str(total.idxmax()) if len(total) else None


def _needed(trace: Trace, task: str, slowest: Figures | None) -> int | None:
    """Return how many calls of the slowest stage must run at once so that steps do not wait for it.

    It is its self time / the duration of steps without waiting for input; None if that is not a time.
    """
    own = whole_tasks(trace)
    own = own[own["task"].astype(str) == task]
    working = int(own["step_ns"].sum() - own["input_ns"].sum())
    return None if slowest is None or working <= 0 else -(-slowest["self_ns"] // working)


def limiting_stage(trace: Trace, task: str | None) -> dict[str, Any] | None:
    """Return the stage that limits the pipeline, and its time per element; None if there is none.

    If there are several pipelines, the program waits longest for this one. Without a task those of all count.
    """
    stages = input_pipeline(trace)
    here = stages["bottleneck"] & ((stages["task"].astype(str) == task) | (task is None))
    if not here.any():
        return None
    most = stages[here].sort_values("wait_ns", kind="stable").iloc[-1]
    parallelism = most["parallelism"]
    method = _method(str(most["stage"]))
    is_only = sum(_method(stage) == method for stage in stages["stage"].astype(str)) == 1
    return {
        "stage": stage_label(str(most["stage"]), str(most["dataset"])),
        "line": only_call(trace, method) if method and is_only else "",
        "one_by_one": method == "map" and _calls_one_by_one(trace, task, most),
        "awaits": bool(most["awaits"]),
        "calls": int(most["calls"]),
        "mean_ns": float(most["mean_ns"]),
        "at_once": int(most["total_ns"]) / max(int(most["busy_ns"]), 1),
        "parallelism": None if pd.isna(parallelism) else int(parallelism),
    }


def _method(stage: str) -> str:
    """Return the method of a dataset that made a stage and calls a function; empty if others can have."""
    return _METHODS.get(stage_label(stage, ""), "")


def _calls_one_by_one(trace: Trace, task: str | None, stage: pd.Series) -> bool:
    """Return whether a stage before a batch mostly calls its function: the ops in it take less time."""
    *outer, kind = str(stage["stage"]).split("::")
    slowest = slowest_stage(trace, task, outside=True)
    ops_ns = slowest["ops_ns"] if slowest else 0
    return any("Batch" in name for name in (*outer, kind)) and ops_ns < MOST.value * int(stage["busy_ns"])


def _buffer(trace: Trace, task: str) -> dict[str, Any] | None:
    """Return the first buffer below the root, and how often it was empty; None if unknown."""
    stages = input_pipeline(trace)
    own = stages[(stages["task"].astype(str) == task) & stages["empty"].notna() & stages["awaits"]]
    if own.empty:
        return None
    first = own.sort_values("depth", kind="stable").iloc[0]
    stage = stage_label(str(first["stage"]), str(first["dataset"]))
    return {"stage": stage, "empty": int(first["empty"]), "calls": int(first["calls"])}


def _while_waiting(trace: Trace) -> np.ndarray:
    """Return a mask of CPU ops outside steps while a step waits for input, such as functions of map."""
    events = trace.events
    ops = is_kind(events, "op") & (events["step"] == NO_STEP).to_numpy()
    rows = np.flatnonzero(ops & (activity(trace) == NUMBER["host_compute"]))
    waits = np.flatnonzero(activity(trace) == NUMBER["input"])
    mask = np.zeros(len(events), bool)
    if len(rows) and len(waits):
        start = events["start_ns"].to_numpy()
        end = start + events["duration_ns"].to_numpy()
        waiting = union(np.zeros(len(waits), np.int64), start[waits], end[waits])
        mask[rows] = overlap(waiting, np.zeros(len(rows), np.int64), start[rows], end[rows]) > 0
    return mask


def _word(key: str, figures: Figures) -> Texts:
    case = key.rpartition(".")[2]
    degree = "" if figures["later_share" if case == "all" else "share"] >= HIGH.value else " a little"
    title = {
        "one": f"{capital(whole(figures, 'the step'))} waits{degree} for input",
        "first": "The first step waits for input",
        "all": f"Steps wait{degree} for input",
    }[case]
    subject = capital(task_label(figures["task"]) or "the task")
    waits = figures["mean_ns"] * figures["steps"]
    named = stage_clause(figures["slowest_stage"], waits)
    clause = stage_clause(figures["slowest_stage"], waits, figures["bottleneck"])
    text = f"{subject} waits for the next batch for {step_time(figures)}{clause}."
    alone = "In all" if figures["lock"] else "No device computes while it waits"
    how = f"{alone}: {example(figures)}."
    stage, needed, buffer, lock = (figures[name] for name in ("slowest_stage", "needed", "buffer", "lock"))
    if lock is not None:
        of_time = all_time(figures)
        shares = {
            "the next batch": figures["share"] - lock["share"],
            held_lock(lock["python"]): lock["share"],
        }
        (longer, most), (other, least) = sorted(shares.items(), key=lambda item: -item[1])
        text = f"{subject} waits for {longer} for {format_percent(most)} of {of_time}"
        text += f", and for {other} for {format_percent(least)}." if least >= PART.value * most else "."
        stage = stage and stage | {"python": lock["python"] or stage["python"]}
        if longer != "the next batch":
            title = f"Python of the input pipeline holds up {whole(figures, 'the steps')}"
    how += time_share.in_other_steps(case, figures)
    how += stage_sentence(stage, waits)
    # Of Python one runs at a time, and workers already share the time of a wait.
    is_python = stage is not None and (PYTHON_CALL.match(stage["op"]) or stage.get("workers"))
    if named and case != "first" and not is_python and needed is not None and needed > stage["at_once"]:
        how += f" With {needed:,} at a time, steps would not wait for it."
    how += _bottleneck_sentence(figures["bottleneck"])
    if buffer is not None and buffer["empty"]:
        times = f"{buffer['empty']:,} of {buffer['calls']:,} requests"
        how += f" The buffer of {buffer['stage']} was empty at {times}."
    return Texts(title, text, ONCE if case == "first" else faster_input(figures), how)


def held_lock(python: Figures | None) -> str:
    """Name the lock and the line of the input pipeline that holds it."""
    where = f"{python['line']} in the input pipeline" if python else "Python of the input pipeline"
    return f"Python's interpreter lock, which {where} holds,"


def _bottleneck_sentence(bottleneck: Figures | None) -> str:
    if bottleneck is None:
        return ""
    each, parallelism = format_duration(bottleneck["mean_ns"]), bottleneck["parallelism"]
    if bottleneck["awaits"]:
        calls = "" if parallelism is None else f" (parallelism {parallelism:,})"
        takes = f"keeps its consumer waiting for {each} per element{calls}"
    else:
        takes = f"takes {each} per element (on average {bottleneck['at_once']:.1f} at a time)"
    return f" The bottleneck is the stage {bottleneck['stage']}, which {takes}."


def stage_clause(stage: Figures | None, wait_ns: float, bottleneck: Figures | None = None) -> str:
    """Name the slowest op of the input pipeline, if it takes part of the wait, or else the limiting stage."""
    if stage is not None and stage["self_ns"] >= PART.value * wait_ns:
        line = (stage.get("python") or stage)["line"]
        return f"; {stage['op']}{f' ({line})' if line else ''} is the slowest part of the input pipeline"
    if bottleneck is None or not _METHODS.get(bottleneck["stage"].partition("(")[0]):
        return ""
    longest = f", and {stage['op']} ({stage['line']}) its longest op" if stage and stage["line"] else ""
    line = bottleneck.get("line")
    if not longest and not line:
        return ""
    where = f" ({line})" if line else ""
    return f"; {bottleneck['stage']}{where} is the slowest part of the input pipeline{longest}"


def stage_sentence(stage: Figures | None, wait_ns: float) -> str:
    """Describe how long the op or stage that `stage_clause` names takes."""
    if not stage or not stage_clause(stage, wait_ns):
        return ""
    each, took = (format_duration(ns) for ns in (stage["self_ns"] / stage["count"], stage["self_ns"]))
    where, at_once = " on its threads", f", on average {stage['at_once']:.1f} at a time"
    if source_of(stage):  # the time of the thread that waits
        where = at_once = ""
    calls = f"{format_number(stage['count'], 'call')} of {each}{at_once}"
    python = f" {sampled_clause(stage['python'])}." if stage.get("python") else ""
    return f" {stage['op']} takes {took}{where} ({calls}).{python}{queue_sentence(stage)}"


def _measure(trace: Trace) -> Measurement:
    return time_share.measurement(_spent(trace), SHARE.value)


def _summarise(figures: Figures) -> str:
    sentence = f"Input wait is {step_time(figures)}"
    if figures["share"] >= figures["threshold"] and figures["mean_ns"] < MEAN_NS.value:
        each, least = format_duration(figures["mean_ns"]), format_duration(MEAN_NS.value)
        return f"{sentence}{not_reported(f'{each} {per_step(figures)} is below the threshold of {least}')}."
    return f"{sentence}{beyond(figures)}."


def _headline(figures: Figures) -> str:
    return f"Waiting for input takes {step_time(figures)}{batches_line(figures['slowest_stage'])}"


RULE = Rule(
    "input",
    {"SHARE": SHARE, "HIGH": HIGH, "MEAN_NS": MEAN_NS, "PART": PART, "MOST": MOST},
    _find,
    _word,
    _measure,
    _summarise,
    "Input wait is",
    headline=_headline,
    remedy=Remedy("Without waiting for input", lambda _: {"activities": {"input": 0}}),
)
