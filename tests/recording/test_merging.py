"""A session trace and a simultaneous profile: one table, no duplicates, one numbering of steps."""

from typing import Any

import pyarrow as pa
import pytest

from tfvis_nb import Trace, events
from tfvis_nb.reading.xspace.epoch import on_the_clock
from tfvis_nb.recording.assemble import merged, whole_steps
from tfvis_nb.recording.recorded_trace import title_of
from tfvis_nb.texts import Text

TASK = "/job:localhost/replica:0/task:0"
US = 1000


def trace(rows: list[dict[str, Any]], **more: Any) -> Trace:
    """Make a trace of rows; missing values have defaults."""
    default = {"duration_ns": 2 * US, "kind": "op", "op": "MatMul", "device": "/device:CPU:0", "task": ""}
    names = list(dict.fromkeys(name for row in [default, *rows] for name in row))
    columns = {name: [row.get(name, default.get(name)) for row in rows] for name in names}
    nested = pa.table({"raw_device": pa.array([row["name"] for row in rows]).dictionary_encode()})
    return Trace(events.build(columns), nested=nested, **more)


def session(*rows: dict[str, Any], **more: Any) -> Trace:
    return trace(
        [{"task": TASK, "device": f"{TASK}/device:GPU:0", "lane": "ops", **row} for row in rows], **more
    )


def test_kernels_belong_to_the_run_whose_ops_launched_them() -> None:
    runs = session(
        {"name": "product", "start_ns": 100 * US, "step": 0},
        {"name": "product", "start_ns": 1100 * US, "step": 1},
        step_labels={0: "loss", 1: "loss"},
        graphs=[[b"first"], [b"second"]],
    )
    profile = trace(
        [
            {"name": "SessionRun", "start_ns": 1090 * US, "kind": "host", "step": 0},
            {"name": "product", "start_ns": 1100 * US + 300, "lane": "tf_Compute/1", "step": 0},
            {
                "name": "product",
                "start_ns": 1105 * US,
                "kind": "kernel",
                "device": "/device:GPU:0",
                "lane": "stream:13",
                "step": 0,
            },
            {"name": "other", "start_ns": 2000 * US, "step": 1},
            {"name": "nothing", "start_ns": 2100 * US, "kind": "host", "step": -1},
        ],
        step_labels={0: "SessionRun", 1: "train 0"},
    )
    both = merged(runs, [profile])
    table = both.events
    assert table["name"].tolist() == ["product", "SessionRun", "product", "product", "other", "nothing"]
    assert table["step"].tolist() == [0, 1, 1, 1, 2, -1]
    assert table["kind"].tolist() == ["op", "host", "op", "kernel", "op", "host"]
    assert both.step_labels == {0: "loss", 1: "loss", 2: "train 0"}
    assert both.graphs == [[b"first"], [b"second"], []]
    assert both.notes == [
        Text("profile_repeats_runs", rows=1),
        Text("events_of_no_step", events=1),
    ]
    assert table.loc[3, "device"] == f"{TASK}/device:GPU:0"
    assert set(table["task"]) == {TASK}
    assert both.nested is not None
    assert both.nested["raw_device"].to_pylist() == table["name"].tolist()


def test_cluster_devices_differ_from_local_ones() -> None:
    tasks = [f"/job:worker/replica:0/task:{number}" for number in range(2)]
    runs = session(
        *(
            {"name": "product", "start_ns": 100 * US, "task": task, "device": f"{task}/device:CPU:0"}
            for task in tasks
        )
    )
    both = merged(runs, [trace([{"name": "other", "start_ns": 900 * US, "step": 0}])])
    assert both.events["device"].tolist()[-1] == "/device:CPU:0"
    assert both.events["step"].tolist() == [0, 0, 1]


@pytest.mark.parametrize(
    ("name", "op", "start_ns"), [("product", "Mul", 0), ("mine", "MatMul", 0), ("product", "MatMul", 10**9)]
)
def test_only_the_same_execution_is_a_repeat(name: str, op: str, start_ns: int) -> None:
    runs = session({"name": "product", "start_ns": 0})
    both = merged(runs, [trace([{"name": name, "op": op, "start_ns": start_ns}])])
    assert len(both.events) == 2


def test_profiles_one_after_the_other() -> None:
    parts = [
        trace(
            [
                {"name": "op", "start_ns": start, "step": 0},
                {"name": "rest", "start_ns": start + 1, "step": -1},
            ],
            step_labels={0: label},
            notes=[Text("events_of_no_step", events=1)],
        )
        for start, label in ((5, "a"), (50, "b"))
    ]
    both = merged(None, parts)
    assert both.events["step"].tolist() == [0, -1, 1, -1]
    assert both.step_labels == {0: "a", 1: "b"}
    assert both.notes == [Text("events_of_no_step", events=2)]
    whole = whole_steps(both)
    assert whole.events["step"].tolist() == [0, 1]
    assert whole.notes == [Text("loose_events_left_out", events=2)]
    assert whole.nested is not None
    assert whole.nested.num_rows == 2


def test_where_no_step_is_known_everything_is_shown() -> None:
    unknown = trace([{"name": "op", "start_ns": 5, "step": -1}])
    assert len(whole_steps(unknown).events) == 1
    assert unknown.notes == [Text("no_step_found")]


def test_a_profile_without_an_epoch_gets_the_recorders() -> None:
    profile = trace(
        [
            {"name": "op", "start_ns": 5, "scheduled_ns": 3},
            {"name": "late", "start_ns": 7, "scheduled_ns": None},
        ],
        notes=[Text("no_start_time")],
    )
    epoch = 1_700_000_000_000_000_000
    aligned = on_the_clock(profile, epoch)
    assert aligned.events["start_ns"].tolist() == [epoch + 5, epoch + 7]
    assert aligned.events["scheduled_ns"].dropna().tolist() == [epoch + 3]
    assert aligned.notes == [Text("start_time_estimated")]
    assert on_the_clock(aligned, epoch).events["start_ns"].tolist() == [epoch + 5, epoch + 7]


@pytest.mark.parametrize(
    ("labels", "runs", "title"),
    [
        ([], 0, "eager code"),
        (["loss"], 1, "loss"),
        (["loss", "init"], 2, "2 session runs"),
        (["train 0"], 0, "train 0"),
        (["train 0", "train 1", "test 0"], 0, "3 steps: train, test"),
        (["step8", "step8"], 0, "2 steps: step8"),
        (["a", "b", "c", "d"], 1, "4 steps: a, b, c, ..."),
    ],
)
def test_titles(labels: list[str], runs: int, title: str) -> None:
    assert title_of(labels, session_runs=runs) == title
