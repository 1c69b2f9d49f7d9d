"""Devices of one task that meet in collectives: waits, critical path, finding and prediction by device."""

from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import tfvis_nb as tv
from tests.real_traces import DATA, real_trace
from tfvis_nb import events
from tfvis_nb.analysis import breakdown, late_tasks
from tfvis_nb.analysis.communication.waits import waits
from tfvis_nb.anonymizing.anonymized import anonymized
from tfvis_nb.core.nested_columns import EXECUTOR

LOCAL = "/job:localhost/replica:0/task:0"
MIRRORED = DATA / "recordings/cpu_tf221_mirrored.xplane.pb.xz"
"""A function on two CPUs of one process: a loop of matrix products and a CollectiveReduceV2, both twice. The
loop has 6 iterations on CPU:1 and one on CPU:0."""


@pytest.fixture(scope="module")
def mirrored() -> tv.Trace:
    return real_trace(MIRRORED)


def session(rows: list[tuple[int, int, str, str, str]], job: str = LOCAL, **other: object) -> tv.Trace:
    """Make a session run from start, duration, device, name and op."""
    start, duration, device, name, op = zip(*sorted(rows), strict=True)
    kind = ["collective" if "Collective" in one else "op" for one in op]
    place = [one if one.startswith("/job") else f"{job}/device:{one}" for one in device]
    columns = {
        "start_ns": start,
        "duration_ns": duration,
        "device": place,
        "name": name,
        "op": op,
        "kind": kind,
    }
    lanes = ["collective" if one == "collective" else "ops" for one in kind]
    task = [one.partition("/device:")[0] for one in place]
    return tv.Trace(events.build({**columns, "lane": lanes, "task": task, **other}))


def arrivals(trace: tv.Trace) -> list[tuple[int, str, int]]:
    known = trace.collective_waits
    return list(zip(known["collective"], known["task"].astype(str), known["wait_ns"], strict=True))


def test_collectives_of_devices_are_paired_in_their_order() -> None:
    # On CPU:0 the tenth node runs first; on both devices it is the second collective of the graph.
    trace = session(
        [
            (0, 90, "CPU:0", "CollectiveReduce_10", "CollectiveReduce"),
            (10, 50, "CPU:0", "CollectiveReduce_8", "CollectiveReduce"),
            (40, 20, "CPU:1", "CollectiveReduce_9", "CollectiveReduce"),
            (70, 20, "CPU:1", "CollectiveReduce_11", "CollectiveReduce"),
        ]
    )
    cpu = [f"{LOCAL}/device:CPU:{number}" for number in range(2)]
    assert arrivals(trace) == [(0, cpu[0], 70), (0, cpu[1], 0), (1, cpu[0], 30), (1, cpu[1], 0)]
    assert trace.collective_waits["last"].tolist() == [cpu[1]] * 4
    assert waits(trace).tolist() == [70, 30, 0, 0]


def test_collectives_of_one_device_meet_no_other() -> None:
    rows = [
        (0, 50, "CPU:0", "CollectiveReduce", "CollectiveReduce"),
        (10, 50, "CPU:0", "CollectiveReduce_1", "CollectiveReduce"),
        (20, 50, "CPU:1", "CollectiveGather", "CollectiveGather"),
    ]
    assert session(rows).collective_waits.empty
    # Another collective of one device leaves open which ones belong together.
    uneven = [*rows[:2], (20, 50, "CPU:1", "CollectiveReduce_2", "CollectiveReduce")]
    assert session(uneven).collective_waits.empty


