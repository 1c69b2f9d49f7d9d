"""Collectives of several ranks: who waited, for whom, how long."""

import io
import tarfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tfvis_nb as tv
from tests.real_traces import DATA, real_trace
from tests.wire_reader import read_drawn
from tfvis_nb import events
from tfvis_nb.analysis.communication.collective_waits import COLUMNS, collective_waits, late_ranks
from tfvis_nb.analysis.communication.waits import waits
from tfvis_nb.analysis.subset import subset
from tfvis_nb.display.wire.bars import bar_bytes
from tfvis_nb.reading.stepstats.label_grammar import is_collective

RANKS = ["/job:worker/replica:0/task:0", "/job:worker/replica:0/task:1"]

HOROVOD = [
    "Allreduce",
    "Allgather",
    "Broadcast",
    "BroadcastInplace",
    "BroadcastInplaceResource",
    "Alltoall",
    "Reducescatter",
    "GroupedAllreduce",
    "GroupedAllgather",
    "GroupedReducescatter",
    "Join",
]
QUERIES = ["Rank", "Size", "LocalRank", "LocalSize", "ProcessSetIncluded"]


def table(rows: list[tuple[int, int, str, str]]) -> pd.DataFrame:
    """Build collectives from start, duration, task and name."""
    start, duration, task, name = zip(*sorted(rows), strict=True)
    columns = {"start_ns": start, "duration_ns": duration, "task": task, "name": name}
    words = {"kind": ["collective"] * len(rows), "lane": ["collective"] * len(rows)}
    return events.build({**columns, **words})


@pytest.mark.parametrize("op", [f"Horovod{name}" for name in HOROVOD] + ["AllReduceN", "DdlAllReduceN"])
def test_what_communicates(op: str) -> None:
    label = f"node = {op}(a)"
    trace = tv.read_trace(
        f'dev_stats {{ device: "/job:localhost/replica:0/task:0/cpu:0" node_stats {{ node_name: "node" '
        f'timeline_label: "{label}" all_start_micros: 1 all_end_rel_micros: 1 }} }}'.encode()
    )
    assert trace.events[["kind", "lane"]].to_numpy().tolist() == [["collective", "collective"]]


@pytest.mark.parametrize("name", QUERIES)
def test_what_only_asks(name: str) -> None:
    assert not is_collective(f"Horovod{name}")


@given(
    st.lists(
        st.tuples(st.lists(st.integers(0, 99), min_size=2, max_size=4), st.integers(0, 50)),
        min_size=1,
        max_size=4,
    )
)
def test_waiting_and_moving_are_the_duration(collectives: list[tuple[list[int], int]]) -> None:
    rows = [
        (start, max(starts) + moving - start, f"/task:{rank}", f"tensor{number}")
        for number, (starts, moving) in enumerate(collectives)
        for rank, start in enumerate(starts)
    ]
    trace = tv.Trace(table(rows))
    found = collective_waits(trace)
    assert len(found) == len(rows)
    assert (found["wait_ns"] + found["transfer_ns"] == found["duration_ns"]).all()
    for row in found.to_dict("records"):
        starts, moving = collectives[int(row["name"].removeprefix("tensor"))]
        assert (row["wait_ns"], row["transfer_ns"]) == (max(starts) - row["start_ns"], moving)
        assert starts[int(row["last"].removeprefix("/task:"))] == max(starts)
        assert row["spread_ns"] == max(starts) - min(starts)

    ranks = late_ranks(trace).set_index("task")
    assert ranks["collectives"].sum() == len(rows)
    assert ranks["last"].sum() == len(collectives)
    waited: dict[str, set[int]] = {}
    for row in found.to_dict("records"):
        until = row["start_ns"] + row["wait_ns"]
        waited.setdefault(row["task"], set()).update(range(row["start_ns"], until))
    assert {rank: len(waited[rank]) for rank in ranks.index} == ranks["waited_ns"].to_dict()
    awaited: dict[str, set[int]] = {}
    for _, group in found.groupby("collective"):
        second, last = group["start_ns"].tolist()[-2:]
        awaited.setdefault(group["last"].iloc[0], set()).update(range(second, last))
    assert {rank: len(awaited.get(rank, ())) for rank in ranks.index} == ranks["sole_wait_ns"].to_dict()


def test_executions_in_a_loop_are_paired_in_order() -> None:
    rows = [
        (0, 20, "/task:0", "a"),
        (10, 10, "/task:1", "a"),
        (50, 40, "/task:0", "a"),
        (80, 10, "/task:1", "a"),
    ]
    trace = tv.Trace(table(rows))
    found = collective_waits(trace)
    assert found["collective"].tolist() == [0, 0, 1, 1]
    assert found["wait_ns"].tolist() == [10, 0, 30, 0]


