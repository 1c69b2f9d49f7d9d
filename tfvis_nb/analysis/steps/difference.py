"""Whether steps take longer in one of two recordings or lists of runs, or differ by chance."""

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from tfvis_nb.core.median_step import lower_median
from tfvis_nb.core.thresholds import SLOW_STEP_RATIO

TRIM = 0.2
"""The share of the longest, and of the shortest, steps left out of the mean of typical steps."""
_NORMAL = 1.959964
"""95 % of a normal distribution lie within this many standard deviations."""
_ENOUGH = 4
"""Fewer steps without spread may be equal by chance."""
_LEAST_SPREAD = 0.5
"""Minimum variance of each side, relative to that of both, because a few steps may be alike by chance."""
_MOST_CORRELATED = 0.9
FEWEST_RUNS = 3
"""Runs of each side, or of one code in a history, that show how much runs vary: a third checks two."""
SEPARATED = 5
"""Steps of each side that do not overlap by chance: five do in 2 of 252 orders, three in 2 of 20."""
CLOSE = 0.02
"""Shorter times between steps, as a share of the loop, are left out, and activities of steps this close."""
LEAST_PART = 0.1
"""Parts that explain a smaller share of a difference are not named."""
LEVEL = 0.05
"""Smaller p-values show a difference."""

Runs = np.ndarray | Sequence[float] | Sequence[np.ndarray]
"""Times of steps in recorded order (last axis), or one such array for each of several recordings."""


class RunSpread(NamedTuple):
    """How much runs of the same code differ, from earlier runs."""

    ratio: float
    """The ratio of two runs' typical steps is larger in 5 % of pairs."""
    runs: int
    """Number of runs that show it."""


class Difference(NamedTuple):
    """The ratio of two step times and whether it differs from 1 by more than chance."""

    ratio: float
    """Typical step time of the second divided by that of the first."""
    low: float
    """Lower end of its 95 % interval; NaN if unknown."""
    high: float
    """Upper end; infinite if the first may be 0."""
    shown: bool
    """Whether these recordings differ: the interval excludes 1, or five or more steps a side are apart."""
    code_differs: bool
    """Whether the code is faster or slower: by three or more runs of each, or the spread of earlier runs."""
    a: float
    """Typical step time of the first."""
    b: float
    """Typical step time of the second."""
    alike: bool
    """Whether the steps of each have a typical time, as in `has_typical`."""


class Differences(NamedTuple):
    """The differences of many rows: float64 arrays with a value per row, times in the unit of the steps."""

    a: np.ndarray
    """Typical time of a step in the first: the mean without the longest and shortest fifth of the steps. Of
    three or more runs on both sides, the mean of their typical steps without the highest and lowest fifth."""
    b: np.ndarray
    """The same in the second."""
    low: np.ndarray
    """Lower end of the 95 % interval of b - a; NaN if unknown."""
    high: np.ndarray
    """Upper end of that interval."""
    ratio_low: np.ndarray
    """Lower end of the 95 % interval of b / a."""
    ratio_high: np.ndarray
    """Upper end of that interval."""
    p_value: np.ndarray
    """The p-value of the difference, not corrected for the number of rows."""
    separated: np.ndarray
    """Whether no step of one is as long as any step of the other, with five or more of each."""


class _Side(NamedTuple):
    times: np.ndarray
    typical: np.ndarray  # Trimmed mean of each row
    squares: np.ndarray  # Sum of the squared deviations of the winsorised times
    kept: int  # Number of steps in the mean
    correlation: np.ndarray  # Of consecutive steps
    steps: int


