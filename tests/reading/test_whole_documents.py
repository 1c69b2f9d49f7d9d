"""All content of a trace event document is in the trace, or a note names it."""

import gzip
import json
import lzma
from decimal import Decimal
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import tfvis_nb as tv
from tests.support.texts import figures_of

CUDA, CPU = {"Device Type": 1, "Device Id": 0}, {"Device Type": 0, "Device Id": -1}
GPU = {
    "id": 0,
    "name": "NVIDIA H200",
    "totalGlobalMem": 150_000_000_000,
    "computeMajor": 9,
    "computeMinor": 0,
    "warpSize": 32,
    "numSms": 132,
}


def event(phase: str, name: str, ts: float = 5, **more: Any) -> dict[str, Any]:
    return {"ph": phase, "name": name, "pid": 1, "tid": 1, "ts": ts} | more


def allocated(ts: float, device: dict[str, int], total: int, reserved: int) -> dict[str, Any]:
    totals = {"Addr": 77, "Bytes": 8, "Total Allocated": total, "Total Reserved": reserved}
    return event("i", "[memory]", ts, cat="cpu_instant_event", s="t", args=device | totals)


def read(*events: dict[str, Any], **keys: Any) -> tv.Trace:
    return tv.read_trace(json.dumps({**keys, "traceEvents": list(events)}).encode())


@pytest.mark.parametrize("name", ["kineto_rank0.json.xz", "tf2_host.trace.json"])
def test_each_bar_has_a_row_with_its_name_and_arguments(data: Path, name: str) -> None:
    trace = tv.read_trace(data / name)
    unpack = lzma.decompress if name.endswith(".xz") else gzip.decompress
    text = unpack((data / name).read_bytes())
    bars = [one for one in json.loads(text, parse_float=Decimal)["traceEvents"] if one.get("ph") == "X"]
    bars = [one for one in bars if one.get("cat") != "Trace"]  # PyTorch's mark of its own recording
    assert len(bars) == len(trace.events)
    nested = trace.nested.to_pandas() if trace.nested is not None else pd.DataFrame(index=trace.events.index)
    cells = pd.concat([trace.events.astype(object), nested], axis=1).to_numpy().tolist()
    found: dict[tuple[int, int], list[str]] = {}
    for row in cells:
        start, duration = (row[list(trace.events).index(column)] for column in ("start_ns", "duration_ns"))
        found.setdefault((start, duration), []).append(" ".join(map(str, row)))
    for bar in bars:
        values = [bar["name"], *(bar.get("args") or {}).values()]
        texts = [value if isinstance(value, str) else json.dumps(value, default=str) for value in values]
        shown = found[int(bar["ts"] * 1000), int(bar["dur"] * 1000)]
        assert any(all(text.strip('"') in row for text in texts) for row in shown), bar


def test_other_fields_of_an_event_are_in_its_details() -> None:
    trace = read(
        event("X", "work", dur=9, cname="good", tts=3, tdur=2, sf=7, args={"a": 1}),
        event("X", "odd", 20, dur=1, args=[1, 2]),
        event("B", "pair", 30, tts=4),
        event("E", "pair", 39, tts=6),
    )
    assert trace.events["detail"].tolist() == ["tts=3 tdur=2 sf=7 a=1", "args=[1, 2]", "tts=4 tdur=2"]


@pytest.mark.parametrize("phase", ["", None, "?"])
def test_an_event_without_a_known_phase_is_counted(phase: str | None) -> None:
    trace = read(event("X", "work", dur=9), {"ph": phase, "name": "odd"}, {"name": "odd"})
    found = figures_of(trace.notes, "phase_left_out")
    assert sorted((one["bars"], one["phase"]) for one in found) == (
        [(1, ""), (1, "?")] if phase else [(2, "")]
    )


def test_the_name_of_a_gpu_may_be_no_text() -> None:
    named = [{"id": 0, "name": "\ud800 H200"}]
    trace = read(event("X", "aten::mm", cat="cpu_op", dur=9), deviceProperties=named)
    assert trace.metadata["devices"]["model"].tolist() == ["\ufffd H200"]


