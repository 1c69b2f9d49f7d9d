"""What Trace.to_chrome_trace writes is read back as the same rows; files can be laid together."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tfvis_nb as tv
from tests.hostile_names import hostile_trace
from tests.real_traces import DATA, each, real_trace, step_stats_files, xspace_files
from tests.support.examples import examples
from tests.support.texts import figures_of
from tfvis_nb import Trace
from tfvis_nb import events as event_table
from tfvis_nb.analysis.events.lanes import recorded_devices
from tfvis_nb.texts import Text

SMALL = [path for path in step_stats_files() if path.stat().st_size < 500_000]
PROFILES = [path for path in xspace_files() if path.parent == DATA]
STREAMS = DATA / "gpu_tf221_mixed.pb.xz"
WORKERS = [DATA / f"gpu_tf221_worker{number}.xplane.pb.xz" for number in range(2)]


def again(trace: Trace) -> Trace:
    return tv.read_trace(trace.to_chrome_trace().encode())


def assert_same_rows(one: Trace, other: Trace) -> None:
    for name, dtype in event_table.COLUMNS.items():
        ours, theirs = one.events[name], other.events[name]
        if dtype == "category":
            ours, theirs = ours.astype(object).fillna(""), theirs.astype(object).fillna("")
        pd.testing.assert_series_equal(ours, theirs)
    assert other.step_labels == one.step_labels
    assert other.clock_bounds == one.clock_bounds


@pytest.mark.parametrize("path", each(SMALL))
def test_real_traces(path: Path) -> None:
    trace = real_trace(path)
    read = again(trace)
    assert_same_rows(trace, read)
    assert read.title == trace.title
    assert read.notes == [*trace.notes, Text("not_in_chrome_traces")]
    assert again(read).notes == read.notes
    pd.testing.assert_frame_equal(read.edges, trace.edges)
    without = trace.to_chrome_trace(arrows=False)
    assert '"ph":"s"' not in without
    assert tv.read_trace(without.encode()).notes == read.notes


def test_the_earliest_and_the_latest_times() -> None:
    latest = event_table.LATEST_NS
    columns = {
        "start_ns": [-latest, latest - 9, latest],
        "duration_ns": [5, 9, 0],
        "scheduled_ns": [-latest, latest - 9, latest],
        "kind": ["op"] * 3,
    }
    trace = Trace(event_table.build(columns))
    assert_same_rows(trace, again(trace))


@pytest.mark.slow
def test_other_formats() -> None:
    for name in ("kineto_rank0.json.xz", "horovod_timeline.json.xz", "tf2_host.trace.json"):
        trace = real_trace(DATA / name)
        assert_same_rows(trace, again(trace))


@pytest.mark.slow
@pytest.mark.parametrize("path", each([*PROFILES, STREAMS]))
def test_what_waited_for_what(path: Path) -> None:
    trace = real_trace(path)
    read = again(trace)
    assert len(trace.edges)
    pd.testing.assert_frame_equal(read.edges, trace.edges)
    for ours, theirs in ((trace.critical_path, read.critical_path), (trace.idle_gaps, read.idle_gaps)):
        pd.testing.assert_frame_equal(theirs, ours, check_categorical=False)
    assert again(read).to_chrome_trace() == read.to_chrome_trace()


@pytest.mark.slow
def test_links_of_two_profiles() -> None:
    one, two = (real_trace(path) for path in WORKERS)
    both = [event for trace in (one, two) for event in events_of(trace)]
    merged = tv.read_trace(json.dumps({"otherData": {"writer": "tfvis_nb"}, "traceEvents": both}).encode())
    assert len(merged.edges) == len(one.edges) + len(two.edges)
    assert merged.nested is not None
    assert merged.nested["instance"].drop_null().unique().to_pylist()


@pytest.mark.slow
def test_links_beside_a_trace_without_any() -> None:
    profile = real_trace(WORKERS[0])
    other = real_trace(DATA / "kineto_rank0.json.xz")
    joined = tv.read_trace([again(other), again(profile)])
    assert len(joined.edges) == len(profile.edges) + len(other.edges)
    assert set(recorded_devices(joined)) > set(other.events["device"])


def test_streams_have_the_names_they_were_recorded_with() -> None:
    trace = real_trace(STREAMS)
    recorded = recorded_devices(trace)
    read = again(trace)
    expected = recorded.where(recorded.str.contains("stream"), trace.events["device"].astype(str))
    assert recorded_devices(read).tolist() == expected.tolist()


def test_links_that_are_no_numbers() -> None:
    text = real_trace(WORKERS[0]).to_chrome_trace()
    document = json.loads(text)
    damaged: list[Any] = ["many", [7], 2**70, {"a": 1}, True, None]
    for place, bar in enumerate(event for event in document["traceEvents"] if event["ph"] == "X"):
        bar["args"] |= {name: damaged[place % len(damaged)] for name in ("launch", "consumed", "raw_device")}
    read = tv.read_trace(json.dumps(document).encode())
    whole = tv.read_trace(text.encode())
    assert_same_rows(whole, read)
    assert len(read.edges) == 0


def test_hostile_texts() -> None:
    trace = hostile_trace()
    assert_same_rows(trace, again(trace))


words = st.sampled_from(["", "a", "</script>", "/job:w/task:1/device:GPU:0", "\u00e9\u4e16", 'q"\\'])
times = st.integers(-(2**60), 2**60)
maybe = st.none() | times


@settings(max_examples=examples(60))
@given(data=st.data(), count=st.integers(1, 6))
def test_any_table(data: st.DataObject, count: int) -> None:
    def column(values: st.SearchStrategy[Any]) -> list[Any]:
        return data.draw(st.lists(values, min_size=count, max_size=count))

    columns: dict[str, Any] = {
        name: column(words) for name, dtype in event_table.COLUMNS.items() if dtype in ("str", "category")
    }
    columns |= {
        name: pd.array(column(maybe), dtype="Int64")
        for name, dtype in event_table.COLUMNS.items()
        if dtype == "Int64"
    }
    columns["kind"] = column(st.sampled_from(event_table.KINDS))
    columns["step"] = np.array(column(st.integers(-1, 3)), np.int32)
    columns["start_ns"] = np.array(column(times), np.int64)
    columns["duration_ns"] = np.array(column(st.integers(0, 2**60)), np.int64)
    trace = Trace(event_table.order(event_table.build(columns))[0], step_labels={1: "train 1"})
    assert_same_rows(trace, again(trace))


def events_of(trace: Trace) -> list[dict[str, Any]]:
    made: list[dict[str, Any]] = json.loads(trace.to_chrome_trace())["traceEvents"]
    return made


def test_two_files_can_be_laid_together() -> None:
    one = real_trace(DATA / "gpu_tf221_mlp.pb.xz")
    two = real_trace(DATA / "local_mlp_step1.pb")
    both = [events_of(trace) for trace in (one, two)]
    names: dict[tuple[int, int, str], str] = {}
    for event in (event for events in both for event in events if event["name"].endswith("_name")):
        key = (event["pid"], event["tid"], event["name"])
        assert names.setdefault(key, event["args"]["name"]) == event["args"]["name"]
    processes = [{e["pid"] for e in events if e["ph"] == "X"} for events in both]
    assert processes[0] & processes[1]  # the CPU
    flows = [{e["id"] for e in events if e["ph"] == "s"} for events in both]
    assert flows[0]
    assert not flows[0] & flows[1]
    text = json.dumps({"otherData": {"writer": "tfvis_nb"}, "traceEvents": [*both[0], *both[1]]})
    merged = tv.read_trace(text.encode())
    assert merged.steps["step"].tolist() == [0, 1]
    assert merged.steps["events"].tolist() == [len(one.events), len(two.events)]
    assert figures_of(merged.notes, "files_laid_together") == [{"traces": 2}]
    assert len(merged.edges) == len(one.edges) + len(two.edges)
    bare = tv.read_trace(json.dumps([*both[0], *both[1]]).encode())
    assert_same_rows(merged, bare)
    expected = pd.concat([one.lanes, two.lanes]).groupby(["device", "lane"], observed=True)["events"].sum()
    made = merged.lanes.set_index(["device", "lane"])["events"]
    assert {key: int(value) for key, value in made.items()} == {
        key: int(value) for key, value in expected.items()
    }


def test_counters_equal_the_allocators_records() -> None:
    trace = real_trace(DATA / "local_mlp_step1.pb")
    assert trace.nested is not None
    changes: dict[str, list[tuple[int, int]]] = {}
    for uses in trace.nested["memory"].to_pylist():
        for use in uses:
            changes.setdefault(use["allocator"], []).extend((r["micros"], r["bytes"]) for r in use["records"])
    counters = [event for event in events_of(trace) if event["ph"] == "C"]
    assert {event["name"] for event in counters} == {f"{name} allocated" for name, c in changes.items() if c}
    for name, records in changes.items():
        level = 0
        expected: dict[int, int] = {}
        for micros, size in sorted(records):
            level += size
            expected[micros] = level
        shown = {e["ts"]: e["args"]["bytes"] for e in counters if e["name"] == f"{name} allocated"}
        assert shown == expected
        assert max(shown.values(), default=1) > 0


def test_estimates_are_counters_of_their_own() -> None:
    trace = real_trace(DATA / "gpu_tf221_mlp.pb.xz")
    made = [event for event in events_of(trace) if event["ph"] == "C" and "memory" in event["cat"]]
    assert {event["name"] for event in made} == {
        "GPU_0_bfc allocated",
        "cpu estimated",
        "gpu_host_bfc estimated",
    }
    buffers = trace.lifetimes
    for allocator in ("cpu", "gpu_host_bfc"):
        own = buffers[buffers["allocator"] == allocator]
        # A variable and a tensor that no op reads stay until the end of their step.
        freed = own["free_ns"].fillna(2**62).astype("int64")
        for event in made:
            if event["name"] != f"{allocator} estimated":
                continue
            later = event["ts"] * 1000 + 999
            alive = own[(own["alloc_ns"] <= later) & (freed > later)]
            last = [
                each["args"]["bytes"]
                for each in made
                if each["name"] == event["name"] and each["ts"] == event["ts"]
            ]
            assert last[-1] == alive["bytes"].sum()


@pytest.mark.parametrize("step", [-2, 2**31])
def test_a_step_that_cannot_be_is_read_as_the_first(step: int) -> None:
    content = json.loads(real_trace(DATA / "local_mlp_step1.pb").to_chrome_trace())
    for event in content["traceEvents"]:
        if "step" in event.get("args", {}):
            event["args"]["step"] = step
    assert set(tv.read_trace(json.dumps(content).encode()).events["step"]) == {0}