def test_what_cannot_be_paired_has_no_row() -> None:
    alone = [(0, 5, "/task:0", "alone")]
    uneven = [(0, 5, "/task:0", "b"), (10, 5, "/task:0", "b"), (10, 5, "/task:1", "b")]
    untold = [(0, 5, "", "c"), (1, 5, "/task:1", "c")]
    trace = tv.Trace(table(alone + uneven + untold))
    found = collective_waits(trace)
    assert found.empty
    assert tuple(found.columns) == COLUMNS
    assert late_ranks(trace).empty


def test_kernels_are_left_to_their_ops() -> None:
    rows = table([(task, 5, f"/task:{task}", name) for task in (0, 1) for name in "ab"])
    lanes = ["stream:13" if name == "a" else "collective" for name in rows["name"]]
    rows["lane"] = pd.Categorical(lanes)
    assert set(collective_waits(tv.Trace(rows))["name"]) == {"b"}
    rows["lane"] = pd.Categorical(["stream:13"] * 4)
    assert set(collective_waits(tv.Trace(rows))["name"]) == {"a", "b"}


def test_process_groups_meet_apart() -> None:
    groups = ["[0, 1]", "[2, 3]", "[0, 1]", "[2, 3]"]
    rows = table([(start, 9, f"/task:{task}", "a") for start, task in [(0, 0), (1, 2), (2, 1), (3, 3)]])
    details = [f"nccl Process Group Name=tp Process Group Ranks={ranks} Seq=0" for ranks in groups]
    rows["detail"] = pd.array(details, dtype=events.TEXT)
    found = collective_waits(tv.Trace(rows))
    assert found["task"].astype(str).groupby(found["collective"]).agg(list).tolist() == [
        ["/task:0", "/task:1"],
        ["/task:2", "/task:3"],
    ]


def test_clocks_that_disagree_are_not_believed() -> None:
    trace = tv.Trace(table([(0, 10, "/task:0", "a"), (500, 10, "/task:1", "a")]))
    found = collective_waits(trace)
    assert found["wait_ns"].isna().all()
    assert found["transfer_ns"].isna().all()
    assert found["spread_ns"].isna().all()
    assert late_ranks(trace).empty


def test_nothing_of_nothing() -> None:
    trace = tv.Trace(events.build({}, rows=0))
    found = collective_waits(trace)
    assert tuple(found.columns) == COLUMNS
    assert late_ranks(trace).empty


STRAGGLERS = {
    "hvd": ("hvd/hvd_straggler_rank0_step3.pb", "hvd/hvd_straggler_rank1_step3.pb"),
    "hvd2": ("hvd/hvd_straggler_rank0_step2.pb", "hvd/hvd_straggler_rank1_step2.pb"),
    "hvd115": ("hvd/hvd115_straggler_rank0_step3.pb", "hvd/hvd115_straggler_rank1_step3.pb"),
}
EVEN = {
    name: (f"hvd/{name.replace('step', 'rank0_step')}.pb", f"hvd/{name.replace('step', 'rank1_step')}.pb")
    for name in ("hvd_step1", "hvd_step3", "hvd115_step3", *(f"hvd_collectives_step{n}" for n in range(3)))
}


@pytest.mark.parametrize(
    "files",
    [
        pytest.param(files, id=name, marks=pytest.mark.collection(*files))
        for name, files in (STRAGGLERS | EVEN).items()
    ],
)
def test_every_collective_of_every_run_is_waited_for(files: tuple[str, str], shared: Path) -> None:
    trace = real_trace([shared / name for name in files])
    ran = trace.events[trace.events["kind"] == "collective"]
    assert ran["op"].astype(str).str.startswith("Horovod").all()
    assert set(ran["lane"]) == {"collective"}
    # Of both ranks, once each; and nothing that only asks is among them.
    assert sorted(trace.collective_waits["event"]) == ran.index.tolist()
    assert set(ran["op"]) & {f"Horovod{name}" for name in QUERIES} == set()
    assert trace.collective_waits["wait_ns"].notna().all()
    shown = waits(trace)[trace.collective_waits["event"]]
    assert (shown > 0).sum() == len(trace.collective_waits) / 2
    first = trace.collective_waits.groupby("collective").first()
    assert (first["wait_ns"] == first["spread_ns"]).all()
    ranks = late_ranks(trace)
    assert ranks["last"].sum() == trace.collective_waits["collective"].nunique()
    assert ranks["sole_wait_ns"].iloc[0] > 0


def test_the_straggler_of_a_small_run_is_named() -> None:
    trace = real_trace([DATA / f"horovod_rank{rank}_step3.pb.xz" for rank in (0, 1)])
    ranks = late_ranks(trace)
    assert ranks["task"].tolist() == RANKS[::-1]
    assert ranks["last"].tolist() == [8, 0]


