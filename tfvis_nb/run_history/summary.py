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
from typing import Any, Literal

import numpy as np

from tfvis_nb.analysis.findings.growing_memory import grown
from tfvis_nb.analysis.steps.compared_steps import compared_steps
from tfvis_nb.analysis.steps.compared_unit import (
    EagerLoop,
    Repeated,
    eager_loop,
    kinds_of_steps,
    main_kind,
    whole_ns,
)
from tfvis_nb.analysis.steps.other_steps import is_set_apart
from tfvis_nb.analysis.steps.slow_steps import main_steps, median_steps, slow_first_step, step_kinds
from tfvis_nb.analysis.unavailable import why_not
from tfvis_nb.core.metadata import PROFILES
from tfvis_nb.core.trace import Trace
from tfvis_nb.core.undivided import is_undivided
from tfvis_nb.run_history.cell import LONGEST_TEXT, Cell

MOST_STEPS = 200
"""How many step times of a kind are kept: the last ones."""

_MOST_KINDS = 4
"""Of further kinds of steps, which take less time, no times are kept."""

Times = Literal["steps", "loops", "iterations", "recordings"]
"""The times of runs that can be compared."""

_EVERY_OP = 3
"""The level of TensorFlow's host tracer that records cheap ops as well."""


@dataclass(frozen=True)
class KindTimes:
    """The steps of one kind in a run; times in ns.

    ``step_ns`` has the times of steps in recorded order, and ``loop_ns`` those from the start of a step to
    the start of the next: at most the last `MOST_STEPS`. A first step that is set apart is in ``first_ns``
    instead. ``steps``, ``total_ns`` and ``median_ns`` are of all. ``kernels`` and ``ops`` are median numbers
    per step, None if unknown.
    """

    steps: int
    total_ns: int
    median_ns: int
    first_ns: int | None
    step_ns: list[int]
    loop_ns: list[int]
    kernels: int | None
    ops: int | None

    @property
    def all_ns(self) -> list[int]:
        """The times of all kept steps, also of a first one that is set apart."""
        return self.step_ns if self.first_ns is None else [self.first_ns, *self.step_ns]


@dataclass(frozen=True)
class Summary(Cell):
    """One run of a traced cell.

    Its ``code`` is also of the version of TensorFlow, and of how many ops and kernels of each type a repeated
    step has. ``time_ns`` is its end, in ns since 1970. ``whole_ns`` is the time from the first event to the
    last, None in lines of earlier versions. ``kinds`` has the steps of each kind; it is empty if nothing
    divides the recording into steps. ``loop`` is then that of eager ops, if there is one, and ``kernels`` and
    ``ops`` are the numbers of the recording, None with steps. ``busy_share`` is that of the accelerators,
    ``peak_bytes`` that of the allocator with the highest peak, ``step_joules`` the median energy of a step,
    ``step_bytes`` by how much memory grows per step; None if unknown.
    """

    title: str
    time_ns: int
    whole_ns: int | None
    kinds: dict[str, KindTimes]
    loop: EagerLoop | None
    kernels: int | None
    ops: int | None
    busy_share: float | None
    peak_bytes: int | None
    step_joules: float | None
    step_bytes: int | None
    tfvis_nb: str
    tensorflow: str

    def is_comparable(self, other: "Summary") -> bool:
        """Whether both are runs of the same cell, recorded with the same options."""
        return all(getattr(self, name) == getattr(other, name) for name in ("notebook", "cell", "options"))

    @property
    def repeated(self) -> Repeated:
        """The repeating parts of the recording."""
        return Repeated(self.kinds, self.loop)

    @property
    def main(self) -> KindTimes | None:
        """The steps of the kind that takes the most time."""
        return self.kinds.get(main_kind(self.kinds))

    def times(self, what: Times, kind: str) -> list[int]:
        """Return the times of steps of a kind, of their loops, of iterations, or of the recording."""
        if what == "recordings":
            return [] if self.whole_ns is None else [self.whole_ns]
        if what == "iterations" and self.loop is not None:
            return self.loop.loop_ns
        steps = self.kinds.get(kind)
        if steps is None:
            return []
        return steps.step_ns if what == "steps" else steps.loop_ns


