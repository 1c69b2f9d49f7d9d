"""Format numbers for people, exactly like ``js/model/format/units.ts``.

`tests/data/conformance` has the cases that both must pass. Counts need no function: use ``f"{count:,}"``.
"""

import math
import re
from collections.abc import Sequence
from decimal import ROUND_HALF_UP, Context, Decimal

UNKNOWN = "\N{EN DASH}"
"""Stands for a number that is unknown."""

TIME_UNITS = ("ns", "\N{MICRO SIGN}s", "ms", "s")
"""Units of time, each 1000 times the previous one."""

BYTE_UNITS = ("B", "KiB", "MiB", "GiB", "TiB", "PiB")
"""Units of memory and data, each 1024 times the previous one."""

_FILE_UNITS = ("B", "kB", "MB", "GB", "TB")
_OPERATIONS = ("FLOP", "kFLOP", "MFLOP", "GFLOP", "TFLOP")
_BEFORE_UNIT = re.compile(r"(?<=\d) (?=(?:%|[num\N{MICRO SIGN}]?s|[KMGTP]?i?B)(?!\w))")
_IN_NS = re.compile(r",? in ns\b")
_FOUR_DIGITS = Context(prec=4, rounding=ROUND_HALF_UP)
MINUS = "\N{MINUS SIGN}"
"""The sign of negative numbers."""


def format_duration(nanoseconds: float) -> str:
    """Format a duration with three digits and its unit; long ones in minutes and hours."""
    if math.isnan(nanoseconds):
        return UNKNOWN
    if nanoseconds < 0:
        return MINUS + format_duration(-nanoseconds)
    if nanoseconds >= 59.95e9:
        seconds = int(_rounded(nanoseconds / 1e9, 0))
        minutes = seconds // 60
        if minutes < 60:
            return f"{minutes} m {seconds % 60:02} s"
        return f"{minutes // 60:,} h {minutes % 60:02} m"
    if nanoseconds < 999.5 and nanoseconds == int(nanoseconds):
        return f"{int(nanoseconds)} ns"
    return _scaled(nanoseconds, 1000, TIME_UNITS)


def format_bytes(count: float) -> str:
    """Format an amount of memory or data with three digits, in units of 1024 bytes."""
    if math.isnan(count):
        return UNKNOWN
    if count < 0:
        return MINUS + format_bytes(-count)
    if count < 1024 and count == int(count):
        return f"{int(count)} B"
    return _scaled(count, 1024, BYTE_UNITS)


def format_number(count: int, noun: str, several: str = "") -> str:
    """Format a count with its noun; `several` is an irregular plural.

    Examples
    --------
    >>> from tfvis_nb.core.format import format_number
    >>> format_number(1, "tensor"), format_number(1200, "tensor")
    ('1 tensor', '1,200 tensors')
    """
    return f"{count:,} {noun if count == 1 else several or noun + 's'}"


def format_percent(share: float) -> str:
    """Format a share in percent with one decimal; tiny shares as ``<0.1 %``."""
    if not math.isfinite(share):
        return UNKNOWN
    percent = share * 100
    if 0 < percent < 0.1:
        return "<0.1 %"
    return f"{_rounded(percent, 0 if percent == 0 or percent >= 99.95 else 1)} %"


def format_change(ratio: float) -> str:
    """Format a relative change in percent, with its sign.

    Examples
    --------
    >>> from tfvis_nb.core.format import format_change
    >>> format_change(1.25)
    '+25.0 %'
    """
    return f"{'+' if ratio >= 1 else MINUS}{format_percent(abs(ratio - 1))}"


def format_ratio(ratio: float) -> str:
    """Format a ratio with three digits and no unit."""
    if 0 < ratio < 0.005:
        return "<0.01"
    return UNKNOWN if not math.isfinite(ratio) else _scaled(ratio, 1000, ("",)).rstrip()


def format_file_size(count: int) -> str:
    """Format the size of a file like file managers do, in units of 1000 bytes."""
    if count < 1000:
        return "1 byte" if count == 1 else f"{count} bytes"
    power = min(int(math.log10(count)) // 3, len(_FILE_UNITS) - 1)
    return f"{count / 1000**power:,.0f} {_FILE_UNITS[power]}"


def format_bandwidth(per_second: float) -> str:
    """Format bytes per second.

    Examples
    --------
    >>> from tfvis_nb.core.format import format_bandwidth
    >>> format_bandwidth(1_910_000_000)
    '1.91 GB/s'
    """
    return UNKNOWN if math.isnan(per_second) else f"{_scaled(per_second, 1000, _FILE_UNITS)}/s"


def format_operations(count: float) -> str:
    """Format a number of floating-point operations.

    Examples
    --------
    >>> from tfvis_nb.core.format import format_operations
    >>> format_operations(1_074_266_112)
    '1.07 GFLOP'
    """
    if math.isnan(count):
        return UNKNOWN
    return f"{count:.0f} FLOP" if count < 1000 else _scaled(count, 1000, _OPERATIONS)


def format_amount(value: float, unit: str) -> str:
    """Format a value of a counter or track in its unit: whole or with four digits; elements with one decimal.

    Examples
    --------
    >>> from tfvis_nb.core.format import format_amount
    >>> format_amount(2.50004, "nats"), format_amount(4096, "bytes")
    ('2.5 nats', '4.00 KiB')
    >>> format_amount(8.687, "elements")
    '8.7 elements'
    """
    if math.isnan(value):
        return UNKNOWN
    if unit == "bytes":
        return format_bytes(value)
    exact = Decimal(abs(value))
    if unit == "elements" and exact < 10**15:
        exact = _rounded(abs(value), 1)
    is_short = unit == "elements" or (float(value).is_integer() and exact < 10**15)
    short = float(exact if is_short else _FOUR_DIGITS.plus(exact))
    if short and not 1e-6 <= short < 1e21:
        text = repr(short).replace("e-0", "e-").replace(".0e", "e")
    else:
        text = f"{int(short):,}" if short.is_integer() else f"{Decimal(repr(short)):,f}"
    noun = "element" if unit == "elements" and short == 1 else unit
    return f"{MINUS if value < 0 else ''}{text} {noun}".rstrip()


def unbroken(text: str) -> str:
    r"""Join numbers and their units with no-break spaces.

    >>> unbroken("45.5 ms, 32.4 % of 7 steps")
    '45.5\xa0ms, 32.4\xa0% of 7 steps'
    """
    return _BEFORE_UNIT.sub("\N{NO-BREAK SPACE}", text)


def _scaled(value: float, base: int, units: Sequence[str]) -> str:
    """Format three digits of a value in the unit that keeps it below `base`."""
    index = 0
    # 999.5 would round to 1000, so use the next unit.
    while index + 1 < len(units) and value >= (999.5 if base == 1000 else base):
        value /= base
        index += 1
    decimals = 0 if value >= 99.95 else 1 if value >= 9.995 else 2
    return f"{_rounded(value, decimals):,} {units[index]}"


def _rounded(value: float, decimals: int) -> Decimal:
    # Round halves up, like toFixed; Python's formats round them to even.
    return Decimal(value).quantize(Decimal(1).scaleb(-decimals), ROUND_HALF_UP)


def without_unit(definition: str) -> str:
    """Return a definition without its unit, for use next to a value that has one.

    Examples
    --------
    >>> from tfvis_nb.core.format import without_unit
    >>> without_unit("Latest end minus earliest start, in ns: the length of a step.")
    'Latest end minus earliest start: the length of a step.'
    """
    return _IN_NS.sub("", definition)
