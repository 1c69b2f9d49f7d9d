"""Flame graphs against the same added up event by event."""

from collections import Counter

import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.analysis.test_findings_of_lock import RUNS, loop
from tests.real_traces import DATA, real_trace
from tests.support.texts import raises_id
from tfvis_nb import Trace, events
from tfvis_nb.analysis import compare_flame_graphs, flame_graph, op_statistics, scope_tree, why_not
from tfvis_nb.analysis.steps.flame_graph import FRAMES, SIDES, Frames, Place
from tfvis_nb.analysis.steps.frames import NO_LAYER
from tfvis_nb.core.stacks import Frame, StackBuilder

Path = tuple[str, ...]
FIGURES_OF_BOTH = (("events", ""), ("total", "_ns"), ("self", "_ns"))


def paths(tree: pd.DataFrame) -> dict[Path, tuple[int, int]]:
    """The own time and number of events of each frame with events, by all frames that it is in."""
    path: list[Path] = []
    for frame, parent in zip(tree["frame"], tree["parent"], strict=True):
        path.append(() if parent < 0 else (*path[parent], frame))
    own = tree["events"] - tree[tree["parent"] >= 0].groupby("parent")["events"].sum().reindex(
        tree.index, fill_value=0
    )
    found = zip(path, tree["self_ns"], own, strict=True)
    return {path: (time, count) for path, time, count in found if count}


def check_sums(tree: pd.DataFrame) -> None:
    """Each row is its own time and those right below it, which come after it with the largest first."""
    for row, one in tree.iterrows():
        below = tree[tree["parent"] == row]
        assert one["total_ns"] == one["self_ns"] + below["total_ns"].sum()
        assert below["total_ns"].is_monotonic_decreasing
        assert (below["depth"] == one["depth"] + 1).all()
        assert (below.index > row).all()


SPAN = st.tuples(st.integers(0, 12), st.integers(1, 8), st.sampled_from("ab"), st.sampled_from(["t", "u"]))


@given(st.lists(SPAN, min_size=1, max_size=12))
def test_threads_against_what_runs_at_each_nanosecond(spans: list[tuple[int, int, str, str]]) -> None:
    # A span that overlaps another one without lying in it is not a call.
    calls: list[tuple[int, int, str, str]] = []
    for start, length, op, lane in spans:
        end = start + length
        if all(
            lane != other[3] or end <= other[0] or other[1] <= start or other[0] <= start < end <= other[1]
            for other in calls
        ):
            calls.append((start, end, op, lane))
    columns = {
        "start_ns": [call[0] for call in calls],
        "duration_ns": [call[1] - call[0] for call in calls],
        "op": [call[2] for call in calls],
        "lane": [call[3] for call in calls],
        "kind": ["host"] * len(calls),
    }
    expected: Counter[Path] = Counter()
    for lane in "tu":
        for moment in range(30):
            # Calls came in the order from outer to inner.
            running = [op for start, end, op, where in calls if where == lane and start <= moment < end]
            if running:
                expected[lane, *running] += 1
    tree = flame_graph(Trace(events.order(events.build(columns))[0]), by="thread", side="host")
    check_sums(tree)
    assert {path: time for path, (time, _) in paths(tree).items() if time} == expected


FILES = {"/x/model.py": True, "Cell [7]": True, "/lib/keras.py": False}
LINE = st.tuples(st.sampled_from(list(FILES)), st.integers(1, 2)).map(
    lambda where: Frame(*where, own=FILES[where[0]])
)
CODE = st.lists(LINE, max_size=4)