def summary_of(trace: Trace, cell: Cell) -> Summary | None:
    """Return the summary of a trace that a cell has just recorded; None without events."""
    if trace.events.empty:
        return None
    first = slow_first_step(trace)
    apart = first.step if first is not None and is_set_apart(first._asdict()) else None
    main = main_steps(trace)["step"].tolist()
    kept = [step for step in main if step != apart]
    undivided = is_undivided(trace)
    kinds = {} if undivided else _kinds(trace, apart)
    loop = eager_loop(trace) if undivided else None
    tensorflow = getattr(sys.modules.get("tensorflow"), "__version__", "")
    own = kinds_of_steps(trace)
    work = [_work(trace, own.index[own == kind].tolist()[-MOST_STEPS:], apart) for kind in sorted(kinds)]
    code = f"{cell.code} {tensorflow} {work}"
    return Summary(
        **asdict(cell) | {"code": hashlib.sha256(code.encode("utf-8", "backslashreplace")).hexdigest()[:16]},
        title=trace.title[:LONGEST_TEXT],
        time_ns=time.time_ns(),
        whole_ns=whole_ns(trace),
        kinds=kinds,
        loop=None if loop is None else loop._replace(loop_ns=loop.loop_ns[-MOST_STEPS:]),
        kernels=None if kinds else _per_step(trace, "kernel", []),
        ops=None if kinds else _ops(trace, []),
        busy_share=_busy_share(trace, kept),
        peak_bytes=_peak_bytes(trace),
        step_joules=_step_joules(trace, kept),
        step_bytes=None if (memory := grown(trace)) is None else memory["step_bytes"],
        tfvis_nb=version("tfvis-nb"),
        tensorflow=str(tensorflow)[:LONGEST_TEXT],
    )


def _kinds(trace: Trace, apart: int | None) -> dict[str, KindTimes]:
    """Return the steps of the kinds that take the most time; step `apart` is a slow first one."""
    took = trace.steps.set_index("step")["duration_ns"]
    kinds, side, medians = kinds_of_steps(trace), compared_steps(trace), median_steps(trace)
    found = {}
    for kind in kinds.unique():
        steps = kinds.index[kinds == kind]
        of_kind = side.only(steps.to_numpy(np.int64))
        found[str(kind)[:LONGEST_TEXT]] = KindTimes(
            steps=len(steps),
            total_ns=int(took[steps].sum()),
            median_ns=int(medians["duration_ns"][step_kinds(trace)[steps[0]]]),
            first_ns=None if apart is None or apart not in steps else int(took[apart]),
            step_ns=of_kind.durations()[0].tolist()[-MOST_STEPS:],
            loop_ns=of_kind.loops()[0].tolist()[-MOST_STEPS:],
            kernels=_per_step(trace, "kernel", of_kind.recordings[0].tolist()),
            ops=_ops(trace, of_kind.recordings[0].tolist()),
        )
    largest = sorted(found, key=lambda kind: -found[kind].total_ns)[:_MOST_KINDS]
    return {kind: found[kind] for kind in largest}


def _work(trace: Trace, steps: list[int], apart: int | None) -> dict[str, int]:
    """Return the median numbers of ops and kernels of each type per step but the one set `apart`."""
    table = trace.events
    steps = [step for step in steps if step != apart]
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


def _ops(trace: Trace, steps: list[int]) -> int | None:
    """Return the median number of ops per step, or the total without steps; None if not all are recorded.

    Below level 3, profiles have an op only if TensorFlow estimates it as expensive. The estimate falls from
    run to run, so later steps have fewer of the same ops.
    """
    profiles = trace.metadata.get(PROFILES)
    if profiles is not None and (profiles["host_tracer_level"].fillna(0) < _EVERY_OP).any():
        return None
    return _per_step(trace, "op", steps)


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


def _step_joules(trace: Trace, steps: list[int]) -> float | None:
    used = trace.steps.loc[trace.steps["step"].isin(steps), "joules"].dropna()
    return None if used.empty else float(used.median())


