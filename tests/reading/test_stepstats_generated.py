"""Generated and damaged step_stats: the oracle's table, or an error by name."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tensorflow.core.framework.step_stats_pb2 import StepStats
from tensorflow.core.protobuf.config_pb2 import RunMetadata

import tfvis_nb as tv
from tests.reading.test_stepstats_oracle import differences
from tests.support import oracle
from tests.support.examples import examples
from tests.support.texts import figures_of
from tfvis_nb import events as event_table

pytestmark = pytest.mark.tensorflow

NOW = 1_795_211_642_650_805
FAULT = 1000
"""TensorFlow 1.15 to 2.19 multiply the scheduled nanoseconds by this."""

TASKS = ("/job:worker/replica:0/task:0", "/job:worker/replica:0/task:1", "/job:ps/replica:0/task:0")
DEVICES = (
    *(f"{task}/device:{unit}" for task in TASKS for unit in ("CPU:0", "GPU:0", "GPU:1")),
    "/job:localhost/replica:0/task:0/cpu:0",
    "/job:localhost/replica:0/task:0/gpu:1",
    *(
        f"/device:GPU:{n}/{lane}"
        for n in (0, 1)
        for lane in ("stream:13", "stream:all", "memcpy", "sync", "stream:")
    ),
    "/device:GPU:0/stream:14<MemcpyH2D>",
    "/gpu:0/stream:7",
    "/gpu:0 (Tesla P100)/context#0/stream#1:Kernel",
    "/gpu:0 (Tesla P100)/context#1/null stream:MemcpyDtoH",
    "/host:CPU",
    "/job:ps/replica:0/task:0/device:CPU:0/strange",
    "something else",
    "",
)
NODES = ("a", "a/b", "c_S3", "c/_5", "_SOURCE", "RecvTensor", "RecvBuf", "while/merge/_13", "MatMul")
NAMES = st.one_of(
    st.sampled_from(NODES),
    st.builds(
        "{}:{}".format, st.sampled_from(NODES), st.sampled_from(["MatMul", "_Recv", "_Send", "_HostRecv"])
    ),
    st.sampled_from(
        ["edge_19_a:MEMCPYHtoD", "edge_3_c@@MemcpyHtoD", "MEMCPYDtoHAsync", "memset32", "ncclKernel_Sum"]
    ),
    st.just("a:Mul#id=3,device=/job:worker/replica:0/task:1/device:GPU:0,async=false#@@void kernel<int>()"),
    st.text(max_size=12),
)
OPS = ("Mul", "NcclAllReduce", "HorovodRank")
INPUTS = ("", "a, ^c/_5", "c_S3:1")
PS, WORKER = "/job:ps/replica:0/task:0", "/job:worker/replica:0/task:0"
LABELS = st.one_of(
    st.builds("{} = {}({})".format, st.sampled_from(NODES), st.sampled_from(OPS), st.sampled_from(INPUTS)),
    st.just("[cpu 1.0MB 1.0MB] a = _MklMatMul(c/_5, b:2)"),
    st.just(f"[1.5MB] [3.0Gb/s] edge_18_a/b from {PS}/cpu:0 to {WORKER}/gpu:0"),
    st.just(f"[7B] edge_1_a from {PS}/device:CPU:0 to elsewhere"),
    st.just("MemcpyH2D kind_src:pinned kind_dst:device size:16384 dest:0 async:1"),
    st.sampled_from(["MemcpyP2P size:8 dest:1", "6291456 bytes", "Memset size:64", "ThreadId 7"]),
    st.sampled_from(["a:MatMul regs:17 shm:0", "ncclDevKernel x regs:1"]),
    st.just("c/_5:_Send::edge_10_c::async num_bytes: 384 destination: 0 async: true"),
    st.just("id=9,device=/job:worker/replica:0/task:1/device:CPU:0,async=false"),
    st.text(max_size=12),
)
STARTS = st.one_of(
    st.integers(0, 5000).map(lambda late: NOW + late),
    st.integers(0, 5000),
    st.sampled_from([0, NOW - 10**12, 2**63 - 1, -(2**63), -5, 19_978_045_970_716_470]),
)


@st.composite
def nodes(draw: st.DrawFn) -> dict[str, Any]:
    start = draw(STARTS)
    length = draw(st.one_of(st.integers(0, 3000), st.sampled_from([-1, 2**62])))
    begin = draw(st.integers(0, 3))
    fields: dict[str, Any] = {
        "node_name": draw(NAMES),
        "timeline_label": draw(LABELS),
        "all_start_micros": start,
        "op_start_rel_micros": begin,
        "op_end_rel_micros": begin + draw(st.integers(0, 3)),
        "all_end_rel_micros": length,
        "thread_id": draw(st.sampled_from([0, 7, 2**32 - 1])),
        "output": [
            {
                "slot": slot,
                "tensor_description": {"dtype": 1, "allocation_description": {"requested_bytes": size}},
            }
            for slot, size in enumerate(draw(st.lists(st.integers(0, 10**6), max_size=2)))
        ],
    }
    schedule = draw(st.sampled_from(["none", "micros", "nanos", "fault", "small", "wrong"]))
    if schedule != "none":
        micros = {"small": 6669, "wrong": start // 2}.get(schedule, start - 3)
        fields["scheduled_micros"] = max(min(micros, 2**63 - 1), -(2**63))
    fine = draw(st.booleans()) and 0 < start < NOW * 2
    if fine:
        fields |= {
            "all_start_nanos": start * 1000 + 38,
            "op_start_rel_nanos": 225 + begin * 1000,
            "op_end_rel_nanos": 280 + begin * 1000,
            "all_end_rel_nanos": min(length * 1000, 2**63 - 1) if length > 0 else length,
        }
    if schedule == "nanos" and fine:
        fields["scheduled_nanos"] = start * 1000 - 2000
    if schedule == "fault" and fine:
        wrapped = (start * 1000 - 2000) * FAULT % 2**64
        fields["scheduled_nanos"] = wrapped - 2**64 if wrapped >= 2**63 else wrapped
        fields["scheduled_micros"] = int(fields["scheduled_nanos"] / 1000)
    return fields


@st.composite
def step_stats(draw: st.DrawFn) -> Any:
    """Draw a StepStats; aggregate lanes sometimes repeat the rows of others."""
    entries = draw(st.lists(st.tuples(st.sampled_from(DEVICES), st.lists(nodes(), max_size=5)), max_size=6))
    message = StepStats()
    shown: list[Any] = []
    for device, rows in entries:
        entry = message.dev_stats.add(device=device)
        for row in rows:
            entry.node_stats.add(**row)
        if device == "/host:CPU":
            entry.thread_names[7] = "tf_Compute"
        if device.endswith(("stream:all", "memcpy")):
            entry.node_stats.extend(draw(st.sampled_from([shown, shown[:1], []])))
        elif "/stream:" in device:
            shown = shown + list(entry.node_stats)
    return message


@settings(max_examples=examples(60))
@given(st.lists(step_stats(), min_size=1, max_size=3))
def test_generated_steps_give_the_table_of_the_oracle(steps: list[Any]) -> None:
    filled = [step for step in steps if any(entry.node_stats for entry in step.dev_stats)]
    expected, repeated, aside = oracle.read(filled)
    if not filled:
        with pytest.raises(tv.EmptyTraceError):
            tv.read_trace(steps)
        return
    trace = tv.read_trace(steps)
    # The oracle does not align the clocks of tasks, and does not separate merged runs.
    assume(not figures_of(trace.notes, "clock_moved") + figures_of(trace.notes, "steps_by_source_rows"))
    assert differences(trace, expected) == []
    assert len(expected) + repeated + aside == sum(
        len(entry.node_stats) for step in filled for entry in step.dev_stats
    )
    trace.lanes, trace.transfers, trace.edges  # noqa: B018
    assert int(trace.lanes["events"].sum()) == len(trace.events)


def test_a_row_of_all_streams_with_times_of_another_is_no_repeat() -> None:
    message = StepStats()
    for lane, label in (
        ("stream:13", "a = Mul(x)"),
        ("stream:14", "b = Mul()"),
        ("stream:all", "a = Mul(x)"),
    ):
        row = {
            "node_name": label[0],
            "timeline_label": label,
            "all_start_micros": NOW,
            "all_end_rel_micros": 5,
        }
        message.dev_stats.add(device=f"/device:GPU:0/{lane}").node_stats.add(**row)
    message.dev_stats[2].node_stats.add(
        node_name="c", timeline_label="c = NoOp()", all_start_micros=NOW, all_end_rel_micros=5
    )
    found = tv.read_trace(message).events
    assert sorted(zip(found["lane"], found["name"], strict=True)) == [
        ("stream:13", "a"),
        ("stream:14", "b"),
        ("stream:all", "c"),
    ]


@settings(max_examples=examples(60))
@given(good=st.integers(1, 5), lost=st.integers(1, 9), order=st.randoms(use_true_random=False))
def test_rows_without_a_time_do_not_displace_others(good: int, lost: int, order: Any) -> None:
    times = [{"all_start_micros": NOW + 9 * n, "all_end_rel_micros": 4} for n in range(good)]
    rows = [{"node_name": f"n{n}", **time} for n, time in enumerate(times)]
    rows += [{"node_name": f"lost{n}"} for n in range(lost)]
    order.shuffle(rows)
    message = StepStats()
    entry = message.dev_stats.add(device="/job:localhost/replica:0/task:0/device:CPU:0")
    for row in rows:
        entry.node_stats.add(timeline_label=f"{row['node_name']} = Mul()", **row)
    trace = tv.read_trace(message)
    assert trace.events["name"].tolist() == [f"n{n}" for n in range(good)]
    (note,) = figures_of(trace.notes, "rows_without_time")
    assert note["rows"] == lost


@settings(max_examples=examples(80))
@given(
    changes=st.lists(st.tuples(st.floats(0, 1), st.integers(0, 255)), max_size=6),
    cut=st.one_of(st.just(1.0), st.floats(0, 1)),
)
def test_damaged_bytes_are_an_error_by_name_or_a_sound_table(
    changes: list[tuple[float, int]], cut: float
) -> None:
    content = bytearray(_SMALL)
    for place, value in changes:
        content[int(place * (len(content) - 1))] = value
    damaged = bytes(content[: int(cut * len(content))])
    try:
        trace = tv.read_trace(damaged)
    except tv.TraceFormatError:
        return
    event_table.check(trace.events)
    assert trace.nested is not None
    assert trace.nested.num_rows == len(trace.events)
    trace.lanes, trace.transfers, trace.edges  # noqa: B018


_SMALL = RunMetadata(
    step_stats=oracle.load(Path(__file__).parents[1] / "data" / "cpu_tf18_dist.pb.xz")
).SerializeToString()
