"""Comparisons of two traces, checked against sums event by event."""

from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.real_traces import DATA, real_trace
from tests.support.examples import examples
from tests.support.texts import raises_id
from tfvis_nb import Trace, events
from tfvis_nb.analysis import compare, compare_activities, why_not
from tfvis_nb.analysis.steps.breakdown import PARTS
from tfvis_nb.analysis.steps.comparison_headline import comparison_headline
from tfvis_nb.analysis.steps.difference_text import bounds_text
from tfvis_nb.analysis.steps.op_statistics import GROUPINGS, Grouping, op_statistics
from tfvis_nb.texts import Text

CPU, GPU = "/device:CPU:0", "/device:GPU:0"

ROWS = st.lists(
    st.fixed_dictionaries(
        {
            "start_ns": st.integers(0, 40),
            "duration_ns": st.integers(0, 20),
            "step": st.integers(-1, 2),
            "kind": st.sampled_from(["op", "kernel", "host"]),
            "device": st.sampled_from([CPU, GPU]),
            "lane": st.sampled_from(["ops", "python3"]),
            "name": st.sampled_from(["a/b", "a/c", "d"]),
            "op": st.sampled_from(["MatMul", "While", "Add"]),
        }
    ),
    max_size=14,
)


def trace_of(rows: list[dict[str, Any]]) -> Trace:
    columns = {name: [row[name] for row in rows] for name in rows[0]} if rows else {}
    return Trace(events.order(events.build(columns, rows=len(rows)))[0])


def side(trace: Trace, by: Grouping, of: list[int] | None) -> dict[tuple[str, str, str], dict[str, Any]]:
    rows: list[dict[Any, Any]] = op_statistics(trace, by, of).to_dict("records")
    return {(row[by], row["kind"], row["side"]): row for row in rows}


def known(value: Any) -> Any:
    return None if pd.isna(value) else value


@given(ROWS, ROWS, st.sampled_from(GROUPINGS))
def test_every_row(rows_a: list[dict[str, Any]], rows_b: list[dict[str, Any]], by: Grouping) -> None:
    a, b = trace_of(rows_a), trace_of(rows_b)
    table = compare(a, b, by)
    assert bool(why_not(table)) == (not rows_a and not rows_b)
    of_a, of_b = side(a, by, None), side(b, by, None)
    found: list[dict[Any, Any]] = table.to_dict("records")
    assert {(row[by], row["kind"], row["side"]) for row in found} == of_a.keys() | of_b.keys()
    steps = [len(set(trace.events["step"]) - {-1}) for trace in (a, b)]
    if not all(steps):
        steps = [1, 1]
    for row in found:
        key = row[by], row["kind"], row["side"]
        one, other = of_a.get(key), of_b.get(key)
        for end, there in (("a", one), ("b", other)):
            assert row[f"count_{end}"] == (there["count"] if there else 0)
            assert row[f"total_{end}_ns"] == (there["total_ns"] if there else 0)
            assert known(row[f"mean_{end}_ns"]) == (there["mean_ns"] if there else None)
            assert known(row[f"self_{end}_ns"]) == (known(there["self_ns"]) if there else 0)
            assert known(row[f"longest_{end}"]) == (there["longest"] if there else None)
        assert row["difference_ns"] == row["total_b_ns"] - row["total_a_ns"]
        selves = known(row["self_a_ns"]), known(row["self_b_ns"])
        if None in selves:
            assert pd.isna(row["self_difference_ns"])
            assert pd.isna(row["step_difference_ns"])
        else:
            assert row["self_difference_ns"] == selves[1] - selves[0]
            assert row["step_difference_ns"] == pytest.approx(selves[1] / steps[1] - selves[0] / steps[0])
        assert known(row["ratio"]) == (row["total_b_ns"] / row["total_a_ns"] if row["total_a_ns"] else None)
        change = "longer" if row["difference_ns"] > 0 else "shorter" if row["difference_ns"] < 0 else "same"
        assert row["change"] == ("added" if one is None else "removed" if other is None else change)
    assert table["difference_ns"].sum() == b.events["duration_ns"].sum() - a.events["duration_ns"].sum()
    assert (table["step_difference_ns"].abs().fillna(-1).diff().dropna() <= 0).all()


@settings(max_examples=examples(50))
@given(ROWS.filter(bool), st.data())
def test_some_steps(rows: list[dict[str, Any]], data: st.DataObject) -> None:
    trace = trace_of(rows)
    steps = st.lists(st.sampled_from(trace.steps["step"].tolist()), min_size=1, unique=True)
    one, other = data.draw(steps), data.draw(steps)
    table = compare(trace, trace, steps=(one, other))
    durations = trace.events.groupby("step")["duration_ns"].sum()
    assert table["difference_ns"].sum() == durations[other].sum() - durations[one].sum()
    assert table.attrs["steps"] == (len(one), len(other))
    same = compare(trace, trace, steps=(one[0], one))
    assert len(one) > 1 or set(same["change"]) == {"same"}


