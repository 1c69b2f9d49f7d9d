"""Checks and their results: sums over events, limits as texts, planted changes."""

import re
from contextlib import suppress
from pathlib import Path
from statistics import median_low
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tfvis_nb as tv
from tests.real_traces import DATA, real_trace
from tests.support.made_steps import CPU, GPU, built
from tests.support.repeated_steps import repeated
from tfvis_nb import Trace, events
from tfvis_nb.analysis import check, gate_metrics, why_not
from tfvis_nb.analysis.gates.gate_metrics import METRICS, unit_of
from tfvis_nb.analysis.gates.limits import limit_of, share_of
from tfvis_nb.analysis.gates.report import as_text, cells, verdict
from tfvis_nb.core.amounts import BYTES, NANOSECONDS
from tfvis_nb.core.metadata import RUNS, table_of
from tfvis_nb.texts import id_of, text_of

STEP = DATA / "local_mlp_step1.pb"


def values(trace: Trace) -> dict[str, float]:
    table = gate_metrics(trace)
    return dict(zip(table["metric"], table["value"], strict=True))


def results(table: Any) -> dict[str, str]:
    return dict(zip(table["metric"], table["result"], strict=True))


@pytest.mark.parametrize(
    "name", ["gpu_tf221_mlp.pb.xz", "gpu_tf218_function.xplane.pb.xz", "cpu_tf18_dist.pb.xz"]
)
def test_metrics_are_sums_over_the_events_of_a_step(name: str) -> None:
    trace = real_trace(DATA / name)
    found = values(trace)
    table = trace.events[trace.events["step"] >= 0]
    steps = [number for number in trace.steps["step"] if number >= 0]

    def middle(kind: str, direction: str = "", column: str = "") -> float:
        rows = table[table["kind"] == kind]
        rows = rows[(rows["op"].astype(str) + rows["lane"].astype(str)).str.contains(direction)]
        each = [rows[rows["step"] == step] for step in steps]
        return median_low([part[column].sum() if column else len(part) for part in each])

    has_gpu = (table["kind"] == "kernel").any()
    expected: dict[str, float] = {"ops": middle("op")}
    if has_gpu:
        expected |= {"kernels": middle("kernel"), "copies": middle("memcpy")}
        expected["launches"] = median_low(
            [
                table[(table["step"] == step) & table["kind"].isin(["kernel", "memcpy", "memset"])].shape[0]
                for step in steps
            ]
        )
        expected["h2d_bytes"] = middle("memcpy", "HtoD|H2D", "bytes")
        expected["d2h_bytes"] = middle("memcpy", "DtoH|D2H", "bytes")
    if (table["kind"] == "transfer").any():
        expected["network_bytes"] = middle("transfer", column="bytes")
    assert {metric: found[metric] for metric in expected} == expected
    assert np.isnan(found["kernels"]) == (not has_gpu)
    assert found["peak_bytes"] == trace.overview["memory"][0]["peak_bytes"]


def test_retraces_and_compilations_are_those_of_all_functions() -> None:
    trace = real_trace(DATA / "cpu_tf221_keras_fit.xplane.pb.xz")
    found = values(trace)
    for metric in ("retraces", "compilations"):
        assert found[metric] == trace.functions[metric].sum()


def test_a_count_is_that_of_the_median_step() -> None:
    """A copy outside steps counts to the step in which it began."""
    gpu: dict[str, Any] = {"kind": "kernel", "lane": "stream:1", "device": GPU}
    copy = {"kind": "memcpy", "lane": "memcpy H2D", "device": GPU, "bytes": 8}
    rows = [
        gpu | {"start_ns": 10 * step + at, "duration_ns": 1, "step": step}
        for step in range(3)
        for at in range(step + 1)
    ]
    rows += [copy | {"start_ns": 14, "duration_ns": 9, "step": -1}]
    found = values(built([*rows, {"start_ns": 0, "duration_ns": 9, "step": 0, "device": CPU}]))
    assert (found["kernels"], found["copies"]) == (2, 0)
    assert found["h2d_bytes"] == 0


