"""Counters of Chrome traces and profiles, compared with a reader that reads value by value."""

import json
import math
import struct
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tfvis_nb as tv
from tests.protobuf_bytes import field, number, varint
from tests.support.examples import examples
from tests.support.texts import figures_of
from tfvis_nb import events as event_table
from tfvis_nb.analysis.subset import in_range, subset
from tfvis_nb.core import counters
from tfvis_nb.display.shaping.gap_compression import compress_gaps
from tfvis_nb.reading.concat import concatenate, merge

BAR = {"ph": "X", "name": "work", "ts": 5, "dur": 20, "pid": 1, "tid": 1}


def count(name: Any, ts: Any, pid: Any = 1, **arguments: Any) -> dict[str, Any]:
    return {"ph": "C", "name": name, "ts": ts, "pid": pid, "args": arguments}


def read(*events: dict[str, Any]) -> tv.Trace:
    return tv.read_trace(json.dumps({"traceEvents": [BAR, *events]}).encode())


def rows(table: pd.DataFrame, *columns: str) -> list[Any]:
    return table[list(columns) or list(counters.COLUMNS)].astype(object).to_numpy().tolist()


def test_each_number_of_a_counter_is_a_series() -> None:
    trace = read(
        {"ph": "M", "name": "process_name", "pid": 7, "args": {"name": "renderer"}},
        count("heap", 9, 7, used_bytes=3, **{"free (MB)": 0.5}),
        count("heap", 5, 7, used_bytes=2),
        {**count("queue", 6, length=4), "id": "0x7"},
    )
    assert rows(trace.recorded_counters) == [
        ["", "process 1", "queue[0x7]", "length", "", 6000, 4.0],
        ["", "renderer", "heap", "free (MB)", "MB", 9000, 0.5],
        ["", "renderer", "heap", "used_bytes", "bytes", 5000, 2.0],
        ["", "renderer", "heap", "used_bytes", "bytes", 9000, 3.0],
    ]
    pd.testing.assert_frame_equal(trace.counters, trace.recorded_counters)
    assert not figures_of(trace.notes, "counter_values_left_out")


def test_values_that_are_no_numbers_are_omitted_and_counted() -> None:
    odd = {"a": None, "b": True, "c": [1], "d": "many", "e": "2.5", "f": 10**400, "g": 7}
    trace = read(
        count("queue", 6, **odd),
        count("late", "soon", a=1),
        {**count("bare", 6), "args": 3},
        {**count("nan", 6), "args": {"n": math.nan, "i": -math.inf}},
    )
    assert rows(trace.recorded_counters, "series", "value") == [["e", 2.5], ["g", 7.0]]
    assert figures_of(trace.notes, "counter_values_left_out") == [{"values": 9}]


def test_memory_of_allocators_in_files_of_timeline_py() -> None:
    process = {"ph": "M", "name": "process_name", "pid": 0, "args": {"name": "Allocators"}}
    device = {"ph": "M", "name": "process_name", "pid": 1, "args": {"name": "/device:CPU:0 Compute"}}
    trace = read(process, device, count("cpu", 7, 0, cpu=64))
    expected = ["", "Allocators", "cpu", "cpu", "bytes", 7000, 64.0]
    assert rows(trace.recorded_counters) == [expected]


def test_the_task_and_device_of_a_process_are_those_of_its_bars() -> None:
    kernel = {**BAR, "cat": "kernel", "pid": 0, "args": {"device": 0}}
    labels = {"ph": "M", "name": "process_labels", "pid": 0, "args": {"labels": "GPU 0"}}
    text = {"distributedInfo": {"rank": 3}, "traceEvents": [labels, kernel, count("power", 6, 0, watts=9)]}
    trace = tv.read_trace(json.dumps(text).encode())
    task = "/job:worker/replica:0/task:3"
    assert rows(trace.recorded_counters, "task", "device") == [[task, f"{task}/device:GPU:0"]]


maybe: st.SearchStrategy[Any] = st.integers(-9, 60) | st.floats() | st.sampled_from([None, "7", "x", True])
events = st.lists(
    st.builds(
        lambda name, ts, pid, arguments: {"ph": "C", "name": name, "ts": ts, "pid": pid, "args": arguments},
        st.sampled_from(["a", "b", ""]),
        st.integers(0, 50) | st.sampled_from([None, 1e300]),
        st.integers(1, 2),
        st.dictionaries(st.sampled_from("xyz"), maybe, max_size=3),
    ),
    max_size=12,
)


