"""The stored summary of a run, the message about the next one, and `tfvis_nb.history`."""

import gc
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from bokeh.models.renderers import GlyphRenderer
from IPython.core.interactiveshell import InteractiveShell

import tfvis_nb as tv
from tests.analysis.test_compared_runs import eager, labelled
from tests.analysis.test_compared_runs import run as marked
from tests.run_history.runs import run_of, times
from tests.support.drawn_charts import drawn_sources
from tests.support.texts import raises_id
from tfvis_nb import events
from tfvis_nb.analysis import compare, why_not
from tfvis_nb.analysis.steps.comparison_headline import comparison_headline
from tfvis_nb.analysis.steps.difference import difference, run_spread, typical
from tfvis_nb.analysis.steps.difference_text import amount_text, bounds_text
from tfvis_nb.core.format import format_duration, format_percent
from tfvis_nb.core.metadata import PROFILES, table_of
from tfvis_nb.display.charts import CannotSayError
from tfvis_nb.display.shaping.side import compared as side
from tfvis_nb.display.tabs import comparison
from tfvis_nb.run_history import history
from tfvis_nb.run_history.cell import Cell
from tfvis_nb.run_history.files import VARIABLE, keep
from tfvis_nb.run_history.history import remember
from tfvis_nb.run_history.sentence import sentence
from tfvis_nb.run_history.summary import MOST_STEPS, Summary, summary_of
from tfvis_nb.texts import Text

CELL = Cell("n.ipynb", "a", "c0de", "")
WHOLES = "comparison_of_wholes"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(VARIABLE, str(tmp_path / "history"))
    # Tests of magics leave a shell to their process, whose notebook has no such runs.
    monkeypatch.setattr(InteractiveShell, "_instance", None)
    return tmp_path / "history"


