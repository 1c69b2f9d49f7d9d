"""Check the metrics of a trace against limits and those of another trace."""

import math
from collections.abc import Iterator, Mapping
from typing import NamedTuple, Unpack, cast

import numpy as np
import pandas as pd

from tfvis_nb.analysis._validate import validate_input
from tfvis_nb.analysis.gates.gate_metrics import METRICS, Measured, unit_of
from tfvis_nb.analysis.gates.limits import WORSE_FROM, Limit, Limits, limit_of, shares_of
from tfvis_nb.analysis.gates.report import OK, UNKNOWN, WORSE, as_text, headline, verdict
from tfvis_nb.analysis.steps.difference import RunSpread, difference
from tfvis_nb.analysis.steps.step_differences import known_spread
from tfvis_nb.analysis.unavailable import NONE, dtypes
from tfvis_nb.core.format import format_percent
from tfvis_nb.core.options import only_known_options
from tfvis_nb.core.prediction import is_predicted
from tfvis_nb.core.trace import Trace
from tfvis_nb.texts import Text

_COLUMNS = {
    "metric": "str",
    "unit": "str",
    "bound": "str",
    "value": "float64",
    "allowed": "float64",
    "low": "float64",
    "high": "float64",
    "result": "str",
    "required": "bool",
    "reason": "object",
}


class _Checked(NamedTuple):
    """A row of the table; see `check`."""

    metric: str
    unit: str
    bound: str
    value: float
    allowed: float
    low: float = math.nan
    high: float = math.nan
    result: str = OK
    required: bool = True
    reason: Text = NONE


@validate_input
def check(
    trace: Trace,
    limits: Mapping[str, Limit],
    *,
    against: Trace | None = None,
    worse: Limit | Mapping[str, Limit] | None = None,
) -> pd.DataFrame:
    """Check counts, bytes and times of a trace against limits, and against those of another trace.

    Counts and bytes are compared directly. A time is above a limit, or above the base by more than `worse`,
    if the whole 95 % interval of the typical step is; it is unknown if only part of the interval is. Above a
    limit it is worse. Above the base it is worse only if it exceeds the spread between runs of the same code:
    the one in the history of either trace, otherwise the share in `worse`. Without both it is unknown,
    because two runs of the same code also differ. Every metric of a predicted trace is unknown.

    Parameters
    ----------
    trace
        Any trace.
    limits
        The maximum of metrics of `tfvis_nb.analysis.gate_metrics`, each a number in the metric's unit or a
        text such as ``"2GiB"`` or ``"12ms"``. May be empty if there is a base.
    against
        A trace to compare with: no metric may exceed its value there by more than `worse`.
    worse
        A share, such as 0.1 or ``"10%"``, or shares by metric; other metrics have 5 %.

    Returns
    -------
    pandas.DataFrame
        One row per check: ``metric``, ``unit`` (str), ``bound`` (str; ``limit`` or ``base``), ``value`` and
        ``allowed`` (float64; the limit, or the value of the base), for a time ``low`` and ``high`` (float64;
        the interval of value / allowed, else NaN), ``result`` (str; ``ok``, ``worse`` or ``unknown``),
        ``required`` (bool; whether an unknown result fails the check as a whole) and ``reason`` (str; why it
        is unknown, or for a time worse than the base what is known about runs). Metrics that neither trace
        has are left out.

    Raises
    ------
    ValueError
        If there is neither a limit nor a base, or no such metric, limit or share.

    Examples
    --------
    >>> from tfvis_nb import Trace, events
    >>> from tfvis_nb.analysis import check
    >>> trace = Trace(events.build({"start_ns": [0, 10], "duration_ns": [5, 5], "kind": ["op"] * 2}))
    >>> check(trace, {"ops": 1})[["metric", "value", "allowed", "result"]].values.tolist()
    [['ops', 2.0, 1.0, 'worse']]
    """
    allowed = {metric: limit_of(metric, limit) for metric, limit in limits.items()}
    shares = shares_of(worse)
    if against is not None and not isinstance(against, Trace):
        raise TypeError(Text("no_trace", function="check", given=type(against).__name__))
    if not allowed and against is None:
        raise ValueError(Text("nothing_to_check"))
    rows = [_of_limit(metric, _recorded(trace, metric), limit) for metric, limit in allowed.items()]
    if against is not None:
        rows += _of_base(trace, against, shares)
    return pd.DataFrame(rows, columns=list(_COLUMNS), dtype=object).astype(dtypes(_COLUMNS))