@settings(max_examples=examples(50))
@given(ROWS, ROWS)
def test_activities_add_up_to_the_steps(rows_a: list[dict[str, Any]], rows_b: list[dict[str, Any]]) -> None:
    a, b = trace_of(rows_a), trace_of(rows_b)
    table = compare_activities(a, b)
    wholes = [trace.breakdown[trace.breakdown["device"] == ""] for trace in (a, b)]
    assert bool(why_not(table)) == all(whole.empty for whole in wholes)
    found = table.set_index("activity")
    for part in PARTS:
        name = part.removesuffix("_ns")
        for end, whole in zip("ab", wholes, strict=True):
            unknown = bool(whole[part].isna().any())
            time = None if unknown else int(whole[part].sum())
            # What took no time in both is left out.
            assert (known(found.loc[name, f"{end}_ns"]) if name in found.index else 0) == time
    if not table["difference_ns"].isna().any():
        steps = [int(whole["step_ns"].sum()) for whole in wholes]
        assert table["difference_ns"].sum() == steps[1] - steps[0]


@pytest.mark.collection("h200/mlp_60steps.tar.xz")
def test_the_step_with_the_larger_batch(shared: Path) -> None:
    trace = real_trace(shared / "h200" / "mlp_60steps.tar.xz")
    table = compare(trace, trace, steps=(7, 13))
    largest = table.iloc[0]
    # The host searches for a way to multiply matrices of the new size.
    assert (largest["op"], largest["kind"], largest["change"]) == ("MatMul", "op", "longer")
    assert trace.events.loc[largest["longest_b"], "duration_ns"] > 20e6
    kernels = table[(table["op"] == "MatMul") & (table["kind"] == "kernel")].iloc[0]
    assert kernels["count_a"] == kernels["count_b"] == 23
    assert 1.5 < kernels["ratio"] < 2.5
    activities = compare_activities(trace, trace, (7, 13))
    duration = trace.steps.set_index("step")["duration_ns"]
    assert activities["difference_ns"].sum() == duration[13] - duration[7]
    assert activities["activity"].tolist()[:2] == ["launch", "h2d"]
    scopes = compare(trace, trace, "scope", (7, 13))
    assert scopes["difference_ns"].sum() == table["difference_ns"].sum()


def test_the_same_step_by_two_versions_of_tensorflow() -> None:
    a, b = (real_trace(DATA / f"gpu_tf{version}_mlp.pb.xz") for version in ("221", "218"))
    table = compare(a, b, "name")
    kernels = table[table["side"] == "device"]
    assert len(kernels) > 20
    assert (kernels["count_a"] > 0).mean() > 0.9
    took = [int(trace.steps["duration_ns"].iloc[0]) for trace in (a, b)]
    assert compare_activities(a, b)["difference_ns"].sum() == took[1] - took[0]


def test_tasks_are_matched_by_name_unless_there_is_one() -> None:
    tasks = [f"/job:worker/task:{number}" for number in range(2)]
    columns: dict[str, Any] = {"start_ns": [0, 0], "duration_ns": [5, 7], "kind": ["op"] * 2}
    two = Trace(events.build({**columns, "task": tasks}))
    one = Trace(events.build({"start_ns": [0], "duration_ns": [9], "kind": ["op"], "task": [tasks[1]]}))
    nameless = Trace(events.build({"start_ns": [0], "duration_ns": [2], "kind": ["op"]}))
    found = compare_activities(one, nameless)
    assert (found["task"].tolist(), found["difference_ns"].tolist()) == ([tasks[1]], [-7])
    differences = compare_activities(two, one).set_index(["task", "activity"])["difference_ns"]
    assert differences.to_dict() == {
        (tasks[0], "host_compute"): -5,
        (tasks[0], "idle"): -2,
        (tasks[1], "host_compute"): 2,
    }


def ops(*durations: int) -> Trace:
    """One op a step, of these durations in microseconds, a pause after each."""
    took = [duration * 1000 for duration in durations]
    starts = [sum(took[:number]) + 1000 * number for number in range(len(took))]
    steps = list(range(len(took)))
    columns = {"start_ns": starts, "duration_ns": took, "kind": ["op"] * len(took), "step": steps}
    return Trace(events.build(columns))