def test_devices_of_tasks_meet_by_the_number_of_collectives() -> None:
    places = [f"/job:worker/replica:0/task:{task}/device:GPU:{gpu}" for task in range(2) for gpu in range(2)]
    trace = session(
        [
            (10 * number, 90, place, f"sum_{number}", "CollectiveReduceV2")
            for number, place in enumerate(places)
        ]
    )
    trace.nested = pa.table({"instance": [7, 7, 7, 7]})
    assert arrivals(trace) == [(0, places[0], 30), (0, places[1], 20), (0, places[2], 10), (0, places[3], 0)]
    one_device = session(
        [(10 * task, 90, places[2 * task], f"sum_{task}", "CollectiveReduceV2") for task in range(2)]
    )
    one_device.nested = pa.table({"instance": [7, 7]})
    assert [task for _, task, _ in arrivals(one_device)] == [
        place.partition("/device:")[0] for place in places[::2]
    ]


def test_senders_and_receivers_of_a_broadcast_meet() -> None:
    trace = session(
        [
            (0, 90, "CPU:1", "receive", "CollectiveBcastRecvV2"),
            (60, 30, "CPU:0", "send", "CollectiveBcastSendV2"),
        ]
    )
    trace.nested = pa.table({"instance": [7, 7]})
    assert [wait for *_, wait in arrivals(trace)] == [60, 0]


def test_kernels_of_several_devices_meet() -> None:
    trace = session(
        [(10 * gpu, 50 - 10 * gpu, f"GPU:{gpu}", "ncclAllReduce", "Collective") for gpu in range(2)]
    )
    trace.events["lane"] = pd.Categorical(["stream:7"] * 2)
    assert [wait for *_, wait in arrivals(tv.Trace(trace.events))] == [10, 0]


def test_waits_for_devices_of_a_task_are_no_communication() -> None:
    rows = [
        (0, 80, "CPU:0", "CollectiveReduce", "CollectiveReduce"),
        (0, 60, "CPU:1", "MatMul", "MatMul"),
        (60, 20, "CPU:1", "CollectiveReduce_1", "CollectiveReduce"),
    ]
    table = breakdown(session(rows)).set_index("device")
    assert [table.loc["", f"{part}_ns"] for part in ("host_compute", "communication")] == [60, 20]
    assert table.loc[f"{LOCAL}/device:CPU:0", "communication_ns"] == 80


def executors(trace: tv.Trace) -> pd.Series:
    assert trace.nested is not None
    return pd.Series(trace.nested[EXECUTOR].to_pylist())


def collectives_of(trace: tv.Trace) -> np.ndarray:
    return np.flatnonzero((trace.events["kind"] == "collective").to_numpy())


def test_profile_shows_the_device_of_each_executor(mirrored: tv.Trace) -> None:
    device = executors(mirrored)
    names = mirrored.events["name"].astype(str)
    assert set(device.dropna()) == {"/device:CPU:0", "/device:CPU:1"}
    late = names.str.contains("replica_1/while") & (names.str[-7:] == "/MatMul")
    assert set(device[late]) == {"/device:CPU:1"}
    assert late.sum() == 2 * 6 * 3
    assert set(device[(names.str[-7:] == "/MatMul") & ~late]) == {"/device:CPU:0"}
    assert device[collectives_of(mirrored)].value_counts().to_dict() == {
        "/device:CPU:0": 6,
        "/device:CPU:1": 6,
    }


def test_profile_of_one_device_has_no_such_column() -> None:
    worker = real_trace(DATA / "gpu_tf221_worker0.xplane.pb.xz")
    assert len(collectives_of(worker))
    assert worker.nested is not None
    assert EXECUTOR not in worker.nested.column_names


def test_first_device_waits_for_the_late_one(mirrored: tv.Trace) -> None:
    known = mirrored.collective_waits
    assert known.groupby("collective").size().tolist() == [2] * 6
    assert known["last"].tolist() == ["/device:CPU:1"] * 12
    assert (known["wait_ns"] > 0).tolist() == [True, False] * 6
    late = late_tasks(mirrored).set_index("task")
    assert [late.loc["/device:CPU:1", column] for column in ("barriers", "last")] == [6, 6]