def steps(*durations: int, kernels: int = 2) -> tv.Trace:
    """Return a trace whose steps are an op as long as the step, and kernels of a tenth of that."""
    rows = [
        {"step": step, "start_ns": 10**6 * step, "duration_ns": duration // (10 if kernel else 1)}
        | {"kind": "kernel" if kernel else "op", "device": f"/device:{'GPU' if kernel else 'CPU'}:0"}
        | {"lane": f"stream:{kernel}" if kernel else "ops", "op": "MatMul"}
        for step, duration in enumerate(durations)
        for kernel in range(kernels + 1)
    ]
    return tv.Trace(events.build({name: [row[name] for row in rows] for name in rows[0]}), title="steps")


def test_a_summary_excludes_the_first_step() -> None:
    found = summary_of(steps(90_000, 1000, 1100, 1050), CELL)
    assert found is not None
    assert found.main is not None
    assert (found.main.steps, found.main.step_ns, found.main.first_ns) == (4, [1000, 1100, 1050], 90_000)
    assert (found.main.kernels, found.main.ops, found.title) == (2, 1, "steps")
    assert found.busy_share == pytest.approx((100 + 110 + 105) / 3150)
    assert (found.peak_bytes, found.tfvis_nb) == (None, tv.__version__)


def test_a_summary_of_many_steps_has_the_last_ones() -> None:
    durations = [1000 + number for number in range(MOST_STEPS + 9)]
    found = summary_of(steps(*durations, kernels=0), CELL)
    assert found is not None
    assert found.main is not None
    assert (found.main.steps, found.main.step_ns) == (MOST_STEPS + 9, durations[9:])
    assert found.main.median_ns == durations[(MOST_STEPS + 8) // 2]
    assert found.main.kernels is None


def test_without_steps_the_whole_run_counts() -> None:
    columns = {"start_ns": [5, 40], "duration_ns": [10, 20], "kind": ["op"] * 2, "step": [-1, -1]}
    found = summary_of(tv.Trace(events.build(columns)), CELL)
    assert found is not None
    assert (found.kinds, found.loop, found.whole_ns, found.ops) == ({}, None, 55, 2)
    assert summary_of(tv.Trace(events.build({}, rows=0)), CELL) is None


SLOW, FAST = [100, 101, 99, 100, 102, 98], [90, 91, 89, 90, 92, 88]


@pytest.mark.parametrize(
    ("before", "now", "key"),
    [
        (SLOW, FAST, "run_differs"),
        (FAST, SLOW, "run_differs"),
        (SLOW, SLOW[::-1], "run_alike"),
        (SLOW, [50], "run_few"),
        ([100], [100], "run_few"),
    ],
)
def test_the_change_is_said_with_its_interval(before: list[int], now: list[int], key: str) -> None:
    said = line([run_of(step_ns=before)], run_of(step_ns=now))
    assert said["change"].id == key
    found = difference(np.array(before), np.array(now))
    assert found.shown is (key == "run_differs")
    figures = said["change"].figures
    assert figures["change"] == amount_text(found.ratio)
    assert (figures["a"], figures["b"]) == (format_duration(found.a), format_duration(found.b))
    if key != "run_few":
        assert figures["interval"] == bounds_text(found.ratio, found.low, found.high, shown=found.shown)
    usual = Text("run_sentence", sentence=Text("comparison_runs_also_differ")) if found.shown else ""
    assert said["usual"] == usual


def line(runs: list[Summary], now: Summary) -> dict[str, Any]:
    """Return the figures of the line about a run and earlier ones."""
    text = sentence(runs, now, can_compare=False)
    assert text is not None
    return text.figures


def test_line_of_a_change_has_the_spread_of_equal_runs() -> None:
    same = [run_of(step_ns=[time + more for time in SLOW]) for more in (0, 1, 2)]
    compared, now = run_of(step_ns=[9 * time for time in SLOW]), run_of(step_ns=FAST, code="new")
    spread = run_spread([[typical(np.array([time + more for time in SLOW])) for more in (0, 1, 2)]])
    assert spread is not None
    limits = {"limit": format_percent(spread.ratio - 1), "runs": 3}
    assert line([*same, compared], now)["usual"].figures["sentence"] == Text("comparison_spread", **limits)
    other = [*same[:2], run_of(step_ns=SLOW, code="older")]
    assert line([*other, compared], now)["usual"].figures["sentence"] == Text("comparison_runs_also_differ")


@pytest.mark.parametrize("now", [FAST, SLOW, [50]])
def test_equal_code_is_stated_and_not_judged(now: list[int]) -> None:
    before = run_of(step_ns=SLOW)
    for code, since in (("c0de", "run_same_code"), ("other", "run_compared")):
        change = line([before], run_of(step_ns=now, code=code))["change"]
        assert change.figures["since"] == Text(since)
    traces = [steps(*SLOW, kernels=0), steps(*[time // 2 for time in SLOW], kernels=0)]
    for trace in [steps(*[time + more for time in SLOW], kernels=0) for more in range(3)] + traces:
        remember(trace, CELL)
    first, *rest = comparison_headline(traces[0], traces[1])
    assert first.id == "comparison_recordings_differ"
    assert [text.id for text in rest[-2:]] == ["comparison_same_code", "comparison_spread"]
    assert not compare(traces[0], traces[1]).attrs["step_time"].code_differs
    assert tv.history().table["same_code"].tolist()[1:] == [True] * 4


@pytest.mark.parametrize(
    ("before", "now"),
    [([100, 10**6], [300, 10**7]), (sorted(SLOW), [time * 7**at for at, time in enumerate(SLOW)])],
)
def test_no_change_has_an_endless_interval(before: list[int], now: list[int], folder: Path) -> None:
    said = str(line([run_of(step_ns=before)], run_of(step_ns=now)))
    for number, took in enumerate((before, now)):
        keep(folder, run_of(step_ns=took, time_ns=number))
    shown = repr(tv.history())
    for text in (said, shown):
        assert not any(strange in text for strange in ("\u2212100 %", "+-", "nan", "inf"))


def test_line_of_a_change_between_steps_is_about_loops() -> None:
    before, now = (run_of(step_ns=SLOW, loop_ns=[time * by for time in SLOW]) for by in (9, 2))
    said = line([before], now)["change"].figures
    assert said["what"] == Text("comparison_loops", which="typical", kind="")
    found = difference(np.array(SLOW) * 9, np.array(SLOW) * 2)
    assert said["change"] == amount_text(found.ratio)
    alike = line([before], run_of(step_ns=FAST, loop_ns=[time * 9 for time in SLOW]))
    assert alike["change"].figures["what"] == Text("comparison_steps", which="typical", kind="")


def test_a_summary_has_the_loops_without_a_first_one() -> None:
    found = summary_of(steps(90_000, 1000, 1100, 1050), CELL)
    assert found is not None
    assert found.main is not None
    assert found.main.loop_ns == [10**6, 10**6]


def test_comparisons_know_the_spread_of_earlier_runs() -> None:
    chance = np.random.default_rng(1)
    means = (0, 9, -9, 100, 500)
    traces = [steps(*chance.normal(1000 + more, 5, 20).astype(int).tolist()) for more in means]
    for trace in traces:
        remember(trace, Cell("n.ipynb", "a", "new" if trace is traces[-1] else "old", ""))
    assert traces[3].metadata["runs"]["code"].nunique() == 1
    assert len(traces[3].metadata["runs"]) == 4
    headline = comparison_headline(traces[3], traces[4])
    assert (headline[0].id, headline[-1].id) == ("comparison_code_differs", "comparison_spread")
    # The compared runs do not count: of the others, only two are of one code.
    assert comparison_headline(traces[1], traces[3])[-1].id == "comparison_runs_also_differ"
    assert comparison_headline(traces[0], traces[4])[-1].id == "comparison_runs_also_differ"


def test_runs_with_other_ops_in_a_step_are_other_code() -> None:
    one, again, more = steps(100, 101, 102), steps(90, 91, 99, 98), steps(100, 101, 102, kernels=3)
    for trace in (one, again, more):
        remember(trace, CELL)
    assert tv.history().table["code"].nunique() == 2
    assert len(again.metadata["runs"]) == 2
    assert len(more.metadata["runs"]) == 1


def test_events_that_were_added_or_are_gone_are_counted() -> None:
    def with_events(kernels: int | None = 7, ops: int = 30) -> Summary:
        return run_of(kinds={"": times([10_000, 10_100, 10_050], kernels=kernels, ops=ops)})

    text = sentence([run_of()], with_events(kernels=4, ops=1), can_compare=True)
    assert text is not None
    fewer = text.figures
    assert (fewer["events"].id, fewer["events"].figures["more"]) == ("run_kernels", 3)
    assert fewer["events"].figures["direction"] == "fewer"
    assert fewer["compare"].id == "run_compare"
    more = line([with_events(kernels=None)], with_events(kernels=5, ops=31))
    assert (more["events"].id, more["events"].figures) == (
        "run_ops",
        {"more": 1, "direction": "more", "of": Text("run_a_step", kind="")},
    )
    assert (line([run_of()], run_of())["events"], more["compare"]) == ("", "")
    whole, more_ops = run_of(kinds={}, ops=30), run_of(kinds={}, ops=31)
    assert line([whole], more_ops)["events"].figures["of"] == Text("run_recording")
    assert line([whole], with_events(ops=31))["events"] == ""


@pytest.mark.parametrize(("level", "ops"), [(2, None), (3, 2)])
def test_ops_are_counted_if_cheap_ones_are_recorded(level: int, ops: int | None) -> None:
    columns = {"start_ns": [*range(0, 60, 10)], "duration_ns": [5] * 6, "step": [0, 0, 1, 1, 2, 2]}
    table = events.build(columns | {"kind": ["op"] * 6, "op": ["MatMul"] * 6})
    trace = tv.Trace(table, metadata={PROFILES: table_of(PROFILES, [{"host_tracer_level": level}])})
    found = summary_of(trace, CELL)
    assert found is not None
    assert found.main is not None
    assert found.main.ops == ops


def test_ops_are_counted_in_steps_of_one_kind() -> None:
    """Evaluation takes most of the second run, but training steps are compared."""
    train, test = times([900, 910, 905], ops=50), times([100, 110, 105], ops=3)
    before = run_of(kinds={"train": train, "test": test})
    now = run_of(kinds={"train": train, "test": times([900, 950, 990, 980], ops=4)})
    said = line([before], now)
    assert said["events"] == ""
    assert said["change"].figures["what"] == Text("comparison_steps", which="typical", kind="train ")


def test_a_run_that_took_no_time_has_no_change() -> None:
    assert sentence([run_of(step_ns=[0])], run_of(), can_compare=False) is None
    assert sentence([run_of(kinds={}, whole_ns=None)], run_of(), can_compare=False) is None


def test_the_last_run_that_was_recorded_alike_is_compared_with() -> None:
    assert remember(steps(100, 101), CELL) == []
    assert remember(steps(500, 501), Cell("n.ipynb", "a", "c0de", "python=True")) == []
    assert remember(steps(500, 501), Cell("n.ipynb", "b", "c0de", "")) == []
    (said,) = remember(steps(100, 101), Cell("n.ipynb", "a", "other code", ""))
    assert said.id == "run_and_last"


def test_the_table_has_each_run_and_its_change(folder: Path) -> None:
    runs = [run_of(step_ns=SLOW, time_ns=1), run_of("b", time_ns=2), run_of(step_ns=FAST, time_ns=3)]
    for run in runs:
        keep(folder, run)
    kept = tv.history()
    assert isinstance(kept, tv.History)
    table = kept.table
    assert table["cell"].tolist() == ["a", "b", "a"]
    assert table["step_ns"].tolist() == [run.main.median_ns for run in runs if run.main]
    expected = difference(np.array(SLOW), np.array(FAST))
    assert table[["ratio", "ratio_low", "ratio_high"]].to_numpy()[2].tolist() == list(expected[:3])
    assert table["ratio"].isna().tolist() == [True, True, False]
    assert (table["compared"].tolist(), table["same_code"][2]) == (["", "", "steps"], True)
    assert len(tv.history("b")) == 1
    html = kept._repr_html_()
    assert html is not None
    assert html.count("<tr") == 4


def test_the_table_has_the_spread_between_runs(folder: Path) -> None:
    """By hand: t(0.975, 3) = 3.182 and the logarithms of five runs of two versions of the code."""
    typical_ns = {"one": [10_000, 10_400, 9_900], "two": [20_000, 21_000]}
    runs = [
        run_of(code=code, step_ns=[took] * 6, time_ns=10 * number + (code == "two") * 100)
        for code, times in typical_ns.items()
        for number, took in enumerate(times)
    ]
    # Runs that are compared do not show how much runs differ.
    runs += [run_of(code="new", step_ns=[9_000 * by] * 6, time_ns=200 + by) for by in (1, 2)]
    for run in [*runs, run_of("b", time_ns=500)]:
        keep(folder, run)
    table = tv.history().table
    logs = [np.log(times) for times in typical_ns.values()]
    variance = sum(((one - one.mean()) ** 2).sum() for one in logs) / 3
    assert table["spread_ratio"].isna().tolist() == [True] * 4 + [False] * 3 + [True]
    assert table["spread_ratio"][6] == pytest.approx(np.exp(3.182 * np.sqrt(2 * variance)), rel=0.01)
    assert format_percent(table["spread_ratio"][6] - 1) in line(runs[:-1], runs[-1])["usual"]
    # A single run of the second code shows nothing.
    assert table["spread_runs"].fillna(0).tolist() == [0, 0, 0, 0, 3, 3, 5, 0]


@pytest.mark.parametrize("durations", [[1900], [1000, 1200, 1900], [90_000, 1000, 1200, 1900]])
def test_the_median_step_is_that_of_the_overview_everywhere(durations: list[int]) -> None:
    trace = steps(*durations, kernels=0)
    remember(trace, CELL)
    (took,) = {format_duration(ns) for ns in tv.history().table["step_ns"]}
    assert took == format_duration(trace.overview["steps"]["median_ns"])
    drawn, *_ = drawn_sources(tv.history().chart())
    assert {*drawn.data["step"]} == {took}


def test_no_runs_have_a_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    none = tv.history()
    assert (len(none), why_not(none.table)) == (0, Text("no_runs_kept"))
    with pytest.raises(CannotSayError):
        none.chart()
    with raises_id(KeyError, "no_runs_kept"):
        none.compare()
    for off in ("off", "0", "False"):
        monkeypatch.setenv(VARIABLE, off)
        assert remember(steps(100), CELL) == []
        assert why_not(tv.history().table).id == "history_off"


def test_names_are_text(folder: Path) -> None:
    keep(folder, run_of("<b>x</b>", title="<script>", notebook="<i>"))
    html = tv.history()._repr_html_()
    assert html is not None
    assert not any(name in html for name in ("<b>x", "<script", "<i>"))
    assert "&lt;script&gt;" in html


def test_the_chart_has_a_line_for_each_cell(folder: Path) -> None:
    for number, cell in enumerate("abab"):
        keep(folder, run_of(cell, step_ns=[2_000_000 + number, 1_000_000, 3_000_000], time_ns=number))
    made = tv.history().chart()
    lines = {source.data["run"][0]: source.data for source in drawn_sources(made)}
    assert {tuple(data["run"]) for data in lines.values()} == {(0, 2), (1, 3)}
    assert lines[0]["took"] == pytest.approx([2.0, 2.000002], rel=1e-9)
    low, high = np.quantile([2_000_000, 1_000_000, 3_000_000], (0.05, 0.95)) / 1e6
    assert (lines[0]["low"][0], lines[0]["high"][0]) == pytest.approx((low, high))
    assert all(isinstance(each, GlyphRenderer) for each in made.renderers)


def test_the_last_two_runs_of_a_cell_are_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(history, "_newest", {})
    first, second = steps(100, 101), steps(90, 91)
    remember(first, CELL)
    (said,) = remember(second, CELL)
    assert said.figures["compare"].id == "run_compare"
    shown = tv.history().compare()
    assert (shown.a.trace, shown.b.trace) == (first, second)
    shown.close()
    for _ in range(2):  # as a rerun that sets the same variable
        (said,) = remember(steps(90, 91), CELL)
        assert said.figures["compare"].id == "run_compare"
        tv.history().compare().close()
    monkeypatch.setattr(history, "_MOST_EVENTS", 3)
    remember(steps(90, 91), CELL)
    (said,) = remember(steps(90, 91), CELL)
    assert said.figures["compare"] == ""
    with raises_id(KeyError, "no_run_before", number=0):
        tv.history().compare(after=0)
    with raises_id(KeyError, "no_such_run", number=7):
        tv.history().compare(0, 7)
    del shown, first
    gc.collect()
    with raises_id(ValueError, "trace_of_run_gone", number=0):
        tv.history().compare(0, 1)


def test_a_summary_is_about_the_kind_of_step_of_the_overview() -> None:
    trace = steps(*[1000, 100] * 5)
    trace.step_labels = {step: f"{'test' if step % 2 else 'train'} {step // 2}" for step in range(10)}
    found = summary_of(trace, CELL)
    assert found is not None
    assert found.main is not None
    assert (found.main.steps, found.main.step_ns, found.main.median_ns) == (5, [1000] * 5, 1000)
    assert found.main.loop_ns == [2 * 10**6] * 4
    assert {kind: times.step_ns for kind, times in found.kinds.items()} == {
        "train": [1000] * 5,
        "test": [100] * 5,
    }


TRAIN, TEST = [("train", 9_000), ("train", 9_300)], [("test", 1_000), ("test", 1_100)]
BOTH_KINDS = labelled((TRAIN + TEST * 4) * 8)
PAIRS = {
    "eager loop, steps": (eager(40, "abcab"), marked([80, 85, 81, 84] * 10, 20), "iterations"),
    "steps, eager loop": (marked([80, 85, 81, 84] * 10, 20), eager(40, "abcab"), "iterations"),
    "eager loop, other steps": (eager(40, "abcab"), marked([80, 85, 81, 84] * 5, 20), "recordings"),
    "eager loop, one step": (eager(40, "abcab"), marked([80]), "recordings"),
    "more and fewer iterations": (eager(40, "abcab"), eager(20, "abcab", took=120), "iterations"),
    "other iterations": (eager(40, "abcab"), eager(20, "abd"), "recordings"),
    "an op of an iteration is gone": (eager(40, "abcab"), eager(40, "abca"), "iterations"),
    "no loop": (eager(1, "abcdefg"), eager(1, "abcdefgh"), "recordings"),
    "another kind takes most": (BOTH_KINDS, labelled((TRAIN + TEST * 40) * 8), "steps"),
    "one kind and two": (BOTH_KINDS, labelled(TRAIN * 8), "steps"),
    "steps with other names": (BOTH_KINDS, labelled([("mine", 3_000), ("mine", 3_100)] * 8), "loops"),
    "train and predict": (labelled(TRAIN * 8), labelled([("predict", 500)] * 8), "recordings"),
    "one step and more": (marked([500]), marked([50, 51, 52, 53] * 5), "steps"),
    "pauses": (marked([50, 51, 52, 53] * 5, 900), marked([50, 51, 52, 53] * 5, 100), "loops"),
}


@pytest.mark.parametrize(("before", "now", "compared"), PAIRS.values(), ids=PAIRS)
def test_line_table_and_comparison_agree(before: tv.Trace, now: tv.Trace, compared: str) -> None:
    assert remember(before, CELL) == []
    (said,) = remember(now, CELL)
    headline = comparison_headline(before, now)[0]
    figures = said.figures["change"].figures
    for name in ("a", "b", "change", *(("what",) if "interval" in figures else ())):
        assert figures[name] == headline.figures[name]
    table = tv.history().table
    assert table["compared"].tolist() == ["", compared]
    shown = tv.history()._readable()["compared with the run before"][1]
    is_alike = said.figures["change"].id == "run_alike"
    assert shown.startswith(f"{compared}: {Text('no_clear_difference') if is_alike else figures['change']}")
    assert amount_text(table["ratio"][1]) == figures["change"]
    whole = figures["what"] == Text("run_whole")
    assert whole == (compared == "recordings") == (headline.figures.get("basis", headline).id == WHOLES)
    (block,) = (
        block
        for block in comparison.tab(side(before, None), side(now, None), "Activities")["blocks"]
        if block["title"] == "By activity"
    )
    unit = {"recordings": "Change", "iterations": "Change per iteration"}.get(compared, "Change per step")
    assert unit in [column["label"] for column in block["columns"]]
    has_steps = [table["steps"][at] > 0 for at in (0, 1)]
    assert has_steps == [not math.isnan(ns) for ns in table["step_ns"].astype(float)]
    assert len(set(has_steps)) == 1 or said.figures["events"] == ""


def test_first_iteration_may_create_variables() -> None:
    warm = eager(40, "abcab")
    cold = eager(40, "abcab", before="abcxab", first_ns=10**6)
    found = compare(cold, warm).attrs
    assert (found["unit"], found["steps"]) == ("iterations", (41, 40))
    assert found["loop_time"].ratio == 1


def test_each_row_has_its_own_title(folder: Path) -> None:
    for number, title in enumerate(("eager code", "40 steps: body")):
        keep(folder, run_of(title=title, time_ns=number))
    shown = tv.history()._readable()
    assert shown["recorded"].tolist() == ["eager code", "40 steps: body"]
    assert "cell" not in shown
    keep(folder, run_of("b", time_ns=9))
    assert tv.history()._readable()["cell"].tolist() == [1, 1, 2]


def test_recordings_without_steps_have_own_lines_in_the_chart(folder: Path) -> None:
    whole = run_of(kinds={}, whole_ns=9 * 10**9, time_ns=1)
    for run_kept in (whole, run_of(step_ns=[2 * 10**6] * 4, time_ns=2)):
        keep(folder, run_kept)
    lines = {tuple(source.data["run"]): source.data for source in drawn_sources(tv.history().chart())}
    assert {*lines} == {(0,), (1,)}
    assert tv.history()._readable()["median step"].tolist() == ["\N{EN DASH}", "2.00 ms"]
