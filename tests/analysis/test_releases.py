"""What lets events go on, one kind of release after the other, as seen on the critical path."""

from typing import Any

from tests.support.made_steps import CPU, GPU, TASK, built, kernel, op
from tfvis_nb import Trace, events
from tfvis_nb.analysis import why_not


def pieces(trace: Trace) -> list[tuple[int, str, str]]:
    """Return length, category and event name of each piece of the path."""
    path = trace.critical_path
    names = trace.events["name"].iloc[path["event"]]
    return [
        (int(length), str(category), str(name))
        for length, category, name in zip(path["duration_ns"], path["category"], names, strict=True)
    ]


def test_kernels_wait_for_their_launch_or_for_their_stream() -> None:
    trace = built(
        [
            op("a", 0, 30, device=GPU),
            op("b", 30, 30, "a", device=GPU),
            kernel("a", 20, 100, 10),
            kernel("b", 125, 25, 50),
        ]
    )
    assert pieces(trace) == [
        (10, "launch", "a"),
        (10, "launch_latency", "a"),
        (100, "device_compute", "a"),
        (5, "kernel_gap", "b"),
        (25, "device_compute", "b"),
    ]
    late = built(
        [
            op("a", 0, 30, device=GPU),
            op("b", 200, 30, "a", device=GPU),
            kernel("a", 20, 100, 10),
            kernel("b", 225, 25, 215),
        ]
    )
    assert pieces(late)[-3:] == [
        (15, "launch", "b"),
        (10, "launch_latency", "b"),
        (25, "device_compute", "b"),
    ]


def test_an_op_waits_for_the_copy_that_it_launched() -> None:
    copy = kernel("where", 40, 50, 20, kind="memcpy", lane="memcpy D2H", op="MemcpyD2H")
    trace = built([op("where", 0, 100, device=GPU), copy])
    assert pieces(trace) == [
        (20, "launch", "where"),
        (20, "launch_latency", "where"),
        (50, "d2h", "where"),
        (10, "launch", "where"),
    ]


def test_turns_of_an_executors_thread_are_seen_by_their_stamps() -> None:
    trace = built(
        [
            op("a", 0, 10_000, scheduled_ns=0),
            op("b", 10_300, 50_000, scheduled_ns=9_980),
            op("c", 60_900, 10_000, "a", scheduled_ns=60_270),
        ]
    )
    assert [name for _, category, name in pieces(trace) if category == "host_compute"] == ["a", "b", "c"]
    assert pieces(trace)[-2:] == [(600, "queueing", "c"), (10_000, "host_compute", "c")]


def test_ranks_wait_for_the_last_of_a_collective() -> None:
    def rank(number: int, start: int) -> dict[str, Any]:
        task = TASK.format(number)
        shared = {"kind": "collective", "lane": "collective", "task": task, "device": f"{task}/device:CPU:0"}
        return op("sum", start, 100 - start, f"grad{number}", op="CollectiveReduce", **shared)

    def gradient(number: int, length: int) -> dict[str, Any]:
        task = TASK.format(number)
        return op(f"grad{number}", 0, length, task=task, device=f"{task}/device:CPU:0")

    trace = built([gradient(0, 20), gradient(1, 80), rank(0, 20), rank(1, 80), op("end", 100, 10, "sum")])
    assert pieces(trace) == [
        (80, "host_compute", "grad1"),
        (20, "communication", "sum"),
        (10, "host_compute", "end"),
    ]
    spare = trace.slack.set_index("event")["slack_ns"]
    names = trace.events["name"].tolist()
    assert spare[names.index("grad0")] == 60
    assert spare[names.index("grad1")] == 0


def test_tensors_wait_for_their_maker_and_for_their_channel() -> None:
    ps = "/job:ps/replica:0/task:0"
    sent = {"task": ps, "device": f"{ps}/device:CPU:0"}

    def received(name: str, start: int, end: int) -> dict[str, Any]:
        return {
            "kind": "transfer", "lane": "recv", "op": "RecvTensor", "name": name, "tensor": f"edge_1_{name}",
            "source": f"{ps}/device:CPU:0", "destination": CPU, "start_ns": start, "duration_ns": end - start,
        }  # fmt: skip

    trace = built(
        [
            op("w1", 0, 10, **sent),
            op("w2", 0, 12, **sent),
            received("w1", 15, 60),
            received("w2", 16, 100),
            op("use", 105, 20, "w1_S1", "w2_S2"),
        ]
    )
    assert pieces(trace) == [
        (10, "host_compute", "w1"),
        (5, "transfer_wait", "w1"),
        (45, "communication", "w1"),
        (40, "communication", "w2"),
        (5, "scheduling", "use"),
        (20, "host_compute", "use"),
    ]


def test_calls_wait_for_work_handed_to_other_threads() -> None:
    def host(name: str, start: int, end: int, lane: str = "python3", **more: Any) -> dict[str, Any]:
        return {
            "kind": "host",
            "lane": lane,
            "name": name,
            "op": name,
            "start_ns": start,
            "duration_ns": end - start,
            **more,
        }

    trace = built(
        [
            host("train", 0, 100),
            host("Run", 10, 95),
            host("FunctionRun", 20, 25, produced=1),
            host("ExecutorState::Process", 30, 50, "tf_Compute/1", consumed=1),
            host("ExecutorState::Process", 60, 90, "tf_Compute/2", consumed=1),
        ]
    )
    assert [(length, name) for length, _, name in pieces(trace)] == [
        (10, "train"),
        (10, "Run"),
        (5, "FunctionRun"),
        (5, "ExecutorState::Process"),
        (20, "ExecutorState::Process"),
        (10, "ExecutorState::Process"),
        (30, "ExecutorState::Process"),
        (5, "Run"),
        (5, "train"),
    ]
    assert why_not(trace.slack).id == "no_op_inputs"


def test_graphs_know_inputs_that_labels_lack() -> None:
    # A GraphDef of two nodes, a and b, where b comes after a.
    graph = b"".join(b"\n" + bytes([len(node)]) + node for node in (b"\n\x01a", b"\n\x01b\x1a\x02^a"))
    rows = {"name": ["x", "a", "b"], "detail": ["x = Op()", "a = Op()", "b = Op()"]}
    columns = {"start_ns": [0, 0, 50], "duration_ns": [45, 40, 10], "kind": ["op"] * 3, "lane": ["ops"] * 3}
    trace = Trace(events.build({**columns, **rows}), graphs=[[graph]])
    assert [name for _, category, name in pieces(trace) if category == "host_compute"] == ["a", "b"]
    damaged = Trace(trace.events, graphs=[[graph[:-1]]])
    assert [name for _, category, name in pieces(damaged) if category == "host_compute"] == ["x", "b"]
