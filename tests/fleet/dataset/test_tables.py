"""The figures of a dataset are those of the traces themselves, exactly."""

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from pandas.testing import assert_frame_equal

import tfvis_nb as tv
from tests.fleet.dataset.folders import JOB, bucket, record
from tests.support.texts import raises_id
from tfvis_nb import Trace, TraceDataset, events
from tfvis_nb.analysis import op_statistics, slow_steps
from tfvis_nb.analysis.steps.breakdown import PARTS
from tfvis_nb.core.labels import shown_task
from tfvis_nb.events import COLUMNS, NO_STEP
from tfvis_nb.fleet import fleet_outliers
from tfvis_nb.fleet.dataset import combined
from tfvis_nb.fleet.dataset.step_figures import step_figures
from tfvis_nb.texts import text_of


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[TraceDataset, dict[str, Trace]]:
    """A dataset, and the trace of each of its sources."""
    folder = bucket(tmp_path_factory.mktemp("bucket"), JOB)
    dataset = tv.open_traces(tmp_path_factory.mktemp("dataset"))
    dataset.ingest(folder)
    traces = {}
    for key, path, run in dataset.sources[["key", "path", "run"]].itertuples(index=False):
        traces[key] = dataset.trace(run, steps=None) if run.startswith("c") else tv.read_trace(path)
    return dataset, traces


def plain(table: pd.DataFrame) -> list[list[object]]:
    """Return values that compare equal whatever dtypes they have."""
    rows: list[list[object]] = table.astype(object).where(table.notna(), None).to_numpy().tolist()
    return rows


def test_events(made: tuple[TraceDataset, dict[str, Trace]]) -> None:
    dataset, traces = made
    events = dataset.events.compute()
    for key, trace in traces.items():
        own = events[events["key"] == key].sort_values("event")
        assert own["event"].tolist() == list(range(len(trace.events)))
        names = [name for name in COLUMNS if name not in ("step", "task", "device", "source", "destination")]
        assert plain(own[names]) == plain(trace.events[names])
    assert len(events) == sum(map(len, (trace.events for trace in traces.values())))


def test_ops(made: tuple[TraceDataset, dict[str, Trace]]) -> None:
    dataset, traces = made
    figures = ["count", "total_ns", "self_ns", "min_ns", "max_ns"]
    keys = ["op", "kind", "side"]
    found = dataset.table("ops").compute()
    for key, trace in traces.items():
        grouped = found[found["key"] == key].groupby(keys)
        own = grouped[["count", "total_ns"]].sum()
        own["self_ns"] = grouped["self_ns"].sum(min_count=1)
        own["min_ns"], own["max_ns"] = grouped["min_ns"].min(), grouped["max_ns"].max()
        wanted = op_statistics(trace).set_index(keys)[figures].sort_index()
        wanted.index = pd.MultiIndex.from_tuples([tuple(map(str, one)) for one in wanted.index])
        assert plain(own.sort_index()) == plain(wanted.sort_index())
    assert len(dataset.ops) == len(found)
    whole = dataset.op_totals.set_index(["run", "task", *keys]).sort_index()
    again = found.groupby(whole.index.names)[figures[:2]].sum().sort_index()
    assert plain(whole[figures[:2]]) == plain(again)


def test_ops_of_all_tasks_are_the_sums_of_those_of_each(
    made: tuple[TraceDataset, dict[str, Trace]], monkeypatch: pytest.MonkeyPatch
) -> None:
    dataset, _ = made
    ops = dataset.ops[(dataset.ops["step"] >= 0) & (dataset.ops["side"] != "repeated")]
    keys = ["run", "step", "op", "kind"]
    sums = ops.groupby(keys)["self_ns"].sum()
    tasks = ops.groupby(["run", "step"])["task"].nunique()
    for at_once in (combined._MOST_ROWS, 1):
        monkeypatch.setattr(combined, "_MOST_ROWS", at_once)
        found = dataset.step_ops
        assert found.set_index(keys)["self_ns"].to_dict() == sums.to_dict()
        assert found.groupby(["run", "step"])["tasks"].max().to_dict() == tasks.to_dict()