def difference(a: Runs, b: Runs, *, spread: RunSpread | None = None) -> Difference:
    """Compare the times of two groups of steps.

    Parameters
    ----------
    a, b
        Times of the steps in recorded order, such as in ns, or a list with one array per recording. Leave out
        steps that are not repetitions, such as a warm-up step.
    spread
        How much runs of the same code differ, if known; see `run_spread`.

    Returns
    -------
    Difference
        The difference of b / a. With fewer than two steps per side, or four if no time varies, ``low`` and
        ``high`` are NaN.

    Notes
    -----
    The interval is that of `differences`. It covers the variation between processes or days only if each
    side has three or more runs of them; otherwise ``shown`` is about these recordings.

    Examples
    --------
    >>> from tfvis_nb.analysis.steps.difference import difference
    >>> before, after = [10.0, 10.2, 9.9, 10.1, 10.0, 9.8], [10.9, 11.1, 11.0, 10.8, 11.0, 11.3]
    >>> result = difference(before, after)
    >>> round(result.ratio, 2), round(result.low, 2), round(result.high, 2), result.shown
    (1.1, 1.08, 1.12, True)
    >>> difference([10], [20])
    Difference(ratio=2.0, low=nan, high=nan, shown=False, code_differs=False, a=10.0, b=20.0,
               alike=True)
    """
    sides = [[np.asarray(run, float)[None] for run in _runs(side)] for side in (a, b)]
    result = differences(*sides)
    before, after = float(result.a[0]), float(result.b[0])
    ratio = after / before if before else math.nan
    excludes = bool(result.low[0] > 0 or result.high[0] < 0)
    shown = excludes or bool(result.separated[0])
    if are_runs(sides):
        code_differs = excludes and bool(result.p_value[0] < LEVEL)
    else:
        code_differs = shown and spread is not None and ratio > 0 and max(ratio, 1 / ratio) > spread.ratio
    ends = float(result.ratio_low[0]), float(result.ratio_high[0])
    alike = all(has_typical(np.concatenate(side, axis=1)[0]) for side in sides)
    return Difference(ratio, *ends, shown, code_differs, before, after, alike)


def are_runs(sides: Iterable[Sequence[np.ndarray]]) -> bool:
    """Return whether recordings show how much runs vary: each side has three or more, of several steps.

    Recordings of one step, such as a ``RunMetadata`` per step, are steps of a run.

    >>> import numpy as np
    >>> are_runs([[np.ones((1, 5))] * 3] * 2), are_runs([[np.ones((1, 1))] * 3] * 2)
    (True, False)
    """
    counts = [[run.shape[-1] for run in side if run.shape[-1]] for side in sides]
    return all(len(side) >= FEWEST_RUNS and min(side) > 1 for side in counts)


def loops_tell_more(steps: Difference, loops: Difference) -> bool:
    """Return whether the time between steps makes the difference of loops another one than that of steps.

    >>> steps = difference([4.1, 4.0, 4.2, 4.1], [3.7, 3.6, 3.8, 3.7])
    >>> loops = difference([22, 23, 22, 23], [3.8, 3.9, 3.7, 3.8])
    >>> loops_tell_more(steps, loops), loops_tell_more(steps, steps)
    (True, False)
    """
    if not (loops.a > 0 and loops.b > 0):
        return False
    shares = 1 - steps.a / loops.a, 1 - steps.b / loops.b
    # Steps that overlap take longer than a loop.
    if min(shares) < -CLOSE or max(shares) < CLOSE:
        return False
    change = abs((loops.b - loops.a) - (steps.b - steps.a))
    return loops.shown != steps.shown or change >= LEAST_PART * abs(loops.b - loops.a)


def is_by_loops(steps: Difference, loops: Difference) -> bool:
    """Return whether a statement about two recordings is about loops instead of steps."""
    return loops.shown and loops_tell_more(steps, loops)


def run_spread(groups: Iterable[Sequence[float]]) -> RunSpread | None:
    """Return how much runs of the same code differ; None if fewer than three runs of one show it.

    Each group has the typical step times of runs of the same code, of any size.

    >>> result = run_spread([[10.0, 10.2, 9.9, 10.1], [20.0]])
    >>> round(result.ratio, 3), result.runs
    (1.06, 4)
    """
    known = [np.log(group) for group in map(np.asarray, groups) if len(group) > 1 and min(group) > 0]
    if max(map(len, known), default=0) < FEWEST_RUNS:
        return None
    freedom = sum(len(group) - 1 for group in known)
    variance = sum(float(((group - group.mean()) ** 2).sum()) for group in known) / freedom
    reach = float(_quantile(np.array(freedom))) * math.sqrt(2 * variance)
    return RunSpread(math.exp(min(reach, 700)), sum(map(len, known)))


def typical(times: np.ndarray) -> float:
    """Return the typical time of a step: the mean without the longest and the shortest fifth of the steps.

    In the unit of the times (float64 or int64); NaN without steps.

    Examples
    --------
    >>> import numpy as np
    >>> from tfvis_nb.analysis.steps.difference import typical
    >>> typical(np.array([10, 90, 11, 12, 1]))
    11.0
    """
    return float(trimmed_means(times[None])[0])


