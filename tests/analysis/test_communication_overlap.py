"""Communication, computing, and their overlap."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tfvis_nb as tv
from tests.real_traces import DATA, real_trace
from tfvis_nb import events
from tfvis_nb.analysis.communication.communication_overlap import (
    communicates,
    communication_overlap,
    computes,
)

KINDS = ["op", "kernel", "transfer", "collective", "memcpy", "host"]
ROW = st.tuples(st.integers(0, 40), st.integers(0, 15), st.sampled_from(KINDS), st.sampled_from("ab"))


def moments(rows: list[tuple[int, int, str, str]], *kinds: str) -> set[int]:
    """Return every nanosecond at which a row of some kinds ran."""
    return {t for start, length, kind, _ in rows if kind in kinds for t in range(start, start + length)}


@given(st.lists(ROW, min_size=1, max_size=15))
def test_lengths_are_those_counted_moment_by_moment(rows: list[tuple[int, int, str, str]]) -> None:
    rows = sorted(rows)
    start, duration, kind, task = zip(*rows, strict=True)
    table = events.build({"start_ns": start, "duration_ns": duration, "kind": kind, "task": task})
    found = communication_overlap(tv.Trace(table)).set_index("task")
    assert set(found.index) == set(task)
    for name in set(task):
        group = [row for row in rows if row[3] == name]
        talking, working = moments(group, "transfer", "collective"), moments(group, "op", "kernel")
        span = max(row[0] + row[1] for row in group) - group[0][0]
        talks = [row for row in group if row[2] in ("transfer", "collective")]
        elapsed = max(row[0] + row[1] for row in talks) - talks[0][0] if talks else 0
        assert found.loc[name].drop("step").to_dict() == {
            "step_ns": span,
            "communication_ns": len(talking),
            "computation_ns": len(working),
            "hidden_ns": len(talking & working),
            "exposed_ns": len(talking - working),
            "idle_ns": span - len(talking | working),
            "elapsed_ns": elapsed,
        }


@pytest.mark.parametrize(
    "name", ["dist_inproc_ps_2workers_step0.pb", "cpu_tf115_horovod.pb.xz", "gpu_tf221_dist.pb.xz"]
)
def test_identities_of_real_steps(name: str) -> None:
    found = communication_overlap(real_trace(DATA / name))
    exposed_and_hidden = found["exposed_ns"] + found["hidden_ns"]
    assert exposed_and_hidden.tolist() == found["communication_ns"].tolist()
    either = found["communication_ns"] + found["computation_ns"] - found["hidden_ns"]
    assert (either + found["idle_ns"]).tolist() == found["step_ns"].tolist()
    assert (found[["hidden_ns", "exposed_ns", "idle_ns", "step_ns"]] >= 0).all(axis=None)
    assert (found["elapsed_ns"] >= found["communication_ns"]).all()
    assert found["communication_ns"].max() > 0


def test_a_step_has_its_own_row() -> None:
    table = events.build({"start_ns": [0, 100], "duration_ns": [5, 9], "kind": ["op", "op"], "step": [0, 1]})
    assert communication_overlap(tv.Trace(table))[["step", "step_ns"]].to_numpy().tolist() == [[0, 5], [1, 9]]


def test_what_waits_does_not_compute() -> None:
    ops = ["_Recv", "_HostRecv", "StatefulPartitionedCall", "While", "IteratorGetNext", "WhileLike", "Conv2D"]
    table = events.build({"start_ns": range(7), "duration_ns": [1] * 7, "kind": ["op"] * 7, "op": ops})
    assert computes(table).tolist() == [False] * 5 + [True, True]
    assert not communicates(table).any()


@pytest.mark.collection("hvd/hvd_straggler_rank0_step3.pb", "hvd/hvd_straggler_rank1_step3.pb")
def test_the_straggler_computes_while_the_other_communicates(shared: Path) -> None:
    trace = real_trace([shared / f"hvd/hvd_straggler_rank{rank}_step3.pb" for rank in (0, 1)])
    fast, slow = communication_overlap(trace).to_dict("records")
    assert fast["exposed_ns"] > 0.99 * fast["step_ns"]
    assert slow["computation_ns"] > 0.9 * slow["step_ns"]
    assert slow["exposed_ns"] < 0.1 * slow["step_ns"]