def test_critical_path_goes_through_the_work_of_the_late_device(mirrored: tv.Trace) -> None:
    path, waiting = mirrored.critical_path, waits(mirrored)
    event = path["event"].to_numpy()
    device = executors(mirrored).to_numpy()[event]
    name = mirrored.events["name"].astype(str).to_numpy()[event]
    loop = (device == "/device:CPU:1") & np.char.endswith(name.astype(str), "/MatMul")
    assert (path[loop].groupby("step")["event"].nunique() >= 2 * 5).all()
    communicates = path["category"] == "communication"
    assert path["duration_ns"][communicates].sum() < 0.05 * waiting.sum()


def test_finding_names_the_late_device_and_its_work(mirrored: tv.Trace) -> None:
    first = mirrored.findings.iloc[0]
    assert (first["id"], first["level"]) == ("straggler.collective", "problem")
    figures = first["figures"]
    assert (figures["task"], figures["last"], figures["barriers"]) == ("/device:CPU:1", 6, 6)
    assert (figures["work"]["op"], figures["work"]["own_op_count"]) == ("_MklMatMul", 36)
    assert figures["work"]["other_op_count"] == 6
    assert str(mirrored.overview).startswith("CPU:1 is late at all 6 collectives: the other device waits for")


def test_cores_that_devices_share_make_none_of_them_late() -> None:
    def steps(matmul: int) -> tv.Trace:
        rows = [
            (begin, late, device, name, op)
            for step in range(4)
            for begin, late, device, name, op in [
                (1000 * step, 100, "CPU:0", "MatMul", "MatMul"),
                (1000 * step + 100, 600, "CPU:0", "CollectiveReduce", "CollectiveReduce"),
                (1000 * step + 600 - matmul, matmul, "CPU:1", "MatMul_1", "MatMul"),
                (1000 * step + 600, 100, "CPU:1", "CollectiveReduce_1", "CollectiveReduce"),
            ]
        ]
        return session(rows, step=[row[0] // 1000 for row in sorted(rows)])

    assert steps(500).findings["id"].tolist()[:1] == ["straggler.collective"]
    assert late_tasks(steps(100))["share"].max() > 0.3
    assert "straggler.collective" not in steps(100).findings["id"].tolist()


def test_collectives_right_after_others_do_not_hide_who_is_late() -> None:
    rows = []
    for step in range(6):
        first = 1000 * step
        rows += [
            (first, 500, "GPU:0", "a", "CollectiveReduce"),
            (first + 450, 50, "GPU:1", "b", "CollectiveReduce"),
            (first + 505, 20, "GPU:0", "a_1", "CollectiveReduce"),
            (first + 503, 22, "GPU:1", "b_1", "CollectiveReduce"),
        ]
    trace = session(rows, step=[row[0] // 1000 for row in sorted(rows)])
    figures = trace.findings["figures"].iloc[0]
    assert (figures["task"], figures["last"], figures["barriers"]) == (f"{LOCAL}/device:GPU:1", 6, 12)


def test_devices_stay_in_written_and_anonymous_traces(mirrored: tv.Trace, tmp_path: Path) -> None:
    for name in ("trace.json", "trace.parquet"):
        write = mirrored.to_parquet if name.endswith("parquet") else mirrored.to_chrome_trace
        written = tv.read_trace(write(tmp_path / name))
        assert arrivals(written) == arrivals(mirrored)
        assert executors(written).equals(executors(mirrored))
    assert arrivals(anonymized([mirrored])[0]) == arrivals(mirrored)


def test_late_device_on_time_saves_the_waits_at_all_collectives(mirrored: tv.Trace) -> None:
    predicted = mirrored.what_if(on_time="CPU:1")
    share = late_tasks(mirrored)["share"].max()
    before, after = (
        one.steps.loc[one.steps["step"] >= 0, "duration_ns"].sum() for one in (mirrored, predicted)
    )
    assert predicted.doubt is None
    assert abs((1 - after / before) - share) < 0.05
    assert late_tasks(predicted)["share"].max() < share / 2
    assert mirrored.findings["gain"].iloc[0] > 0.9 * share
