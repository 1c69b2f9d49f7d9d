"""The summary of a run of a traced cell: step times and a few figures, never the trace."""

import hashlib
import json
import math
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, fields
from importlib.metadata import version
from statistics import median_low
from typing import Any

import numpy as np

from tfvis_nb.analysis.steps.compared_steps import compared_steps
from tfvis_nb.analysis.steps.other_steps import is_set_apart
from tfvis_nb.analysis.steps.slow_steps import main_steps, median_step, slow_first_step
from tfvis_nb.analysis.unavailable import why_not
from tfvis_nb.core.trace import Trace
from tfvis_nb.events import NO_STEP

MOST_STEPS = 200
"""How many step times of a run are kept: the last ones."""

LONGEST_TEXT = 4096
"""Maximum characters of each text."""


@dataclass(frozen=True)
class Cell:
    """A running cell: ``notebook`` and ``cell`` identify it, regardless of its code.

    ``code`` is a digest of its code and of what that depends on, ``options`` those of the recording that
    differ from the defaults.
    """

    notebook: str
    cell: str
    code: str
    options: str


@dataclass(frozen=True)
class Summary(Cell):
    """One run of a traced cell.

    Its ``code`` is also of how many ops and kernels of each type a repeated step has.
    ``time_ns`` is its end, in ns since 1970. ``steps`` is the number of recorded steps. ``step_ns`` has the
    times of those of the kind that takes the most time, in recorded order, at most the last `MOST_STEPS`.
    ``median_ns`` is the median of all of that kind. A first step that is set apart is in ``first_ns``
    instead. Without steps both are the time from the first event to the last. ``loop_ns`` has the times from
    the start of a step to the start of the next. ``kernels`` and ``ops`` are median numbers per step,
    ``busy_share`` is that of the accelerators, ``peak_bytes`` that of the allocator with the highest peak;
    None if unknown.
    """

    title: str
    time_ns: int
    steps: int
    step_ns: list[int]
    median_ns: int
    first_ns: int | None
    kernels: int | None
    ops: int | None
    busy_share: float | None
    peak_bytes: int | None
    tfvis_nb: str
    tensorflow: str
    loop_ns: list[int] | None

    def is_comparable(self, other: "Summary") -> bool:
        """Whether both are runs of the same cell, recorded with the same options."""
        names = ("notebook", "cell", "options")
        same = all(getattr(self, name) == getattr(other, name) for name in names)
        return same and bool(self.steps) == bool(other.steps)


def summary_of(trace: Trace, cell: Cell) -> Summary | None:
    """Return the summary of a trace that a cell has just recorded; None without events."""
    if trace.events.empty:
        return None
    first = slow_first_step(trace)
    apart = first is not None and is_set_apart(first._asdict())
    main, middle = main_steps(trace), median_step(trace)
    kept = main[main["step"] != first.step] if apart and first is not None else main
    start = trace.events["start_ns"].to_numpy(np.int64)
    span = int((start + trace.events["duration_ns"].to_numpy(np.int64)).max() - start.min())
    step_ns = kept["duration_ns"].tolist() or [span]
    loops = compared_steps(trace).only(main["step"].to_numpy(np.int64)).loops()[0].tolist()
    tensorflow = getattr(sys.modules.get("tensorflow"), "__version__", "")
    work = f"{cell.code} {_work(trace, kept['step'].tolist()[-MOST_STEPS:])}"
    return Summary(
        **asdict(cell) | {"code": hashlib.sha256(work.encode("utf-8", "backslashreplace")).hexdigest()[:16]},
        title=trace.title[:LONGEST_TEXT],
        time_ns=time.time_ns(),
        steps=int((trace.steps["step"] != NO_STEP).sum()),
        step_ns=step_ns[-MOST_STEPS:],
        median_ns=span if middle is None else int(main.set_index("step")["duration_ns"][middle]),
        first_ns=first.first_ns if apart and first is not None else None,
        kernels=_per_step(trace, "kernel", kept["step"].tolist()),
        ops=_per_step(trace, "op", kept["step"].tolist()),
        busy_share=_busy_share(trace, kept["step"].tolist()),
        peak_bytes=_peak_bytes(trace),
        tfvis_nb=version("tfvis-nb"),
        tensorflow=str(tensorflow)[:LONGEST_TEXT],
        loop_ns=loops[-MOST_STEPS:] or None,
    )


