"""Sizes on paper and screen."""

import math
import re
from typing import Any, NamedTuple

import numpy as np

from tfvis_nb.texts import Text

_PIXELS = {"px": 1.0, "pt": 96 / 72, "mm": 96 / 25.4, "cm": 96 / 2.54, "in": 96.0}
"""The size of each unit in CSS pixels."""
_SIZE = re.compile(r"\s*([0-9]{1,6}(?:\.[0-9]{1,6})?)\s*(px|pt|mm|cm|in)?\s*")
SMALLEST, LARGEST = 100.0, 20_000.0
"""Limits of a picture's width and height, in CSS pixels."""


class Size(NamedTuple):
    """A length as given by the user: ``text`` with its unit as in SVG, and the CSS pixels."""

    text: str
    pixels: float


def size_of(value: Any, name: str) -> Size:
    """Read a size such as ``"16 cm"``; a number is in CSS pixels.

    ValueError if it is invalid, or not between `SMALLEST` and `LARGEST`.

    >>> size_of("16 cm", "width").text, round(size_of("16 cm", "width").pixels, 1)
    ('16cm', 604.7)
    """
    # Larger numbers may be too large for a float.
    is_number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
    text = f"{float(value):.6f}" if is_number and SMALLEST <= value <= LARGEST else value
    match = _SIZE.fullmatch(text) if isinstance(text, str) else None
    pixels = float(match[1]) * _PIXELS[match[2] or "px"] if match else math.nan
    if match is None or not SMALLEST <= pixels <= LARGEST:
        raise ValueError(Text("no_picture_size", name=name, value=value))
    return Size(f"{float(match[1]):g}{match[2] or 'px'}", pixels)