def test_steps(made: tuple[TraceDataset, dict[str, Trace]]) -> None:
    dataset, traces = made
    steps = dataset.steps
    for key, trace in traces.items():
        own = steps[steps["key"] == key].sort_values(["step", "task"])
        whole = trace.breakdown[trace.breakdown["device"] == ""]
        whole = whole.assign(task=whole["task"].astype(str)).sort_values(["step", "task"])
        assert plain(own[["step_ns", *PARTS]]) == plain(whole[["step_ns", *PARTS]])
        events = trace.events[trace.events["step"] != NO_STEP]
        assert own["ops"].sum() == (events["kind"] == "op").sum()
        assert own["kernels"].sum() == (events["kind"] == "kernel").sum()
        moved = events[events["kind"].isin(["memcpy", "transfer"])]
        assert own["bytes"].sum() == moved["bytes"].sum()
        known = trace.transfers[trace.transfers["kind"] == "transfer"]["wait_ns"]
        assert own["network_wait_ns"].sum() == known.sum()
        gpus = trace.utilization[trace.utilization["device"].astype(str).str.contains("GPU")]
        assert own["device_busy_ns"].sum() == gpus["busy_ns"].sum()
        compared = slow_steps(trace)
        if len(compared):
            # The most of all tasks.
            assert plain(own.groupby("step")[["work_ns"]].max()) == plain(compared[["work_ns"]])
        if len(trace.memory) and (trace.memory["step"] != NO_STEP).all():
            assert own["peak_bytes"].max() == trace.memory["bytes"].max()


def test_the_work_of_steps_is_that_of_the_step_table(tmp_path: Path) -> None:
    """Overlapping kernels on two GPUs, a step without kernels, and copies that keep a GPU busy."""
    kernels = [(0, 5, 0, 0), (0, 6, 0, 1), (2, 5, 0, 0), (20, 3, 1, 0), (40, 9, 2, 1), (60, 4, 3, 0)]
    rows = [("kernel", *one) for one in kernels]
    rows += [("memcpy", 20 * step, 15, step, 0) for step in range(5)]
    kind, start, duration, step, gpu = zip(*sorted(rows, key=lambda row: row[1]), strict=True)
    table = events.build(
        {
            "start_ns": start,
            "duration_ns": duration,
            "step": step,
            "kind": kind,
            "task": ["/job:a"] * len(rows),
            "device": [f"/job:a/device:GPU:{number}" for number in gpu],
        }
    )
    trace = Trace(table)
    compared = slow_steps(trace)
    assert compared["work_ns"].tolist() == [7, 3, 9, 4, 0]
    trace.to_parquet(tmp_path / "trace.parquet")
    dataset = tv.open_traces(tmp_path / "trace.parquet", tmp_path / "dataset")
    assert dataset.steps["work_ns"].tolist() == compared["work_ns"].tolist()
    ratios = fleet_outliers(dataset.steps).set_index("step")["work_ratio"].sort_index()
    assert ratios.tolist() == compared["work_ratio"].tolist()


def test_parts_of_an_earlier_version_have_no_work(
    made: tuple[TraceDataset, dict[str, Trace]], tmp_path: Path
) -> None:
    copy = shutil.copytree(made[0].path, tmp_path / "dataset")
    for entry in (copy / "manifest").iterdir():
        entry.write_text(json.dumps(json.loads(entry.read_text()) | {"version": 2}))
    for part in (copy / "steps").rglob("*.parquet"):
        pq.write_table(pq.read_table(part, partitioning=None).drop_columns("work_ns"), part)
        record(part, copy)
    older = tv.open_traces(copy)
    for steps in (older.steps, older.table("steps").compute()):
        assert steps["work_ns"].isna().all()
        assert steps["kernels"].sum() == made[0].steps["kernels"].sum()
    assert_frame_equal(older.steps.drop(columns="work_ns"), made[0].steps.drop(columns="work_ns"))


def test_a_step_with_unknown_waits() -> None:
    """One step's receives have no recorded wait, and the other's have."""
    table = events.build(
        {
            "start_ns": [0, 10, 20, 30],
            "duration_ns": [5] * 4,
            "step": [0, 0, 1, 1],
            "kind": ["transfer"] * 4,
            "task": ["/job:a", "/job:b"] * 2,
            "name": ["x"] * 4,
            "scheduled_ns": [None, None, 18, 30],
            "compute_start_ns": [None, None, 20, 30],
            "compute_end_ns": [None, None, 25, 35],
        }
    )
    trace = Trace(table)
    waits = trace.transfers["wait_ns"].tolist()
    found = step_figures(trace).to_pandas()["network_wait_ns"].tolist()
    assert plain(pd.DataFrame({"found": found})) == plain(pd.DataFrame({"found": waits})), waits


