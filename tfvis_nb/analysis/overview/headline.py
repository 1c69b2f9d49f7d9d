"""The sentence that sums up a trace, chosen by rule."""

from collections.abc import Iterable, Mapping
from typing import Any

import pandas as pd

from tfvis_nb.analysis.findings.autotuning import RULE as TUNING
from tfvis_nb.analysis.findings.finding import PROBLEM
from tfvis_nb.analysis.findings.findings import findings
from tfvis_nb.analysis.findings.host_compute import RULE as HOST_COMPUTE
from tfvis_nb.analysis.findings.idle_causes import is_doubtful, while_idle
from tfvis_nb.analysis.findings.idle_device import RULE as IDLE_DEVICE
from tfvis_nb.analysis.findings.idle_python import idle_python
from tfvis_nb.analysis.findings.launch_bound import RULE as LAUNCHES
from tfvis_nb.analysis.findings.out_of_memory import RULE as OUT_OF_MEMORY
from tfvis_nb.analysis.findings.out_of_memory import ended
from tfvis_nb.analysis.findings.rule import capital, step_time
from tfvis_nb.analysis.findings.rules import RULES
from tfvis_nb.analysis.idle.device_idle import device_idle, idle_by_cause
from tfvis_nb.analysis.source.python_samples import sampled_clause, sampled_figures
from tfvis_nb.analysis.steps.breakdown import breakdown
from tfvis_nb.analysis.steps.other_steps import other_steps
from tfvis_nb.analysis.steps.slow_steps import OtherSteps, kind_label
from tfvis_nb.analysis.unavailable import why_not
from tfvis_nb.core.format import format_duration, format_percent
from tfvis_nb.core.metadata import PYTHON_SAMPLES
from tfvis_nb.core.palette import LABELS
from tfvis_nb.core.prediction import prediction_sentence
from tfvis_nb.core.trace import Trace
from tfvis_nb.core.undivided import is_undivided, whole_figures
from tfvis_nb.texts import Text

_MUCH = 0.5
"""The share of step time from which tuning, or an op, layer or line of the host, leads the headline."""
_WELL_USED = 0.5
"""The busy share of step time above which waits are not worth a headline."""
_MOSTLY_PAUSES = 0.5
"""The share of pauses from which the headline gives busy shares of the loop instead of step time."""


def headline(trace: Trace, facts: Mapping[str, Any]) -> Text:
    """Return one sentence from the figures of an overview; if memory ran out, the reason."""
    if predicted := prediction_sentence(trace):
        return Text("headline_predicted", prediction=predicted)
    failure = ended(trace)
    return Text("headline_ended", ended=failure) if failure else _of_steps(trace, facts)


def _of_steps(trace: Trace, facts: Mapping[str, Any]) -> Text:
    steps = facts["steps"]
    if not steps["count"] or not steps["sum_ns"]:
        return Text("headline_without_steps")
    others = other_steps(trace)
    first = _first_finding(trace, of_host=bool(why_not(device_idle(others))))
    is_loop = first is not None and _is_of_loop(first, facts)
    return _of_most(others, facts, first, is_loop)


def _of_most(others: Trace, facts: Mapping[str, Any], first: pd.Series | None, is_loop: bool) -> Text:
    """Describe the first finding, and the typical step, or the loop if the finding is about that."""
    tuning = TUNING.measure(others).share
    table = device_idle(others)
    is_host = bool(why_not(table))
    problem = "" if first is None else _clause(first)
    idle_cause = "" if first is None else _idle_cause(first)
    if tuning >= _MUCH:
        words = _words(others)
        problem, is_loop = Text("headline_tuning", share=format_percent(tuning), **words), False
    if is_host and is_loop:
        took = format_duration(facts["steps"]["interval_ns"])
        which = _which(facts["steps"]["interval_alike"])
        return Text("headline_loop_on_host", problem=problem, which=which, round=took)
    if is_host:
        return _without_devices(others, facts, problem)
    outside, loop = facts["outside"], [device["loop_busy_share"] for device in facts["devices"]]
    if outside and (is_loop or outside["loop_share"] >= _MOSTLY_PAUSES) and None not in loop:
        busy = _spread(loop)
        if not problem or idle_cause:
            problem = Text("headline_pauses", share=format_percent(outside["loop_share"]))
        return Text("headline_loop", problem=problem, devices=_noun(table), busy=busy)
    return _of_devices(others, table, problem, idle_cause)


def _first_finding(trace: Trace, *, of_host: bool) -> pd.Series | None:
    """Return the first finding if it is a problem, or about the loop.

    Without devices, the op, layer or line that takes most of the steps counts even if it is no problem: the
    share of host compute would only repeat that the steps run on the host.
    """
    others = findings(trace)[findings(trace)["kind"] != OUT_OF_MEMORY.kind]
    if not len(others):
        return None
    first = others.iloc[0]
    is_most = of_host and first["kind"] == HOST_COMPUTE.kind and first["share"] >= _MUCH
    return first if first["level"] == PROBLEM or is_most or "loop_share" in first["figures"] else None


