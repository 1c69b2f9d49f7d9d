"""Differences of step times: false positives, detection rates, and values."""

import math
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tfvis_nb.analysis.steps.difference import TRIM, difference, differences, false_discovery_rates

PAIRS = 2000
TIMES = st.lists(st.integers(0, 60), min_size=1, max_size=12)


def correlated(chance: np.random.Generator, steps: int, by: float) -> np.ndarray:
    noise = chance.standard_normal((PAIRS, steps + 20))
    for step in range(1, steps + 20):
        noise[:, step] = by * noise[:, step - 1] + math.sqrt(1 - by**2) * noise[:, step]
    return noise[:, 20:]


def population(kind: str, chance: np.random.Generator, steps: int) -> np.ndarray:
    """Step times around 100 of as many recordings as there are pairs."""
    noise = chance.standard_normal((PAIRS, steps))
    match kind:
        case "normal":
            return 100 + 5 * noise
        case "skewed":
            return 100 * np.exp(0.5 * noise)
        case "pauses":
            return 100 + 5 * noise + 200 * (chance.random((PAIRS, steps)) < 0.05)
        case "two speeds":
            return 100 + 3 * noise + 20 * (chance.random((PAIRS, steps)) < 0.5)
    return 100 + 5 * correlated(chance, steps, 0.4)


@pytest.mark.parametrize("kind", ["normal", "skewed", "pauses", "two speeds", "correlated"])
@pytest.mark.parametrize("steps", [(10, 10), (30, 30), (10, 60), (60, 60)])
def test_chance_is_rarely_a_difference(kind: str, steps: tuple[int, int]) -> None:
    chance = np.random.default_rng(3)
    a, b = (population(kind, chance, count) for count in steps)
    p_value = differences([a], [b]).p_value
    assert (p_value < 0.05).mean() <= (0.065 if kind == "correlated" else 0.055)
    assert (p_value < 0.05).mean() >= 0.01


@pytest.mark.parametrize(("kind", "longer"), [("normal", 1.1), ("pauses", 1.12), ("two speeds", 1.25)])
def test_a_difference_of_thirty_steps_is_found(kind: str, longer: float) -> None:
    chance = np.random.default_rng(4)
    a, b = (population(kind, chance, 30) for _ in range(2))
    assert (differences([a], [b * longer]).low > 0).mean() >= 0.95


@pytest.mark.parametrize("factor", [0.3, 1, 4])
def test_the_interval_has_the_true_ratio(factor: float) -> None:
    chance = np.random.default_rng(5)
    a, b = (population("normal", chance, 20) for _ in range(2))
    found = differences([a], [b * factor])
    assert ((found.ratio_low <= factor) & (factor <= found.ratio_high)).mean() >= 0.945


def by_ranks(a: list[float], b: list[float], weight: float) -> float:
    """The p-value of Wilcoxon's rank sums, with a variance that is `weight` times as large."""
    both = [*a, *b]
    wins = sum((other > one) + (other == one) / 2 for one in a for other in b)
    count = len(both)
    ties = sum(both.count(time) ** 3 - both.count(time) for time in set(both)) / (count * (count - 1))
    variance = len(a) * len(b) / 12 * (count + 1 - ties) * weight
    return math.erfc(abs(wins - len(a) * len(b) / 2) / math.sqrt(2 * variance)) if variance else 1


def spread(times: Sequence[float]) -> tuple[float, int, float, float]:
    """The trimmed mean, its number of steps, winsorised squares and bias-corrected lag-1 correlation."""
    cut = int(len(times) * TRIM)
    ordered = sorted(times)
    kept = ordered[cut : len(times) - cut]
    clipped = [min(max(time, kept[0]), kept[-1]) for time in times]
    mean = sum(clipped) / len(times)
    squares = sum((time - mean) ** 2 for time in clipped) if kept[0] < kept[-1] else 0
    products = sum((one - mean) * (other - mean) for one, other in pairwise(clipped))
    correlation = products / squares if squares else 0
    steps = len(times)
    bias_free = (correlation * steps + (steps > 1)) / max(steps - 4, steps / 2)
    return sum(kept) / len(kept), len(kept), squares, bias_free


def beyond(t: float, freedom: float) -> float:
    """The two tails of Student's distribution, by the midpoint rule over atan(x / sqrt(freedom))."""
    edges = np.linspace(0, math.pi / 2, 20_001)
    middle = (edges[1:] + edges[:-1]) / 2
    weight = np.cos(middle) ** (freedom - 1)
    return float(weight[middle > math.atan(t / math.sqrt(freedom))].sum() / weight.sum())