def has_typical(times: np.ndarray) -> bool:
    """Return whether `typical` is the time of a step.

    It and both middle steps (one of an odd number) are within `SLOW_STEP_RATIO` of each other. Steps of two
    lengths, such as every second one with an evaluation, have a mean that none of them takes.

    Examples
    --------
    >>> import numpy as np
    >>> from tfvis_nb.analysis.steps.difference import has_typical
    >>> has_typical(np.array([10, 90, 11, 12, 1])), has_typical(np.array([89, 79, 0.7, 0.3, 0.2]))
    (True, False)
    >>> has_typical(np.array([137, 273]))
    False
    """
    if not len(times):
        return True
    lower, upper = (len(times) - 1) // 2, len(times) // 2
    ends = sorted((typical(times), *np.sort(times)[lower : upper + 1]))
    return bool(ends[-1] < SLOW_STEP_RATIO * ends[0] or ends[0] == ends[-1])


def typical_or_median(times: np.ndarray) -> tuple[float, bool]:
    """Return `typical` and True, or of times that have none, as in `has_typical`, the lower median and False.

    In the unit of the times (float64 or int64); NaN without steps.

    Examples
    --------
    >>> import numpy as np
    >>> from tfvis_nb.analysis.steps.difference import typical_or_median
    >>> typical_or_median(np.array([10, 12])), typical_or_median(np.array([89, 79, 0.7, 0.3, 0.2]))
    ((11.0, True), (0.7, False))
    """
    alike = has_typical(times)
    return typical(times) if alike else float(times[lower_median(times)]), alike


def trimmed_means(times: np.ndarray) -> np.ndarray:
    """Return `typical` of each row of a matrix (float64).

    >>> import numpy as np
    >>> trimmed_means(np.array([[10, 90, 11, 12, 1], [1, 1, 1, 1, 1]])).tolist()
    [11.0, 1.0]
    """
    return _side([times]).typical