@settings(max_examples=examples(300))
@given(events=events)
def test_any_counters_read_as_one_by_one(events: list[dict[str, Any]]) -> None:
    expected = []
    lost = 0
    for event in events:
        for series, value in event["args"].items():
            is_number = type(value) in (int, float) or value == "7"
            if is_number and math.isfinite(float(value)) and event["ts"] in range(51):
                where = ["", f"process {event['pid']}", event["name"], series]
                expected.append([*where, "", event["ts"] * 1000, float(value)])
            else:
                lost += 1
    trace = read(*events)
    # Values of one time stay in the order of the file.
    expected.sort(key=lambda row: row[:6])
    assert rows(trace.recorded_counters) == expected
    assert figures_of(trace.notes, "counter_values_left_out") == ([{"values": lost}] if lost else [])


TWO = (count("a", 7, x=1, y=2), count("a", 9, x=3), count("b", 30, 9, z=-1.5), count("b", 4, 9, z=0))


@pytest.mark.parametrize("suffix", ["parquet", "json"])
def test_files_keep_counters(tmp_path: Path, suffix: str) -> None:
    trace = read(*TWO)
    path = tmp_path / f"trace.{suffix}"
    if suffix == "parquet":
        trace.to_parquet(path)
    else:
        trace.to_chrome_trace(path)
    pd.testing.assert_frame_equal(tv.read_trace(path).recorded_counters, trace.recorded_counters)


def test_counters_of_several_traces_are_laid_together() -> None:
    one, two = read(TWO[0]), read(*TWO[1:])
    for joined in (merge([one, two], ""), concatenate([one, two], "")):
        pd.testing.assert_frame_equal(joined.recorded_counters, read(*TWO).recorded_counters)


def test_a_part_has_the_values_of_its_time() -> None:
    trace = read({**BAR, "ts": 100}, *TWO)
    part = subset(trace, in_range(trace, 8_000, 20_000)[:1])
    assert rows(part.recorded_counters, "series", "time_ns", "value") == [
        *(["x", 7000, 1.0], ["x", 9000, 3.0], ["y", 7000, 2.0], ["z", 5000, 0.0]),
    ]


def sampled(*values: tuple[int, float | int | str]) -> bytes:
    """Write an XSpace in which a GPU was sampled at some ns; a text in place of a value is one."""
    samples = b""
    for at, value in values:
        if isinstance(value, float):
            stat = varint(2 << 3 | 1) + struct.pack("<d", value)
        else:
            stat = field(5, value.encode()) if isinstance(value, str) else number(3, value)
        samples += field(4, number(1, 1) + number(2, at * 1000) + field(4, number(1, 1) + stat))
    kernel = field(3, field(2, b"Stream #1") + field(4, number(1, 2) + number(2, 1000) + number(3, 9000)))
    named = b"".join(
        field(4, number(1, key) + field(2, number(1, key) + field(2, text)))
        for key, text in ((1, b"dram (GB/s)"), (2, b"kernel"))
    )
    stat = field(5, number(1, 1) + field(2, number(1, 1) + field(2, b"dram")))
    lines = field(3, field(2, b"_counters_") + samples) + kernel
    return field(1, field(2, b"/device:GPU:0") + lines + named + stat)


def test_counters_have_the_samples_of_a_profile() -> None:
    trace = tv.read_trace(sampled((3, 0.25), (5, 7), (6, "x"), (8, math.nan)))
    assert trace.events["name"].tolist() == ["kernel"]
    assert rows(trace.recorded_counters, "device", "counter", "unit", "time_ns", "value") == [
        ["/device:GPU:0", "dram (GB/s)", "GB/s", 3, 0.25],
        ["/device:GPU:0", "dram (GB/s)", "GB/s", 5, 7.0],
    ]
    assert figures_of(trace.notes, "counter_values_left_out") == [{"values": 2}]


def test_counters_of_several_hosts_are_of_their_tasks() -> None:
    trace = tv.read_trace([sampled((3, 1)) + field(4, b"a"), sampled((4, 2)) + field(4, b"b")])
    task = "/job:worker/replica:0/task:{}".format
    assert rows(trace.recorded_counters, "task", "device", "value") == [
        [task(0), f"{task(0)}/device:GPU:0", 1.0],
        [task(1), f"{task(1)}/device:GPU:0", 2.0],
    ]


def test_counters_move_with_what_lies_around_long_pauses() -> None:
    day = 86_400_000_000_000
    table = event_table.build({"start_ns": [5, 200 * day], "duration_ns": [9, 9], "kind": ["host"] * 2})
    times = [5, 8, 100 * day, 200 * day + 4]
    queue = counters.build({"time_ns": times, "value": range(4)})
    shown = compress_gaps(tv.Trace(table, recorded_counters=queue))
    second = int(shown.events["start_ns"][1])
    assert second < 2_000_000_000
    assert rows(shown.counters, "time_ns", "value") == [[5, 0], [8, 1], [second, 2], [second + 4, 3]]
