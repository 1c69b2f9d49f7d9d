"""The ticks of a time axis, placed like those of the view in ``js/model/format/ticks.ts``."""

import math
from typing import NamedTuple

from tfvis_nb.core.format import MINUS, TIME_UNITS

APART = 60
"""Minimum distance between ticks, in CSS pixels."""


class Tick(NamedTuple):
    """A time in ns from the trace's origin, and its label."""

    time: float
    label: str


def ticks(start: float, end: float, width: float) -> list[Tick]:
    """Return ticks at 1, 2 or 5 times a power of ten ns, all labelled in one unit.

    >>> [tick.label for tick in ticks(0, 4_500_000, 400)]
    ['0 ms', '1 ms', '2 ms', '3 ms', '4 ms']
    """
    if not end > start:
        return []
    least = max((end - start) / width * APART, 1)
    power = 10 ** math.floor(math.log10(least) + 1e-9)
    step = power * next(factor for factor in (1, 2, 5, 10) if factor * power >= least * (1 - 1e-9))
    largest = max(abs(start), abs(end), step)
    unit = min(int(math.log10(largest) // 3), len(TIME_UNITS) - 1)
    decimals = max(3 * unit - math.floor(math.log10(step) + 1e-9), 0)
    first, last = math.ceil(start / step), math.floor(end / step)
    return [
        Tick(n * step, _label(n * step / 1000**unit, decimals, TIME_UNITS[unit]))
        for n in range(first, last + 1)
    ]


def _label(value: float, decimals: int, unit: str) -> str:
    return f"{MINUS if value < 0 else ''}{abs(value):,.{decimals}f} {unit}"