def _is_of_loop(finding: pd.Series, facts: Mapping[str, Any]) -> bool:
    """Return whether a finding is about the loop of the steps that the overview is about."""
    kind = finding["figures"].get("kind", "") if "loop_share" in finding["figures"] else None
    return kind == "" or (kind is not None and bool(facts["kinds"]) and facts["kinds"][0]["kind"] == kind)


def _clause(finding: pd.Series) -> str:
    words = next(rule.headline for rule in RULES.values() if rule.kind == finding["kind"])
    figures = finding["figures"]
    return words(figures) if words else f"{finding['title']}, which costs {step_time(figures)}"


def _idle_cause(finding: pd.Series) -> str:
    """Return the cause of idle time that a finding is about; empty if it is about something else."""
    if finding["kind"] == LAUNCHES.kind:
        return "late launch"
    return str(finding["figures"]["cause"]) if finding["kind"] == IDLE_DEVICE.kind else ""


def _of_devices(trace: Trace, table: pd.DataFrame, problem: str, idle_cause: str) -> Text:
    """Describe how busy devices were, and the first problem or the main cause of idle time."""
    total = max(int(table["step_ns"].sum()), 1)
    busy = int(table["busy_ns"].sum()) / total
    noun = _noun(table)
    devices = pd.MultiIndex.from_frame(table[["task", "device"]])
    causes = idle_by_cause(trace).reindex(devices, fill_value=0).sum()
    cause, share = str(causes.idxmax()), int(causes.max()) / total
    doubtful = is_doubtful(trace, cause, int(causes.max()) / max(int(table["steps"].sum()), 1))
    spread = _spread(table["busy_share"])
    words = _words(trace)
    if problem and idle_cause != cause:
        return Text("headline_problem", problem=problem, devices=noun, busy=spread)
    if not share or (busy >= _WELL_USED and not problem):
        return Text("headline_busy", devices=noun, busy=spread, **words)
    return Text(
        "headline_waits",
        devices=noun,
        busy=spread,
        share=format_percent(share),
        cause=while_idle(cause, doubtful),
        **words,
    )


def _words(trace: Trace) -> dict[str, str]:
    """Return the words for a recording, or for steps without a first one that is set apart."""
    if isinstance(trace, OtherSteps):
        return {"step_time": Text("later_step_time")}
    return whole_figures(is_undivided(trace))


def _spread(shares: Iterable[float]) -> str:
    least, most = (format_percent(find(shares)) for find in (min, max))
    return least if least == most else f"{least} to {most}"


def _noun(table: pd.DataFrame) -> str:
    types = {str(device).rpartition("device:")[2].partition(":")[0] for device in table["device"]}
    name = types.pop() if len(types) == 1 else "device"
    return f"{len(table):,} {name}s" if len(table) > 1 else name


def _without_devices(trace: Trace, facts: Mapping[str, Any], problem: str) -> Text:
    """Name the largest part of step time for the task that idles least."""
    steps = facts["steps"]
    shares = {
        task["task"]: {part: amount / max(task["step_ns"], 1) for part, amount in task["parts"].items()}
        for task in facts["step_time"]["tasks"]
    }
    task, busiest = min(
        shares.items(), key=lambda item: item[1].get("idle_ns", 0) + item[1].get("unknown_ns", 0)
    )
    kind = kind_label(facts["kinds"][0]["kind"]) if facts["kinds"] else ""
    which = "the" if steps["count"] == 1 else _which(steps["alike"])
    subject = f"{which} {kind}step"
    if facts["undivided"]:
        subject = "the recording"
    took = format_duration(steps["typical_ns"])
    if problem:
        return Text("headline_problem_on_host", problem=problem, step=subject, took=took)
    if not busiest:
        return Text("headline_host_brief", step=capital(subject), took=took)
    part = max(busiest, key=lambda name: busiest[name])
    name = part.removesuffix("_ns")
    share = format_percent(busiest[part])
    of = "it" if steps["count"] == 1 else _words(trace).get("step_time", Text("step_time"))
    if name == "idle":
        why = _why_idle(trace, task)
        return Text("headline_host_idle", step=capital(subject), took=took, share=share, of=of, why=why)
    label = LABELS.get(name, name.replace("_", " "))
    return Text("headline_host", step=capital(subject), took=took, share=share, of=of, part=label)


def _which(alike: bool) -> str:
    return "a typical" if alike else "the median"


def _why_idle(trace: Trace, task: str) -> str:
    """Name the line of Python that was sampled while nothing was recorded, or how to record it."""
    if not len(trace.metadata.get(PYTHON_SAMPLES, ())):
        return Text("headline_python_samples")
    sampled, _ = idle_python(trace, task, breakdown(trace)["step"].unique().tolist())
    figures = sampled_figures(sampled)
    return sampled_clause(figures) if figures else Text("headline_python_calls")
