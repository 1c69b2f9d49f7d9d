"""A step tries out algorithms for its convolutions."""

import re
from typing import Any

import numpy as np
import pandas as pd

from tfvis_nb.analysis.events.activity import accelerators
from tfvis_nb.analysis.findings.finding import (
    OBSERVATION,
    PROBLEM,
    Finding,
    longest_events,
    step_range,
    step_times,
)
from tfvis_nb.analysis.findings.rule import (
    Figures,
    Measurement,
    Rule,
    Texts,
    Threshold,
    beyond,
    example,
    step_time,
)
from tfvis_nb.core.categories import beginning, is_kind
from tfvis_nb.core.intervals import lengths, union
from tfvis_nb.core.per_trace import per_trace
from tfvis_nb.core.trace import Trace
from tfvis_nb.core.undivided import whole
from tfvis_nb.events import NO_STEP
from tfvis_nb.texts import Text

SHARE = Threshold(0.05, "share of step time of convolutions that try out algorithms")
KERNELS = Threshold(
    20, "kernels per execution of a convolution: with a chosen algorithm it launches fewer than 10"
)
RATIO = Threshold(4, "these kernels as a multiple of the median of the other steps, where there are any")

_CONVOLUTION = re.compile(r"(?:_?Fused)?(?:Depthwise)?Conv\d?D?")


@per_trace
def _tuned(trace: Trace) -> pd.DataFrame | Text:
    """Return the convolutions that launch many kernels: step, name, ``kernels`` and ``rows``; or why not.

    cuDNN's autotuning runs a convolution with each algorithm, once for each shape, when it first meets it.
    """
    events = trace.events
    chosen = beginning(events["op"], _CONVOLUTION) & (events["step"] != NO_STEP).to_numpy()
    kernel = is_kind(events, "kernel")
    if not kernel.any():
        return Text("no_gpu_kernels")
    op = is_kind(events, "op") & accelerators(events)
    table = events[["step", "name"]].assign(kernels=kernel, executions=op)[chosen & (kernel | op)]
    counts = table.groupby(["step", "name"])[["kernels", "executions"]].sum().reset_index()
    counts["each"] = counts["kernels"] / counts["executions"].clip(lower=1)
    usual = counts.groupby("name")["each"].transform("median")
    steps = counts.groupby("name")["each"].transform("size")
    many = (counts["executions"] > 0) & (counts["each"] >= KERNELS.value)
    tuned: pd.DataFrame = counts[many & ((steps == 1) | (counts["each"] >= RATIO.value * usual))]
    return tuned


def _time(trace: Trace, tuned: pd.DataFrame) -> tuple[np.ndarray, np.ndarray]:
    """Return the time in which convolutions tried out algorithms in each step (ns), and the events."""
    events = trace.events
    keys = pd.MultiIndex.from_frame(tuned[["step", "name"]])
    rows = np.flatnonzero(is_kind(events, "kernel") | (is_kind(events, "op") & accelerators(events)))
    rows = rows[pd.MultiIndex.from_frame(events[["step", "name"]].iloc[rows]).isin(keys)]
    start = events["start_ns"].to_numpy()[rows]
    numbers = step_times(trace).index.to_numpy()
    group = np.searchsorted(numbers, events["step"].to_numpy()[rows])
    covered = union(group, start, start + events["duration_ns"].to_numpy()[rows])
    return lengths(covered, len(numbers), 2)[:, 1], rows


def _find(trace: Trace) -> list[Finding]:
    tuned = _tuned(trace)
    if isinstance(tuned, Text) or tuned.empty:
        return []
    time, rows = _time(trace, tuned)
    steps = step_times(trace)
    share = int(time.sum()) / max(int(steps["duration_ns"].sum()), 1)
    if share < SHARE.value:
        return []
    worst = int(time.argmax())
    step = int(steps.index[worst])
    most = tuned.iloc[int(tuned["kernels"].to_numpy().argmax())]
    figures: dict[str, Any] = {
        "share": share,
        "step": step,
        "steps": len(steps),
        "tuning_steps": int((time > 0).sum()),
        "here_ns": int(time[worst]),
        "step_ns": int(steps["duration_ns"].iloc[worst]),
        "convolutions": len(tuned),
        "kernels": int(tuned["kernels"].sum()),
        "name": str(most["name"]),
        "name_kernels": int(most["kernels"]),
    }
    mask = np.zeros(len(trace.events), bool)
    mask[rows] = True
    start, end = step_range(trace, step)
    level = PROBLEM if len(steps) == 1 else OBSERVATION
    return [Finding("autotuning", share, figures, step, start, end, longest_events(trace, mask), level)]


def _word(_key: str, figures: Figures) -> Texts:
    launches = f"{figures['name']}, a convolution, launches {figures['kernels']:,} kernels."
    if figures["convolutions"] > 1:
        launches = (
            f"{figures['convolutions']:,} convolutions launch {figures['kernels']:,} kernels:"
            f" {figures['name']} alone launches {figures['name_kernels']:,}."
        )
    text = (
        f"cuDNN tries out algorithms, once for each shape, which takes {step_time(figures)}:"
        f" {example(figures)}."
    )
    if figures["steps"] == 1:
        text += f" The other findings of {whole(figures, 'this step')} are not typical of later ones."
    return Texts("cuDNN is still tuning convolutions", text, "Run a warm-up step before tracing.", launches)


def _measure(trace: Trace) -> Measurement:
    tuned = _tuned(trace)
    if isinstance(tuned, Text):
        return Measurement.unknown(SHARE, tuned)
    total = max(int(step_times(trace)["duration_ns"].sum()), 1)
    share = int(_time(trace, tuned)[0].sum()) / total if len(tuned) else 0.0
    return Measurement.of(SHARE, share)


def _summarise(figures: Figures) -> str:
    return f"Tuning of convolutions takes {step_time(figures)}{beyond(figures)}."


RULE = Rule(
    "autotuning",
    {"SHARE": SHARE, "KERNELS": KERNELS, "RATIO": RATIO},
    _find,
    _word,
    _measure,
    _summarise,
    "Tuning of convolutions is",
)
