"""The times of recorded rows in nanoseconds, with faults of TensorFlow's clocks repaired."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tfvis_nb.events import LATEST_NS
from tfvis_nb.reading.stepstats.source_rows import Source
from tfvis_nb.texts import Text

FAR = 1_000_000_000_000
"""1000 s in ns: times of a step that differ by more have different clocks."""

ABSURD = 86_400_000_000_000
"""A day in ns: rows further from the rest of their step have no usable time."""

_LARGEST_MICROS = 9_000_000_000_000_000
_INVERSE_OF_125 = np.uint64(pow(125, -1, 2**61))


@dataclass
class Times:
    """Times of all rows, int64 ns, each with a mask of known values.

    `unusable` marks rows whose start is impossibly large.
    """

    start: np.ndarray
    duration: np.ndarray
    scheduled: np.ndarray
    has_scheduled: np.ndarray
    compute_start: np.ndarray
    compute_end: np.ndarray
    has_compute: np.ndarray
    unusable: np.ndarray


def to_nanos(micros: np.ndarray) -> np.ndarray:
    """Return microseconds in nanoseconds, within the range of int64."""
    nanos: np.ndarray = np.clip(micros, -_LARGEST_MICROS, _LARGEST_MICROS) * 1000
    return nanos


def row_starts(numbers: Callable[[str], np.ndarray]) -> np.ndarray:
    """Return the starts of rows whose fields `numbers` returns, in nanoseconds."""
    nanos = numbers("all_start_nanos")
    return np.where(nanos != 0, nanos, to_nanos(numbers("all_start_micros")))


def read_times(source: Source, executor: np.ndarray, notes: list[str]) -> Times:
    """Read the times of all rows; nanosecond fields are preferred if filled.

    `executor` marks ops run by an executor: only these have a kernel call (``op_start``, ``op_end``), and
    only their scheduled times have the fault of TF 1.15 to 2.19.
    """
    fine = source.numbers("all_start_nanos") != 0
    start = row_starts(source.numbers)
    ends = np.where(fine, source.numbers("all_end_rel_nanos"), to_nanos(source.numbers("all_end_rel_micros")))
    op_start = np.where(
        fine, source.numbers("op_start_rel_nanos"), to_nanos(source.numbers("op_start_rel_micros"))
    )
    op_end = np.where(fine, source.numbers("op_end_rel_nanos"), to_nanos(source.numbers("op_end_rel_micros")))
    in_kernel = np.where(executor & (op_end < ABSURD), op_end, 0)
    duration = np.maximum(ends, in_kernel)
    longer = (in_kernel > 0) & (duration > ends)
    if longer.any():
        notes.append(Text("kernel_calls_longer", rows=int(longer.sum())))
    wrong = ~longer & ((ends < 0) | (duration > ABSURD))
    if wrong.any():
        notes.append(Text("durations_absurd", rows=int(wrong.sum())))
        duration = np.where(wrong, 0, duration)
    has_compute = executor & (op_start >= 0) & (op_end >= op_start) & (op_end <= duration)
    if lost := int((executor & ~has_compute).sum()):
        notes.append(Text("kernel_times_impossible", ops=lost))
    unusable = _larger(start, LATEST_NS)
    scheduled, has_scheduled = _scheduled(source, start, executor, notes)
    return Times(
        start=start,
        duration=duration,
        scheduled=scheduled,
        has_scheduled=has_scheduled,
        compute_start=start + np.where(has_compute, op_start, 0),
        compute_end=start + np.where(has_compute, op_end, 0),
        has_compute=has_compute,
        unusable=unusable,
    )


def _scheduled(
    source: Source, start: np.ndarray, executor: np.ndarray, notes: list[str]
) -> tuple[np.ndarray, np.ndarray]:
    micros = source.numbers("scheduled_micros")
    nanos = source.numbers("scheduled_nanos")
    known = (micros != 0) | (nanos != 0)
    # The TF 1.3 GPU tracer wrote nanoseconds into scheduled_micros.
    already_nanos = _larger(micros, _LARGEST_MICROS)
    scheduled = np.where(nanos != 0, nanos, np.where(already_nanos, micros, to_nanos(micros)))
    if mistaken := int((already_nanos & (nanos == 0)).sum()):
        notes.append(Text("scheduled_in_nanoseconds", rows=mistaken))
    far = executor & known & ~_near(start, scheduled)
    if not far.any():
        return scheduled, known & ~_larger(scheduled, LATEST_NS)
    mended = _unmultiply(nanos)
    good = far & (nanos != 0) & (nanos % 8 == 0) & _near(start, mended)
    lost = int(far.sum() - good.sum())
    if good.any():
        notes.append(Text("scheduled_repaired", ops=int(good.sum())))
    if lost:
        notes.append(Text("scheduled_unusable", ops=lost))
    scheduled = np.where(good, mended, scheduled)
    return scheduled, known & (~far | good) & ~_larger(scheduled, LATEST_NS)


def _larger(values: np.ndarray, limit: int) -> np.ndarray:
    # Not np.abs, which leaves the smallest int64 negative.
    return (values > limit) | (values < -limit)


def _near(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    # In floating point, because differences of arbitrary int64 may overflow.
    return np.abs(one.astype(np.float64) - other.astype(np.float64)) < FAR


def _unmultiply(nanos: np.ndarray) -> np.ndarray:
    """Undo ``value * 1000 mod 2**64``; exact for all times before the year 2043."""
    return ((nanos.view(np.uint64) >> np.uint64(3)) * _INVERSE_OF_125 & np.uint64(2**61 - 1)).view(np.int64)