@given(st.lists(st.tuples(CODE, st.integers(0, 9), st.sampled_from("ab")), min_size=1, max_size=10))
def test_stacks_against_each_event_alone(rows: list[tuple[list[Frame], int, str]]) -> None:
    builder = StackBuilder()
    numbers = [builder.stack(frames) for frames, _, _ in rows]  # noqa: PD013 - no pandas
    columns = {
        "start_ns": list(range(len(rows))),
        "duration_ns": [length for _, length, _ in rows],
        "op": [op for *_, op in rows],
        "lane": ["stream:1"] * len(rows),
        "kind": ["kernel"] * len(rows),
    }
    stacks = pa.table(
        {"stack": pa.array([number if number >= 0 else None for number in numbers], pa.int32())}
    )
    trace = Trace(events.build(columns), nested=stacks, stacks=builder.table())
    tree = flame_graph(trace, by="stack")
    if max(numbers) < 0:
        assert why_not(tree).id == "no_stacks"
        return
    check_sums(tree)
    expected: dict[Path, list[int]] = {}
    for frames, length, op in rows:
        own = [f"{frame.file.rpartition('/')[2]}:{frame.line}" for frame in frames if frame.own]
        path = tuple(own) or ("(library)" if frames else "(no stack)",)
        expected.setdefault((*path, op), []).append(length)
    assert paths(tree) == {path: (sum(lengths), len(lengths)) for path, lengths in expected.items()}


@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("by", FRAMES)
@pytest.mark.parametrize("name", ["gpu_tf221_dist.pb.xz", "gpu_tf218_function.xplane.pb.xz"])
def test_totals_are_those_of_other_tables(name: str, by: Frames, side: Place) -> None:
    trace = real_trace(DATA / name)
    tree = flame_graph(trace, by, side)
    lacks = {"stack": "no_stacks"} | ({"layer": "no_scopes"} if "function" in name else {})
    if by in lacks:
        assert why_not(tree).id == lacks[by]
        return
    table = op_statistics(trace)
    of_side = table[table["side"] == side]["self_ns"].sum()
    totals = {
        "scope": scope_tree(trace)[f"{side}_ns"].iloc[0],
        "layer": of_side,
        "thread": of_side,
    }
    assert tree["total_ns"].iloc[0] == tree["self_ns"].sum() == totals[by]
    within = tree[tree["parent"] >= 0].groupby("parent")["total_ns"].sum()
    assert (tree["self_ns"].add(within, fill_value=0) == tree["total_ns"]).all()
    numbers = trace.steps["step"].tolist()
    assert sum(flame_graph(trace, by, side, [step])["self_ns"].sum() for step in numbers) == totals[by]


@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("by", ["scope", "thread"])
def test_a_difference_has_the_frames_of_both(by: Frames, side: Place) -> None:
    traces = [real_trace(DATA / f"gpu_tf{version}_mlp.pb.xz") for version in ("218", "221")]
    tree = compare_flame_graphs(traces[0], traces[1], by, side)
    below = tree["parent"] >= 0
    assert (tree["parent"][below] < tree.index[below]).all()
    for letter, trace in zip("ab", traces, strict=True):
        names = {f"{name}_{letter}{end}": f"{name}{end}" for name, end in FIGURES_OF_BOTH}
        own = tree[["frame", "parent", *names]].rename(columns=names)
        assert {path: one for path, one in paths(own).items() if one[1]} == paths(
            flame_graph(trace, by, side)
        )
        within = own[below].groupby("parent")["total_ns"].sum()
        assert (own["self_ns"].add(within, fill_value=0) == own["total_ns"]).all()
    assert (tree["step_difference_ns"] == tree["total_b_ns"] - tree["total_a_ns"]).all()
    assert tree.attrs["steps"] == (1, 1)


def test_a_difference_is_that_of_a_mean_step() -> None:
    several, single = (
        Trace(
            events.build(
                {
                    "start_ns": [0, 10, 20][:count],
                    "duration_ns": [1, 2, 6][:count],
                    "kind": ["kernel"] * count,
                    "step": range(count),
                    "name": [name] * count,
                }
            )
        )
        for count, name in ((3, "fc"), (1, "old"))
    )
    tree = compare_flame_graphs(single, several).set_index("frame")
    assert tree["step_difference_ns"].to_dict() == {"": 2, "fc": 3, "old": -1}
    chosen = compare_flame_graphs(several, several, steps=([0], [1, 2]))
    assert chosen["step_difference_ns"].tolist() == [3, 3]