LINE_START = f'{{"{fields(Summary)[0].name}":'.encode()
"""The first bytes of each line."""


def to_line(summary: Summary) -> str:
    """Write a summary as one line."""
    return json.dumps(asdict(summary), separators=(",", ":")) + "\n"


def from_line(line: str | bytes) -> Summary | None:
    """Read a line of `to_line`; None for anything else. Values of later versions are ignored."""
    try:
        read = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(read, dict):
        return None
    if "kinds" not in read:
        read |= _of_earlier_version(read)
    values: dict[str, Any] = {name: read.get(name) for name in _CHECKS}
    if not all(check(values[name]) for name, check in _CHECKS.items()):
        return None
    names = [field.name for field in fields(KindTimes)]
    values["kinds"] = {
        kind: KindTimes(**{name: steps.get(name) for name in names})
        for kind, steps in values["kinds"].items()
    }
    values["loop"] = None if values["loop"] is None else EagerLoop(*values["loop"])
    return Summary(**values)


def _of_earlier_version(read: dict[str, Any]) -> dict[str, Any]:
    """Return the times in a line of an earlier version, in which a recording without steps is one step."""
    step_ns, steps = read.get("step_ns"), read.get("steps")
    if not (_are_times(step_ns) and step_ns and type(steps) is int):
        return {}
    if steps < 2:
        return {"kinds": {}, "whole_ns": step_ns[0]}
    of_steps = {
        "steps": steps,
        "total_ns": sum(step_ns),
        "median_ns": read.get("median_ns", median_low(step_ns)),
        "first_ns": read.get("first_ns"),
        "step_ns": step_ns,
        "loop_ns": read.get("loop_ns") or [],
        "kernels": read.get("kernels"),
        "ops": read.get("ops"),
    }
    return {"kinds": {"": of_steps}}


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and len(value) <= LONGEST_TEXT


def _is_count(value: Any) -> bool:
    return type(value) is int and 0 <= value < 1 << 62


def _is_count_or_none(value: Any) -> bool:
    return value is None or _is_count(value)


def _is_share_or_none(value: Any) -> bool:
    return value is None or (type(value) in (int, float) and math.isfinite(value) and 0 <= value <= 1)


def _is_amount_or_none(value: Any) -> bool:
    return value is None or (type(value) in (int, float) and math.isfinite(value) and value >= 0)


def _are_times(value: Any) -> bool:
    return isinstance(value, list) and len(value) <= MOST_STEPS and all(map(_is_count, value))


def _are_kinds(value: Any) -> bool:
    return (
        isinstance(value, dict)
        and len(value) <= _MOST_KINDS
        and all(map(_is_text, value))
        and all(
            isinstance(steps, dict) and all(check(steps.get(name)) for name, check in _OF_KIND.items())
            for steps in value.values()
        )
    )


def _is_loop_or_none(value: Any) -> bool:
    if value is None:
        return True
    return (
        isinstance(value, list)
        and len(value) == len(EagerLoop._fields)
        and _is_count(value[0])
        and _is_text(value[1])
        and _are_times(value[2])
    )


_OF_KIND: dict[str, Callable[[Any], bool]] = {
    **dict.fromkeys(("steps", "total_ns", "median_ns"), _is_count),
    **dict.fromkeys(("first_ns", "kernels", "ops"), _is_count_or_none),
    "step_ns": lambda value: _are_times(value) and bool(value),
    "loop_ns": _are_times,
}

_CHECKS: dict[str, Callable[[Any], bool]] = {
    **dict.fromkeys(("notebook", "cell", "code", "options", "title", "tfvis_nb", "tensorflow"), _is_text),
    "time_ns": _is_count,
    "kinds": _are_kinds,
    "loop": _is_loop_or_none,
    **dict.fromkeys(("whole_ns", "kernels", "ops", "peak_bytes", "step_bytes"), _is_count_or_none),
    "busy_share": _is_share_or_none,
    "step_joules": _is_amount_or_none,
}
