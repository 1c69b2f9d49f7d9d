"""Parse limits of metrics: numbers, or texts with units."""

import math
from collections.abc import Mapping
from fractions import Fraction
from typing import TypedDict

from tfvis_nb.analysis.gates.gate_metrics import METRICS, unit_of
from tfvis_nb.core.amounts import BYTES, NANOSECONDS, amount
from tfvis_nb.core.options import near
from tfvis_nb.texts import Text

Limit = float | str
"""A number in the unit of the metric, or a text such as ``"2GiB"``."""


class Limits(TypedDict, total=False):
    """Limits by the metric that they are for, as `tfvis_nb.assert_trace` takes them."""

    launches: Limit
    kernels: Limit
    copies: Limit
    ops: Limit
    cpu_ops: Limit
    h2d_bytes: Limit
    d2h_bytes: Limit
    network_bytes: Limit
    peak_bytes: Limit
    retraces: Limit
    compilations: Limit
    step_ms: Limit
    input_ms: Limit
    communication_ms: Limit
    step_joules: Limit


WORSE_FROM = 0.05
"""The share by which a value may exceed the base if none is given."""

_UNITS: dict[str, Mapping[str, int | Fraction]] = {
    "": {"": 1},
    "bytes": BYTES,
    "ms": {"": 1, **{unit: Fraction(count, NANOSECONDS["ms"]) for unit, count in NANOSECONDS.items()}},
    "joules": {"": 1, "J": 1, "kJ": 1000},
}
_EXAMPLES = {"": "500", "bytes": "2GiB", "ms": "12ms", "joules": "40J"}


def limit_of(metric: str, limit: Limit) -> float:
    """Return a limit as a number in the unit of its metric.

    Raises
    ------
    ValueError
        If there is no such metric, or the limit is invalid: counts and sizes are at least 0, times above 0.

    Examples
    --------
    >>> from tfvis_nb.analysis.gates.limits import limit_of
    >>> limit_of("peak_bytes", "2GiB"), limit_of("step_ms", "900us"), limit_of("launches", 500)
    (2147483648.0, 0.9, 500.0)
    """
    _refuse_unknown(metric)
    unit = unit_of(metric)
    number = _number(limit, _UNITS[unit])
    if math.isnan(number) or (unit == "ms" and not number):
        raise ValueError(Text("no_limit", metric=metric, limit=limit, example=_EXAMPLES[unit]))
    return number


def share_of(text: Limit) -> float:
    """Return a share: a number up to 1, or a text with a percent sign.

    Raises
    ------
    ValueError
        If it is not a share of at least 0.

    Examples
    --------
    >>> from tfvis_nb.analysis.gates.limits import share_of
    >>> share_of("5%"), share_of(0.05)
    (0.05, 0.05)
    """
    number = _number(text, {"%": Fraction(1, 100)})
    if math.isnan(number) or (number > 1 and not isinstance(text, str)):
        raise ValueError(Text("no_share", share=text))
    return number


def shares_of(worse: Limit | Mapping[str, Limit] | None) -> dict[str, float]:
    """Return the shares that are given, one for all metrics or some by metric.

    Raises
    ------
    ValueError
        If there is no such metric or share, or the metric is not compared with a base.

    Examples
    --------
    >>> from tfvis_nb.analysis.gates.limits import shares_of
    >>> shares_of({"step_ms": "20%"}), shares_of(None), shares_of(0.1)["launches"]
    ({'step_ms': 0.2}, {}, 0.1)
    """
    if worse is None:
        return {}
    given = worse if isinstance(worse, Mapping) else dict.fromkeys(METRICS, worse)
    for metric in given if isinstance(worse, Mapping) else ():
        _refuse_unknown(metric)
        if not METRICS[metric].has_base:
            raise ValueError(Text("share_without_base", metric=metric))
    return {metric: share_of(share) for metric, share in given.items()}


def _refuse_unknown(metric: str) -> None:
    if metric not in METRICS:
        hint = near(metric, METRICS) or "."
        raise ValueError(Text("no_such_metric", metric=metric, hint=hint, metrics=", ".join(METRICS)))


def _number(given: Limit, units: Mapping[str, int | Fraction]) -> float:
    """Return an amount; NaN if it is invalid."""
    if isinstance(given, str):
        value = amount(given, units)
        return math.nan if value is None else float(value)
    if isinstance(given, bool):
        return math.nan
    try:
        number = float(given)
    except (TypeError, ValueError, OverflowError):
        return math.nan
    return number if 0 <= number < math.inf else math.nan