def differences(a: Sequence[np.ndarray], b: Sequence[np.ndarray]) -> Differences:
    """Compare the times of many rows, such as ops, in two groups of steps.

    Parameters
    ----------
    a, b
        One matrix per recording: a row per op, a column per step in recorded order (float64 or int64). All
        have the same rows.

    Returns
    -------
    Differences
        Intervals and p-values are NaN if the steps are too few.

    Notes
    -----
    The interval is that of Student's t on trimmed means with the winsorised variances of Yuen (1974, "The
    two-sample trimmed t for unequal population variances", Biometrika 61), as in
    ``scipy.stats.ttest_ind(b, a, equal_var=False, trim=0.2)``, with two changes. Steps that resemble their
    predecessor count less: with their lag-1 autocorrelation r, n steps have the weight of n (1 - r) / (1 + r)
    independent ones; r is that of both sides, corrected for its bias in short series (Kendall 1954), and at
    least 0. A side has at least half the variance of both together. The interval of the ratio is that of
    Fieller (1954), which excludes 1 exactly if the interval of the difference excludes 0. The p-value is the
    larger one of this test and of Wilcoxon's rank sums, which is not misled by a few equal times. Steps of
    both sides that do not overlap at all show that these recordings differ, however much they correlate:
    their p-value is at most the share of orders in which that happens.

    Steps of one process are not a sample of processes. If both sides have three or more runs of several
    steps, the unit is the run: its typical step counts as one time, without a correlation. Otherwise the
    result is about these recordings.

    For 10 to 60 steps that differ by chance alone, the interval excludes 0 in at most 6 % of cases, even if
    they are skewed, have pauses, alternate between two speeds or correlate by 0.6. If they correlate by 0.8
    it does in up to 7.5 %. A bootstrap of blocks of steps reports a difference in 12 to 28 % of cases if
    steps correlate by 0.6.

    Examples
    --------
    >>> import numpy as np
    >>> from tfvis_nb.analysis.steps.difference import differences
    >>> a = np.array([[5, 6, 5, 6, 5, 6], [7, 9, 8, 7, 9, 8]])
    >>> result = differences([a], [a + [[4], [0]]])
    >>> result.low.round(1).tolist(), result.high.round(1).tolist(), (result.p_value < 0.05).tolist()
    ([2.8, -2.0], [5.2, 2.0], [True, False])
    """
    steps = _side(a), _side(b)
    of_runs = are_runs((a, b))
    first, second = (_side([_typical_runs(side)]) for side in (a, b)) if of_runs else steps
    shift = second.typical - first.typical
    related = (first.correlation * first.steps + second.correlation * second.steps) / max(
        first.steps + second.steps, 1
    )
    related = np.clip(related, 0, _MOST_CORRELATED)
    inflation = np.ones(len(related)) if of_runs else (1 + related) / (1 - related)
    pooled = (first.squares + second.squares) / max(first.kept + second.kept - 2, 1)
    variances, freedoms = [], []
    for side in (first, second):
        own = side.squares / max(side.kept - 1, 1)
        variances.append(np.maximum(own, _LEAST_SPREAD * pooled) / max(side.kept, 1) * inflation)
        freedoms.append(np.maximum(side.kept / inflation - 1, 1))
    variance = variances[0] + variances[1]
    with np.errstate(divide="ignore", invalid="ignore"):
        # Welch and Satterthwaite
        freedom = variance**2 / sum(one**2 / free for one, free in zip(variances, freedoms, strict=True))
        t = np.abs(shift) / np.sqrt(variance)
    varies = variance > 0
    freedom = np.where(varies, freedom, 1)
    p_value = np.where(varies, _p_value(np.where(varies, t, 0), freedom), shift == 0)
    p_value = np.maximum(p_value, _rank_p_value(first.times, second.times, inflation))
    separated = are_separated(*(side.times for side in steps))
    if not of_runs:
        orders = math.lgamma(first.steps + second.steps + 1) - sum(
            math.lgamma(side.steps + 1) for side in steps
        )
        p_value = np.where(separated, np.minimum(p_value, 2 * math.exp(-orders)), p_value)
    fewest = min(first.steps, second.steps)
    known = fewest >= np.where(varies, 2, _ENOUGH)
    reach = np.where(varies, _quantile(freedom), 0)
    half = reach * np.sqrt(variance)
    low, high = _fieller(first.typical, second.typical, reach**2 * variances[0], reach**2 * variances[1])
    columns = (shift - half, shift + half, low, high, p_value)
    below, above, ratio_low, ratio_high, p_value = (np.where(known, one, np.nan) for one in columns)
    return Differences(first.typical, second.typical, below, above, ratio_low, ratio_high, p_value, separated)


def false_discovery_rates(p_values: np.ndarray) -> np.ndarray:
    """Return the p-values of rows corrected for their number, after Benjamini and Hochberg (1995).

    On average, at most 5 % of the rows below 0.05 differ only by chance. NaN where a p-value is NaN.

    Examples
    --------
    >>> import numpy as np
    >>> from tfvis_nb.analysis.steps.difference import false_discovery_rates
    >>> false_discovery_rates(np.array([0.01, 0.5, np.nan, 0.02])).tolist()
    [0.03, 0.5, nan, 0.03]
    """
    known = np.flatnonzero(~np.isnan(p_values))
    order = known[np.argsort(p_values[known], kind="stable")]
    scaled = p_values[order] * len(order) / np.arange(1, len(order) + 1)
    rates = np.full(len(p_values), np.nan)
    rates[order] = np.minimum.accumulate(scaled[::-1])[::-1]
    return rates


def _runs(side: Runs) -> Sequence[np.ndarray]:
    return [np.asarray(run) for run in side] if len(side) and np.ndim(side[0]) else [np.asarray(side)]


