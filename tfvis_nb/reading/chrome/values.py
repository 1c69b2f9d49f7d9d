"""Convert JSON values to the types of columns, even values of the wrong type."""

import json
import re
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa

from tfvis_nb.events import LATEST_NS

_SURROGATES = re.compile("[\ud800-\udfff]")


def nanoseconds(values: Sequence[Any]) -> tuple[np.ndarray, np.ndarray]:
    """Convert microseconds, which may have fractions, to nanoseconds (int64), with a mask of usable times.

    >>> times, usable = nanoseconds([5, 1.5, "2", None])
    >>> times.tolist(), usable.tolist()
    ([5000, 1500, 2000, 0], [True, True, True, False])
    """
    try:
        array = np.array(values)
    except (ValueError, OverflowError):
        array = np.array([], object)
    if array.shape != (len(values),) or array.dtype.kind not in "if":
        # One by one: numbers as texts, numbers beyond 64 bits, and values that are not numbers.
        read = [_exact(value) for value in values]
        usable = np.array([time is not None for time in read], bool)
        return np.array([time or 0 for time in read], np.int64), usable
    with np.errstate(invalid="ignore"):
        usable = np.abs(array.astype(np.float64)) <= LATEST_NS / 1000
    array = np.where(usable, array, 0)
    whole = np.floor(array)
    # The fraction is exact; the product of a large time and 1000 is not.
    return whole.astype(np.int64) * 1000 + np.rint((array - whole) * 1000).astype(np.int64), usable


def origin_of(events: Sequence[Any]) -> int:
    """Return the time 0 that Horovod and SageMaker's debugger write, in epoch ns; 0 if it is missing."""
    for event in events:
        arguments = event.get("args") if isinstance(event, dict) else None
        if isinstance(arguments, dict) and "start_time_since_epoch_in_micros" in arguments:
            (origin,), _ = nanoseconds([arguments["start_time_since_epoch_in_micros"]])
            return int(origin)
    return 0


def _exact(value: Any) -> int | None:
    if isinstance(value, bool) or not isinstance(value, (int, float, Decimal, str)):
        return None
    try:
        number = Decimal(value[:40] if isinstance(value, str) else value)
        if not abs(number) <= LATEST_NS // 1000:
            return None
        return int((number * 1000).to_integral_value())
    except (ArithmeticError, ValueError):
        return None


def between(start: Any, end: Any) -> Any:
    """Return the microseconds between two JSON times; None if one is not a number."""
    try:
        if isinstance(start, (int, float)) and isinstance(end, (int, float)):
            return end - start
        return Decimal(end) - Decimal(start)
    except (ArithmeticError, TypeError, ValueError):
        return None


def integers(values: Sequence[Any]) -> tuple[np.ndarray, np.ndarray]:
    """Convert values to int64, with a mask of numbers, or their decimal texts, within 64 bits.

    Fractions are truncated.

    >>> numbers, known = integers([7, "8", None, 2**70])
    >>> numbers.tolist(), known.tolist()
    ([7, 8, 0, 0], [True, True, False, False])
    """
    for kind in (pa.int64(), pa.large_string()):
        # They are nearly always all numbers, all texts, or missing.
        try:
            array = pa.array(values, kind).cast(pa.int64())
        except (pa.ArrowException, TypeError, UnicodeError, OverflowError):
            continue
        return array.fill_null(0).to_numpy(), array.is_valid().to_numpy(zero_copy_only=False)
    read = [_integer(value) for value in values]
    known = np.array([number is not None for number in read], bool)
    return np.array([number or 0 for number in read], np.int64), known


def _integer(value: Any) -> int | None:
    if isinstance(value, str):
        if not re.fullmatch(r"-?[0-9]{1,19}", value):
            return None
        value = int(value)
    if isinstance(value, float) and abs(value) < 2**63:
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int):
        return None
    return value if -(2**63) <= value < 2**63 else None


def text(value: Any) -> str:
    """Return a value as text: numbers in decimal, lists and objects as JSON, None as an empty text."""
    if value is None:
        return ""
    if not isinstance(value, str):
        value = str(value) if isinstance(value, (int, float, Decimal)) else _json(value)
    return value if value.isascii() else _SURROGATES.sub("\ufffd", value)


def _json(value: Any) -> str:
    try:
        return json.dumps(value, ensure_ascii=False, default=str)
    except (RecursionError, ValueError):
        return "..."


def key_of(value: Any) -> Any:
    """Return a pid or tid as a dictionary key: one that has parts becomes text."""
    return value if isinstance(value, (int, str)) or value is None else text(value)


def maybe_texts(values: Sequence[Any]) -> pa.Array:
    """Return the texts among values as Arrow texts (large_string), null for others."""
    try:
        return pa.array(values, pa.large_string())
    except (pa.ArrowException, TypeError, UnicodeError):
        return pa.array([text(v) if isinstance(v, str) else None for v in values], pa.large_string())


def texts(values: Sequence[Any]) -> pa.Array:
    """Return values as Arrow texts (large_string, never null); see `text`."""
    try:
        array = pa.array(values, pa.large_string())
        return array.fill_null("") if array.null_count else array
    except (pa.ArrowException, TypeError, UnicodeError):
        return pa.array([text(value) for value in values], pa.large_string())


def listed(names: Sequence[str]) -> str:
    """List the first few names, with limited length."""
    more = f" and {len(names) - 8} more" if len(names) > 8 else ""
    return ", ".join(name[:80] for name in names[:8]) + more


def key_values(arguments: dict[str, Any]) -> str:
    """Return the arguments of an event as ``key=value`` texts, separated by blanks; null is no argument."""
    return " ".join(
        [
            f"{key}={value if type(value) is str else text(value)}"
            for key, value in arguments.items()
            if value is not None
        ]
    )
