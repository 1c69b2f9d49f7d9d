"""Amounts as people write them, with or without a unit."""

import re
from collections.abc import Mapping
from fractions import Fraction

BYTES = {
    "": 1,
    **{f"{letter}b": 1000**power for power, letter in enumerate(("", "k", "m", "g", "t"))},
    **{f"{letter}ib": 1024**power for power, letter in enumerate(("k", "m", "g", "t"), 1)},
}
"""Unit, in lower case, to its number of bytes."""

NANOSECONDS = {"ns": 1, "us": 1_000, "\N{MICRO SIGN}s": 1_000, "ms": 1_000_000, "s": 1_000_000_000}
"""Unit of time to its number of nanoseconds."""

_AMOUNT = re.compile(r"([0-9]{1,18}(?:\.[0-9]{1,9})?) ?([a-z\N{MICRO SIGN}%]{0,3})")


def amount(text: str, units: Mapping[str, int | Fraction]) -> Fraction | None:
    """Return a number times its unit, exactly; None for other texts.

    Examples
    --------
    >>> from tfvis_nb.core.amounts import BYTES, NANOSECONDS, amount
    >>> amount("1.5 GiB", BYTES), amount("12ms", NANOSECONDS), amount("12", NANOSECONDS)
    (Fraction(1610612736, 1), Fraction(12000000, 1), None)
    """
    match = _AMOUNT.fullmatch(text.lower())
    return None if match is None or match[2] not in units else Fraction(match[1]) * units[match[2]]