@given(
    st.sampled_from([name for name in METRICS if unit_of(name) == "bytes"]),
    st.integers(0, 10**6),
    st.integers(0, 999),
    st.sampled_from([*BYTES]),
    st.booleans(),
)
def test_limits_with_units_are_read_exactly(
    metric: str, whole: int, part: int, unit: str, spaced: bool
) -> None:
    text = f"{whole}.{part:03}{' ' if spaced else ''}{unit}"
    # Python rounds a quotient of integers once, however large they are.
    assert limit_of(metric, text) == (whole * 1000 + part) * BYTES[unit] / 1000
    assert limit_of(metric, text.upper()) == limit_of(metric, text)


@given(st.integers(1, 10**9), st.sampled_from([*NANOSECONDS]))
def test_times_are_read_in_their_units(count: int, unit: str) -> None:
    assert limit_of("step_ms", f"{count}{unit}") == pytest.approx(count * NANOSECONDS[unit] / 1e6)
    assert limit_of("step_ms", f"{count}") == limit_of("step_ms", count) == count


@given(st.text(max_size=12) | st.floats() | st.none() | st.lists(st.integers()))
def test_anything_is_an_amount_or_refused(limit: Any) -> None:
    for metric in ("launches", "peak_bytes", "step_ms", "worse"):
        starts_wrong = isinstance(limit, str) and not re.match("[0-9]", limit)
        with suppress(ValueError) if not starts_wrong else pytest.raises(ValueError):  # noqa: PT011
            number = share_of(limit) if metric == "worse" else limit_of(metric, limit)
            assert 0 <= number < np.inf


@pytest.mark.parametrize(
    ("arguments", "id_of_error"),
    [
        ({"limits": {"launchs": 5}}, "no_such_metric"),
        ({"limits": {"step_ms": 0}}, "no_limit"),
        ({"limits": {"launches": "5ms"}}, "no_limit"),
        ({"limits": {"launches": True}}, "no_limit"),
        ({"limits": {"ops": 1}, "worse": "5"}, "no_share"),
        ({"limits": {"ops": 1}, "worse": 20}, "no_share"),
        ({"limits": {"ops": 1}, "worse": {"step_ms": 1.01}}, "no_share"),
        ({"limits": {"ops": 1}, "worse": {"step_ms": "5"}}, "no_share"),
        ({"limits": {"ops": 1}, "worse": {"step": "5%"}}, "no_such_metric"),
        ({"limits": {"ops": 1}, "worse": {"input_ms": "5%"}}, "share_without_base"),
        ({"limits": {}}, "nothing_to_check"),
    ],
)
def test_what_cannot_be_checked_is_refused(arguments: dict[str, Any], id_of_error: str) -> None:
    with pytest.raises(ValueError) as caught:  # noqa: PT011
        check(real_trace(STEP), **arguments)
    assert text_of(caught.value).id == id_of_error


def test_a_base_is_a_trace() -> None:
    base: Any = str(STEP)
    with pytest.raises(TypeError) as caught:
        check(real_trace(STEP), {}, against=base)
    assert text_of(caught.value).id == "no_trace"


def test_limits_on_counts_need_no_steps_that_vary() -> None:
    trace = real_trace(DATA / "gpu_tf221_mlp.pb.xz")
    launches = values(trace)["launches"]
    table = check(trace, {"launches": launches, "copies": 0, "retraces": 0, "step_ms": 1e9})
    assert results(table) == {
        "launches": "ok",
        "copies": "worse",
        "retraces": "unknown",
        "step_ms": "unknown",
    }
    assert [id_of(reason) for reason in table["reason"]] == ["", "", "no_functions", "one_step"]
    assert verdict(table) == "worse"
    assert verdict(check(trace, {"launches": launches, "step_ms": 1e9})) == "unknown"


def test_against_a_base_counts_decide_and_a_single_time_does_not() -> None:
    """The time of one step is not known well enough; that does not fail the check."""
    trace = real_trace(DATA / "gpu_tf221_mlp.pb.xz")
    table = check(trace, {}, against=trace)
    assert results(table)["step_ms"] == "unknown"
    assert set(table["result"][table["metric"] != "step_ms"]) == {"ok"}
    assert verdict(table) == "ok"
    other = check(trace, {}, against=real_trace(STEP))
    assert results(other)["ops"] == "worse"
    assert results(other)["kernels"] == "unknown"


