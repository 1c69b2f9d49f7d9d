"""The tab of predictions: step times if something took longer or shorter."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd

from tfvis_nb.analysis.communication.stragglers import late_tasks
from tfvis_nb.analysis.events.activity import ACTIVITIES, NUMBER, activity
from tfvis_nb.analysis.findings.findings import findings
from tfvis_nb.analysis.findings.rule import LEAST_GAIN
from tfvis_nb.analysis.findings.rules import RULES
from tfvis_nb.analysis.hardware.kernel_runs import kernel_runs
from tfvis_nb.analysis.prediction.changed_events import SELECTORS, path_activities
from tfvis_nb.analysis.prediction.gain import MOST_EVENTS, Gain, gain
from tfvis_nb.analysis.prediction.predicted import Predicted
from tfvis_nb.analysis.prediction.typical import Typical, possible
from tfvis_nb.analysis.prediction.what_if import requested
from tfvis_nb.analysis.steps.breakdown import PARTS
from tfvis_nb.analysis.steps.other_steps import other_steps
from tfvis_nb.analysis.steps.outside_steps import is_one_recording, outside_steps
from tfvis_nb.analysis.steps.slow_steps import median_step
from tfvis_nb.core.format import format_percent
from tfvis_nb.core.labels import device_location, printable, task_label
from tfvis_nb.core.per_trace import per_trace
from tfvis_nb.core.prediction import BETWEEN, HIDDEN, ON_GPU, ON_TIME
from tfvis_nb.core.trace import Trace
from tfvis_nb.display.tabs.against import with_base_shares
from tfvis_nb.display.tabs.blocks import (
    LONGEST_TEXT,
    Block,
    Choice,
    Outcome,
    TableBlock,
    TableColumn,
    WhatIfBlock,
    table,
)
from tfvis_nb.display.tabs.wording import activity_label
from tfvis_nb.texts import Text, text_of

_MOST_NAMES = 30
_MOST_ORDERED = 120
_LONGEST_LABEL = 80
_NO_WORK = ("none", "runtime", "launch")
_DEFINITION = (
    "A replay of the recorded work in which something takes longer or shorter: each event starts as soon as"
    " what it depends on allows. trace.what_if does the same in Python, and takes several changes at once."
)
_SAVING = (
    "Each row removes one activity; the calls that launch it stay. Activities whose absence saves less than"
    f" {LEAST_GAIN * 100:g} % or whose prediction is not trusted are not listed."
)
_GOES_ALONG = {
    "launch": "time from a launch to its kernel",
    "communication": "time until a tensor is sent",
    "input": "waits for input",
    "compile": "preparation of new graphs",
}
"""Waits that end with an activity."""
_SUBJECTS = {
    "activities": "Activity",
    "ops": "Op type",
    "kernels": "Kernel",
    "layers": "Layer",
    "lines": "Line of code",
    BETWEEN: "Time between steps",
    ON_TIME: "Task on time",
}
_FACTORS = (BETWEEN, ON_TIME)
"""Subjects that cannot be hidden behind other work."""
_COSTS = [
    TableColumn("activity", "Activity", "text", "The activity removed."),
    TableColumn(
        "saved_ns",
        "Saved in the median step",
        "ns",
        "Recorded minus predicted time of the median step, in ns.",
    ),
    TableColumn(
        "saved_share",
        "% of step time",
        "share",
        "Saved / recorded time of all steps, or of those after the first, from 0 to 1: the gain of findings.",
    ),
    TableColumn("along", "Also removed", "text", "Work nested in the removed events, and waits for them."),
]


def why_none(trace: Trace) -> str:
    """Return why there is nothing to show; empty if there is."""
    try:
        _check_size(trace)
        _now(trace)
    except ValueError as error:
        return text_of(error)
    return ""


def blocks(trace: Trace, against: Trace | None = None) -> list[Block]:
    """Return the control, and a table of the cost of each activity."""
    if reason := why_none(trace):
        nothing = pd.DataFrame(columns=[column.name for column in _COSTS])
        return [table("What if", nothing, _COSTS, definition=_DEFINITION, reason=reason)]
    control: WhatIfBlock = {
        "kind": "what_if",
        "title": "What if",
        "definition": _DEFINITION,
        "choices": _choices(trace),
        "now": _now(trace),
    }
    return [control, _costs(trace, against)]


@per_trace
def _now(trace: Trace) -> Outcome:
    return _outcome(trace, _predicted(trace))


def outcome(trace: Trace, change: Mapping[str, Any]) -> Outcome:
    """Return the effect of a change on the median step; see `changed`."""
    return _outcome(trace, changed(trace, change))


def changed(trace: Trace, change: Mapping[str, Any]) -> Predicted:
    """Predict a trace with a change, given its ``subject``, ``name``, and ``how`` it changes.

    ValueError has the reason if it cannot be predicted.
    """
    subject, name, how = (change.get(part) for part in ("subject", "name", "how"))
    if subject not in _SUBJECTS or not isinstance(name, str) or not isinstance(how, int | float | str):
        raise ValueError(Text("unknown_question", kind=subject))
    given = {ON_TIME: name, BETWEEN: how}.get(subject, {name: how})
    return _predicted(trace, **{subject: given})


def _check_size(trace: Trace) -> None:
    events = len(trace.events)
    if events > MOST_EVENTS:
        raise ValueError(Text("too_large_to_predict", events=events, most=MOST_EVENTS))


def _predicted(trace: Trace, **changes: Any) -> Predicted:
    _check_size(trace)
    return trace.what_if(**changes)


def _outcome(trace: Trace, predicted_trace: Predicted) -> Outcome:
    """Describe the recorded median step, on the task that idles least in it."""
    times = possible(trace, predicted_trace.altered, predicted_trace.times)
    row = times[times["step"] == median_step(trace)].iloc[0]
    recorded, predicted = (_parts(each, int(row["step"])) for each in (trace, predicted_trace))
    idle = recorded[["idle_ns", "unknown_ns"]].sum(axis=1)
    task = "" if idle.empty else str(idle.idxmin())
    parts = predicted.reindex([task], fill_value=0).iloc[0]
    loop = predicted_trace.typical_loop
    several, total = len(times) > 1, times[times["step"].isin(_steps(trace))].sum()
    steps = "All steps" if other_steps(trace) is trace else "Steps after the first"
    return {
        "step": f"Median step, {row['step']:.0f}" if several else "Step",
        "task": printable(task_label(task), _LONGEST_LABEL) if len(recorded) > 1 else "",
        "recorded_ns": int(row["recorded_ns"]),
        "predicted_ns": int(row["predicted_ns"]),
        "all_steps": (steps, float(total["saved_ns"] / max(total["recorded_ns"], 1))) if several else None,
        "parts": [
            {"name": part.removesuffix("_ns"), "ns": int(parts[part])} for part in PARTS if parts[part]
        ],
        "range": _range(predicted_trace.typical),
        "loop": None
        if loop is None
        else {
            "recorded_ns": loop.recorded_ns,
            "predicted_ns": loop.predicted_ns,
            "range": _range(loop),
        },
        "drift": format_percent(predicted_trace.drift),
        "doubt": predicted_trace.doubt or "",
    }


def _range(typical: Typical) -> tuple[float, float] | None:
    return None if np.isnan(typical.low_ns) else (typical.low_ns, typical.high_ns)


def _parts(trace: Trace, step: int) -> pd.DataFrame:
    """Return the parts of a step for each task."""
    steps = trace.breakdown
    rows = steps[(steps["step"] == step) & (steps["device"].astype(str) == "")]
    return rows.assign(task=rows["task"].astype(str)).set_index("task")[list(PARTS)].fillna(0)


def _choices(trace: Trace) -> list[Choice]:
    """Return possible changes: for each subject, names and their labels, those that can save most first.

    The change that the first finding advises comes before all. ``how`` has the changes other than a factor.
    """
    there = {*_activities(trace)}
    moves = {"ops", "layers", "lines"} if {"host_compute", "device_compute"} <= there else set()
    advised = _advised(trace)
    choices: list[Choice] = [
        {
            "subject": subject,
            "label": _SUBJECTS[subject],
            "names": sorted(
                _foremost(trace, subject, names), key=lambda pair: (subject, pair[0]) not in advised
            )[:_MOST_NAMES],
            "how": [
                *([(HIDDEN, "hidden behind other work")] if subject not in _FACTORS else []),
                *([(ON_GPU, "at the speed of a GPU")] if subject in moves else []),
            ],
        }
        for subject, named in _names(trace)
        if (names := [pair for pair in named if 0 < len(pair[0]) <= LONGEST_TEXT])
    ]
    return sorted(choices, key=lambda choice: (choice["subject"], choice["names"][0][0]) not in advised)


def _advised(trace: Trace) -> set[tuple[str, str]]:
    """Return the subject and the names that the first finding would change."""
    for finding in findings(trace).head(1).to_dict("records"):
        remedy = next(rule.remedy for rule in RULES.values() if rule.kind == finding["kind"])
        changes = {} if remedy is None else remedy.changes(finding["figures"])
        return {
            (subject, str(name))
            for subject, change in changes.items()
            for name in (change if isinstance(change, Mapping) else [{BETWEEN: BETWEEN}.get(subject, change)])
        }
    return set()


def _foremost(trace: Trace, subject: str, names: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """Order names with the most time by their time on the critical path, which limits what they can save."""
    if subject in _FACTORS:
        return names
    if subject == "activities":
        costs = _saved(trace)
        return sorted(names, key=lambda pair: -np.nan_to_num(costs[pair[0]][1].share))
    on_path = _on_path(trace)
    saves = {name: on_path[SELECTORS[subject](trace, name)].sum() for name, _ in names[:_MOST_ORDERED]}
    sampled = _sampled(trace) if subject == "lines" else {}
    return sorted(names, key=lambda pair: -saves.get(pair[0], 0) - sampled.get(pair[0], 0))


@per_trace
def _on_path(trace: Trace) -> np.ndarray:
    """Return the time of each event on the critical path, in ns; kernels share that of their launches."""
    path, edges = trace.critical_path, trace.edges
    on_path = np.zeros(len(trace.events), np.int64)
    np.add.at(on_path, path["event"].to_numpy(np.int64), path["duration_ns"].to_numpy(np.int64))
    launched = edges[edges["kind"].astype(str) == "launch"]
    np.add.at(on_path, launched["target"].to_numpy(np.int64), on_path[launched["source"].to_numpy(np.int64)])
    return on_path


def _names(trace: Trace) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    yield "activities", [(name, activity_label(name)) for name in _activities(trace)]
    is_work = ~np.isin(activity(trace), [NUMBER[name] for name in _NO_WORK])
    work = trace.events.loc[is_work, ["op", "duration_ns"]]
    yield "ops", _longest(work.groupby("op", observed=True)["duration_ns"].sum())
    yield "kernels", _longest(kernel_runs(trace).groupby("name")["duration_ns"].sum())
    layers = trace.layers
    yield "layers", _longest((layers["device_ns"] + layers["host_ns"]).groupby(layers["layer"]).sum())
    lines, place = _lines(trace)
    times = (lines["device_ns"] + lines["host_ns"] + lines["network_ns"]).groupby(place).sum()
    yield "lines", _longest(times[times > 0])
    outside = outside_steps(trace)
    if outside is not None and outside.between_ns and is_one_recording(trace):
        yield BETWEEN, [(BETWEEN, "all that runs there")]
    tasks = late_tasks(trace)["task"].astype(str).unique().tolist()
    yield ON_TIME, [(task, printable(device_location(task) or task, _LONGEST_LABEL)) for task in tasks]


def _lines(trace: Trace) -> tuple[pd.DataFrame, pd.Series]:
    lines = trace.source_lines
    lines = lines[lines["line"].notna()]
    return lines, lines["file"].astype(str) + ":" + lines["line"].astype(str)


def _sampled(trace: Trace) -> dict[str, int]:
    """Return the time of each line that is known from samples, in ns."""
    lines, place = _lines(trace)
    times = lines["sampled_ns"].groupby(place).sum()
    return dict(zip(times.index.astype(str), times.tolist(), strict=True))


def _longest(times: pd.Series) -> list[tuple[str, str]]:
    names = [str(name) for name in times.sort_values(ascending=False, kind="stable").index]
    return [(name, printable(name, _LONGEST_LABEL)) for name in names]


def _activities(trace: Trace) -> list[str]:
    """Return the activities of a trace, the one with the most time first."""
    numbers = path_activities(trace)
    time = np.bincount(numbers, trace.events["duration_ns"].to_numpy(np.float64), len(ACTIVITIES))
    return [
        ACTIVITIES[number] for number in np.argsort(-time, kind="stable").tolist() if number and time[number]
    ]


def _costs(trace: Trace, against: Trace | None) -> TableBlock:
    """Tabulate the steps without each of the activities whose removal saves time."""
    step = median_step(trace)
    rows = [
        (activity_label(name), int(saved.saved_ns[saved.saved_ns.index == step].iloc[0]), saved.share, along)
        for name, (along, saved) in _saved(trace).items()
        if saved.share >= LEAST_GAIN and saved.saved_ns is not None
    ]
    costs = pd.DataFrame(rows, columns=[column.name for column in _COSTS])
    costs = costs.sort_values("saved_share", ascending=False, kind="stable")
    before = None
    if against is not None and not why_none(against):
        shares = [(activity_label(name), saved.share) for name, (_, saved) in _saved(against).items()]
        before = pd.DataFrame(shares, columns=["activity", "saved_share"])
    costs, change = with_base_shares(costs, before, ["activity"], "saved_share", "% of step time")
    columns = [*_COSTS[:-1], *change, _COSTS[-1]]
    reason = "" if rows else Text("no_activity_saves")
    return table("Steps without an activity", costs, columns, definition=_SAVING, reason=reason)


@per_trace
def _saved(trace: Trace) -> dict[str, tuple[str, Gain]]:
    """Return for each activity what goes along, and what the steps without it save, as in findings."""
    saved = {}
    for name in _activities(trace):
        changes = {"activities": {name: 0}}
        removed = requested(trace, changes).factor == 0
        saved[name] = (_along(trace, name, removed), gain(trace, changes, _steps(trace)))
    return saved


def _steps(trace: Trace) -> np.ndarray:
    """Return the steps whose time is step time in findings."""
    return other_steps(trace).breakdown["step"].unique()


def _along(trace: Trace, name: str, removed: np.ndarray) -> str:
    """Name the other activities whose nested events go along with one, and the waits for it."""
    numbers = np.bincount(activity(trace)[removed], minlength=len(ACTIVITIES))
    others = {*ACTIVITIES} - {name, *_NO_WORK} if name != "runtime" else set()
    nested = [
        activity_label(other).lower() for other in ACTIVITIES if other in others and numbers[NUMBER[other]]
    ]
    parts = [f"nested {' and '.join(nested)}"] if nested else []
    return ", ".join([*parts, *([_GOES_ALONG[name]] if name in _GOES_ALONG else [])])
