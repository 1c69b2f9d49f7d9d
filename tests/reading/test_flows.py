"""Flow arrows of Chrome traces, compared with a reader that checks every bar for every end."""

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tfvis_nb as tv
from tests.support.examples import examples
from tests.support.texts import figures_of
from tfvis_nb.reading.concat import concatenate

Arrows = set[tuple[str, str]]


def bar(name: str, ts: float, dur: float, tid: int = 1, **more: Any) -> dict[str, Any]:
    return {"ph": "X", "name": name, "ts": ts, "dur": dur, "pid": 1, "tid": tid, **more}


def flow(phase: str, ts: Any, tid: int = 1, **more: Any) -> dict[str, Any]:
    return {"ph": phase, "cat": "async", "name": "go", "id": 7, "ts": ts, "pid": 1, "tid": tid, **more}


def read(*events: dict[str, Any], **keys: Any) -> tv.Trace:
    return tv.read_trace(json.dumps({"traceEvents": events, **keys}).encode())


def arrows(trace: tv.Trace) -> Arrows:
    found = trace.edges[trace.edges["kind"] == "flow"]
    names = trace.events["name"].to_numpy()
    return set(zip(names[found["source"]], names[found["target"]], strict=True))


OUTER, INNER, LATER, OTHER = (
    bar("outer", 0, 9),
    bar("inner", 2, 3),
    bar("later", 20, 5),
    bar("other", 5, 9, 2),
)


@pytest.mark.parametrize(
    ("ends", "expected"),
    [
        ([flow("s", 3), flow("f", 7, 2, bp="e")], {("inner", "other")}),
        ([flow("s", 5), flow("f", 4, 2)], set()),
        ([flow("s", 1), flow("f", 4, 2)], {("outer", "other")}),
        ([flow("s", 3), flow("t", 7, 2, bp="e"), flow("f", 15)], {("inner", "other"), ("other", "later")}),
        ([flow("s", 3), flow("f", 7, 2, bp="e", id=8)], set()),
        ([flow("s", 3), flow("f", 7, 2, bp="e", cat="x")], set()),
        ([flow("s", 9), flow("f", 9, 2, bp="e")], set()),
        ([flow("s", 3), flow("f", 7, 2, bp="e"), flow("f", 15)], {("inner", "other"), ("inner", "later")}),
        ([flow("s", 3), flow("f", 4, bp="e")], set()),
    ],
)
def test_where_arrows_start_and_end(ends: list[dict[str, Any]], expected: Arrows) -> None:
    assert arrows(read(OUTER, INNER, LATER, OTHER, *ends)) == expected


def test_bars_that_name_their_arrows() -> None:
    trace = read(
        bar("a", 0, 9, bind_id="0x1", flow_out=True),
        bar("b", 3, 9, 2, bind_id="0x1", flow_in=True, flow_out=True),
        bar("c", 8, 9, 3, bind_id="0x1", flow_in=True),
        bar("d", 8, 9, 4, bind_id="0x1"),
        bar("e", 8, 9, 5, bind_id=["0x1"], flow_in=True),
    )
    assert arrows(trace) == {("a", "b"), ("b", "c")}
    assert figures_of(trace.notes, "flow_ends_left_out") == [{"ends": 1}]


def test_ends_without_a_bar_or_a_start_are_counted() -> None:
    trace = read(
        bar("a", 0, 9), flow("s", 50), flow("f", 60, bp="e"), flow("f", 4, bp="e"), flow("t", "soon")
    )
    assert arrows(trace) == set()
    assert figures_of(trace.notes, "flow_ends_left_out") == [{"ends": 4}]


def test_a_step_keeps_its_arrows_and_no_edge_leaves_it() -> None:
    marks = [bar(f"ProfilerStep#{number}", number * 100, 100, cat="user_annotation") for number in (0, 1)]
    work = [bar(f"op{number}", number * 50 + 10, 9, 2, cat="cpu_op") for number in range(4)]
    within = [flow("s", 11, 2, id=1), flow("f", 61, 2, id=1, bp="e")]
    across = [flow("s", 11, 2, id=2), flow("f", 111, 2, id=2, bp="e")]
    trace = read(*marks, *work, *within, *across, schemaVersion=1)
    assert trace.steps["step"].tolist() == [0, 1]
    assert arrows(trace) == {("op0", "op1")}


def test_the_critical_path_follows_an_arrow() -> None:
    trace = read(
        *(bar("launch", 0, 3), bar("kernel", 10, 30, 2), bar("unrelated", 4, 5, 3)),
        *(flow("s", 1), flow("f", 10, 2, bp="e")),
    )
    names = trace.events["name"].to_numpy()
    path = trace.critical_path
    assert names[path["event"]].tolist()[0] == "launch"
    assert "flow" in set(path["by"].dropna())


@pytest.mark.parametrize("suffix", ["parquet", "json"])
def test_files_keep_arrows(tmp_path: Path, suffix: str) -> None:
    trace = read(OUTER, INNER, OTHER, flow("s", 3), flow("f", 7, 2, bp="e"))
    path = tmp_path / f"trace.{suffix}"
    if suffix == "parquet":
        trace.to_parquet(path)
    else:
        trace.to_chrome_trace(path)
    again = tv.read_trace(path)
    assert arrows(again) == {("inner", "other")}
    pd.testing.assert_frame_equal(again.edges, trace.edges)
    twice = concatenate([again, trace], "")
    assert len(twice.edges) == 2 * len(trace.edges)


bars = st.lists(st.tuples(st.integers(0, 20), st.integers(0, 8), st.integers(1, 3)), min_size=1, max_size=8)
ends = st.lists(
    st.tuples(
        st.sampled_from("stf"), st.integers(0, 30), st.integers(1, 3), st.integers(1, 2), st.booleans()
    ),
    max_size=8,
)


@settings(max_examples=examples(400))
@given(bars=bars, ends=ends)
def test_any_arrows_are_those_found_one_by_one(
    bars: list[tuple[int, int, int]], ends: list[tuple[str, int, int, int, bool]]
) -> None:
    def bound(phase: str, at: int, tid: int, encloses: bool) -> int | None:
        own = [number for number, (_, _, thread) in enumerate(bars) if thread == tid]
        if phase == "s" or encloses:
            is_open = [n for n in own if bars[n][0] <= at < bars[n][0] + max(bars[n][1], bars[n][0] == at)]
            return max(is_open, key=lambda n: (bars[n][0], -bars[n][1], n), default=None)
        later = [n for n in own if bars[n][0] >= at]
        return min(later, key=lambda n: (bars[n][0], -bars[n][1], n), default=None)

    expected: set[tuple[int, int]] = set()
    source: dict[int, int] = {}
    for phase, at, tid, key, encloses in sorted(ends, key=lambda end: (end[1], "stf".index(end[0]))):
        found = bound(phase, at, tid, encloses)
        if found is None:
            continue
        if phase != "s" and source.get(key, found) != found:
            expected.add((source[key], found))
        if phase != "f":
            source[key] = found
    trace = read(
        *(bar(str(number), start, length, tid) for number, (start, length, tid) in enumerate(bars)),
        *(
            flow(phase, at, tid, id=key, **({"bp": "e"} if encloses else {}))
            for phase, at, tid, key, encloses in ends
        ),
    )
    assert arrows(trace) == {(str(one), str(other)) for one, other in expected}
