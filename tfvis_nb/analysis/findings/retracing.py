"""Functions are retraced for other arguments."""

import re
from typing import Any

import numpy as np
import pandas as pd

from tfvis_nb.analysis.findings.finding import Finding, longest_events, step_range, step_times
from tfvis_nb.analysis.findings.rule import (
    Figures,
    Measurement,
    Remedy,
    Rule,
    Texts,
    Threshold,
    beyond,
    example,
    listed,
    step_time,
)
from tfvis_nb.analysis.functions.functions import functions
from tfvis_nb.analysis.functions.retraced import retraced, retraced_in_steps, retraced_times
from tfvis_nb.analysis.functions.retraces import retraces
from tfvis_nb.analysis.source.python_samples import mostly_at, sampled_clause, sampled_figures, sampled_line
from tfvis_nb.analysis.unavailable import why_not
from tfvis_nb.core.format import format_duration
from tfvis_nb.core.intervals import union
from tfvis_nb.core.per_trace import per_trace
from tfvis_nb.core.trace import Trace
from tfvis_nb.reading.xspace.jitted import LOWERING

SHARE = Threshold(0.05, "share of step time spent retracing functions, and compiling them for it")
RETRACES = Threshold(3, "tracings of a function after its first, reported whatever time they take")

_NUMBER = re.compile(r"-?\d+(?:\.\d*)?(?:e[-+]?\d+)?")
_CASTABLE = re.compile(r"(?:u?int|b?float|complex)\d+|bool")
_OF_ARGUMENT = {
    "value": "",
    "shape": "the shape of ",
    "dtype": "the data type of ",
    "structure": "the structure of ",
    "sharding": "the sharding of ",
}
_CHANGES = (*_OF_ARGUMENT, "function", "context")
_ANY_RANK = "<unknown>"
_MOST_NAMED = 3
"""Limit on the named changes other than the one in the advice."""
_UNKNOWN = (
    "The trace lacks the arguments of tracings. Usual causes are {causes}, or functions that are made in a"
    " loop. A recording of %%trace shows which argument changes, unless its source is left out."
)
_CAUSES = "Python numbers as arguments, shapes that change"
_JITTED_CAUSES = "shapes that change, other values of static arguments"
_JITTED_ADVICE = {
    "value": "Pass {argument} as an array if its value is only computed with, or call with few values: every"
    " new value is traced.",
    "object": "Pass the same object for {argument} each time, or give its class __eq__ and __hash__, so that"
    " JAX can find what it traced for an equal one.",
    "shape": "Pad {argument} to one shape, or to a few sizes.",
    "dtype": "Pass {argument} as an array of one data type in each call.",
    "sharding": "Place {argument} with one sharding before each call, with jax.device_put.",
    "function": "Call jax.jit once, outside of the loop or method, and keep the function it returns.",
    "context": "Call the function with the same options of JAX and in the same context managers each time.",
    "": "Pad to one shape, pass arrays, and call jax.jit once per function.",
}


@per_trace
def lost_times(trace: Trace) -> pd.Series | None:
    """Return `retraced_times` if the finding reports them, otherwise None."""
    times: pd.Series = retraced_times(trace)
    if times.sum() == 0:
        return None
    most = int(_retraced(trace)["retraces"].max())
    return times if _share(trace, times) >= SHARE.value or most >= RETRACES.value else None


def _retraced(trace: Trace) -> pd.DataFrame:
    """Return the functions that steps trace again, the one with the most retraces first."""
    table = functions(trace)
    table = table[pd.MultiIndex.from_frame(table[["task", "name"]]).isin(retraced_in_steps(trace))]
    return table.sort_values("retraces", ascending=False, kind="stable")


def _share(trace: Trace, times: pd.Series) -> float:
    """Return the share of step time that the most affected task loses."""
    if times.empty:
        return 0.0
    return float(times.groupby("task").sum().max()) / max(int(step_times(trace)["duration_ns"].sum()), 1)


