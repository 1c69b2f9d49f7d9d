"""Functions are traced and compiled while steps run."""

import pandas as pd

from tfvis_nb.analysis.findings import time_share
from tfvis_nb.analysis.findings.finding import Finding, whole_tasks
from tfvis_nb.analysis.findings.program import fewer_compilations, recorded
from tfvis_nb.analysis.findings.retracing import lost_times
from tfvis_nb.analysis.findings.rule import (
    Figures,
    Measurement,
    Remedy,
    Rule,
    Texts,
    Threshold,
    beyond,
    capital,
    example,
    not_reported,
    step_time,
)
from tfvis_nb.analysis.functions.calls import function_events
from tfvis_nb.analysis.functions.retraced import recompiled_times
from tfvis_nb.core.per_trace import per_trace
from tfvis_nb.core.trace import Trace
from tfvis_nb.core.undivided import whole

SHARE = Threshold(
    0.1, "share of step time spent tracing and compiling, `compile_ns` without what `retracing` reports"
)

_TITLES = {
    "one": "{the_step} traces and compiles functions",
    "first": "The first step traces and compiles functions",
    "all": "Steps trace and compile functions",
}


@per_trace
def _first_times(trace: Trace) -> pd.DataFrame:
    """Return the breakdown of tasks, without the time reported as retracing."""
    table = whole_tasks(trace)
    if lost_times(trace) is None:
        return table
    keys = pd.MultiIndex.from_arrays([table["task"].astype(object), table["step"]])
    rest = table["compile_ns"] - recompiled_times(trace).reindex(keys, fill_value=0).to_numpy()
    return table.assign(compile_ns=rest.clip(lower=0))


@per_trace
def _spent(trace: Trace) -> time_share.TimeShare | None:
    return time_share.largest_share(trace, "compile_ns", _first_times(trace))


def _is_like_later(trace: Trace) -> bool:
    """Return whether only the first step is left because `retracing` reports the later ones.

    Then all steps compile, and a warm-up step before them does not help.
    """
    first, with_again = _spent(trace), time_share.largest_share(trace, "compile_ns")
    if first is None or with_again is None:
        return False
    return first.case(SHARE.value) == "first" and with_again.case(SHARE.value) == "all"


def _is_one_by_one(trace: Trace) -> bool:
    """Return whether most calls that compile are of JAX's own functions: ops outside of jax.jit."""
    events = function_events(trace)
    compiling = events.calls.index.isin(events.compilations["call"])
    return bool(events.calls["of_jax"][compiling].mean() > 0.5)


def _find(trace: Trace) -> list[Finding]:
    table, spent = _first_times(trace), _spent(trace)
    case = spent.case(SHARE.value) if spent else ""
    if spent is None or not case or _is_like_later(trace):
        return []
    compiling = int(table.loc[table["compile_ns"] > 0, "step"].nunique())
    figures = {"compiling_steps": compiling, "without_again": lost_times(trace) is not None}
    figures |= {"one_by_one": _is_one_by_one(trace)} | recorded(trace)
    return [time_share.finding(trace, f"compiling.{case}", "compile", spent, figures)]


def _word(key: str, figures: Figures) -> Texts:
    case = key.rpartition(".")[2]
    text = f"Tracing and compiling take {step_time(figures)}: {example(figures)}."
    how = time_share.in_other_steps(case, figures)
    if case == "all":
        how += f" {figures['compiling_steps']} of {figures['steps']} steps compile."
    if figures["without_again"]:
        how += " Retracing is not included."
    advice = "Run a warm-up step before tracing"
    advice += "." if case == "first" else f"; if later steps also compile, {fewer_compilations(figures)}"
    return Texts(
        _TITLES[case].format(the_step=capital(whole(figures, "the step"))), text, advice, how.strip()
    )


def _measure(trace: Trace) -> Measurement:
    measured = time_share.measurement(_spent(trace), SHARE.value)
    return measured._replace(figures=measured.figures | {"like_later": _is_like_later(trace)})


def _summarise(figures: Figures) -> str:
    why = not_reported("later steps retrace functions") if figures["like_later"] else beyond(figures)
    return f"Tracing and compiling take {step_time(figures)}{why}."


RULE = Rule(
    "compiling",
    {"SHARE": SHARE},
    _find,
    _word,
    _measure,
    _summarise,
    "Time for tracing and compiling is",
    remedy=Remedy("Without compiling", lambda _: {"activities": {"compile": 0}}),
)
