"""What Python ran during stretches of time, by the samples of a recording."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from tfvis_nb.core.format import format_percent
from tfvis_nb.core.intervals import union
from tfvis_nb.core.metadata import GC_PAUSES, PYTHON_SAMPLES, THREAD_SAMPLES
from tfvis_nb.core.trace import Trace

_SURE = 1.645
"""Standard deviations above the mean that 5 % of samples exceed by chance."""
FEWEST_FOR_SHARE = 25
"""With fewer samples they are counted: the standard error of a share is at most 0.5 / 25 ** 0.5 = 0.1."""

COLLECT_LESS = (
    "Collect garbage less often: leave out gc.collect(), or call gc.freeze() once model and data are built."
)


class SampledLine(NamedTuple):
    """The line of the user's code that ran most."""

    line: str
    function: str
    share: float
    """Its part of the samples, including those without a line."""
    samples: int
    """The number of samples, including those without a line."""


def called_line(trace: Trace, events: np.ndarray, task: str = "") -> SampledLine | None:
    """Return the line that ran most in threads on which TensorFlow or JAX called Python, during events."""
    start, duration = (trace.events[name].to_numpy(np.int64)[events] for name in ("start_ns", "duration_ns"))
    calls = union(np.zeros(len(events), np.int64), start, start + duration)
    return sampled_line(trace, calls.start, calls.end, task, THREAD_SAMPLES)


def sampled_line(
    trace: Trace, start: np.ndarray, end: np.ndarray, task: str = "", subject: str = PYTHON_SAMPLES
) -> SampledLine | None:
    """Return the line that ran most during stretches that do not overlap, in order of time.

    None if none was sampled. The task without a name has the samples of all.
    """
    return next(iter(sampled_lines(trace, start, end, task, subject)), None)


def sampled_lines(
    trace: Trace, start: np.ndarray, end: np.ndarray, task: str = "", subject: str = PYTHON_SAMPLES
) -> list[SampledLine]:
    """Return the lines that ran during stretches, as `sampled_line` does: those with most samples first."""
    samples = trace.metadata.get(subject)
    if samples is None or not len(start):
        return []
    if subject == THREAD_SAMPLES:
        samples = samples[are_called(samples)]
    of_task = samples["task"].fillna("").isin([task, ""]) if task else samples["time_ns"].notna()
    samples = samples[of_task & samples["time_ns"].notna()]
    time = samples["time_ns"].to_numpy(np.int64)
    at = np.searchsorted(start, time, "right") - 1
    return _by_line(samples[(at >= 0) & (time < end[at])])


def are_called(samples: pd.DataFrame) -> np.ndarray:
    """Return a mask of the samples of threads on which a library called Python; older ones all are."""
    mask: np.ndarray = samples["called"].to_numpy(np.int64, na_value=1) != 0
    return mask


def most_sampled(samples: pd.DataFrame) -> SampledLine | None:
    """Return the line with the most of some samples; None if none has a line."""
    return next(iter(_by_line(samples)), None)


def _by_line(samples: pd.DataFrame) -> list[SampledLine]:
    known = samples[samples["line"].notna()]
    if known.empty:
        return []
    known = known.assign(function=known["function"].fillna(""))
    counts = known.groupby(["file", "line", "function"], sort=False).size()
    counts = counts.sort_values(ascending=False, kind="stable")
    return [
        SampledLine(f"{file}:{line}", str(function), int(count) / len(samples), len(samples))
        for file, line, function, count in counts.reset_index().itertuples(index=False)
    ]


def sampled_figures(sampled: SampledLine | None) -> dict[str, Any] | None:
    """Return the figures of `sampled_clause`; None if no line was sampled."""
    if sampled is None:
        return None
    return {
        "line": sampled.line,
        "function": sampled.function,
        "line_share": sampled.share,
        "samples": sampled.samples,
    }


def mostly_at(figures: Mapping[str, Any] | None) -> str:
    """Name the line for a headline, if it surely has most of the time: by a one-sided test at 5 %.

    >>> mostly_at({"line": "train.py:7", "line_share": 0.8, "samples": 20})
    ', mostly at train.py:7'
    >>> mostly_at({"line": "train.py:7", "line_share": 1.0, "samples": 4})
    ''
    """
    if not figures or not figures["line"]:
        return ""
    half = figures["samples"] / 2
    more = round(figures["line_share"] * figures["samples"]) - half - 0.5
    return f", mostly at {figures['line']}" if more > _SURE * (half / 2) ** 0.5 else ""


def collected_share(trace: Trace, start: np.ndarray, end: np.ndarray) -> float | None:
    """Return the share of such stretches in which Python's garbage collector ran; None if not recorded."""
    whole = int((end - start).sum())
    if GC_PAUSES not in trace.metadata or not whole:
        return None
    begins, ends = _collections(trace, start, end)
    return min(int((ends - begins).sum()) / whole, 1.0)


def collecting_line(trace: Trace, start: np.ndarray, end: np.ndarray) -> SampledLine | None:
    """Return the line that ran most while Python's garbage collector ran in such stretches.

    The collector holds the interpreter, so that a sample comes late: with the time when it was due, and the
    line that had called the collector, or that made the objects on which it started.
    """
    return sampled_line(trace, *_collections(trace, start, end))


def _collections(trace: Trace, start: np.ndarray, end: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return start and end of the collections that began in such stretches, in order of time."""
    pauses = trace.metadata.get(GC_PAUSES)
    if pauses is None or not len(start):
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    time, length = (pauses[name].to_numpy(np.int64, na_value=0) for name in ("time_ns", "duration_ns"))
    at = np.searchsorted(start, time, "right") - 1
    inside = np.flatnonzero((at >= 0) & (time < end[at]))
    inside = inside[np.argsort(time[inside], kind="stable")]
    return time[inside], time[inside] + length[inside]


def sampled_clause(figures: Mapping[str, Any]) -> str:
    """Name the ``line`` and the ``function`` that ran in ``line_share`` of the ``samples``.

    >>> figures = {"line": "train.py:7", "function": "log", "line_share": 0.9, "samples": 30}
    >>> sampled_clause(figures)
    'train.py:7 in log runs in 90.0 % of the samples of Python taken in that time'
    >>> sampled_clause(figures | {"samples": 10})
    'train.py:7 in log runs in 9 of 10 samples of Python taken in that time'
    """
    function = f" in {figures['function']}" if figures["function"].isidentifier() else ""
    share, samples = figures["line_share"], figures["samples"]
    part = f"{format_percent(share)} of the samples"
    if samples < FEWEST_FOR_SHARE:
        part = f"{round(share * samples)} of {samples} samples" if samples > 1 else "the only sample"
    return f"{figures['line']}{function} runs in {part} of Python taken in that time"