def _find(trace: Trace) -> list[Finding]:
    times = lost_times(trace)
    if times is None:
        return []
    steps = step_times(trace)
    lost = times.groupby("step").max().reindex(steps.index, fill_value=0).to_numpy()
    worst_at = int(lost.argmax())
    step = int(steps.index[worst_at])
    table = _retraced(trace)
    worst = table.iloc[0]
    figures: dict[str, Any] = {
        "share": _share(trace, times),
        "step": step,
        "steps": len(steps),
        "here_ns": int(lost[worst_at]),
        "step_ns": int(steps["duration_ns"].iloc[worst_at]),
        "functions": len(table),
        "name": str(worst["name"]),
        "source": None if pd.isna(worst["source"]) else str(worst["source"]),
        "retraces": int(worst["retraces"]),
        "tracing_ns": None if pd.isna(worst["tracing_ns"]) else int(worst["tracing_ns"]),
        "jitted": str(trace.events["op"].iloc[worst["longest"]]) == LOWERING,
        **_change(trace, worst),
    }
    mask = np.zeros(len(trace.events), bool)
    mask[retraced(trace)] = True
    figures["python"] = None if figures["line"] or figures["source"] else _caller(trace, mask, worst["task"])
    start, end = step_range(trace, step)
    return [Finding("retracing", figures["share"], figures, step, start, end, longest_events(trace, mask))]


def _caller(trace: Trace, mask: np.ndarray, task: str) -> dict[str, Any] | None:
    """Return the line that runs while functions are retraced: mostly their call, which also compiles."""
    start, duration = (trace.events[name].to_numpy(np.int64)[mask] for name in ("start_ns", "duration_ns"))
    tracing = union(np.zeros(len(start), np.int64), start, start + duration)
    return sampled_figures(sampled_line(trace, tracing.start, tracing.end, task))


def _change(trace: Trace, worst: pd.Series) -> dict[str, Any]:
    """Return the change to remove first, with its last example, and the other changes of arguments.

    If a shape and something else change in the same tracing, such as a Python value, relaxing the shape
    alone does not prevent the tracing: the other change comes first. ``relaxable`` states whether
    reduce_retracing can help: not if Python values change, nor if a shape is relaxed already.
    """
    table = retraces(trace)
    own = table[(table["task"] == worst["task"]) & (table["name"] == worst["name"])]
    if own.empty:
        return dict.fromkeys(("change", "argument", "before", "after", "line", "times", "also", "relaxable"))
    own = own.astype(object).where(own.notna(), "")
    is_shape = own["change"] == "shape"
    first = own[~is_shape | ~own["event"].isin(own.loc[~is_shape, "event"])]
    pairs = own.groupby(["change", "argument"]).size().sort_values(ascending=False, kind="stable")
    change, argument = first.groupby(["change", "argument"]).size().idxmax()
    last = own[(own["change"] == change) & (own["argument"] == argument)].iloc[-1]
    shapes = own.loc[is_shape, ["before", "after"]].to_numpy().ravel().tolist()
    is_relaxed = any("None" in shape or shape == _ANY_RANK for shape in shapes)
    return {
        "change": change,
        "argument": argument,
        "times": int(pairs[change, argument]),
        "also": [
            {"change": kind, "argument": name}
            for kind, name in pairs.index
            if kind in _OF_ARGUMENT and (kind, name) != (change, argument)
        ],
        "relaxable": not is_relaxed and not (own["change"] == "value").any(),
        **{name: str(last[name]) for name in ("before", "after", "line")},
    }


def _word(_key: str, figures: Figures) -> Texts:
    name, times, others = figures["name"], figures["retraces"], figures["functions"] - 1
    place, defined = (f" ({figures['source']})" if figures["source"] else ""), ""
    if figures["line"]:
        place, defined = f", called at {figures['line']},", place
    text = f"{name}{place} is retraced {_times(times)}{_reason(figures)}."
    python = figures.get("python")
    if python and mostly_at(python):
        text = f"{text[:-1]}; {sampled_clause(python)}."
    how = f"Retracing takes {step_time(figures)}, with compiling: {example(figures)}."
    if others:
        how += f" {'One other function is' if others == 1 else f'{others:,} other functions are'} retraced."
    if figures["tracing_ns"] is not None:
        how += f" All tracings of {name}{defined} take {format_duration(figures['tracing_ns'])}."
    if python and not mostly_at(python):
        how += f" {sampled_clause(python)}."
    if figures["change"] not in _CHANGES:
        how += f" {_UNKNOWN.format(causes=_JITTED_CAUSES if figures['jitted'] else _CAUSES)}"
    return Texts("Functions are retraced", text, _advice(figures), how)


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count:,} times"


