"""The tree of scopes against the same made name by name."""

from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.real_traces import DATA, real_trace
from tests.support.texts import raises_id
from tfvis_nb import Trace, events
from tfvis_nb.analysis import scope_tree, why_not

GPU = "/device:GPU:0"
KINDS = ("kernel", "op", "transfer", "host", "sync", "memcpy")
SIDE = {"kernel": "device", "memcpy": "device", "op": "host", "transfer": "network"}
PART = st.sampled_from(["a", "b", "", "_7", "c_S3"])

Row = tuple[int, int, str]
ROWS = st.lists(
    st.tuples(st.integers(0, len(KINDS) - 1), st.integers(0, 50), st.lists(PART, max_size=4).map("/".join)),
    max_size=15,
)


def trace_of(rows: list[Row]) -> Trace:
    columns = {
        "start_ns": list(range(len(rows))),
        "duration_ns": [row[1] for row in rows],
        "kind": [KINDS[row[0]] for row in rows],
        "name": [row[2] for row in rows],
        "lane": [{"op": "ops", "host": "python3"}.get(KINDS[row[0]], "stream:1") for row in rows],
    }
    return Trace(events.build(columns, rows=len(rows)))


def node_of(kind: str, name: str) -> tuple[str, ...]:
    """The parts of a node's name; for copies and transfers without the suffix of the partition."""
    if kind in ("memcpy", "transfer"):
        head, _, last = name.rpartition("/")
        if head and last[:1] == "_" and last[1:].isdecimal():
            name = head
        elif name.endswith("_S3") and name != "_S3":
            name = name.removesuffix("_S3")
    return tuple(name.split("/")) if name else ()


def paths(table: pd.DataFrame) -> list[tuple[str, ...]]:
    """The parts from the root to each row, by its parents."""
    found: list[tuple[str, ...]] = []
    for part, parent in zip(table["part"], table["parent"], strict=True):
        found.append((*found[parent], part) if parent >= 0 else ())
    return found


@given(ROWS)
def test_every_scope_contains_its_ops(rows: list[Row]) -> None:
    counted = [(KINDS[kind], length, node_of(KINDS[kind], name)) for kind, length, name in rows]
    counted = [row for row in counted if row[0] in SIDE]
    table = scope_tree(trace_of(rows))
    if not counted:
        assert why_not(table).id == "no_nodes"
        assert len(table) == 0
        return
    scopes = {node[:depth] for _, _, node in counted for depth in range(len(node) + 1)}
    found = paths(table)
    assert len(found) == len(set(found))
    assert set(found) == scopes
    for path, row in zip(found, table.to_dict("records"), strict=True):
        inside = [one for one in counted if one[2][: len(path)] == path]
        assert row["scope"] == "/".join(path)
        assert (row["depth"], row["events"]) == (len(path), len(inside))
        for side in ("device", "host", "network"):
            there = [one for one in inside if SIDE[one[0]] == side]
            assert row[f"{side}_ns"] == sum(length for _, length, _ in there)
            assert row[f"{side}_own_ns"] == sum(length for _, length, node in there if node == path)
        for side in ("device", "host"):
            whole = table[f"{side}_ns"].iloc[0]
            if whole:
                assert row[f"{side}_share"] == pytest.approx(row[f"{side}_ns"] / whole)
            else:
                assert pd.isna(row[f"{side}_share"])


@given(ROWS)
def test_scopes_have_tree_order_with_larger_ones_first(rows: list[Row]) -> None:
    table = scope_tree(trace_of(rows))
    found = paths(table)
    below: dict[int, list[tuple[int, int]]] = {}
    for row in range(len(table)):
        parent = int(table["parent"][row])
        # Only the parent's own rows lie between a row and its parent.
        assert parent < row
        assert all(path[: len(found[parent])] == found[parent] for path in found[max(parent, 0) : row])
        below.setdefault(parent, []).append((-table["device_ns"][row], -table["host_ns"][row]))
    assert all(siblings == sorted(siblings) for siblings in below.values())


@pytest.mark.parametrize("name", ["gpu_tf221_mixed.pb.xz", "gpu_tf218_function.xplane.pb.xz"])
def test_parts_add_up_to_the_whole_on_real_traces(name: str) -> None:
    trace = real_trace(DATA / name)
    table = scope_tree(trace)
    for side in ("device", "host", "network"):
        below = table[table["parent"] >= 0].groupby("parent")[f"{side}_ns"].sum()
        summed = table[f"{side}_own_ns"].add(below.reindex(table.index, fill_value=0))
        assert (summed == table[f"{side}_ns"]).all()
    device = trace.events[trace.events["kind"].isin(["kernel", "memcpy", "memset"])]
    assert table["device_ns"][0] == device["duration_ns"].sum() > 0


def test_a_copy_counts_to_the_node_whose_tensor_it_moves(data: Path) -> None:
    trace = real_trace(data / "gpu_tf221_mixed.pb.xz")
    copies = trace.events[trace.events["kind"] == "memcpy"]
    assert "TopKV2/_7" in copies["name"].tolist()
    table = scope_tree(trace).set_index("scope")
    assert "TopKV2/_7" not in table.index
    of_node = trace.events["name"].isin(["TopKV2", "TopKV2/_7"]) & (trace.events["kind"] != "op")
    assert table.loc["TopKV2", "device_own_ns"] == trace.events["duration_ns"][of_node].sum()


def test_ops_within_ops_on_their_thread_count_once() -> None:
    columns = {
        "kind": ["op", "host", "op"],
        "name": ["f", "launch", "f/MatMul"],
        "lane": ["tf_Compute/1"] * 3,
    }
    table = events.build({"start_ns": [0, 1, 5], "duration_ns": [10, 2, 4], **columns})
    found = scope_tree(Trace(table))
    assert found[["scope", "host_ns", "host_own_ns"]].to_numpy().tolist() == [
        ["", 10, 0],
        ["f", 10, 6],
        ["f/MatMul", 4, 4],
    ]


def test_only_the_steps_asked_for() -> None:
    columns = {"kind": ["kernel"] * 2, "name": ["a", "b"], "step": [0, 1]}
    trace = Trace(events.build({"start_ns": [0, 5], "duration_ns": [1, 2], **columns}))
    assert scope_tree(trace, steps=[1])["scope"].tolist() == ["", "b"]
    with raises_id(ValueError, "no_step", step=2):
        scope_tree(trace, steps=[2])
    for steps in (99, "foo"):
        with raises_id(TypeError, "steps_no_list"):
            scope_tree(trace, steps)  # type: ignore[arg-type]


def test_a_name_of_ten_thousand_slashes_stays_a_tree_of_few() -> None:
    columns = {"kind": ["kernel"], "name": ["/".join("x" * 10_000)]}
    table = scope_tree(Trace(events.build({"start_ns": [0], "duration_ns": [1], **columns})))
    assert len(table) == 33
    assert table["scope"].iloc[-1] == columns["name"][0]
    assert len(table["part"].iloc[-1]) == 2 * (10_000 - 31) - 1
