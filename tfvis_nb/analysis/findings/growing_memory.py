"""Memory grows from step to step, and is never given back."""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from tfvis_nb.analysis.findings.finding import MINOR, Finding, step_times
from tfvis_nb.analysis.findings.launch_bound import device_name
from tfvis_nb.analysis.findings.rule import NOT_KNOWN, Figures, Measurement, Rule, Texts, Threshold
from tfvis_nb.core.counters import ALLOCATED, RESIDENT
from tfvis_nb.core.format import format_bytes
from tfvis_nb.core.per_trace import per_trace
from tfvis_nb.core.trace import Trace
from tfvis_nb.events import NO_STEP
from tfvis_nb.texts import Text

PARTS = Threshold(
    8,
    "equal parts of the steps. Memory must grow in each but the first, which is warm-up. Without growth, all"
    " seven do so by chance in one of 128 traces",
)
STEPS = Threshold(16, "fewer steps, or samples during them, have parts of less than two")
BYTES = Threshold(100_000, "bytes a step: with less, 100,000 steps need less than 10 GB")
EVENT_BYTES = Threshold(
    2_000,
    "bytes of each event that a recording keeps in the process until it ends: growth by less may be its own",
)


@per_trace
def grown(trace: Trace) -> dict[str, Any] | None:
    """Return the series whose memory grows most per step, if it is known; ``step_bytes`` is 0 without growth.

    ``low_bytes`` and ``high_bytes`` are the least and the most growth per step in any part: an interval of
    98 % for the median part, whatever the values vary by.
    """
    steps = step_times(trace).sort_values("end_ns")
    ends = steps["end_ns"].to_numpy(np.int64)
    series = list(_levels(trace, ends)) if len(ends) >= STEPS.value else []
    if not series:
        return None
    in_steps = int((trace.events["step"] != NO_STEP).sum())
    own_bytes = EVENT_BYTES.value * in_steps / len(ends)
    none = {"counter": "", "task": "", "device": "", "step_bytes": 0}
    growing = [_growth(named, levels, own_bytes) for named, levels in series]
    most = max((one for one in growing if one is not None), key=lambda one: one["step_bytes"], default=none)
    edges = {"first": int(steps.index[round(len(ends) / PARTS.value)]), "last": int(steps.index[-1])}
    return most | edges


def _levels(trace: Trace, ends: np.ndarray) -> Iterator[tuple[dict[str, Any], np.ndarray]]:
    """Yield each series of memory with its value at the end of each step, if it has enough values."""
    table = trace.recorded_counters
    table = table[table["counter"].isin((RESIDENT, ALLOCATED)).to_numpy()]
    for (counter, task, device, _), own in table.groupby(
        ["counter", "task", "device", "series"], observed=True
    ):
        time, value = own["time_ns"].to_numpy(np.int64), own["value"].to_numpy(np.float64)
        place = np.searchsorted(time, ends, "right") - 1
        if place[0] >= 0 and len(np.unique(place)) >= STEPS.value:
            yield {"counter": str(counter), "task": str(task), "device": str(device)}, value[place]


def _growth(named: dict[str, Any], levels: np.ndarray, own_bytes: float) -> dict[str, Any] | None:
    """Return by how much a series grows per step; None if it does not.

    Only memory counts that is never given back: the least value from a step to the last one. A sawtooth has
    none but that of its last tooth. It must also exceed what was given back at any time.
    """
    kept = np.minimum.accumulate(levels[::-1])[::-1]
    ends = np.round(np.arange(1, PARTS.value + 1) * len(levels) / PARTS.value).astype(int) - 1
    per_step = np.diff(kept[ends]) / np.diff(ends)
    low, median, high = (float(value) for value in (per_step.min(), np.median(per_step), per_step.max()))
    total = float(kept[-1] - kept[ends[0]])
    returned = float((np.maximum.accumulate(levels) - levels).max())
    least = BYTES.value + (own_bytes if named["counter"] == RESIDENT else 0)
    if low <= 0 or median < least or total <= returned:
        return None
    sizes = {"step_bytes": median, "low_bytes": low, "high_bytes": high, "from_bytes": float(kept[ends[0]])}
    return named | {name: round(size) for name, size in sizes.items()} | {"to_bytes": round(kept[-1])}


def _find(trace: Trace) -> list[Finding]:
    figures = grown(trace)
    if figures is None or not figures["step_bytes"]:
        return []
    steps = step_times(trace)
    first, last = (
        int(steps.loc[figures[name], edge]) for name, edge in (("first", "start_ns"), ("last", "end_ns"))
    )
    return [Finding("growing_memory", math.nan, figures, figures["last"], first, last, [], MINOR)]


def _rate(figures: Figures) -> str:
    """Describe growth with its interval, such as ``by 34 MiB a step (30 MiB to 38 MiB)``."""
    rate, low, high = (format_bytes(figures[f"{name}_bytes"]) for name in ("step", "low", "high"))
    return f"by {rate} a step ({low} to {high})"


def _what(figures: Figures) -> str:
    name = device_name(figures["task"], figures["device"])
    return f"Memory of {name}" if figures["counter"] == ALLOCATED else "Memory"


def _word(_key: str, figures: Figures) -> Texts:
    of_device = figures["counter"] == ALLOCATED
    before, after = (format_bytes(figures[f"{name}_bytes"]) for name in ("from", "to"))
    what = "The memory in use" if of_device else "The resident memory of the process"
    keeps = "tensors in lists or attributes" if of_device else "tensors, results and caches"
    return Texts(
        f"{_what(figures)} grows {_rate(figures)}",
        f"{what} grows from {before} to {after} from step {figures['first']} to step {figures['last']}.",
        f"Look for what each step keeps: {keeps}, or functions that are traced again.",
        "Only memory that is not given back by the last step counts. The interval has the growth of each of"
        f" seven parts of these steps; the first part of {PARTS.value} is warm-up and left out.",
    )


def _measure(trace: Trace) -> Measurement:
    figures = grown(trace)
    reason = {"reason": Text("no_memory_samples")}
    return Measurement(NOT_KNOWN, NOT_KNOWN, reason if figures is None else figures)


def _summarise(figures: Figures) -> str:
    if not figures["step_bytes"]:
        return "Memory does not grow from step to step."
    return f"{_what(figures)} grows {_rate(figures)}."


RULE = Rule(
    "growing memory",
    {"PARTS": PARTS, "STEPS": STEPS, "BYTES": BYTES, "EVENT_BYTES": EVENT_BYTES},
    _find,
    _word,
    _measure,
    _summarise,
    "Growth of memory is",
)