@only_known_options
def assert_trace(
    trace: Trace,
    *,
    against: Trace | None = None,
    worse: Limit | Mapping[str, Limit] | None = None,
    **limits: Unpack[Limits],
) -> None:
    """Raise AssertionError if a metric of a trace exceeds its limit or that of another trace.

    Parameters
    ----------
    trace, against, worse
        As in `tfvis_nb.analysis.check`.
    **limits
        The maximum of metrics of `tfvis_nb.analysis.gate_metrics`.

    Raises
    ------
    AssertionError
        If a metric is worse, or one with a limit is missing in the trace; the message is a table of all
        checks.
    ValueError
        If there is neither a limit nor a base, or no such metric, limit or share.

    Examples
    --------
    >>> import tfvis_nb as tv
    >>> trace = tv.Trace(tv.events.build({"start_ns": [0], "duration_ns": [5], "kind": ["op"]}))
    >>> tv.assert_trace(trace, ops=1)
    >>> tv.assert_trace(trace, ops=0)
    Traceback (most recent call last):
    AssertionError: worse: ops
    metric  value  limit      change  result
    ops     1      at most 0          worse
    """
    table = check(trace, cast("Mapping[str, Limit]", limits), against=against, worse=worse)
    if verdict(table) != OK:
        raise AssertionError(f"{headline(table)}\n{as_text(table)}")


def _recorded(trace: Trace, metric: str) -> Measured:
    measured = METRICS[metric].measure(trace)
    return measured._replace(reason=Text("not_recorded")) if is_predicted(trace) else measured


def _of_limit(metric: str, measured: Measured, limit: float) -> _Checked:
    row = _Checked(metric, unit_of(metric), "limit", measured.value, limit)
    if measured.reason:
        return row._replace(result=UNKNOWN, reason=measured.reason)
    if measured.times is None:
        return row._replace(result=WORSE if measured.value > limit else OK)
    return _of_times(row, np.full(len(measured.times), limit), measured.times, 1.0)


def _of_base(trace: Trace, base: Trace, shares: Mapping[str, float]) -> Iterator[_Checked]:
    for name, metric in METRICS.items():
        if not metric.has_base:
            continue
        share = shares.get(name, WORSE_FROM)
        after, before = _recorded(trace, name), _recorded(base, name)
        row = _Checked(name, unit_of(name), "base", after.value, before.value)
        if metric.measure(trace).reason and metric.measure(base).reason:
            continue
        if after.reason or before.reason:
            reason = after.reason or Text("not_in_base", reason=before.reason)
            yield row._replace(result=UNKNOWN, reason=reason)
        elif after.times is None or before.times is None:
            yield row._replace(result=WORSE if after.value > before.value * (1 + share) else OK)
        else:
            checked = _of_times(row._replace(required=False), before.times, after.times, 1 + share)
            is_beyond = checked.result == WORSE
            yield _of_runs(checked, known_spread((trace, base)), shares.get(name)) if is_beyond else checked


def _of_times(row: _Checked, before: np.ndarray, after: np.ndarray, most: float) -> _Checked:
    """Check times: worse if the whole interval of their ratio is above `most`."""
    result = difference(before, after)
    if math.isnan(result.low):
        reason = Text("one_step" if min(len(before), len(after)) < 2 else "steps_alike")
        if len(before) < 2 <= len(after):
            reason = Text("not_in_base", reason=reason)
        return row._replace(result=UNKNOWN, reason=reason)
    row = row._replace(low=result.low, high=result.high)
    if result.low > most:
        return row._replace(result=WORSE)
    if result.high > most:
        return row._replace(result=UNKNOWN, reason=Text("steps_vary"))
    return row


def _of_runs(row: _Checked, spread: RunSpread | None, share: float | None) -> _Checked:
    """Tell recordings that differ from code that is slower."""
    if spread is not None:
        runs = {"limit": format_percent(spread.ratio - 1), "runs": spread.runs}
        if row.value > row.allowed * spread.ratio:
            return row._replace(reason=Text("recordings_differ_beyond_runs", **runs))
        return row._replace(result=UNKNOWN, reason=Text("recordings_differ_as_runs", **runs))
    if share is None:
        return row._replace(result=UNKNOWN, reason=Text("recordings_differ", metric=row.metric))
    return row._replace(reason=Text("recordings_differ_by_more", limit=format_percent(share)))