def test_ranks_of_ddl() -> None:
    """Rank 2 comes last to every AllReduceN; what only looks alike is an op."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as tar:
        for rank, start in enumerate((10, 20, 60)):
            text = 'dev_stats { device: "/job:localhost/replica:0/task:0/gpu:0" '
            text += "".join(
                f'node_stats {{ node_name: "{name}" timeline_label: "{name} = {op}(grads)" '
                f"all_start_micros: {10**15 + start + later} all_end_rel_micros: {100 - start} }} "
                for name, op, later in (
                    ("DDL/a", "AllReduceN", 0),
                    ("DDL/b", "AllReduceN", 5),
                    ("c", "ReduceN", 9),
                )
            )
            info = tarfile.TarInfo(f"rank{rank}.pbtxt")
            info.size = len(text) + 1
            tar.addfile(info, io.BytesIO(f"{text}}}".encode()))
    trace = tv.read_trace(packed.getvalue())
    arrived = trace.collective_waits
    assert arrived["wait_ns"].tolist() == [50_000, 40_000, 0] * 2
    assert arrived["transfer_ns"].tolist() == [40_000] * 6
    assert set(arrived["last"]) == {"/job:worker/replica:0/task:2"}
    lanes = trace.lanes.set_index("lane")
    assert lanes["events"].groupby("lane", observed=True).sum().to_dict() == {"ops": 3, "collective": 6}
    slow = late_ranks(trace).iloc[0]
    # Both tensors at once: 40 us from the second rank to the last, 5 us of them once only.
    assert (slow["task"], slow["sole_wait_ns"]) == ("/job:worker/replica:0/task:2", 45_000)


@pytest.mark.parametrize(
    "files",
    [
        pytest.param(files, id=name, marks=pytest.mark.collection(*files))
        for name, files in STRAGGLERS.items()
    ],
)
def test_the_straggler_is_named(files: tuple[str, str], shared: Path) -> None:
    trace = real_trace([shared / name for name in files])
    ranks = late_ranks(trace)
    assert ranks["task"].iloc[0] == RANKS[1]
    assert ranks["last"].tolist() == [8, 0]
    assert trace.collective_waits["collective"].nunique() == 8
    slow, fast = ranks.to_dict("records")
    # What one waits the other is waited for.
    assert slow["sole_wait_ns"] == fast["waited_ns"] > 190_000_000
    assert slow["waited_ns"] == fast["sole_wait_ns"] == 0


@pytest.mark.collection(*STRAGGLERS["hvd"])
def test_the_wait_of_a_known_allreduce(shared: Path) -> None:
    """In microseconds: rank 0 came at 1656960 and rank 1 at 1868396; they ended at 1877875 and 1877894."""
    trace = real_trace([shared / name for name in STRAGGLERS["hvd"]])
    loss = trace.collective_waits[trace.collective_waits["name"] == "avg_loss"]
    assert loss["task"].tolist() == RANKS
    assert (loss["wait_ns"] // 1000).tolist() == [1868396 - 1656960 - 1, 0]
    assert (loss["transfer_ns"] // 1000).tolist() == [1877875 - 1868396, 1877894 - 1868396]


def test_the_slower_worker_of_a_multi_worker_strategy_is_named() -> None:
    """Worker 1 was given more work, in every step."""
    trace = real_trace([DATA / f"gpu_tf221_worker{worker}.xplane.pb.xz" for worker in (0, 1)])
    ranks = late_ranks(trace)
    assert ranks.groupby("step")["task"].first().tolist() == [RANKS[1]] * 6
    assert trace.collective_waits["op"].unique().tolist() == ["CollectiveReduceV2"]


@pytest.mark.collection("hvd/hvd115_rank0_step3.pb", "hvd/hvd115_rank1_step3.pb")
def test_ranks_that_are_even_wait_little(shared: Path) -> None:
    trace = real_trace([shared / f"hvd/hvd115_rank{rank}_step3.pb" for rank in (0, 1)])
    assert late_ranks(trace)["sole_wait_ns"].max() < 2_000_000


@pytest.mark.collection(*STRAGGLERS["hvd"])
def test_the_picture_shows_the_waits(shared: Path) -> None:
    trace = real_trace([shared / name for name in STRAGGLERS["hvd"]])
    expected = np.zeros(len(trace.events), np.int64)
    expected[trace.collective_waits["event"]] = trace.collective_waits["wait_ns"]
    assert waits(trace).tolist() == expected.tolist()
    assert [row["wait"] for row in read_drawn(bar_bytes(trace))[1]] == expected.tolist()

    # Of one rank alone they are still known.
    ids = np.flatnonzero(trace.events["task"] == RANKS[0])
    assert waits(subset(trace, ids)).tolist() == expected[ids].tolist()