def test_a_difference_needs_events_of_one_and_lines_of_both() -> None:
    kernel, op = (
        Trace(events.build({"start_ns": [0], "duration_ns": [7], "kind": [kind], "name": ["fc"]}))
        for kind in ("kernel", "op")
    )
    tree = compare_flame_graphs(kernel, op)
    assert tree[["total_a_ns", "total_b_ns", "events_b"]].to_numpy().tolist() == [[7, 0, 0]] * 2
    nothing = compare_flame_graphs(op, op)
    assert why_not(nothing).id == "no_events_of_side"
    assert list(nothing) == list(tree)
    assert why_not(compare_flame_graphs(kernel, kernel, "stack")).id == "no_stacks"
    with raises_id(ValueError, "not_one_of", by="lane"):
        compare_flame_graphs(op, op, "lane")  # type: ignore[arg-type]
    with raises_id(TypeError, "no_trace", function="compare_flame_graphs"):
        compare_flame_graphs(op, "trace.pb")  # type: ignore[arg-type]


def test_waits_for_the_lock_are_not_at_their_call() -> None:
    trace, builder = loop(in_step_ms=5, between_ms=5, samples=(RUNS,)), StackBuilder()
    line = builder.stack([Frame("train.py", 3)])  # noqa: PD013 - no pandas
    stacks = [line if op == "TFE_Py_Execute" else None for op in trace.events["op"]]
    nested = pa.table({"stack": pa.array(stacks, pa.int32())})
    trace = Trace(trace.events, nested=nested, metadata=trace.metadata, stacks=builder.table())
    tree = flame_graph(trace, by="stack", side="host")
    total = tree.set_index("frame")["total_ns"]
    lines = trace.source_lines
    waiting = lines[lines["reason"] == "waiting"]["host_ns"].sum()
    assert total["(waiting)"] == waiting > total["train.py:3"]
    table = op_statistics(trace)
    of_host = table[table["side"] == "host"]
    assert (total[""], tree["events"][0]) == (of_host["self_ns"].sum(), of_host["count"].sum())


def test_layers_lie_in_each_other_and_have_their_ops() -> None:
    columns = {
        "start_ns": [0, 10, 20, 30],
        "duration_ns": [1, 2, 4, 8],
        "kind": ["op"] * 4,
        "lane": ["ops"] * 4,
        "op": ["MatMul", "Relu", "MatMul", "NoOp"],
        "name": ["net/fc/MatMul", "net/Relu", "gradient_tape/net/fc/MatMul/MatMul_1", "NoOp"],
    }
    trace = Trace(events.build(columns))
    assert paths(flame_graph(trace, "layer", "host")) == {
        ("net", "fc", "MatMul"): (5, 2),
        ("net", "Relu"): (2, 1),
        (NO_LAYER, "NoOp"): (8, 1),
    }
    last = Trace(trace.events.iloc[3:].reset_index(drop=True))
    assert why_not(flame_graph(last, "layer", "host")).id == "no_scopes"


def test_calls_within_calls_within_calls_stay_within_bounds() -> None:
    count = 2000
    columns = {
        "start_ns": list(range(count)),
        "duration_ns": [2 * count - 2 * at for at in range(count)],
        "kind": ["host"] * count,
        "lane": ["python3"] * count,
        "op": ["f"] * count,
    }
    tree = flame_graph(Trace(events.build(columns)), by="thread", side="host")
    assert tree["depth"].max() == 256
    assert tree["self_ns"].sum() == tree["total_ns"].iloc[0] == 2 * count


def test_rejected_arguments_and_unavailable_cases() -> None:
    trace = Trace(events.build({"start_ns": [0], "duration_ns": [1], "kind": ["host"]}))
    with raises_id(ValueError, "not_one_of", by="lane"):
        flame_graph(trace, "lane")  # type: ignore[arg-type]
    with raises_id(ValueError, "not_one_of", by="network"):
        flame_graph(trace, side="network")  # type: ignore[arg-type]
    with raises_id(ValueError, "no_step", step=7):
        flame_graph(trace, steps=[7])
    nothing = flame_graph(trace)
    assert why_not(nothing).id == "no_events_of_side"
    assert list(nothing) == list(flame_graph(trace, "thread", "host"))