def _side(runs: Sequence[np.ndarray]) -> _Side:
    times = np.concatenate([np.asarray(run, np.float64) for run in runs], axis=1)
    steps = times.shape[1]
    cut = int(steps * TRIM)
    kept = steps - 2 * cut
    ordered = np.sort(times, axis=1)
    if not steps:
        nothing = np.full(len(times), np.nan)
        return _Side(times, nothing, nothing, 0, nothing, 0)
    typical = ordered[:, cut : steps - cut].mean(axis=1)
    winsorised = np.clip(times, ordered[:, cut : cut + 1], ordered[:, steps - cut - 1 : steps - cut])
    deviation = winsorised - winsorised.mean(axis=1, keepdims=True)
    squares = (deviation**2).sum(axis=1)
    # Rounding gives equal times a spread.
    squares[winsorised.min(axis=1) == winsorised.max(axis=1)] = 0
    ends = np.cumsum([run.shape[1] for run in runs])
    follows = np.setdiff1d(np.arange(1, steps), ends)
    products = (deviation[:, follows] * deviation[:, follows - 1]).sum(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        correlation = np.where(squares > 0, products / squares, 0)
    unbiased = (correlation * steps + len(follows) / max(steps - 1, 1)) / max(steps - 4, steps / 2)
    return _Side(times, typical, squares, kept, unbiased, steps)


def _typical_runs(runs: Sequence[np.ndarray]) -> np.ndarray:
    """Return the typical step of each run (columns) in each row."""
    return np.stack([trimmed_means(run) for run in runs if run.shape[1]], axis=1)


def are_separated(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return for each row whether five or more times a side do not overlap at all.

    >>> import numpy as np
    >>> are_separated(np.array([[1, 2, 3, 4, 5]]), np.array([[6, 7, 8, 9, 9]])).tolist()
    [True]
    """
    if min(a.shape[1], b.shape[1]) < SEPARATED:
        return np.zeros(len(a), bool)
    separated: np.ndarray = (a.max(axis=1) < b.min(axis=1)) | (b.max(axis=1) < a.min(axis=1))
    return separated


def _rank_p_value(a: np.ndarray, b: np.ndarray, inflation: np.ndarray) -> np.ndarray:
    """Return the p-value of each row by Wilcoxon's rank sums, with `inflation` times the variance."""
    times = np.concatenate([a, b], axis=1)
    count = times.shape[1]
    order = np.argsort(times, axis=1, kind="stable")
    ordered = np.take_along_axis(times, order, axis=1)
    place = np.arange(count)
    differs = ordered[:, 1:] != ordered[:, :-1]
    edge = np.ones((len(times), 1), bool)
    # Equal times share the mean of their ranks.
    first = np.maximum.accumulate(np.where(np.hstack([edge, differs]), place, 0), axis=1)
    last = np.minimum.accumulate(np.where(np.hstack([differs, edge]), place, count)[:, ::-1], axis=1)[:, ::-1]
    of_b = order >= a.shape[1]
    ranks = ((first + last) / 2 * of_b).sum(axis=1) - b.shape[1] * (count - 1) / 2
    ties = ((last - first + 1.0) ** 2 - 1).sum(axis=1) / max(count * (count - 1), 1)
    variance = a.shape[1] * b.shape[1] / 12 * (count + 1 - ties) * inflation
    some = variance > 0
    normal = np.divide(np.abs(ranks), np.sqrt(variance), out=np.zeros(len(times)), where=some)
    return _beyond(normal)


def _fieller(
    a: np.ndarray, b: np.ndarray, around_a: np.ndarray, around_b: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the range of ratios for which b - ratio * a may be 0; `around` are squares of half intervals."""
    with np.errstate(divide="ignore", invalid="ignore"):
        square = a**2 - around_a
        root = np.sqrt(np.maximum((a * b) ** 2 - square * (b**2 - around_b), 0))
        low = np.maximum((a * b - root) / square, 0)
        high = np.where(square > 0, (a * b + root) / square, np.inf)
    return low, high


def _p_value(t: np.ndarray, freedom: np.ndarray) -> np.ndarray:
    """Return the share of Student's distribution beyond t and -t.

    Wallace's approximation (1959) is off by at most 0.016 / freedom.
    """
    normal = (8 * freedom + 1) / (8 * freedom + 3) * np.sqrt(freedom * np.log1p(t**2 / freedom))
    return _beyond(normal)


def _beyond(normal: np.ndarray) -> np.ndarray:
    """Return the share of the normal distribution beyond a value and its negative."""
    return np.array([math.erfc(one) for one in (normal / math.sqrt(2)).tolist()])


def _quantile(freedom: np.ndarray) -> np.ndarray:
    """Return the two-sided 5 % quantile of Student's t."""
    normal = _NORMAL * (8 * freedom + 3) / (8 * freedom + 1)
    quantiles: np.ndarray = np.sqrt(freedom * np.expm1(normal**2 / freedom))
    return quantiles
