"""The slowest transfers and copies with their ends, against the edges followed one by one."""

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from tests.real_traces import DATA, each, real_trace, step_stats_files
from tests.support.texts import raises_id
from tfvis_nb import Trace, events
from tfvis_nb.analysis import slowest_transfers, why_not


def followed(trace: Trace) -> dict[int, dict[str, Any]]:
    """Return the ends of each transfer and copy."""
    start = trace.events["start_ns"].tolist()
    end = (trace.events["start_ns"] + trace.events["duration_ns"]).tolist()
    edges = list(zip(*(trace.edges[name].tolist() for name in ("source", "target", "kind")), strict=True))
    inputs: dict[int, list[int]] = {}
    for source, target, kind in edges:
        if kind != "launch":
            inputs.setdefault(target, []).append(source)
    found = {}
    for event in trace.transfers["event"].tolist():
        makers = [source for source, target, kind in edges if target == event and kind != "launch"]
        launchers = [source for source, target, kind in edges if target == event and kind == "launch"]
        users = [target for source, target, _ in edges if source == event]
        producer = max(makers, key=lambda maker: (end[maker], -maker), default=None)
        consumer = min(users, key=lambda user: (start[user], user), default=None)
        latest = 0 if consumer is None else max(end[one] for one in inputs[consumer])
        kept = None if producer is None else start[event] - end[producer]
        unused = None if consumer is None else start[consumer] - end[event]
        found[event] = {
            "producer": producer,
            "launcher": max(launchers, key=lambda one: (end[one], -one), default=None),
            "consumer": consumer,
            "consumers": len(users),
            "producer_name": "" if producer is None else trace.events["name"][producer],
            "consumer_name": "" if consumer is None else trace.events["name"][consumer],
            "send_delay_ns": kept,
            "use_delay_ns": unused,
            "edge_ns": None if kept is None or unused is None else kept + end[event] - start[event] + unused,
            "last_input": None if consumer is None else latest <= end[event],
        }
    return found


SMALL = [path for path in step_stats_files() if path.stat().st_size < 100_000]


@pytest.mark.parametrize("path", each(SMALL))
def test_both_ends_of_real_transfers(path: Path) -> None:
    trace = real_trace(path)
    table = slowest_transfers(trace)
    assert bool(why_not(table)) == trace.transfers.empty
    expected = followed(trace)
    assert sorted(table["event"].tolist()) == sorted(expected)
    rows: list[dict[Any, Any]] = table.to_dict("records")
    for row in rows:
        ends = expected[row["event"]]
        assert {name: None if pd.isna(row[name]) else row[name] for name in ends} == ends
    assert table["total_ns"].is_monotonic_decreasing
    known = table[table["wait_ns"].notna()]
    assert (known["wait_ns"] + known["transfer_ns"] == known["total_ns"]).all()


def test_a_weight_comes_from_its_variable_to_its_layer() -> None:
    table = slowest_transfers(real_trace(DATA / "gpu_tf221_dist.pb.xz"))
    weights = table[table["tensor"].str.endswith("MatMul/ReadVariableOp")]
    assert len(weights) == 2
    assert weights["producer_name"].str.fullmatch(r"worker\d/MatMul/ReadVariableOp").all()
    assert weights["consumer_name"].str.fullmatch(r"worker\d/MatMul").all()
    assert (weights[["send_delay_ns", "use_delay_ns"]] >= 0).all(axis=None)


def test_the_slowest_alone() -> None:
    trace = real_trace(DATA / "gpu_tf221_dist.pb.xz")
    whole, three = slowest_transfers(trace), slowest_transfers(trace, 3)
    pd.testing.assert_frame_equal(three, whole.head(3))
    assert slowest_transfers(trace, 0).empty
    with raises_id(ValueError, "most_negative"):
        slowest_transfers(trace, -1)
    with raises_id(TypeError, "most_no_number", most="foo"):
        slowest_transfers(trace, "foo")  # type: ignore[arg-type]


def test_nothing_moved() -> None:
    nothing = slowest_transfers(Trace(events.build({}, rows=0)))
    assert why_not(nothing).id == "no_transfers"
    some = slowest_transfers(real_trace(DATA / "gpu_tf221_dist.pb.xz"))
    assert nothing.dtypes.astype(str).to_dict() == some.dtypes.astype(str).to_dict()
