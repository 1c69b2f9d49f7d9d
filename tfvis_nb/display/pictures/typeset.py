"""PDF and PNG of a picture, made by Typst, which has no dependencies and embeds fonts with their texts."""

import math
import struct
import zlib
from typing import Any, Literal

import numpy as np

from tfvis_nb.texts import Text

_PAGE = """\
#set page(width: {width}pt, height: {height}pt, margin: 0pt)
#image(bytes(sys.inputs.svg), format: "svg", width: 100%)
"""
_POINTS = 72 / 96
_LEAST_DPI, _MOST_PIXELS = 10, 100_000_000
"""Typst takes 4 bytes per pixel, and ends the process if it runs out of memory."""
_HEADER = 33
"""Length of a PNG's signature and IHDR chunk, after which other chunks may follow."""


class NoTypesetterError(ImportError):
    """Raised if the package that makes PDF and PNG is missing."""


def typeset(svg: str, form: Literal["pdf", "png"], *, width: float, height: float, dpi: Any = 300) -> bytes:
    """Return an SVG of a size in CSS pixels as ``pdf`` or ``png``.

    NoTypesetterError without the extra, ValueError for a `dpi` with which a PNG has too few or many pixels.
    """
    most = math.floor(96 * math.sqrt(_MOST_PIXELS / (width * height)))
    is_number = isinstance(dpi, int | float | np.integer | np.floating) and not isinstance(dpi, bool)
    if not is_number or not _LEAST_DPI <= dpi <= most:
        raise ValueError(Text("no_picture_dpi", dpi=dpi, least=_LEAST_DPI, most=most))
    try:
        import typst
    except ImportError:
        raise NoTypesetterError(Text("no_typesetter", form=form.upper())) from None
    page = _PAGE.format(width=width * _POINTS, height=height * _POINTS)
    made: bytes = typst.compile(page.encode(), format=form, ppi=float(dpi), sys_inputs={"svg": svg})
    return made if form == "pdf" else _with_resolution(made, dpi)


def _with_resolution(png: bytes, dpi: float) -> bytes:
    """Add the pixels per metre, with which programs place a PNG at its size; Typst 0.15 writes none."""
    per_metre = round(dpi / 0.0254)
    chunk = b"pHYs" + struct.pack(">IIB", per_metre, per_metre, 1)
    return png[:_HEADER] + struct.pack(">I", 9) + chunk + struct.pack(">I", zlib.crc32(chunk)) + png[_HEADER:]