@pytest.mark.parametrize(("share", "result"), [("10%", "ok"), (0.09, "worse"), ({"step_ms": 1}, "worse")])
def test_worse_is_more_than_the_share(share: Any, result: str) -> None:
    def ops(count: int) -> Trace:
        return Trace(
            events.build({"start_ns": range(count), "duration_ns": [1] * count, "kind": ["op"] * count})
        )

    assert results(check(ops(11), {}, against=ops(10), worse=share))["ops"] == result


def test_traces_without_anything_in_common_are_not_ok() -> None:
    empty = Trace(events.build({}, rows=0))
    table = check(empty, {}, against=empty)
    assert table.empty
    assert verdict(table) == "unknown"


@pytest.mark.parametrize(
    "seed", [pytest.param(seed, marks=[] if seed < 3 else [pytest.mark.thorough]) for seed in range(50)]
)
def test_a_slowed_copy_is_worse_and_an_equal_one_is_not(seed: int) -> None:
    step = real_trace(STEP)
    base = repeated(step, 15, 1000 + seed)
    typical = values(base)["step_ms"]
    equal = check(repeated(step, 15, seed), {"step_ms": 1.2 * typical}, against=base)
    assert verdict(equal) == "ok"
    slower = repeated(step, 15, seed, factor=1.25)
    slowed = check(slower, {"step_ms": 1.1 * typical}, against=base, worse={"step_ms": "5%"})
    assert verdict(slowed) == "worse"
    assert set(slowed["result"][slowed["metric"] == "step_ms"]) == {"worse"}


@pytest.mark.parametrize(
    ("seen", "share", "factor", "result", "reason"),
    [
        ((), {}, 1.25, "unknown", "recordings_differ"),
        ((), {"step_ms": "5%"}, 1.25, "worse", "recordings_differ_by_more"),
        ((), "5%", 1.25, "worse", "recordings_differ_by_more"),
        ((), {"ops": "5%"}, 1.25, "unknown", "recordings_differ"),
        ((1.0, 1.3, 0.8, 1.2), {"step_ms": "5%"}, 1.25, "unknown", "recordings_differ_as_runs"),
        ((1.0, 1.01, 0.99, 1.0), {}, 1.25, "worse", "recordings_differ_beyond_runs"),
        ((1.0, 1.01, 0.99, 1.0), {"step_ms": "40%"}, 1.25, "ok", ""),
        ((), {}, 1.0, "ok", ""),
    ],
)
def test_one_run_is_worse_only_beyond_what_runs_differ(
    seen: tuple[float, ...], share: Any, factor: float, result: str, reason: str
) -> None:
    """Without a share of the user's own and without earlier runs, nothing shows that the code is slower."""
    step = real_trace(STEP)
    base, other = repeated(step, 15, 1), repeated(step, 15, 2, factor=factor)
    typical_ns = values(base)["step_ms"] * 1e6
    rows = [
        {"code": "same", "time_ns": number, "step_ns": round(typical_ns * one)}
        for number, one in enumerate(seen)
    ]
    if rows:
        base = Trace(base.events, metadata={RUNS: table_of(RUNS, rows)})
    table = check(other, {}, against=base, worse=share)
    (row,) = table[table["metric"] == "step_ms"].to_dict("records")
    assert (row["result"], id_of(row["reason"])) == (result, reason)
    assert verdict(table) == ("worse" if result == "worse" else "ok")


def test_the_reason_names_the_side_that_lacks_steps() -> None:
    one, several = real_trace(STEP), repeated(real_trace(STEP), 8, 0)
    for trace, base, reason in (
        (one, several, "one_step"),
        (several, one, "not_in_base"),
        (one, one, "one_step"),
    ):
        table = check(trace, {}, against=base)
        assert id_of([*table["reason"]][-1]) == reason