@pytest.mark.parametrize(
    ("a", "b", "figures", "basis"),
    [
        (
            (900, 20, 20, 20),
            (900, 10, 10, 10),
            ("10.0 \u00b5s", "20.0 \u00b5s", "50 % shorter"),
            "typical_steps",
        ),
        ((20, 20), (20, 20, 20), ("20.0 \u00b5s", "20.0 \u00b5s", "no change"), "typical_steps"),
        ((20,), (400,), ("400 \u00b5s", "20.0 \u00b5s", "20.0 times as long"), "two_steps"),
        ((200,), (199,), ("199 \u00b5s", "200 \u00b5s", "0.5 % shorter"), "two_steps"),
    ],
)
def test_headline_of_few_steps_does_not_rule_out_chance(
    a: tuple[int, ...], b: tuple[int, ...], figures: tuple[str, ...], basis: str
) -> None:
    sentence, *parts = comparison_headline(ops(*a), ops(*b))
    assert sentence.id == "comparison_few"
    assert tuple(sentence.figures[name] for name in ("b", "a", "change")) == figures
    assert sentence.figures["basis"] == Text(f"comparison_of_{basis}")
    changes = [] if figures[2] in ("no change", "0.5 % shorter") else ["comparison_parts"]
    assert [part.id for part in parts] == [*changes, "comparison_by_chance"]


@pytest.mark.parametrize(
    ("a", "b", "key", "figures"),
    [
        (
            (9000, 195, 201, 199, 205, 194, 206, 198, 202),
            (4000, 95, 101, 99, 105, 94, 106, 98, 102),
            "recordings_differ",
            ("200 \u00b5s", "100 \u00b5s", "50 % shorter"),
        ),
        (
            (20, 22, 24, 26, 28),
            (21, 23, 25, 27, 29),
            "not_shown",
            ("24.0 \u00b5s", "25.0 \u00b5s", "4.2 % longer"),
        ),
        (
            (18, 22, 19, 21, 20, 20),
            (180, 220, 190, 210, 200, 200),
            "recordings_differ",
            ("20.0 \u00b5s", "200 \u00b5s", "10.0 times as long"),
        ),
    ],
)
def test_the_headline_has_the_interval_of_typical_steps(
    a: tuple[int, ...], b: tuple[int, ...], key: str, figures: tuple[str, ...]
) -> None:
    sentence, *parts = comparison_headline(ops(*a), ops(*b))
    assert sentence.id == f"comparison_{key}"
    assert tuple(sentence.figures[name] for name in ("a", "b", "change")) == figures
    is_shown = key == "recordings_differ"
    expected = ["comparison_parts", "comparison_runs_also_differ"] if is_shown else []
    assert [part.id for part in parts] == expected
    found = compare(ops(*a), ops(*b)).attrs["step_time"]
    assert sentence.figures["interval"] == bounds_text(found.ratio, found.low, found.high, shown=is_shown)
    assert found.shown == is_shown


def test_the_headline_names_the_sides_and_the_change() -> None:
    trace = ops(20, 20, 60)
    for both in ((trace, ops(20, 20, 60)), (ops(20), ops(20))):
        assert comparison_headline(*both) == [Text("comparison_with_itself")]
    assert comparison_headline(trace, trace, (0, None))[0].figures["basis"] == Text(
        "comparison_with_step_of_a", which="the median", steps=3
    )
    sentence, changes, _ = comparison_headline(trace, trace, (None, 2))
    assert sentence.figures["basis"] == Text("comparison_with_step_of_b", which="the median", steps=3)
    sentence = comparison_headline(ops(20, 21, 22), ops(60))[0]
    assert sentence.figures["basis"] == Text("comparison_with_step_of_b", which="a typical one", steps=3)
    assert changes.figures["parts"] == "+40.0 \u00b5s host compute"
    assert len(comparison_headline(trace, trace, (None, 2), parts=False)) == 2
    loose = Trace(
        events.build({"start_ns": [0, 50], "duration_ns": [10, 40], "kind": ["op"] * 2, "step": [-1, -1]})
    )
    (whole,) = comparison_headline(loose, trace)
    reason = Text("undivided_sides", sides="A")
    assert whole.figures["a"] == "90 ns"
    assert whole.figures["basis"] == Text("comparison_of_wholes", reason=reason)
    assert comparison_headline(Trace(events.build({}, rows=0)), trace) == []


def test_wrong_arguments() -> None:
    trace = Trace(events.build({"start_ns": [0], "duration_ns": [1], "kind": ["op"]}))
    with raises_id(ValueError, "not_one_of", choices="op, name, scope, device, layer, line"):
        compare(trace, trace, "lane")  # type: ignore[arg-type]
    with raises_id(ValueError, "no_step", step=4):
        compare(trace, trace, steps=(0, 4))
    with raises_id(ValueError, "no_step", step=5):
        compare_activities(trace, trace, ([5], 0))
    nothing = Trace(events.build({}, rows=0))
    assert why_not(compare(nothing, nothing)).id == "no_events_in_both"
    assert why_not(compare_activities(nothing, nothing)).id == "no_steps"
    assert compare(nothing, trace)["change"].tolist() == ["added"]
    for empty, some in (
        (compare(nothing, nothing), compare(trace, trace)),
        (compare_activities(nothing, nothing), compare_activities(trace, trace)),
    ):
        assert empty.dtypes.astype(str).to_dict() == some.dtypes.astype(str).to_dict()
