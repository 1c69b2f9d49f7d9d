"""Statements about two recordings, and about their code: runs, separated steps, loops and known spreads."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.support.examples import examples
from tfvis_nb import Trace, events
from tfvis_nb.analysis import compare
from tfvis_nb.analysis.steps.comparison_headline import comparison_headline
from tfvis_nb.analysis.steps.difference import difference, run_spread
from tfvis_nb.core.format import format_duration, format_percent
from tfvis_nb.core.metadata import PYTHON_SAMPLES, RUNS, table_of
from tfvis_nb.core.undivided import undivided
from tfvis_nb.run_history.cell import Cell
from tfvis_nb.run_history.sentence import sentence
from tfvis_nb.run_history.summary import summary_of
from tfvis_nb.texts import Text

PAIRS = 200
CELL = Cell("n.ipynb", "a", "c0de", "")
TIMES = st.lists(st.integers(1_000, 100_000), min_size=1, max_size=12)
CODE = {"comparison_code_differs"}
RECORDINGS = {"comparison_recordings_differ"}


def run(took: Sequence[int] | np.ndarray, pause: int = 0, runs: Sequence[tuple[str, int, int]] = ()) -> Trace:
    """Return a trace of one op per step, a pause after each, and the `runs` that a history knows."""
    start = np.concatenate([[0], np.cumsum(np.asarray(took) + pause)[:-1]])
    columns = {
        "start_ns": start,
        "duration_ns": took,
        "kind": ["op"] * len(took),
        "op": ["MatMul"] * len(took),
        "step": range(len(took)),
    }
    names = ("code", "time_ns", "step_ns")
    known = table_of(RUNS, [dict(zip(names, one, strict=True)) for one in runs])
    return Trace(events.build(columns), metadata={RUNS: known} if runs else {})


def simulated(
    chance: np.random.Generator, runs: int, variation: float, longer: float = 1
) -> list[np.ndarray]:
    """Return step times of runs of 30 correlated steps whose speeds vary by a share."""
    noise = chance.standard_normal((runs, 50))
    for step in range(1, 50):
        noise[:, step] = 0.6 * noise[:, step - 1] + 0.8 * noise[:, step]
    speed = np.exp(variation * chance.standard_normal(runs))
    return [*(1e6 * longer * speed[:, None] * (1 + 0.02 * noise[:, 20:]))]


def ids(a: Trace | list[Trace], b: Trace | list[Trace]) -> list[str]:
    return [sentence.id for sentence in comparison_headline(a, b)]


@pytest.mark.parametrize("runs", [3, 5, 10])
@pytest.mark.parametrize("variation", [0.02, 0.05])
def test_equal_code_is_rarely_called_faster(runs: int, variation: float) -> None:
    chance = np.random.default_rng(runs)
    equal = [
        difference(simulated(chance, runs, variation), simulated(chance, runs, variation))
        for _ in range(PAIRS)
    ]
    assert sum(found.code_differs for found in equal) <= 0.05 * PAIRS
    assert sum(found.shown for found in equal) <= 0.1 * PAIRS


def test_slower_code_is_found_in_five_runs() -> None:
    chance = np.random.default_rng(1)
    found = [difference(simulated(chance, 5, 0.03), simulated(chance, 5, 0.03, 1.15)) for _ in range(PAIRS)]
    assert sum(one.code_differs for one in found) >= 0.95 * PAIRS


@pytest.mark.parametrize(("a", "b"), [(1, 1), (2, 2), (1, 10), (10, 2)])
def test_two_runs_a_side_do_not_judge_the_code(a: int, b: int) -> None:
    chance = np.random.default_rng(2)
    found = difference(simulated(chance, a, 0.02), simulated(chance, b, 0.02, 9))
    assert found.shown
    assert not found.code_differs


@given(st.lists(TIMES, min_size=1, max_size=4), st.lists(TIMES, min_size=1, max_size=4))
def test_swapped_sides_have_the_inverse_ratio(a: list[list[int]], b: list[list[int]]) -> None:
    sides = [[np.array(times) for times in side] for side in (a, b)]
    found, swapped = difference(*sides), difference(*reversed(sides))
    assert found.ratio * swapped.ratio == pytest.approx(1)
    assert (found.a, found.b) == (swapped.b, swapped.a)
    assert (found.shown, found.code_differs) == (swapped.shown, swapped.code_differs)
    if found.low > 0 and math.isfinite(found.high):
        assert (swapped.low, swapped.high) == pytest.approx((1 / found.high, 1 / found.low))


@given(st.lists(TIMES, min_size=1, max_size=4))
def test_runs_do_not_differ_from_themselves(runs: list[list[int]]) -> None:
    side = [np.array(times) for times in runs]
    found = difference(side, side, spread=run_spread([[1e6, 1e6, 1e6]]))
    assert (found.shown, found.code_differs) == (False, False)


@settings(max_examples=examples(50))
@example(
    [1000, 1000, 1000, 1000, 1310], [2001, 31652, 11580, 12405, 31221], lambda times: sorted(times)[::-1]
)
@given(
    st.lists(st.integers(1_000, 2_000), min_size=5, max_size=30),
    st.lists(st.integers(2_001, 90_000), min_size=5, max_size=30),
    st.sampled_from([sorted, lambda times: sorted(times)[::-1], list]),
)
def test_separated_recordings_always_differ(short: list[int], long: list[int], order: object) -> None:
    sides = [run(order(times)) for times in (short, long)]  # type: ignore[operator]
    for a, b in (sides, sides[::-1]):
        table = compare(a, b)
        assert table.attrs["step_time"].shown
        # A first step may be set apart, which leaves four.
        assert min(len(short), len(long)) == 5 or table["shown"].tolist() == [True]
        sentences = comparison_headline(a, b)
        assert RECORDINGS & {sentence.id for sentence in sentences}
        assert not CODE & {sentence.id for sentence in sentences}
        assert difference(*(side.steps["duration_ns"].to_numpy() for side in (a, b))).shown


@given(TIMES, TIMES)
def test_no_sentence_has_an_endless_interval(a: list[int], b: list[int]) -> None:
    text = " ".join(map(str, comparison_headline(run(a), run(b))))
    assert not any(strange in text for strange in ("\u221e", "\u2212100 %", "+-", "nan"))


@given(TIMES, TIMES)
def test_one_run_a_side_does_not_judge_the_code(a: list[int], b: list[int]) -> None:
    text = " ".join(map(str, comparison_headline(run(a), run(b))))
    assert "faster" not in text
    assert "slower" not in text
    if min(len(a), len(b)) == 1 and a != b:
        assert Text("comparison_by_chance") in text


def test_loops_are_compared_before_steps() -> None:
    chance = np.random.default_rng(4)
    a, b = (chance.normal(mean, 50, 30).astype(int) for mean in (4_100, 3_700))
    first, steps, parts, runs = comparison_headline(run(a, 18_600), run(b, 20))
    what = Text("comparison_loops", which="typical", kind="")
    assert (first.id, first.figures["what"]) == ("comparison_recordings_differ", what)
    assert (first.figures["a"], first.figures["b"]) == ("22.7 \u00b5s", "3.71 \u00b5s")
    assert (steps.id, steps.figures["b"]) == ("comparison_steps_alone", "3.69 \u00b5s")
    assert parts.figures["parts"].startswith("\u221218.6 \u00b5s between steps")
    assert runs == Text("comparison_runs_also_differ")
    found = compare(run(a, 18_600), run(b, 20)).attrs["loop_time"]
    assert (found.shown, round(found.ratio, 2)) == (True, 0.16)


@pytest.mark.parametrize(("tasks", "over"), [(1, ""), (2, ", on average over 2 tasks")])
def test_main_changes_name_the_tasks_they_are_of(tasks: int, over: str) -> None:
    def steps(took: int) -> Trace:
        rows = [(step, task) for step in range(6) for task in range(tasks)]
        columns = {"start_ns": [10_000 * step for step, _ in rows], "step": [step for step, _ in rows]}
        columns |= {"duration_ns": [took + step for step, _ in rows]}
        named = {"kind": ["op"] * len(rows), "op": ["MatMul"] * len(rows)}
        named |= {"task": [f"/job:worker/replica:0/task:{task}" for _, task in rows]}
        return Trace(events.build(columns | named))

    sentences = {sentence.id: sentence for sentence in comparison_headline(steps(1_000), steps(5_000))}
    assert sentences["comparison_parts"].figures["over"] == over


def test_a_prediction_is_no_recording() -> None:
    chance = np.random.default_rng(10)
    trace = run(chance.normal(9_000, 50, 30).astype(int))
    first, *rest = comparison_headline(trace, trace.what_if(ops={"MatMul": 0.5}))
    assert first.id == "comparison_predicted"
    assert [sentence.id for sentence in rest] == ["comparison_parts"]


@pytest.mark.parametrize(
    ("steps", "whole_ms", "said"),
    [
        ((30, 10), (900, 1_100), True),
        ((30, 10), (900, 900), True),
        ((30, 10), (900, 600), False),
        ((10, 30), (900, 700), True),
        ((30, 30), (9_000, 9_700), True),
        ((30, 30), (9_000, 9_500), False),
    ],
)
def test_whole_recordings_that_contradict_their_steps_are_named(
    steps: tuple[int, int], whole_ms: tuple[int, int], said: bool
) -> None:
    chance = np.random.default_rng(11)
    a, b = (recorded(chance, mean, 20, whole) for mean, whole in zip(steps, whole_ms, strict=True))
    texts = comparison_headline(a, b)
    assert ("comparison_whole" in {text.id for text in texts}) == said
    if said:
        assert texts[1].id == "comparison_whole"
        names = {name: texts[1].figures[name] for name in ("a", "b", "counts")}
        took = [format_duration(whole * 1_000_000) for whole in whole_ms]
        assert names == {"a": took[0], "b": took[1], "counts": ""}
    before, now = (summary_of(trace, CELL) for trace in (a, b))
    assert before is not None
    assert now is not None
    line = sentence([before], now, can_compare=False)
    assert line is not None
    assert line.figures["whole"] == (Text("run_sentence", sentence=texts[1]) if said else "")


def test_other_numbers_of_steps_follow_whole_recordings() -> None:
    chance = np.random.default_rng(12)
    text = comparison_headline(recorded(chance, 10, 20, 900), recorded(chance, 30, 5, 300))[1]
    assert text.figures["counts"] == Text("comparison_with_steps", a=20, b=5)


def test_chosen_steps_have_no_whole_recordings() -> None:
    chance = np.random.default_rng(13)
    a, b = recorded(chance, 30, 20, 900), recorded(chance, 10, 20, 1_100)
    steps: tuple[Any, Any] = (range(20), range(20))
    assert "comparison_whole" not in {text.id for text in comparison_headline(a, b, steps)}


def recorded(chance: np.random.Generator, step_ms: float, count: int, whole_ms: int) -> Trace:
    """Return a recording of steps and Python that runs before the first one."""
    took = chance.normal(step_ms, step_ms / 50, count) * 1_000_000
    trace = run(took.astype(int))
    length = int(trace.events["duration_ns"].sum())
    sample = {"time_ns": length - whole_ms * 1_000_000, "file": "train.py", "line": 3}
    return Trace(trace.events, metadata={PYTHON_SAMPLES: table_of(PYTHON_SAMPLES, [sample])})


@pytest.mark.parametrize("pauses", [(0, 0), (20, 20), (9_000, 9_000)])
def test_loops_that_change_as_steps_do_are_not_named(pauses: tuple[int, int]) -> None:
    chance = np.random.default_rng(5)
    a, b = (chance.normal(mean, 50, 30).astype(int) for mean in (9_000, 5_000))
    first, *rest = comparison_headline(run(a, pauses[0]), run(b, pauses[1]))
    assert first.figures["what"] == Text("comparison_steps", which="typical", kind="")
    assert "comparison_steps_alone" not in [sentence.id for sentence in rest]


def test_loops_that_hide_faster_steps_are_named() -> None:
    chance = np.random.default_rng(6)
    a, b = chance.normal(9_000, 50, 30).astype(int), chance.normal(5_000, 50, 30).astype(int)
    a_pause, b_pause = (chance.normal(90_000, 9_000, 30).astype(int) - took for took in (a, b))
    traces = []
    for took, pause in ((a, a_pause), (b, b_pause)):
        trace = run(took)
        start = np.concatenate([[0], np.cumsum(took + pause)[:-1]])
        traces.append(Trace(trace.events.assign(start_ns=start)))
    first, loops, *_ = comparison_headline(traces[0], traces[1])
    assert (first.id, loops.id) == ("comparison_recordings_differ", "comparison_loops_alike")
    assert first.figures["what"] == Text("comparison_steps", which="typical", kind="")


@pytest.mark.parametrize("rounds", [5, 10, 16])
def test_loops_follow_steps_if_neither_clearly_differs(rounds: int) -> None:
    """Every second round of B has a long pause, which is too few to show a difference."""
    chance = np.random.default_rng(8)
    sides = []
    for pause in (0, 8_000):
        took = chance.normal(1_000, 50, rounds).astype(int)
        trace = run(took)
        pauses = np.where(np.arange(rounds) % 2, pause, 50)
        start = np.concatenate([[0], np.cumsum(took + pauses)[:-1]])
        sides.append(Trace(trace.events.assign(start_ns=start)))
    a, b = sides
    first, loops = comparison_headline(a, b)
    assert (first.id, first.figures["what"]) == (
        "comparison_not_shown",
        Text("comparison_steps", which="typical", kind=""),
    )
    assert loops.id == "comparison_loops_alike"
    found = compare(a, b).attrs["loop_time"]
    assert (found.shown, loops.figures["b"]) == (False, format_duration(found.b))


def test_several_runs_call_the_code_slower() -> None:
    chance = np.random.default_rng(7)
    a, b = ([run(times.astype(int)) for times in simulated(chance, 4, 0.02, longer)] for longer in (1, 1.3))
    first, *_, last = comparison_headline(a, b)
    assert (first.id, first.figures["direction"]) == ("comparison_code_differs", "slower")
    assert (last.id, last.figures) == ("comparison_runs", {"a": 4, "b": 4})
    assert compare(a, b).attrs["step_time"].code_differs
    assert ids(a[:2], b[:2]) == [
        "comparison_recordings_differ",
        "comparison_parts",
        "comparison_runs_also_differ",
    ]
    assert comparison_headline(b, a)[0].figures["direction"] == "faster"


@pytest.mark.parametrize(
    ("spread", "says"),
    [
        (1, "comparison_code_differs"),
        (30, "comparison_recordings_differ"),
        (0, "comparison_recordings_differ"),
    ],
)
def test_the_spread_of_earlier_runs_decides_for_single_ones(spread: int, says: str) -> None:
    chance = np.random.default_rng(8)
    a, b = (chance.normal(mean, 50, 30).astype(int) for mean in (5_000, 6_000))
    known = [("old", at, 5_000 + spread * (at - 2) * 50) for at in range(1, 4)] if spread else []
    known.append(("old", 4, 90_000))  # that of the compared trace does not count
    sentences = comparison_headline(run(a, runs=known), run(b, runs=[("new", 9, 6_000)]))
    assert sentences[0].id == says
    assert sentences[-1].id == ("comparison_spread" if spread else "comparison_runs_also_differ")
    if spread:
        limit = run_spread([[step_ns for _, _, step_ns in known[:-1]]])
        assert limit is not None
        assert sentences[-1].figures == {"limit": format_percent(limit.ratio - 1), "runs": 3}


def test_a_spread_is_as_wide_as_pairs_of_equal_runs() -> None:
    chance = np.random.default_rng(9)
    outside = 0
    for _ in range(2000):
        *earlier, a, b = np.exp(0.03 * chance.standard_normal(6)).tolist()
        spread = run_spread([[*earlier]])
        assert spread is not None
        outside += abs(math.log(b / a)) > math.log(spread.ratio)
    assert 0.03 <= outside / 2000 <= 0.06
    assert run_spread([[1.0, 2.0], [3.0]]) is None
    assert run_spread([]) is None


def labelled(steps: Sequence[tuple[str, int]], pause: int = 0, **more: Any) -> Trace:
    trace = run([took for _, took in steps], pause)
    labels = {step: f"{kind} {step}" for step, (kind, _) in enumerate(steps) if kind}
    return Trace(trace.events, step_labels=labels, **more)


def test_steps_are_compared_with_those_of_their_kind() -> None:
    """Many short evaluation steps do not make training steps shorter."""
    train, test = [("train", 9_000)], [("test", 1_000)]
    with_tests, without = labelled((train + test * 4) * 8), labelled([("train", 3_000)] * 8)
    for a, b, ratio in ((with_tests, without, 3), (without, with_tests, 1 / 3)):
        found = compare(a, b).attrs
        assert found["step_time"].a / found["step_time"].b == pytest.approx(ratio)
        assert found["step_time"].shown
    # From one training step to the next, with all tests between them.
    assert compare(with_tests, without).attrs["loop_time"].a == 13_000
    assert ids(with_tests, without)[0] == "comparison_recordings_differ"


def test_steps_of_other_phases_are_not_compared() -> None:
    """A callback that predicts hides the training steps which call it; then the recordings are compared."""
    predicts, trains = labelled([("predict", 500)] * 30, 9_500), labelled([("train", 1_000)] * 20)
    sentence = comparison_headline(predicts, trains)[0]
    assert (sentence.id, sentence.figures["basis"].id) == ("comparison_few", "comparison_of_wholes")
    assert sentence.figures["a"] == "291 µs"
    assert math.isnan(compare(predicts, trains).attrs["step_time"].ratio)
    own_names = labelled([("mine", 500)] * 30), labelled([("other", 1_000)] * 20)
    assert ids(*own_names)[0] == "comparison_recordings_differ"


def test_recording_without_steps_is_not_compared_with_a_step() -> None:
    whole = labelled([("", 20_000)], metadata=undivided())
    steps = labelled([("train", 100)] * 20)
    for a, b in ((whole, steps), (steps, whole)):
        (sentence,) = comparison_headline(a, b)
        assert sentence.figures["basis"].id == "comparison_of_wholes"
        assert {sentence.figures["a"], sentence.figures["b"]} == {"20.0 µs", "2.00 µs"}
        assert math.isnan(compare(a, b).attrs["step_time"].ratio)


def eager(
    count: int, body: str, took: int = 100, before: str = "", trail: str = "", first_ns: int = 0
) -> Trace:
    """A recording without steps: `body` repeats `count` times, a letter for each op, the first one slow."""
    ops = before + body * count + trail
    columns = {
        "start_ns": [0, *(first_ns + at * took for at in range(1, len(ops)))],
        "duration_ns": [took - 10] * len(ops),
        "kind": ["op"] * len(ops),
        "op": list(ops),
        "lane": ["python"] * len(ops),
    }
    return Trace(events.build(columns), metadata=undivided())


@pytest.mark.parametrize(
    ("count", "body", "more"),
    [(20, "abcab", {}), (20, "abcab", {"before": "xy", "trail": "z"}), (20, "ab", {})],
    ids=["loop", "loop among others", "two ops"],
)
def test_eager_loops_are_compared_by_their_iterations(count: int, body: str, more: dict[str, Any]) -> None:
    loop, steps = eager(count, body, **more), run([80 + one % 3 for one in range(20)], 20)
    loops = compare(loop, steps).attrs["loop_time"]
    assert loops.a == len(body) * 100
    assert loops.b == pytest.approx(101, abs=1)
    (first, *_) = comparison_headline(loop, steps)
    assert "iterations" in first
    assert compare(steps, loop).attrs["loop_time"].b == loops.a


@pytest.mark.parametrize(
    ("count", "body", "more"),
    [
        (19, "abcab", {}),
        (1, "abcdefg" * 3 + "hij", {}),
        (10, "abcabd", {"trail": "abcabe" * 10}),
        (20, "abc", {"before": "x" * 60}),
        (4, "abc", {}),
        (20, "abab", {}),
        (40, "abc", {}),
    ],
    ids=[
        "another count",
        "no loop",
        "changing",
        "half of the recording",
        "few",
        "equal layers",
        "twice as often",
    ],
)
def test_other_eager_ops_are_not_compared(count: int, body: str, more: dict[str, Any]) -> None:
    loop, steps = eager(count, body, **more), run([80] * (20 if count > 4 else 4), 20)
    assert not compare(loop, steps).attrs["loop_time"].shown
    assert "iterations" not in comparison_headline(loop, steps)[0]
