"""Ticks of a logarithmic axis with readable amounts: 500 ns, 1 µs, 2 µs; 1 KiB, 32 KiB, 1 MiB."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from tfvis_nb.display.charts.style import BYTES, TIMES, Unit, fitting

if TYPE_CHECKING:
    from bokeh.plotting import figure

FLOP_RATES = tuple(
    Unit(f"{prefix}FLOP/s", 10**power)
    for prefix, power in (("P", 15), ("T", 12), ("G", 9), ("M", 6), ("k", 3), ("", 0))
)

_MOST = 9
_DECADE = ((1, 2, 3, 4, 5, 6, 7, 8, 9), (1, 2, 5), (1, 3), (1,))
"""Multiples of powers of ten, in decreasing number; for wider ranges some powers are also left out."""


def time_marks(least_us: float, most_us: float) -> list[tuple[float, str]]:
    """Return marks, in microseconds, and their labels."""
    powers = range(math.floor(math.log10(least_us)) - 1, math.ceil(math.log10(most_us)) + 2)
    every = -(-len(powers) // _MOST)

    def marks(multiples: Iterable[int]) -> list[float]:
        # Powers of ten below one have no exact binary form: 2 / 10 is 0.2, and 2 * 0.1 may differ.
        return [
            times * 10**power if power >= 0 else times / 10**-power
            for power in powers[::every]
            for times in multiples
        ]

    chosen = _fewest(least_us, most_us, (marks(multiples) for multiples in _DECADE))
    return [(mark, _tick_label(mark * 1e3, TIMES)) for mark in chosen]


def byte_marks(least: float, most: float) -> list[tuple[float, str]]:
    """Return marks, in bytes, and their labels."""
    first, last = math.floor(math.log2(least)), math.ceil(math.log2(most))

    def marks(every: int) -> list[float]:
        return [
            float(2**power)
            for power in range((first // every - 1) * every, last + 2 * every, every)
            if power >= 0
        ]

    chosen = _fewest(least, most, (marks(every) for every in (1, 2, 5, 10)))
    return [(mark, _tick_label(mark, BYTES)) for mark in chosen]


def decade_marks(
    least: float, most: float, units: Sequence[Unit] = (Unit("", 1),)
) -> list[tuple[float, str]]:
    """Return powers of ten and their labels."""
    first, last = math.floor(math.log10(least)), math.ceil(math.log10(most))
    every = -(-(last - first + 1) // _MOST)
    last = max(last, first + 1)
    powers = range(first, last + every, every)
    return [(float(f"1e{power}"), _tick_label(float(f"1e{power}"), units)) for power in powers]


def _fewest(least: float, most: float, offered: Iterable[list[float]]) -> list[float]:
    """Return the first set of marks that is small enough, with the next ones on both sides of a range."""
    chosen: list[float] = []
    for marks in offered:
        below = max((mark for mark in marks if mark < least), default=marks[0])
        above = min((mark for mark in marks if mark > most), default=marks[-1])
        chosen = [mark for mark in marks if below <= mark <= above]
        if len(chosen) <= _MOST:
            break
    return chosen


def _tick_label(size: float, units: Sequence[Unit]) -> str:
    # A thousand nanoseconds may be slightly less if they were counted in microseconds.
    unit = fitting(units, size * 1.001)
    return f"{size / unit.size:.4g} {unit.name}".rstrip()


def mark_axes(made: figure, sides: dict[str, list[tuple[float, str]]], *, room: float = 1.0) -> None:
    """Put marks on logarithmic axes and show all; `sides` maps ``x`` or ``y`` to positions and names.

    An axis starts at the first mark / `room`, and ends at the last mark * `room`.
    """
    from bokeh.models import FixedTicker, Range1d

    for side, marks in sides.items():
        axes: Any = getattr(made, f"{side}axis")
        positions = [mark for mark, _ in marks]
        for axis in axes:
            axis.ticker = FixedTicker(ticks=positions)
            axis.major_label_overrides = dict(marks)
        for grid in getattr(made, f"{side}grid"):
            grid.ticker = FixedTicker(ticks=positions)
        setattr(made, f"{side}_range", Range1d(start=positions[0] / room, end=positions[-1] * room))
