"""A GPU lowers its clocks, because of its power limit or its heat."""

from typing import Any

import numpy as np

from tfvis_nb.analysis.findings.finding import OBSERVATION, Finding, step_range, step_times
from tfvis_nb.analysis.findings.launch_bound import device_name
from tfvis_nb.analysis.findings.rule import Figures, Measurement, Rule, Texts, Threshold, beyond, step_time
from tfvis_nb.analysis.hardware.kernel_runs import kernel_runs
from tfvis_nb.core.counters import SM_CLOCK, THROTTLED
from tfvis_nb.core.format import format_amount, format_percent
from tfvis_nb.core.per_trace import per_trace
from tfvis_nb.core.trace import Trace
from tfvis_nb.texts import Text

SHARE = Threshold(
    0.02,
    "share of step time that throttling costs at most: the throttled time, times the share by which the SM"
    " clock is below its maximum. GPUs set clocks in steps of 15 MHz, of which two are some 2 %",
)
_MOSTLY = 0.5
"""The share of its time from which a step counts as throttled."""
_BY_DESIGN = {"power cap", "sync boost"}
"""Reasons that are settings of a GPU that is well."""
_ADVICE = {
    "power cap": "The GPU works as fast as its power limit allows: nvidia-smi -q -d POWER shows the limit,"
    " which an administrator can raise up to its maximum.",
    "heat": "Cool the GPU better: nvidia-smi -q -d TEMPERATURE shows its temperature and the limits.",
}
_OTHER = "nvidia-smi -q -d PERFORMANCE shows the reasons; check the power supply and the cooling."


@per_trace
def _measured(trace: Trace) -> dict[str, Any] | None:
    """Return the figures of the GPU that throttling costs most; None without recorded clocks."""
    steps = step_times(trace)
    table = trace.recorded_counters
    table = table[table["counter"].isin((SM_CLOCK, THROTTLED)).to_numpy()]
    devices = [
        _of_device(
            {
                (str(counter), str(series)): (own["time_ns"].to_numpy(np.int64), own["value"].to_numpy())
                for (counter, series), own in of_device.groupby(["counter", "series"], observed=True)
            },
            steps["start_ns"].to_numpy(np.int64),
            steps["end_ns"].to_numpy(np.int64),
        )
        | {"task": str(task), "device": str(device)}
        for (task, device), of_device in table.groupby(["task", "device"], observed=True)
        if {(SM_CLOCK, ""), (SM_CLOCK, "maximum"), (THROTTLED, "")}
        <= {*zip(of_device["counter"], of_device["series"], strict=True)}
    ]
    if not devices or not len(steps):
        return None
    most = max(devices, key=lambda one: one["share"])
    return most | {"steps": steps.index[most["steps"]].tolist(), "of_steps": len(steps)}


def _of_device(
    counters: dict[tuple[str, str], tuple[np.ndarray, np.ndarray]], start: np.ndarray, end: np.ndarray
) -> dict[str, Any]:
    """Return the throttled time of a GPU in steps from `start` to `end`, and what it costs."""
    time, is_throttled = counters[THROTTLED, ""]
    clock_times, clocks = counters[SM_CLOCK, ""]
    clock = clocks[np.clip(np.searchsorted(clock_times, time, "right") - 1, 0, None)]
    maximum = float(counters[SM_CLOCK, "maximum"][1].max())

    def in_steps(at: np.ndarray, rate: np.ndarray) -> np.ndarray:
        """Integrate a rate, which holds until the next time, over each step."""
        total = np.cumsum(np.append(0.0, rate[:-1] * np.diff(at)))
        before, after = (np.interp(edge - at[0], at - at[0], total) for edge in (start, end))
        return np.asarray(after - before)

    lost = in_steps(time, is_throttled * np.clip(1 - clock / maximum, 0, None)).sum()
    throttled = in_steps(time, is_throttled)
    causes = {
        series: in_steps(*values).sum() for (name, series), values in counters.items() if name == THROTTLED
    }
    whole_ns, throttled_ns = max(int((end - start).sum()), 1), float(throttled.sum())
    mostly = throttled >= _MOSTLY * (end - start).clip(1)
    return {
        "share": float(lost) / whole_ns,
        "throttled_share": throttled_ns / whole_ns,
        "clock_mhz": float(in_steps(time, is_throttled * clock).sum()) / max(throttled_ns, 1.0),
        "maximum_mhz": maximum,
        "reasons": sorted((name for name in causes if name and causes[name]), key=lambda name: -causes[name]),
        "steps": np.flatnonzero(mostly if mostly.any() else throttled > 0),
        "worst": int(throttled.argmax()) if len(throttled) else 0,
    }


def _find(trace: Trace) -> list[Finding]:
    figures = _measured(trace)
    if figures is None or figures["share"] < SHARE.value:
        return []
    step = int(step_times(trace).index[figures["worst"]])
    named = {name: value for name, value in figures.items() if name != "worst"} | {"step": step}
    level = OBSERVATION if {*figures["reasons"]} <= _BY_DESIGN else ""
    return [Finding("throttled", figures["share"], named, step, *step_range(trace, step), [], level)]


def _which(figures: Figures) -> str:
    """Name the throttled steps."""
    steps, every = figures["steps"], figures["of_steps"]
    if len(steps) == every:
        return "the step" if every == 1 else "all steps"
    if len(steps) == 1:
        return f"step {steps[0]}"
    if steps[-1] - steps[0] == len(steps) - 1:
        return f"steps {steps[0]} to {steps[-1]}"
    return f"{len(steps):,} of {every:,} steps"


def _word(_key: str, figures: Figures) -> Texts:
    name, reasons = device_name(figures["task"], figures["device"]), figures["reasons"]
    because = f": {', '.join(reasons)}" if reasons else ""
    clock, maximum = (format_amount(round(figures[key]), "MHz") for key in ("clock_mhz", "maximum_mhz"))
    return Texts(
        f"{name} is throttled in {_which(figures)}{because}",
        f"{name} lowers its clocks for {step_time(figures, 'throttled_share')}. Its SMs then run at {clock}"
        f" on average, of at most {maximum}, which costs up to {step_time(figures)}.",
        _ADVICE.get(reasons[0] if reasons else "", _OTHER),
        "Work that waits for memory or the host loses less than the clock. Clocks are sampled.",
    )


def _measure(trace: Trace) -> Measurement:
    figures = _measured(trace)
    if figures is None:
        return Measurement.unknown(SHARE, Text("no_kernels" if kernel_runs(trace).empty else "no_clocks"))
    return Measurement.of(SHARE, figures["share"])


def _summarise(figures: Figures) -> str:
    return f"Lower clocks of a throttled GPU cost up to {step_time(figures)}{beyond(figures)}."


def _headline(figures: Figures) -> str:
    name = device_name(figures["task"], figures["device"])
    return f"{name} is throttled for {format_percent(figures['throttled_share'])} of step time"


RULE = Rule(
    "throttling",
    {"SHARE": SHARE},
    _find,
    _word,
    _measure,
    _summarise,
    "Throttling of GPUs is",
    headline=_headline,
)
