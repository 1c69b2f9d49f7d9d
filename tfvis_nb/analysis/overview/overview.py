"""The key figures: step time by activity, busy time of devices, and the top ops."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd

from tfvis_nb.analysis._validate import validate_input
from tfvis_nb.analysis.communication.phases import horovod_phases
from tfvis_nb.analysis.events.activity import NUMBER, activity
from tfvis_nb.analysis.events.step_devices import step_devices
from tfvis_nb.analysis.findings.clocks import clocks_sentence, uncertain_clocks
from tfvis_nb.analysis.findings.finding import whole_tasks
from tfvis_nb.analysis.findings.findings import findings
from tfvis_nb.analysis.findings.launch_bound import tracing_sentence
from tfvis_nb.analysis.findings.table import OVERLAP, overlap
from tfvis_nb.analysis.idle.device_idle import device_idle
from tfvis_nb.analysis.input.input_pipeline import input_pipeline
from tfvis_nb.analysis.memory.memory_usage import memory_peaks, memory_usage
from tfvis_nb.analysis.overview.changes import add_changes
from tfvis_nb.analysis.overview.headline import headline
from tfvis_nb.analysis.overview.lines import as_html, as_text
from tfvis_nb.analysis.source.source_lines import source_lines
from tfvis_nb.analysis.steps.breakdown import PARTS
from tfvis_nb.analysis.steps.difference import typical_or_median
from tfvis_nb.analysis.steps.op_statistics import op_statistics
from tfvis_nb.analysis.steps.other_steps import is_set_apart, other_steps
from tfvis_nb.analysis.steps.outside_steps import loop_of, outside_steps
from tfvis_nb.analysis.steps.slow_steps import (
    main_steps,
    median_step,
    median_steps,
    slow_first_step,
    step_kinds,
)
from tfvis_nb.analysis.steps.utilization import busy_between
from tfvis_nb.analysis.time_series import counters
from tfvis_nb.analysis.unavailable import why_not
from tfvis_nb.core.intervals import union
from tfvis_nb.core.labels import printable
from tfvis_nb.core.note_order import most_important_first
from tfvis_nb.core.trace import Trace
from tfvis_nb.core.undivided import is_undivided
from tfvis_nb.events import NO_STEP
from tfvis_nb.texts import Text, id_of

FIGURES: dict[str, str] = {
    "headline": "A sentence: how busy the devices were, and the first problem or what they waited for most.",
    "kinds": "The kinds of steps if there are several, such as train and test, the one with the most time"
    " first: kind, count, typical_ns, alike, median_ns and sum_ns. Those of steps are of the first kind.",
    "steps.typical_ns": "Duration of a typical step, in ns: the mean of all without the longest and the"
    " shortest fifth, as in a comparison, and without a first step that is set apart; if the steps are not"
    " alike, the median.",
    "steps.alike": "Whether the steps have a typical length: that mean and both middle steps (one of an odd"
    " number) are within 1.5 times each other. Otherwise no step takes that long.",
    "steps.median_ns": "Duration of the median step, in ns: of an even number the lower of the two in the"
    " middle, without a first step as in first_step.",
    "steps.interval_ns": "A typical round of the loop, from the start of a step to the start of the next, in"
    " ns: the same of all rounds; missing if there is none. interval_alike is alike for rounds.",
    "steps.p95_ns": "Duration of the step that 95 % of the steps do not exceed, in ns; missing if there are"
    " fewer than 20.",
    "steps.joules": "Median energy of the GPUs in a step, in J, without a first step that is set apart;"
    " missing if it was not recorded.",
    "steps.sum_ns": "Sum of the durations of all steps, in ns: step time, the whole of the shares.",
    "undivided": "Whether nothing divides the recording into steps, so that it counts as one.",
    "phases": "The longest phases of communication that Horovod's timeline records: op and ns, the time in"
    " which any event of the type runs, over the whole trace; negotiations of all op types are one.",
    "first_step": "The first step, if it takes 1.5 times the median of the others: first_ns, median_ns of the"
    " others, both in ns, and share, its excess divided by the time of all steps. It is set apart if"
    " the share is at least 0.1.",
    "step_time.tasks": "For each task step_ns, the time of its steps, and the parts that add up to it, in ns,"
    " without a first step that is set apart; see the breakdown.",
    "clocks": "If the clocks of tasks may differ by a tenth of the median step or more: within_ns, their"
    " largest possible difference; missing if it has no bound.",
    "devices": "For each accelerator, or each CPU if there is none, busy_share, cause and cause_share,"
    " without a first step that is set apart; see device_idle. loop_busy_share is the busy time of an"
    " accelerator from the start of these steps to their end, divided by that time; missing unless a finding"
    " is about the time between steps.",
    "outside": "Time outside steps, in ns, run_share, its share of the run, once_ns, the part that does not"
    " repeat with the steps, loop_ns, pauses_ns, the time between the steps of the loop, and loop_share, its"
    " share of the loop; see outside_steps.",
    "host_ns": "Step time, of these steps, during which Python or the runtime around ops ran on any task, in"
    " ns, including time when a device computed.",
    "top_ops": "The five op types with the largest self time, on devices and on hosts, over the whole trace."
    " Host events that only wrap others or wait for them do not count.",
    "top_lines": "The three lines of the user's code with the largest self time on devices, or on hosts if no"
    " event of a device has a line, over the whole trace; see source_lines. Empty without stacks.",
    "memory": "For each allocator with recorded allocations the largest peak_bytes and in_use_bytes; see "
    "memory_usage.",
    "certainty": "How far the figures can be trusted: clocks of tasks, overhead of tracing, shares that"
    " overlap, and what was not recorded.",
    "change": "With a base, in each figure that both have: the difference in words if a test of the steps"
    " covers it, otherwise as +12 % or as the share in the base. Those of steps and of the loop have their"
    " 95 % interval. Further ones: steps.interval_change, steps.p95_change, steps.joules_change, host_change,"
    " outside.loop_change, outside.run_change and, by part, the changes of a task.",
    "notes": "Repairs, merged and estimated data, and data left out while reading; missing and doubtful data"
    " first.",
}

_CLOCK_NOTES = ("clock_contradicted", "clock_moved", "clocks_kept", "clocks_not_compared")
_LONGEST = 400
_TOP = 5
_TOP_LINES = 3
_FEWEST_FOR_P95 = 20
_WRAPPING = ("none", "runtime")


class Overview(Mapping[str, Any]):
    """The figures of `overview`, by name; notebooks show them as a table."""

    def __init__(self, facts: Mapping[str, Any]) -> None:
        self._facts = dict(facts)

    def __getitem__(self, name: str) -> Any:
        return self._facts[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._facts)

    def __len__(self) -> int:
        return len(self._facts)

    def to_dict(self) -> dict[str, Any]:
        """Return the figures for JSON: numbers, texts, lists and dicts; None for unknown ones."""
        return dict(self._facts)

    def __repr__(self) -> str:
        return as_text(self)

    def _repr_html_(self) -> str:
        return as_html(self)


@validate_input
def overview(trace: Trace, against: Trace | None = None) -> Overview:
    """Return the key figures of a trace and a sentence that sums them up.

    Parameters
    ----------
    trace
        Any trace.
    against
        A base: the figures get their ``change`` from its figures.

    Returns
    -------
    Overview
        A mapping with the keys ``headline``, ``steps``, ``kinds``, ``undivided``, ``first_step``,
        ``step_time``, ``phases``, ``clocks``, ``devices``, ``outside``, ``host_ns``, ``top_ops``,
        ``top_lines``, ``memory``, ``certainty`` and ``notes``, as in `FIGURES`: times in ns, sizes in bytes,
        shares from 0 to 1, None for unknown values.

    Examples
    --------
    >>> from tfvis_nb import Trace, events
    >>> from tfvis_nb.analysis import overview
    >>> columns = {"start_ns": [0, 6_000_000], "duration_ns": [6_000_000, 4_000_000], "kind": ["op"] * 2,
    ...            "op": ["IteratorGetNext", "MatMul"], "device": ["/device:CPU:0"] * 2}
    >>> result = overview(Trace(events.build(columns)))
    >>> result["headline"]
    'Waiting for input takes 60.0 % of step time; the step takes 10.0 ms.'
    >>> result["steps"]["median_ns"], result["step_time"]["tasks"][0]["parts"]
    (10000000, {'input_ns': 6000000, 'host_compute_ns': 4000000})
    """
    middle, first = median_step(trace), _first_step(trace)
    apart = first["step"] if first is not None and is_set_apart(first) else NO_STEP
    facts: dict[str, Any] = {
        "headline": "",
        "steps": _steps(trace, apart),
        "kinds": _kinds(trace, apart),
        "undivided": is_undivided(trace),
        "first_step": first,
        "phases": horovod_phases(trace)[:_TOP],
        "step_time": None if middle is None else _parts(other_steps(trace)),
        "clocks": None if middle is None else _clocks(trace, middle),
        "devices": _devices(trace),
        "outside": _outside(trace),
        "host_ns": None if middle is None else _host_ns(other_steps(trace)),
        "top_ops": _top_ops(trace),
        "top_lines": _top_lines(trace),
        "memory": _memory(trace),
        "certainty": _certainty(trace, None if middle is None else _length(trace, middle)),
        "notes": [str(note) for note in most_important_first(trace.notes)],
    }
    facts["headline"] = printable(headline(trace, facts), _LONGEST)
    if against is not None:
        add_changes(facts, overview(against), trace, against)
    return Overview(facts)


def _steps(trace: Trace, apart: int) -> dict[str, Any]:
    """Return the figures of steps; `apart` is the number of a first step that is set apart."""
    every, steps = trace.steps[trace.steps["step"] != NO_STEP], main_steps(trace)
    duration, start = (np.sort(steps[name].to_numpy(np.int64)) for name in ("duration_ns", "start_ns"))
    count, interval = len(duration), np.diff(start)[int(apart != NO_STEP) :]
    known = count >= _FEWEST_FOR_P95
    interval_ns, interval_alike = typical_or_median(interval)
    used = steps.loc[steps["step"] != apart, "joules"].dropna()
    return {
        "count": len(every),
        **_typical(steps, apart),
        "median_ns": _length(trace, middle) if (middle := median_step(trace)) is not None else None,
        "interval_ns": round(interval_ns) if len(interval) else None,
        "interval_alike": interval_alike,
        "p95_ns": int(duration[math.ceil(0.95 * count) - 1]) if known else None,
        "sum_ns": int(every["duration_ns"].sum()),
        "joules": None if used.empty else float(used.median()),
    }


def _typical(steps: pd.DataFrame, apart: int) -> dict[str, Any]:
    took = steps.loc[steps["step"] != apart, "duration_ns"].to_numpy(np.int64)
    typical_ns, alike = typical_or_median(took)
    return {"typical_ns": round(typical_ns) if len(took) else None, "alike": alike}


def _kinds(trace: Trace, apart: int) -> list[dict[str, Any]]:
    kinds = step_kinds(trace)
    steps = trace.steps[trace.steps["step"] != NO_STEP]
    if not kinds.any():
        return []
    median = median_steps(trace)["duration_ns"]
    rows = [
        {
            "kind": str(kind),
            "count": len(own),
            **_typical(own, apart),
            "median_ns": int(median[str(kind)]),
            "sum_ns": int(own["duration_ns"].sum()),
        }
        for kind, own in steps.groupby(kinds.to_numpy(object), sort=False)
    ]
    return sorted(rows, key=lambda one: -one["sum_ns"])


def _first_step(trace: Trace) -> dict[str, Any] | None:
    first = slow_first_step(trace)
    return None if first is None else first._asdict()


def _parts(trace: Trace) -> dict[str, Any]:
    table = whole_tasks(trace)
    sums = table.groupby(table["task"].astype(str), sort=False)[["step_ns", *PARTS]].sum()
    tasks = [
        {
            "task": task,
            "step_ns": int(row["step_ns"]),
            "parts": {part: int(row[part]) for part in PARTS if row[part]},
        }
        for task, row in sums.iterrows()
    ]
    return {"step_ns": int(table.drop_duplicates("step")["step_ns"].sum()), "tasks": tasks}


def _devices(trace: Trace) -> list[dict[str, Any]]:
    others = other_steps(trace)
    table = device_idle(others)
    if why_not(table):
        table = device_idle(others, of_cpus=True).assign(loop_busy_share=None)
    else:
        table = table.assign(loop_busy_share=_loop_busy(trace, table))
    records = table.astype(object).where(table.notna(), None).to_dict("records")
    return [{str(name): value for name, value in record.items()} for record in records]


def _loop_busy(trace: Trace, table: pd.DataFrame) -> Any:
    """Return the busy share of the loop of each device; None if no finding is about the pauses of a loop."""
    if not any("loop_share" in figures for figures in findings(trace)["figures"]):
        return None
    loop = loop_of(trace)
    start, end = int(loop["start_ns"].min()), int(loop["end_ns"].max())
    devices = pd.MultiIndex.from_frame(table[["task", "device"]].astype(str))
    return busy_between(trace, start, end).reindex(devices, fill_value=0).to_numpy() / (end - start)


def _length(trace: Trace, step: int) -> int:
    return int(trace.steps.loc[trace.steps["step"] == step, "duration_ns"].iloc[0])


def _clocks(trace: Trace, step: int) -> dict[str, Any] | None:
    known = uncertain_clocks(trace, _length(trace, step))
    return None if known is None else {"within_ns": None if isinstance(known, str) else known}


def _outside(trace: Trace) -> dict[str, Any] | None:
    outside = outside_steps(trace)
    if outside is None:
        return None
    times = ("run_ns", "outside_ns", "before_ns", "between_ns", "after_ns", "once_ns", "loop_ns", "pauses_ns")
    names = (*times, "run_share", "loop_share")
    return {name: getattr(outside, name) for name in names}


def _host_ns(trace: Trace) -> int:
    """Return the time in which any host ran Python or the runtime around ops in steps."""
    here = step_devices(trace)
    assert here is not None
    rows = np.flatnonzero(activity(trace)[here.event] == NUMBER["runtime"])
    step = pd.factorize(here.table["step"].to_numpy()[here.device_row[rows]])[0]
    return int(union(step, here.start[rows], here.end[rows]).length.sum())


def _top_ops(trace: Trace) -> dict[str, list[dict[str, Any]]]:
    table = op_statistics(trace)
    if why_not(table):
        return {"device": [], "host": []}
    wraps = np.isin(activity(trace)[table["longest"].to_numpy()], [NUMBER[name] for name in _WRAPPING])
    table = table[table["self_ns"].notna() & ((table["side"] != "host") | ~wraps)]
    return {
        side: [
            {
                "op": str(row["op"]),
                "kind": str(row["kind"]),
                "count": int(row["count"]),
                "self_ns": int(row["self_ns"]),
                "share": float(row["share"]),
            }
            for _, row in table[table["side"] == side].nlargest(_TOP, "self_ns").iterrows()
            if row["self_ns"]
        ]
        for side in ("device", "host")
    }


def _top_lines(trace: Trace) -> list[dict[str, Any]]:
    table = source_lines(trace)
    table = table[table["line"].notna()]
    side = "device" if (table["device_ns"] > 0).any() else "host"
    sums = table.groupby(["file", "line"], sort=False)[f"{side}_ns"].sum().rename("self_ns").reset_index()
    top = sums[sums["self_ns"] > 0].nlargest(_TOP_LINES, "self_ns")
    return [
        {"file": str(row["file"]), "line": int(row["line"]), "side": side, "self_ns": int(row["self_ns"])}
        for _, row in top.iterrows()
    ]


def _memory(trace: Trace) -> list[dict[str, Any]]:
    peaks = memory_peaks(trace)
    peaks = peaks[~peaks["estimated"]]
    if peaks.empty:
        return []
    keys = ["task", "allocator"]
    most = peaks.astype(dict.fromkeys(keys, object)).groupby(keys)[["peak_bytes", "in_use_bytes"]].max()
    most = most.sort_values("peak_bytes", ascending=False).reset_index()
    return [
        {
            "task": str(row["task"]),
            "allocator": str(row["allocator"]),
            "peak_bytes": int(row["peak_bytes"]),
            "in_use_bytes": None if pd.isna(row["in_use_bytes"]) else int(row["in_use_bytes"]),
        }
        for _, row in most.iterrows()
    ]


def _certainty(trace: Trace, step_ns: float | None) -> list[str]:
    """Return one sentence for each uncertainty of the figures, and one that lists missing data.

    Differences of clocks are compared with `step_ns`, the length of a typical step. If they matter, the notes
    about them follow.
    """
    measured = findings(trace)["figures"].tolist()
    ends = next((figures["ends_ns"] for figures in measured if figures.get("ends_ns") is not None), None)
    clocks = "" if step_ns is None else clocks_sentence(uncertain_clocks(trace, step_ns), ends)
    sentences = [
        clocks,
        *(str(note) for note in trace.notes if clocks and id_of(note) in _CLOCK_NOTES),
        next((tracing_sentence(figures) for figures in measured if "tracing_share" in figures), ""),
        OVERLAP if overlap(findings(trace)) else "",
        _not_recorded(trace),
    ]
    return [sentence for sentence in sentences if sentence]


def _not_recorded(trace: Trace) -> str:
    missing = {
        "lacks_memory": memory_usage(trace).empty and counters(trace).empty,
        "lacks_input": bool(why_not(input_pipeline(trace))),
        "lacks_graphs": not len(trace.graphs),
        "lacks_lines": bool(why_not(source_lines(trace))),
    }
    what = "; ".join(str(Text(key)) for key, is_missing in missing.items() if is_missing)
    return str(Text("certainty_not_recorded", what=what)) if what else ""
