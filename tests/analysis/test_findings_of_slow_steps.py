"""Findings of slow steps: steps with more work, and steps that take longer for the same work."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

import tfvis_nb as tv
from tests.support.h200_traces import read_h200
from tfvis_nb import events
from tfvis_nb.core.metadata import GC_PAUSES, PYTHON_SAMPLES, THREAD_SAMPLES, table_of

MS = 1_000_000


def _steps(durations: list[int], work: list[int]) -> tv.Trace:
    starts = np.cumsum([0, *durations[:-1]]) + np.arange(len(durations)) * 10
    ops = {"kind": "op", "op": "MatMul", "device": "/device:GPU:0", "lane": "ops"}
    rows = [
        {**ops, "step": step, "start_ns": start, "duration_ns": took}
        for step, (start, took) in enumerate(zip(starts, durations, strict=True))
    ]
    rows += [
        {**row, "kind": "kernel", "lane": "stream:1", "duration_ns": kernel}
        for row, kernel in zip(rows, work, strict=True)
    ]
    table, _ = events.order(events.build({name: [row[name] for row in rows] for name in rows[0]}))
    return tv.Trace(table)


def test_steps_with_more_work_differ_from_slower_steps() -> None:
    trace = _steps([1000] * 6 + [2000, 1000, 3000, 1000], [600] * 6 + [1200, 600, 600, 600])
    table = trace.findings
    slow = table[table["kind"] == "slow steps"]
    more, longer = (slow[slow["id"] == f"slow_steps.{case}"].iloc[0] for case in ("more_work", "longer"))
    assert (more["figures"]["steps"], more["lost_ns"]) == ([6], 1000)
    assert (longer["figures"]["steps"], longer["lost_ns"]) == ([8], 2000)
    assert more["figures"]["work_ratios"] == [2, 2]


@pytest.mark.parametrize(("slow", "rest"), [(7, "1 other"), (8, "2 others")])
def test_steps_beyond_six_are_counted(slow: int, rest: str) -> None:
    # At distances without a period.
    starts = [1 + step * (step + 5) // 2 for step in range(slow)]
    durations = [3000 if step in starts else 1000 for step in range(90)]
    table = _steps(durations, [600] * 90).findings
    title = table[table["id"] == "slow_steps.longer"]["title"].iloc[0]
    assert title.split(" and ")[1].split(" take")[0] == rest


@pytest.mark.parametrize(
    ("label", "named"), [("train 9", True), ("b_07", True), ("train 08", False), ("", False)]
)
def test_a_label_with_another_number_is_named(label: str, *, named: bool) -> None:
    trace = _steps([1000] * 8 + [3000, 1000], [600] * 10)
    trace.step_labels = {8: label}
    (longer,) = trace.findings.query("id == 'slow_steps.longer'").to_dict("records")
    assert longer["step"] == 8
    assert longer["figures"].get("step_label") == (label if named else None)
    assert (f"({label})" in longer["text"]) == named


@pytest.mark.thorough
@pytest.mark.collection("h200/mlp_60steps.tar.xz")
def test_the_slowest_step_with_more_work_has_its_own_cause() -> None:
    table = read_h200(["mlp_60steps.tar.xz"]).findings.set_index("id")
    figures = table["figures"]["slow_steps.more_work"]
    assert (figures["steps"], figures["step"], figures["stalls"]) == ([13, 33, 53], 13, True)
    assert (figures["excess_ns"] // 10**5, figures["work_excess_ns"] // 1000) == (234, 106)
    assert (figures["activity"], figures["op"], figures["op_kind"]) == ("launch", "MatMul", "op")
    assert figures["own_part"] > 0.9
    # The batch is 8 times as large: 512 KiB of input, and some shapes.
    assert figures["h2d_bytes"] == [524_304, 4_194_320, 4_194_320]


def test_more_copies_in_each_slow_step_mean_a_larger_batch() -> None:
    trace = _steps([1000] * 6 + [2000, 1000, 2000, 1000], [600] * 6 + [1200, 600, 1200, 600])
    size = [64] * 6 + [512, 64, 640, 64]
    assert _h2d_bytes(trace) is None
    assert _h2d_bytes(_with_copies(trace, size)) == [64, 512, 640]
    assert _h2d_bytes(_with_copies(trace, [*size[:8], 64, 64])) is None


def _h2d_bytes(trace: tv.Trace) -> list[int] | None:
    found: dict[str, Any] = trace.findings.set_index("id")["figures"]["slow_steps.more_work"]
    return found["h2d_bytes"]  # type: ignore[no-any-return]


def _with_copies(trace: tv.Trace, sizes: list[int]) -> tv.Trace:
    """Add a copy to the device to each step."""
    starts = trace.events.groupby("step")["start_ns"].min()
    here = {"kind": "memcpy", "lane": "memcpy H2D", "device": "/device:GPU:0", "source": "/device:CPU:0"}
    copies: dict[str, Any] = {name: [text] * len(sizes) for name, text in here.items()}
    copies |= {"destination": copies["device"], "duration_ns": [1] * len(sizes), "bytes": sizes}
    rows = pd.concat(
        [trace.events, events.build({**copies, "step": starts.index, "start_ns": starts.to_numpy() + 1})]
    )
    table, _ = events.order(events.build({name: rows[name].to_numpy() for name in events.COLUMNS}))
    return tv.Trace(table)


def test_a_stall_is_one_host_event_and_threads_are_summed() -> None:
    trace = _steps([1000] * 6 + [3000, 1000, 1000, 1000], [100] * 6 + [200, 100, 100, 100])
    stalled = trace.findings.query("kind == 'slow steps'")
    assert stalled["id"].tolist() == ["slow_steps.more_work"]
    assert stalled["figures"].tolist()[0]["stalls"]
    cpu = {"kind": "op", "op": "MatMul", "device": "/device:CPU:0", "name": "MatMul"}
    took = [1000] * 6 + [3000] + [1000] * 3
    rows: list[dict[str, Any]] = [
        {**cpu, "step": step, "start_ns": step * 10_000, "lane": lane, "duration_ns": took[step]}
        for step in range(10)
        for lane in ("ops", "ops (1)")
    ]
    table = events.build({name: [row[name] for row in rows] for name in rows[0]})
    longer = tv.Trace(table).findings.query("kind == 'slow steps'")
    assert longer["id"].tolist() == ["slow_steps.longer"]
    known = {"activity": "host_compute", "activity_ns": 2000, "op": "MatMul", "op_ns": 4000}
    assert known.items() <= longer["figures"].tolist()[0].items()


@pytest.mark.parametrize(("more", "named"), [(199, ""), (200, "MatMul")])
def test_an_op_with_hardly_any_of_the_extra_time_is_not_named(more: int, named: str) -> None:
    rows = [
        {"step": step, "start_ns": step * 10_000 + at, "duration_ns": took, "op": op}
        for step in range(10)
        for at, took, op in (
            (0, 100 + more * (step == 6), "MatMul"),
            (2990 if step == 6 else 990, 10, "Add"),
        )
    ]
    table = events.build({name: [row[name] for row in rows] for name in rows[0]} | {"kind": ["op"] * 20})
    (figures,) = tv.Trace(table).findings.query("id == 'slow_steps.longer'")["figures"]
    assert (figures["excess_ns"], figures["op"]) == (2000, named)


def test_a_step_longer_by_device_work_has_no_other_cause() -> None:
    trace = _steps([1000] * 6 + [2000, 1000, 1000, 1000], [500] * 6 + [1500, 500, 500, 500])
    table = trace.findings
    assert table["id"].tolist()[-1] == "slow_steps.more_work"
    assert not table["figures"].tolist()[-1]["stalls"]


def test_a_slow_first_step_is_none_of_the_slow_steps() -> None:
    assert _steps([5000] + [1000] * 9, [100] * 10).findings.query("kind == 'slow steps'").empty


@pytest.mark.parametrize(
    ("durations", "long", "excess"),
    [
        ([1000] * 7 + [2000] * 3, 3, 3000),
        ([2000] * 7 + [1000] * 3, 6, 6000),
        ([1000] * 3 + [1200, 1400] + [1600] * 5, 5, 3000),
        ([1000] * 3 + [1200, 1400] + [1499] * 5, 0, 0),
        ([2000] * 9 + [1000], 0, 0),
    ],
)
def test_steps_of_unlike_length_are_told(durations: list[int], long: int, excess: int) -> None:
    trace = _steps(durations, [100] * 10)
    slow = trace.findings.query("kind == 'slow steps'")
    assert slow["id"].tolist() == ["slow_steps.uneven"] * bool(long)
    if long:
        figures, level = slow["figures"].tolist()[0], slow["level"].tolist()
        assert (figures["long_steps"], figures["steps"], level) == (long, 9, ["observation"])
        assert figures["share"] == excess / sum(durations)
        assert (
            durations[figures["step"]] >= 1.5 * durations[figures["short_step"]] == 1.5 * figures["short_ns"]
        )
        tv.show_comparison(trace, steps=(figures["step"], figures["short_step"]))


def test_the_second_step_may_be_slow() -> None:
    first, slow = 20_000, 5000
    trace = _steps([first, slow, *[1000] * 8], [600] * 10)
    longer = trace.findings.set_index("id").loc["slow_steps.longer"]
    assert (longer["figures"]["steps"], longer["lost_ns"]) == ([1], slow - 1000)


def test_one_slow_step_in_a_period_is_a_problem() -> None:
    durations = [3000 if step % 5 == 4 else 1000 for step in range(30)]
    durations[7] = 1600
    found = _steps(durations, [600] * 30).findings.set_index("id")
    periodic = found.loc["slow_steps.periodic"]
    assert (periodic["level"], periodic["figures"]["period"]) == ("problem", 5)
    assert periodic["figures"]["steps"] == [4, 9, 14, 19, 24, 29]
    assert found["figures"]["slow_steps.longer"]["steps"] == [7]


@pytest.mark.parametrize(
    ("steps", "slow", "reported"), [(8, 2, True), (8, 4, False), (20, 4, True), (20, 5, False)]
)
def test_of_few_steps_almost_half_may_be_slow(steps: int, slow: int, *, reported: bool) -> None:
    durations = [1000] * (steps - slow) + [4000] * slow
    assert ("slow_steps.longer" in set(_steps(durations, [600] * steps).findings["id"])) == reported


def test_slow_steps_without_a_period_are_minor() -> None:
    durations = [4000 if step in (4, 6, 13, 21) else 1000 for step in range(30)]
    found = _steps(durations, [600] * 30).findings.set_index("id")
    assert (found["level"]["slow_steps.longer"], found["share"]["slow_steps.longer"] > 0.1) == ("minor", True)


@pytest.mark.parametrize(
    ("op", "each_ns", "level"), [("SaveV2", 0, "problem"), ("PyFunc", 10, "problem"), ("MatMul", 10, "minor")]
)
def test_slow_step_of_an_op_that_others_do_not_run_is_a_problem(op: str, each_ns: int, level: str) -> None:
    rows = [
        {"op": name, "start_ns": 1000 * step + start, "duration_ns": took, "step": step}
        for step in range(10)
        for name, start, took in (("Conv2D", 0, 400), ("Add", 500, 300), (op, 900, each_ns))
        if took and not (name == op and step == 9)
    ]
    rows.append({"op": op, "start_ns": 9900, "duration_ns": 5000, "step": 9})
    columns = {name: [row[name] for row in rows] for name in rows[0]}
    more = {"kind": ["op"] * len(rows), "device": ["/device:CPU:0"] * len(rows), "lane": ["ops"] * len(rows)}
    found = tv.Trace(events.build(columns | more)).findings.set_index("id").loc["slow_steps.longer"]
    assert (found["level"], found["figures"]["op"]) == (level, op)


def test_slow_op_that_all_steps_run_is_minor() -> None:
    durations = [4000 if step == 4 else 1000 for step in range(10)]
    level = _steps(durations, [0] * 10).findings.set_index("id")["level"]["slow_steps.longer"]
    assert level == "minor"


def _with_python(
    took_ms: dict[int, int], *, line_of: dict[int, int] | None = None, call: str = "train"
) -> tv.Trace:
    """Return 28 steps of a tf.function of 2 ms, and Python after it; its line is sampled each 10 ms."""
    rows: list[tuple[str, str, int, int, int]] = []
    samples: list[dict[str, Any]] = []
    at = 0
    for step in range(28):
        python = took_ms.get(step, 0)
        rows += [(call, "host", at, 2 + python, step), ("FunctionRun", "host", at, 2, step)]
        rows.append(("MatMul", "op", at, 2, step))
        line = (line_of or {}).get(step, 7)
        samples += [
            {"time_ns": (at + 2 + ms) * MS, "file": "train.py", "line": line, "function": "save"}
            for ms in range(1, python, 10)
        ]
        at += 2 + python
    op, kind, start, took, number = map(list, zip(*rows, strict=True))
    columns = {"op": op, "name": op, "kind": kind, "lane": ["python"] * len(op), "step": number}
    columns |= {"start_ns": [ms * MS for ms in start], "duration_ns": [ms * MS for ms in took]}
    columns["device"] = ["/device:CPU:0"] * len(op)
    metadata = {PYTHON_SAMPLES: table_of(PYTHON_SAMPLES, samples)}
    return tv.Trace(events.build(columns), step_labels=dict.fromkeys(range(28), "train"), metadata=metadata)


@pytest.mark.parametrize("every", [4, 5, 7, 9])
def test_python_of_periodic_steps_is_no_python_of_each_step(every: int) -> None:
    trace = _with_python(dict.fromkeys(range(every - 1, 28, every), 200))
    table = trace.findings
    assert table["id"].tolist() == ["slow_steps.periodic"]
    figures = table["figures"][0]
    assert (figures["period"], figures["python"]["line"]) == (every, "train.py:7")
    assert "train.py:7" in table["advice"][0]
    assert trace.overview["headline"].startswith(f"One in {every} steps takes longer")


def test_collections_of_slow_steps_name_the_line_that_collects() -> None:
    trace = _with_python({11: 200, 20: 300})
    steps = trace.steps.set_index("step")["start_ns"]
    pauses = [{"time_ns": int(steps[step]) + 5 * MS, "duration_ns": 150 * MS} for step in (11, 20)]
    trace.metadata[GC_PAUSES] = table_of(GC_PAUSES, pauses)
    (found,) = trace.findings.query("id == 'slow_steps.longer'").to_dict("records")
    assert found["figures"]["gc"]["ns"] == 300 * MS
    assert found["figures"]["gc"]["python"]["line"] == "train.py:7"
    assert "gc.collect()" in found["advice"]
    trace.metadata[GC_PAUSES] = table_of(GC_PAUSES, [pauses[0] | {"duration_ns": 20 * MS}])
    trace = tv.Trace(trace.events, step_labels=trace.step_labels, metadata=trace.metadata)
    (found,) = trace.findings.query("id == 'slow_steps.longer'").to_dict("records")
    assert found["figures"]["gc"] is None


def test_python_of_a_few_steps_names_its_line() -> None:
    (found,) = _with_python({11: 200, 20: 300}).findings.to_dict("records")
    assert (found["id"], found["level"]) == ("slow_steps.longer", "problem")
    assert "train.py:7" in found["advice"]


def test_advice_is_not_about_a_line_in_one_sample() -> None:
    found = _with_python({11: 10}).findings.set_index("id").loc["slow_steps.longer"]
    assert found["figures"]["python"]["samples"] == 1
    assert "train.py:7" in found["text"]
    assert "train.py:7" not in found["advice"]


def test_few_steps_with_most_extra_time_are_slow() -> None:
    noise = dict.fromkeys((3, 5, 8, 12, 14, 17, 19, 23), 2)
    (found,) = (
        _with_python(noise | {11: 200, 20: 300}).findings.query("kind == 'slow steps'").to_dict("records")
    )
    assert (found["id"], found["figures"]["steps"]) == ("slow_steps.longer", [11, 20])


def test_python_of_each_step_is_reported_beside_slow_steps() -> None:
    took = {step: 400 if step % 7 == 6 else 30 for step in range(28)}
    line_of = dict.fromkeys(range(6, 28, 7), 9)
    found = _with_python(took, line_of=line_of).findings.set_index("id")
    lines = {key: found["figures"][key]["python"]["line"] for key in ("slow_steps.periodic", "host_compute")}
    assert lines == {"slow_steps.periodic": "train.py:9", "host_compute": "train.py:7"}
    assert found["share"].sum() < 1


def test_python_of_eager_steps_is_not_called_ops() -> None:
    """Each step calls 24 eager ops, and every seventh does something else after them."""
    rows: list[tuple[str, str, str, int, int, int]] = []
    at = 0
    for step in range(28):
        length = 24 + 400 * (step % 7 == 6)
        rows.append(("train", "host", "", at, length, step))
        rows += [("Mul", "op", "EagerLocalExecute: Mul", at + op, 1, step) for op in range(24)]
        at += length
    op, kind, detail, start, took, number = map(list, zip(*rows, strict=True))
    columns = {"op": op, "name": op, "kind": kind, "lane": ["python"] * len(op), "step": number}
    columns |= {"start_ns": [ms * MS for ms in start], "duration_ns": [ms * MS for ms in took]}
    columns |= {"detail": detail, "device": ["/device:CPU:0"] * len(op)}
    assert tv.Trace(events.build(columns)).findings["id"].tolist() == ["slow_steps.periodic"]


@pytest.mark.parametrize(
    ("runs", "called", "named"), [(1, 0, True), (3, 0, False), (1, 1, False), (None, 0, False)]
)
@pytest.mark.parametrize("call", ["train", "TfrtCpuExecutable::Execute"])
def test_thread_that_runs_in_most_samples_can_be_the_cause(
    call: str, runs: int | None, called: int, *, named: bool
) -> None:
    trace = _with_python({11: 60}, call=call)
    looks = [{"time_ns": ms * MS} for ms in range(0, 110, 5)]
    thread = {"file": "log.py", "line": 9, "function": "send", "called": called, "running": 1}
    trace.metadata[PYTHON_SAMPLES] = table_of(PYTHON_SAMPLES, looks)
    sampled = [look | thread for look in looks[::runs]] if runs else []
    trace.metadata[THREAD_SAMPLES] = table_of(THREAD_SAMPLES, sampled)
    found = trace.findings.set_index("id").loc["slow_steps.longer"]
    assert bool(found["figures"]["thread"]) == named == ("log.py:9" in found["advice"])


@pytest.mark.parametrize(("call", "activity"), [("train", "idle"), ("TFE_Py_Execute", "runtime")])
def test_step_without_a_recorded_cause_points_to_other_programs(call: str, activity: str) -> None:
    trace = _with_python({11: 60}, call=call)
    trace.metadata.clear()
    (found,) = trace.findings.to_dict("records")
    assert (found["id"], found["level"]) == ("slow_steps.longer", "minor")
    assert found["figures"]["activity"] == activity
    # A sentence before it says whether anything is recorded.
    assert found["advice"].startswith("Other programs")


def test_rare_call_of_the_runtime_is_named() -> None:
    trace = _with_python({11: 60})
    end = int(trace.steps.set_index("step")["end_ns"][11])
    call = {"op": "TFE_DeleteTensorHandle", "name": "delete", "kind": "host", "lane": "python", "step": 11}
    call |= {"device": "/device:CPU:0", "start_ns": end - 60 * MS, "duration_ns": 60 * MS}
    columns = {name: [*trace.events[name].tolist(), value] for name, value in call.items()}
    table, _ = events.order(events.build(columns))
    found = tv.Trace(table, step_labels=trace.step_labels).findings.set_index("id").loc["slow_steps.longer"]
    assert (found["level"], found["figures"]["op"]) == ("minor", "TFE_DeleteTensorHandle")
    assert "Check whether TFE_DeleteTensorHandle" in found["advice"]
