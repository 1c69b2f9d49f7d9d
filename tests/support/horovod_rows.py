"""A Horovod run with traces of its ranks and its timeline, and functions that separate its rows."""

import json
import lzma
from typing import Any

import pandas as pd

import tfvis_nb as tv
from tests.real_traces import DATA

RANKS = ["/job:worker/replica:0/task:0", "/job:worker/replica:0/task:1"]
FILES = [DATA / f"horovod_rank{rank}_step3.pb.xz" for rank in (0, 1)]
TIMELINE = DATA / "horovod_timeline.json.xz"
TEXT = lzma.decompress(TIMELINE.read_bytes())


def of_horovod(trace: tv.Trace) -> pd.DataFrame:
    return trace.events[trace.events["device"].astype(str).str.endswith("Horovod")]


def of_ranks(trace: tv.Trace) -> pd.DataFrame:
    return trace.events.drop(of_horovod(trace).index).reset_index(drop=True)


def same_rows(one: pd.DataFrame, other: pd.DataFrame) -> bool:
    """Return whether tables have the same rows; rows with equal starts may come in any order."""
    ordered = [
        table.astype(object).sort_values(["start_ns", "task", "name", "detail"], ignore_index=True)
        for table in (one, other)
    ]
    return ordered[0].equals(ordered[1])


def recorded(text: bytes) -> tuple[int, list[dict[str, Any]]]:
    """The timeline, read the obvious way: its origin in us, and the bars of all tensors."""
    events = json.loads(text)
    tensors = {event["pid"]: event["args"]["name"] for event in events if "name" in event.get("args", {})}
    (origin,) = [
        event["args"]["start_time_since_epoch_in_micros"]
        for event in events
        if "start_time_since_epoch_in_micros" in event.get("args", {})
    ]
    bars: list[dict[str, Any]] = []
    stacks: dict[int, list[dict[str, Any]]] = {}
    executions: dict[int, int] = {}
    for event in events:
        if event["ph"] == "B":
            if event["name"].startswith("NEGOTIATE_"):
                executions[event["pid"]] = executions.get(event["pid"], -1) + 1
            bar = {
                "tensor": tensors[event["pid"]],
                "name": event["name"],
                "start": event["ts"],
                "number": executions[event["pid"]],
            }
            stacks.setdefault(event["pid"], []).append(bar)
        elif event["ph"] == "E":
            bars.append(stacks[event["pid"]].pop() | {"end": event["ts"]})
    return origin, bars