@given(TIMES, TIMES)
@example([0, 1], [0] * 7)
@example([0, 60], [0, 1])
@example([0, 1, 2, 3, 9], [10, 20, 30, 40, 50])
def test_as_defined(a: list[float], b: list[float]) -> None:
    found = difference(a, b)
    names = ("low", "high", "p_value", "separated")
    (low,), (high,), (p_value,), (separated,) = (
        getattr(differences([np.array([a])], [np.array([b])]), name) for name in names
    )
    assert separated == (min(len(a), len(b)) >= 5 and (max(a) < min(b) or max(b) < min(a)))
    most = 2 / math.comb(len(a) + len(b), len(a)) if separated else 1
    sides = [spread(a), spread(b)]
    (mean_a, _, _, _), (mean_b, _, _, _) = sides
    assert found.ratio == pytest.approx(mean_b / mean_a) if mean_a else math.isnan(found.ratio)
    squares = sum(side[2] for side in sides)
    fewest = min(len(a), len(b))
    if fewest < 2 or (not squares and fewest < 4):
        assert not found.shown
        assert math.isnan(found.low)
        assert math.isnan(p_value)
        return
    assert found.shown == (low > 0 or high < 0 or separated)
    if mean_a and not separated:
        assert found.shown == (found.low > 1 or found.high < 1)
    related = sum(len(times) * side[3] for times, side in zip((a, b), sides, strict=True)) / (len(a) + len(b))
    related = min(max(related, 0), 0.9)
    weight = (1 + related) / (1 - related)
    if not squares:
        assert (low, high) == (mean_b - mean_a, mean_b - mean_a)
        assert p_value == pytest.approx(min(by_ranks(a, b, weight), most) if mean_a != mean_b else 1)
        return
    pooled = squares / max(sum(side[1] for side in sides) - 2, 1)
    parts = [max(side[2] / max(side[1] - 1, 1), pooled / 2) / side[1] * weight for side in sides]
    free = [max(side[1] / weight - 1, 1) for side in sides]
    freedom = sum(parts) ** 2 / sum(part**2 / one for part, one in zip(parts, free, strict=True))
    # The product's approximation of Student's distribution is off by most with one degree of freedom.
    t = beyond(abs(mean_b - mean_a) / math.sqrt(sum(parts)), freedom)
    assert p_value == pytest.approx(min(max(t, by_ranks(a, b, weight)), most), abs=0.016 / freedom)
    assert (low + high) / 2 == pytest.approx(mean_b - mean_a)
    reach = (high - low) / 2 / math.sqrt(sum(parts))
    assert beyond(reach, freedom) == pytest.approx(0.05, abs=0.014 / freedom)
    # A ratio at an end of its interval is as unlikely as a difference at the end of its own.
    for ratio in (found.low, found.high):
        if mean_a and 0 < ratio < math.inf:
            around = reach * math.sqrt(parts[1] + ratio**2 * parts[0])
            assert abs(mean_b - ratio * mean_a) == pytest.approx(around, rel=1e-6)


@given(st.lists(TIMES, min_size=1, max_size=2), TIMES)
def test_two_recordings_are_pooled_but_not_joined(runs: list[list[float]], b: list[float]) -> None:
    parts = [np.array(run, float) for run in runs]
    together = np.concatenate(parts)
    assert difference(parts, b).ratio == pytest.approx(difference(together, b).ratio, nan_ok=True)
    one_each = difference([together[step : step + 1] for step in range(len(together))], [np.array(b, float)])
    backwards = difference([together[step : step + 1] for step in reversed(range(len(together)))], b)
    assert one_each == pytest.approx(backwards, nan_ok=True)


@given(*[st.lists(st.lists(st.integers(1, 60), min_size=2, max_size=12), min_size=3, max_size=9)] * 2)
def test_three_runs_count_as_a_typical_step_each(a: list[list[int]], b: list[list[int]]) -> None:
    found = difference(*([np.array(times) for times in side] for side in (a, b)))
    # A step is no recording of several steps, so runs of one are compared as steps.
    means = [[np.array([spread(times)[0]]) for times in side] for side in (a, b)]
    expected = difference(*means)
    assert (found.ratio, found.a, found.b) == pytest.approx((expected.ratio, expected.a, expected.b))
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high), nan_ok=True)
    if found.code_differs:
        assert found.low > 1 or found.high < 1


@given(st.lists(st.one_of(st.just(math.nan), st.floats(0, 1)), max_size=12))
def test_false_discovery_rates(p_values: list[float]) -> None:
    known = [p for p in p_values if not math.isnan(p)]
    for p, rate in zip(p_values, false_discovery_rates(np.array(p_values)).tolist(), strict=True):
        if math.isnan(p):
            assert math.isnan(rate)
            continue
        rates = [other * len(known) / sum(one <= other for one in known) for other in known if other >= p]
        assert rate == pytest.approx(min(rates))
