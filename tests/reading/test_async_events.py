"""Asynchronous events, objects and instants of Chrome traces, compared with a slow reader."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tfvis_nb as tv
from tests.support.examples import examples
from tests.support.texts import figures_of
from tfvis_nb import events as event_table

BAR = {"ph": "X", "name": "work", "ts": 0, "dur": 100, "pid": 1, "tid": 1}


def one(phase: str, ts: Any, name: str = "get", **more: Any) -> dict[str, Any]:
    return {"ph": phase, "name": name, "ts": ts, "pid": 1, "tid": 1, "cat": "net", "id": "0x1"} | more


def read(*events: dict[str, Any]) -> tv.Trace:
    trace = tv.read_trace(json.dumps([BAR, *events]).encode())
    event_table.check(trace.events)
    return trace


def rows(trace: tv.Trace) -> list[Any]:
    columns = ["lane", "name", "start_ns", "duration_ns", "detail"]
    return trace.events.loc[trace.events["name"] != "work", columns].astype(object).to_numpy().tolist()


def test_starts_and_ends_are_bars_in_lanes_by_category() -> None:
    trace = read(
        one("b", 3, args={"url": "a"}),
        one("n", 4, "first byte"),
        one("b", 5, "parse"),
        one("e", 6, "parse"),
        one("e", 9, args={"status": 200}),
        one("S", 3, "frame", cat=""),
        one("T", 4, "frame", cat="", args={"step": "paint"}),
        one("F", 8, "frame", cat=""),
    )
    assert rows(trace) == [
        ["async net", "get", 3000, 6000, "id=0x1 url=a status=200"],
        ["async frame", "frame", 3000, 5000, "id=0x1"],
        ["async net", "first byte", 4000, 0, "id=0x1"],
        ["async frame", "frame step paint", 4000, 0, "id=0x1 step=paint"],
        ["async net", "parse", 5000, 1000, "id=0x1"],
    ]
    assert trace.events["thread"].notna().tolist() == [True] + [False] * 5


def test_objects_live_until_they_are_deleted() -> None:
    layer = {"name": "Layer", "cat": "cc"}
    trace = read(
        one("N", 3, **layer),
        one("O", 4, **layer | {"cat": "gfx"}, args={"snapshot": {"size": 7}}),
        one("D", 9, **layer),
        one("N", 5, **layer, pid=2),
    )
    assert rows(trace) == [
        ["objects", "Layer", 3000, 6000, "id=0x1"],
        ["objects", "Layer snapshot", 4000, 0, 'id=0x1 snapshot={"size": 7}'],
        ["objects", "Layer", 5000, 95000, "id=0x1"],
    ]
    assert figures_of(trace.notes, "bars_without_end") == [{"bars": 1}]


def test_instants_are_marks_of_their_thread_or_process() -> None:
    trace = read(*(one(phase, 5, phase, s=scope) for phase, scope in zip("iIRP", "tpg?", strict=True)))
    assert rows(trace) == [
        ["thread 1", "i", 5000, 0, "id=0x1"],
        ["instants", "I", 5000, 0, "id=0x1"],
        ["instants", "R", 5000, 0, "id=0x1"],
        ["thread 1", "P", 5000, 0, "id=0x1"],
    ]


def test_no_arrow_ends_in_an_instant() -> None:
    """An instant where an arrow starts or ends must not take the place of the bar."""
    later = {**BAR, "name": "later", "ts": 200, "tid": 2}
    trace = read(one("i", 5), one("i", 150, tid=2), later, one("s", 5), one("f", 120, tid=2))
    ends = trace.edges[["source", "target"]].to_numpy()
    assert trace.events["name"].to_numpy()[ends].tolist() == [["work", "later"]]


@pytest.mark.parametrize("writer", ["to_chrome_trace", "to_parquet"])
def test_files_keep_them(writer: str, tmp_path: Any) -> None:
    trace = read(one("b", 3), one("b", 4), one("e", 5), one("i", 6, s="g"), one("N", 7), one("O", 8))
    path = getattr(trace, writer)(tmp_path / ("a.json" if "chrome" in writer else "a.parquet"))
    again = tv.read_trace(path).events
    assert again.astype(object).equals(trace.events.astype(object))


events = st.lists(
    st.builds(
        one,
        st.sampled_from("bbeeSFNDnO"),
        st.integers(0, 99) | st.sampled_from([None, "x"]),
        st.sampled_from("xy"),
        id=st.sampled_from([1, "1", "2", True, None, [1], 2**64]),
        cat=st.sampled_from(["", "a"]),
        pid=st.integers(1, 2),
    )
    | st.builds(one, st.sampled_from("be"), st.integers(0, 99), id2=st.just({"local": 1}), id=st.none()),
    max_size=12,
)


@settings(max_examples=examples(300))
@given(events=events)
def test_any_events_match_as_one_by_one(events: list[dict[str, Any]]) -> None:
    timed = sorted((one for one in events if isinstance(one["ts"], int)), key=lambda one: one["ts"])
    open_: list[dict[str, Any]] = []
    expected: list[tuple[str, int, int]] = []
    lost = 0
    for event in timed:
        if event["ph"] in "nO":
            expected.append((event["name"] + " snapshot" * (event["ph"] == "O"), event["ts"] * 1000, 0))
        elif event["ph"] in "bSN":
            open_.append(event)
        else:
            mine = [place for place, other in enumerate(open_) if belongs(event, other)]
            if mine:
                begin = open_.pop(mine[-1])
                expected.append((begin["name"], begin["ts"] * 1000, (event["ts"] - begin["ts"]) * 1000))
            else:
                lost += 1
    expected += [(begin["name"], begin["ts"] * 1000, (100 - begin["ts"]) * 1000) for begin in open_]
    trace = read(*events)
    assert sorted(tuple(row[1:4]) for row in rows(trace)) == sorted(expected)
    assert figures_of(trace.notes, "ends_left_out") == ([{"bars": lost}] if lost else [])
    assert figures_of(trace.notes, "bars_without_end") == ([{"bars": len(open_)}] if open_ else [])


def belongs(end: dict[str, Any], begin: dict[str, Any]) -> bool:
    objects = [event["ph"] in "ND" for event in (begin, end)]
    local = "id2" in begin or any(objects)
    same = "name" if objects[0] else "cat"
    return (
        objects[0] == objects[1]
        and begin["name"] == end["name"]
        and begin[same] == end[same]
        and begin.get("id2") == end.get("id2")
        and str(begin["id"] or "") == str(end["id"] or "")
        and (not local or begin["pid"] == end["pid"])
    )