def test_times_that_vary_too_much_are_not_known() -> None:
    step = real_trace(STEP)
    wild = repeated(step, 5, 3, spread=1.0)
    limit = 0.9 * values(wild)["step_ms"]
    assert results(check(wild, {"step_ms": limit})) == {"step_ms": "unknown"}


def test_value_interval_and_result_of_a_time_agree() -> None:
    """The value is the trimmed mean of the steps, and the interval contains it and decides."""
    steps = repeated(real_trace(STEP), 20, 7)
    durations = sorted(steps.steps["duration_ns"])
    value = values(steps)["step_ms"]
    assert value == pytest.approx(np.mean(durations[4:16]) / 1e6)
    seen = set()
    for factor in (0.9, 0.96, 0.999, 1.001, 1.04, 1.1):
        (row,) = check(steps, {"step_ms": factor * value}).to_dict("records")
        assert row["value"] == value
        assert row["low"] < value / row["allowed"] < row["high"]
        assert row["result"] == ("worse" if row["low"] > 1 else "unknown" if row["high"] > 1 else "ok")
        seen.add(row["result"])
    assert seen == {"worse", "unknown", "ok"}
    table = check(steps, {}, against=steps, worse={"step_ms": 0.001})
    assert (results(table)["step_ms"], verdict(table)) == ("unknown", "ok")


def test_a_predicted_trace_passes_for_no_recorded_one(tmp_path: Path) -> None:
    recorded = repeated(real_trace(STEP), 8, 0)
    recorded.what_if(ops={"*": 0.5}).to_parquet(tmp_path / "p.parquet")
    predicted = tv.read_trace(tmp_path / "p.parquet")
    for trace, base in ((predicted, None), (predicted, recorded), (recorded, predicted)):
        table = check(trace, {"step_ms": 1e9, "ops": 1e9}, against=base)
        about = table[table["bound"] == ("limit" if base is None else "base")]
        assert set(about["result"]) == {"unknown"}
        reason = "not_in_base" if base is predicted else "not_recorded"
        assert {id_of(reason) for reason in about["reason"]} == {reason}
        assert verdict(table) == "unknown"
    assert why_not(predicted.memory).id == "memory_not_predicted"


def test_a_first_step_that_is_set_apart_does_not_count() -> None:
    columns = {"kind": ["op"] * 5, "step": range(5)}
    start = np.cumsum([0, 900, 10, 11, 10])
    trace = Trace(events.build({"start_ns": start, "duration_ns": [900, 10, 11, 10, 12]} | columns))
    assert values(trace)["step_ms"] == 10.75 / 1e6


def test_an_assertion_names_what_fails_first() -> None:
    trace = real_trace(DATA / "gpu_tf221_mlp.pb.xz")
    tv.assert_trace(trace, launches="500", against=trace)
    with pytest.raises(AssertionError) as caught:
        tv.assert_trace(trace, launches=1, retraces=0, ops=10_000)
    first, *table = str(caught.value).splitlines()
    assert ("launches" in first, "retraces" in first, "ops" in first) == (True, True, False)
    assert len(table) == 4


def test_a_table_has_one_line_for_each_check() -> None:
    table = check(real_trace(STEP), {"ops": 1, "kernels": 1}, against=real_trace(STEP))
    assert len(as_text(table).splitlines()) == len(table) + 1 == len(cells(table)) + 1


def test_metrics_are_those_of_the_kind_of_step_of_the_overview() -> None:
    rows = [
        {"op": "MatMul", "step": step, "start_ns": 10**8 * step + 10**6 * op, "duration_ns": 10**6}
        for step in range(14)
        for op in range(1 if step % 2 else 4)
    ]
    columns = {name: [row[name] for row in rows] for name in rows[0]}
    columns |= {"kind": ["op"] * len(rows), "device": [CPU] * len(rows), "lane": ["ops"] * len(rows)}
    labels = {step: f"{'test' if step % 2 else 'train'} {step // 2}" for step in range(14)}
    trace = Trace(events.build(columns), step_labels=labels)
    assert (values(trace)["ops"], values(trace)["step_ms"]) == (4, 4)