def _work(trace: Trace, steps: list[int]) -> dict[str, int]:
    """Return the median numbers of ops and kernels of each type per step."""
    table = trace.events
    if len(steps) < 2:  # all is the first run of something
        return {}
    counted = (table["kind"].isin(("op", "kernel")) & table["step"].isin(steps)).to_numpy()
    of_types = table.loc[counted, ["op", "step"]]
    counts = np.zeros((len(of_types["op"].cat.categories), len(steps)), np.int64)
    np.add.at(counts, (of_types["op"].cat.codes, np.searchsorted(steps, of_types["step"])), 1)
    medians = np.median(counts, axis=1).astype(int).tolist()
    named = zip(of_types["op"].cat.categories, medians, strict=True)
    return {str(name): count for name, count in sorted(named) if count}


def _per_step(trace: Trace, kind: str, steps: list[int]) -> int | None:
    """Return the median number of events of a kind per step, or the total without steps."""
    step = trace.events["step"].to_numpy()[(trace.events["kind"] == kind).to_numpy()]
    if not len(step):
        return None
    if not steps:
        return len(step)
    numbers, counts = np.unique(step, return_counts=True)
    each = dict(zip(numbers.tolist(), counts.tolist(), strict=True))
    return int(median_low(each.get(number, 0) for number in steps))


def _busy_share(trace: Trace, steps: list[int]) -> float | None:
    table = trace.utilization
    if why_not(table):
        return None
    of_device = table["step"].isin(steps) & table["hta_kernel_ns"].notna() & table["busy_ns"].notna()
    total = int(table.loc[of_device, "step_ns"].sum())
    return int(table.loc[of_device, "busy_ns"].sum()) / total if total else None


def _peak_bytes(trace: Trace) -> int | None:
    curve = trace.memory
    recorded = curve.loc[~curve["estimated"], "bytes"]
    return None if recorded.empty else int(recorded.max())


LINE_START = f'{{"{fields(Summary)[0].name}":'.encode()
"""The first bytes of each line."""


def to_line(summary: Summary) -> str:
    """Write a summary as one line."""
    return json.dumps(asdict(summary), separators=(",", ":")) + "\n"


def from_line(line: str | bytes) -> Summary | None:
    """Read a line of `to_line`; None for anything else. Values of later versions are ignored."""
    try:
        values_read = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(values_read, dict):
        return None
    if "median_ns" not in values_read and _are_steps(
        values_read.get("step_ns")
    ):  # a line of an earlier version
        values_read["median_ns"] = median_low(values_read["step_ns"])
    values: dict[str, Any] = {name: values_read.get(name) for name in _CHECKS}
    return Summary(**values) if all(check(values[name]) for name, check in _CHECKS.items()) else None


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and len(value) <= LONGEST_TEXT


def _is_count(value: Any) -> bool:
    return type(value) is int and 0 <= value < 1 << 62


def _is_count_or_none(value: Any) -> bool:
    return value is None or _is_count(value)


def _is_share_or_none(value: Any) -> bool:
    return value is None or (type(value) in (int, float) and math.isfinite(value) and 0 <= value <= 1)


def _are_steps(value: Any) -> bool:
    return isinstance(value, list) and 1 <= len(value) <= MOST_STEPS and all(map(_is_count, value))


_CHECKS: dict[str, Callable[[Any], bool]] = {
    **dict.fromkeys(("notebook", "cell", "code", "options", "title", "tfvis_nb", "tensorflow"), _is_text),
    **dict.fromkeys(("time_ns", "steps", "median_ns"), _is_count),
    "step_ns": _are_steps,
    "loop_ns": lambda value: value is None or _are_steps(value),
    **dict.fromkeys(("first_ns", "kernels", "ops", "peak_bytes"), _is_count_or_none),
    "busy_share": _is_share_or_none,
}