def test_transfers_lanes_and_stacks(made: tuple[TraceDataset, dict[str, Trace]]) -> None:
    dataset, traces = made
    transfers, lanes, stacks = dataset.transfers.compute(), dataset.lanes, dataset.stacks
    for key, trace in traces.items():
        own = transfers[transfers["key"] == key].sort_values("event")
        names = ["event", "tensor", "bytes", "wait_ns", "transfer_ns", "turn_ns", "bandwidth"]
        assert plain(own[names]) == plain(trace.transfers[names])
        mine = lanes[lanes["key"] == key]
        figures = ["lane", "kind", "events", "busy_ns", "start_ns", "end_ns"]
        assert sorted(plain(mine[figures])) == sorted(
            plain(trace.lanes[figures].astype({"lane": str, "kind": str}))
        )
    with_stacks = next(trace for trace in traces.values() if trace.stacks is not None)
    assert len(stacks) == len(with_stacks.stacks or ())
    events = dataset.events.compute()
    known = events[events["stack"].notna()]
    assert len(known) > 0
    assert set(known["stack"]) <= set(stacks["stack"])


def test_read_back(made: tuple[TraceDataset, dict[str, Trace]]) -> None:
    dataset, _ = made
    source = dataset.sources.set_index("run").loc["c/2026_01_31"]
    trace = tv.read_trace(source["path"])
    again = dataset.trace("c/2026_01_31")
    names = [name for name in COLUMNS if name not in ("task", "device", "source", "destination")]
    assert_frame_equal(again.events[names], trace.events[names])
    assert again.nested == trace.nested
    assert again.stacks == trace.stacks
    assert again.step_labels == trace.step_labels
    assert again.programs == trace.programs
    assert again.notes == trace.notes


def test_read_back_of_ranks(made: tuple[TraceDataset, dict[str, Trace]]) -> None:
    dataset, _ = made
    folder = Path(dataset.sources["path"].iloc[0]).parents[1]
    whole = tv.read_trace(folder)
    again = dataset.trace("a")
    assert again.step_labels == {0: "step 3"}
    assert_frame_equal(again.breakdown, whole.breakdown)
    assert_frame_equal(again.lanes, whole.lanes, check_categorical=False)
    one = dataset.trace("a", task="worker 1")
    assert {*one.events["task"]} == {"/job:worker/replica:0/task:1"}
    assert len(one.events) == (whole.events["task"] == "/job:worker/replica:0/task:1").sum()


def test_read_back_of_some_steps(made: tuple[TraceDataset, dict[str, Trace]]) -> None:
    dataset, _ = made
    trace = dataset.trace("c/2026_01_31")
    one = dataset.trace("c/2026_01_31", steps=1)
    wanted = trace.events[trace.events["step"] == 1]
    assert one.events["name"].tolist() == wanted["name"].tolist()
    assert one.step_labels == {0: trace.step_labels[1]}
    assert one.nested is not None
    assert one.nested.num_rows == len(wanted)
    number: Any = np.int32(1)  # as in tables
    assert_frame_equal(dataset.trace("c/2026_01_31", steps=number).events, one.events)
    # Events outside steps belong to none.
    outside = dataset.trace("c/2026_01_31", steps=[NO_STEP, 1])
    assert_frame_equal(outside.events, one.events)
    both = dataset.trace("b", steps=range(5, 7))
    assert both.step_labels == {0: "step 5", 1: "step 6"}
    assert len(both.graphs) in (0, 2)


def test_what_there_is_not(made: tuple[TraceDataset, dict[str, Trace]]) -> None:
    dataset, _ = made
    with pytest.raises(ValueError, match="3 runs"):
        dataset.trace()
    for (run, task, steps), kind in (
        (("nobody", None, None), "runs"),
        (("a", "worker 9", None), "tasks"),
        (("a", None, 99), "steps"),
    ):
        with raises_id(ValueError, "nothing_selected") as error:
            dataset.trace(run, task, steps)
        figures = text_of(error.value).figures
        assert figures["kind"] == kind
        found = dataset.steps.query("run == 'a'")
        known = {"runs": dataset.steps["run"], "steps": found["step"], "tasks": found["task"].map(shown_task)}
        assert {*figures["known"].split(", ")} == {*map(repr, known[kind].tolist())}
    wrong: Any
    for wrong in (1.5, "3", [None], True):
        with raises_id(TypeError, "steps_no_numbers"):
            dataset.trace("a", steps=wrong)
    with raises_id(ValueError, "nothing_selected", steps="-1"):
        dataset.trace("a", steps=-1)
    with raises_id(ValueError, "nothing_selected", steps="none"):
        dataset.trace("a", steps=[])
    with raises_id(ValueError, "dataset_table", table="nothing"):
        dataset.table("nothing")