def test_an_xla_op_keeps_its_instruction_and_its_framework_op() -> None:
    names = {"long_name": "%fusion.1 = f32[8] fusion(%p)", "tf_op": "jit(f)/mul", "bytes": 3}
    trace = read(
        event("M", "process_name", args={"name": "/device:TPU:0"}),
        event("X", "fusion.1", dur=9, args=names),
    )
    (row,) = trace.events[["name", "detail"]].to_numpy().tolist()
    assert all(str(value) in " ".join(row) for value in names.values())


def test_notes_name_the_unread_parts_of_a_document() -> None:
    trace = read(
        event("X", "work", dur=9),
        event("M", "num_cpus", args={"number": 4}),
        event("M", "thread_sort_index", args={"sort_index": 4}),
        event("M", "process_labels", args={"labels": "tab"}),
        event("M", "process_name", args={"name": "renderer"}),
        displayTimeUnit="ns",
        stackFrames={"7": {"name": "main"}},
        samples=[],
        record_shapes=1,
    )
    assert figures_of(trace.notes, "document_keys_left_out") == [{"keys": "stackFrames"}]
    assert figures_of(trace.notes, "metadata_events_left_out") == [{"names": "num_cpus"}]
    assert trace.lanes["device"].astype(str).tolist() == ["renderer tab"]


def test_pytorch_allocators_are_counters_of_their_devices() -> None:
    trace = read(
        event("X", "aten::mm", cat="cpu_op", dur=9, args={"External id": 4}),
        event("X", "cudaFree", 8, cat="cuda_runtime", dur=1),
        allocated(6, CUDA, 400, 1000),
        allocated(8, CUDA, 300, 1000),
        allocated(7, CPU, 44, 0),
        event("i", "[memory]", 9, args={"Addr": 77, "Bytes": 8}),
        schemaVersion=1,
        baseTimeNanoseconds=1_727_743_122_000_000_000,
        deviceProperties=[GPU, "odd", {"id": 1}],
        distributedInfo={"rank": 3},
    )
    task = "/job:worker/replica:0/task:3"
    table = trace.counters
    assert set(table["task"]) == {task}
    assert set(table["counter"]) == {"memory"}
    assert set(table["unit"]) == {"bytes"}
    origin = 1_727_743_122_000_000_000
    shown = table.assign(device=table["device"].str.removeprefix(task), time_ns=table["time_ns"] - origin)
    assert shown[["device", "series", "time_ns", "value"]].to_numpy().tolist() == [
        ["/device:CPU:0", "allocated bytes", 7000, 44],
        ["/device:GPU:0", "allocated bytes", 6000, 400],
        ["/device:GPU:0", "allocated bytes", 8000, 300],
        ["/device:GPU:0", "reserved bytes", 6000, 1000],
        ["/device:GPU:0", "reserved bytes", 8000, 1000],
    ]
    assert trace.events["start_ns"].min() == origin + 5000
    (call,) = trace.events.loc[trace.events["name"] == "cudaFree", "detail"]
    assert call == "cat=cuda_runtime"
    (known,) = trace.metadata["devices"].dropna(axis=1).to_dict("records")
    assert known == {
        "task": task,
        "device": "/device:GPU:0",
        "model": "NVIDIA H200",
        "compute_capability": "9.0",
        "cores": 132,
        "memory_bytes": 150_000_000_000,
    }


@pytest.mark.parametrize(
    "odd",
    [
        {"deviceProperties": {"id": 0}},
        {"deviceProperties": [{"id": -1, "name": "a"}, {"id": True}, {"id": 0, "numSms": 2**70}]},
        {"baseTimeNanoseconds": 2**80},
        {"baseTimeNanoseconds": "soon"},
        {"distributedInfo": [3]},
    ],
)
def test_odd_facts_about_devices_are_left_out(odd: dict[str, Any]) -> None:
    work = event("X", "aten::mm", cat="cpu_op", dur=9)
    odd_totals = allocated(6, {"Device Type": True, "Device Id": 2**70}, 1, 2)
    trace = read(work, odd_totals, event("i", "[memory]", 7, args=[1]), **odd)
    assert not len(trace.metadata.get("devices", []))
    assert not len(trace.counters)
    assert trace.events["start_ns"].min() == 5000