def _reason(figures: Figures) -> str:
    change, argument = figures["change"], figures["argument"]
    if change in _OF_ARGUMENT:
        example_of = f", such as from {figures['before']} to {figures['after']}"
        part = f", {figures['times']:,} of them" if figures["times"] < figures["retraces"] else ""
        also = _also(figures["also"])
        return f"{part} because {_OF_ARGUMENT[change]}{argument} changes{example_of}{also}"
    if change == "function":
        made = "jitted function" if figures["jitted"] else "tf.function"
        return f", because a new {made} is made from the same code each time"
    if change == "context":
        such = "an option of JAX or a mesh" if figures["jitted"] else "a device, a strategy or a graph"
        return f", with the same arguments but in another context, such as {such}"
    return ""


def _also(changes: list[dict[str, str]]) -> str:
    names = [f"{_OF_ARGUMENT[one['change']]}{one['argument']}" for one in changes[:_MOST_NAMED]]
    if len(changes) > len(names):
        names.append(f"{len(changes) - len(names)} more")
    return f"; so {'do' if len(names) > 1 else 'does'} {listed(names, len(names))}" if names else ""


def _advice(figures: Figures) -> str:
    change, argument = figures["change"], figures["argument"]
    if figures["jitted"] and change != "structure":
        # The text of an object that is equal only to itself has its address.
        change = "object" if change == "value" and " at 0x" in figures["after"] else change
        return _JITTED_ADVICE.get(change or "", _JITTED_ADVICE[""]).format(argument=argument)
    if change == "value" and _NUMBER.fullmatch(figures["after"]):
        return f"Pass a tensor instead of a Python number for {argument}: tf.constant({figures['after']})."
    if change == "value":
        return f"Pass the same object for {argument} each time, or pass tensors: every new object is traced."
    if change == "shape":
        last = "If only the last batch differs, use batch(..., drop_remainder=True); otherwise give"
        relaxed = ", or reduce_retracing=True" if figures["relaxable"] else ""
        return (
            f"{last if _is_of_batch(figures) else 'Give'} @tf.function an input_signature with"
            f" tf.TensorSpec({_common(figures)}) for {argument}{relaxed}, or pad to one shape."
        )
    if change == "dtype":
        before = figures["before"]
        cast = f": tf.cast({argument}, tf.{before})" if _CASTABLE.fullmatch(before) else ""
        return f"Pass {argument} with one data type in each call{cast}."
    if change == "structure":
        return f"Pass {argument} with the same nested structure and the same keys in each call."
    if change == "function":
        return "Call tf.function once, outside of the loop or method, and keep the function it returns."
    if change == "context":
        return "Call the function on the same device and in the same strategy each time."
    return "Pass tensors, and give @tf.function an input_signature or reduce_retracing=True."


def _is_of_batch(figures: Figures) -> bool:
    """Return whether two shapes differ in their first size only."""
    (first, *rest), (other, *others) = (
        re.findall(r"\d+|None", figures[name]) or [""] for name in ("before", "after")
    )
    return first != other and rest == others


def _common(figures: Figures) -> str:
    """Return a shape that fits both shapes."""
    before, after = (re.findall(r"\d+|None", figures[name]) for name in ("before", "after"))
    if not before or len(before) != len(after):
        return "None"
    same = [one if one == other else "None" for one, other in zip(before, after, strict=True)]
    return f"[{', '.join(same)}]"


def _measure(trace: Trace) -> Measurement:
    reason = why_not(functions(trace))
    if reason:
        return Measurement.unknown(SHARE, reason)
    share = _share(trace, retraced_times(trace))
    most = int(functions(trace)["retraces"].max())
    return Measurement.of(SHARE, share, retraces=most)


def _summarise(figures: Figures) -> str:
    if not figures["retraces"]:
        return "No function is retraced."
    return (
        f"Retracing takes {step_time(figures)}{beyond(figures)};"
        f" the most retraced function is retraced {_times(figures['retraces'])} (threshold"
        f" {RETRACES.value:g})."
    )


def _headline(figures: Figures) -> str:
    of = f" of {figures['name']}" if figures["functions"] == 1 else ""
    return f"Retracing{of} takes {step_time(figures)}{mostly_at(figures.get('python'))}"


RULE = Rule(
    "retracing",
    {"SHARE": SHARE, "RETRACES": RETRACES},
    _find,
    _word,
    _measure,
    _summarise,
    "Retracing of functions is",
    remedy=Remedy("Without tracing again", lambda _: {"activities": {"compile": 0}}),
    headline=_headline,
)
