"""Handmade and random steps, for analyses of waiting."""

from typing import Any

import pandas as pd
import pyarrow as pa
from hypothesis import strategies as st

from tfvis_nb import Trace, events

TASK = "/job:worker/replica:0/task:{}"
GPU = TASK.format(0) + "/device:GPU:0"
CPU = TASK.format(0) + "/device:CPU:0"

TIME = st.integers(0, 60)
ROW = st.fixed_dictionaries(
    {
        "start_ns": TIME,
        "duration_ns": st.integers(0, 20),
        "step": st.integers(-1, 1),
        "task": st.sampled_from([TASK.format(0), TASK.format(1)]),
        "place": st.sampled_from(
            [
                ("op", "ops", "CPU:0"),
                ("op", "ops", "GPU:0"),
                ("kernel", "stream:1", "GPU:0"),
                ("memcpy", "memcpy D2H", "GPU:0"),
                ("transfer", "recv", "CPU:0"),
                ("collective", "collective", "CPU:0"),
                ("host", "python3", "CPU:0"),
                ("host", "tf_Compute/1", "CPU:0"),
                ("sync", "sync", "GPU:0"),
            ]
        ),
        "name": st.sampled_from("abcd"),
        "op": st.sampled_from(["MatMul", "IteratorGetNext", "ExecutorState::Process", "_Recv"]),
        "inputs": st.lists(st.sampled_from(["a", "b", "^c", "d/_1"]), max_size=2),
        "ready": st.one_of(st.none(), st.integers(0, 60)),
        "launch": st.one_of(st.none(), st.integers(1, 3)),
        "produced": st.one_of(st.none(), st.integers(1, 3)),
        "consumed": st.one_of(st.none(), st.integers(1, 3)),
    }
)


@st.composite
def traced_calls(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Rows of a call that traces its function before it runs the new graph, in any steps."""
    start, (before, building, placing, running) = draw(TIME), draw(st.tuples(*[st.integers(1, 20)] * 4))
    run = before + building + placing
    parts = [
        (0, run + running, "f", "tf_function_call=traced-nonXla tracing_count=1"),
        (before, building, "tf.function-graph_building", ""),
        (run, running, "FunctionRun", ""),
    ]
    place = ("host", "python", "CPU:0")
    return [
        draw(ROW)
        | {"start_ns": start + later, "duration_ns": length, "task": TASK.format(0), "place": place}
        | {"name": name, "op": name, "detail": detail}
        for later, length, name, detail in parts
    ]


def any_trace(rows: list[dict[str, Any]]) -> Trace:
    """Events of all kinds at any times: they overlap, wait in circles, end before they are ready."""
    rows = sorted(rows, key=lambda row: (row["start_ns"], -row["duration_ns"]))
    columns: dict[str, Any] = {
        name: [row[name] for row in rows]
        for name in ("start_ns", "duration_ns", "step", "task", "name", "op")
    }
    columns |= {name: [row["place"][at] for row in rows] for at, name in enumerate(("kind", "lane"))}
    columns["device"] = [f"{row['task']}/device:{row['place'][2]}" for row in rows]
    columns["tensor"] = [
        f"edge_1_{row['name']}" if row["place"][0] in ("transfer", "memcpy") else "" for row in rows
    ]
    columns["source"] = columns["destination"] = columns["device"]
    columns["detail"] = [
        row.get("detail", f"{row['name']} = {row['op']}({', '.join(row['inputs'])})") for row in rows
    ]
    columns["scheduled_ns"] = pd.array([row["ready"] for row in rows], "Int64")
    nested = pa.table(
        {
            name: pa.array([row[name] for row in rows], pa.int64())
            for name in ("launch", "produced", "consumed")
        }
    )
    return Trace(events.build(columns), nested=nested)


def built(rows: list[dict[str, Any]]) -> Trace:
    """A trace of rows; kind, lane and device default to those of an op on the CPU."""
    rows = sorted(rows, key=lambda row: (row["start_ns"], -row["duration_ns"]))
    defaults = {
        "kind": "op",
        "lane": "ops",
        "device": CPU,
        "task": TASK.format(0),
        "name": "",
        "op": "MatMul",
        "detail": "",
    }
    names = sorted({name for row in rows for name in row} | set(defaults))
    columns: dict[str, Any] = {name: [row.get(name, defaults.get(name)) for row in rows] for name in names}
    numbers = {name: columns.pop(name) for name in ("launch", "produced", "consumed") if name in columns}
    for name in ("source", "destination", "tensor"):
        if name in columns:
            columns[name] = [value or "" for value in columns[name]]
    if "scheduled_ns" in columns:
        columns["scheduled_ns"] = pd.array(columns["scheduled_ns"], "Int64")
    nested = (
        pa.table({name: pa.array(values, pa.int64()) for name, values in numbers.items()})
        if numbers
        else None
    )
    return Trace(events.build(columns), nested=nested)


def op(name: str, start: int, duration: int, *inputs: str, **more: Any) -> dict[str, Any]:
    return {
        "name": name,
        "start_ns": start,
        "duration_ns": duration,
        "detail": f"{name} = Op({', '.join(inputs)})",
        **more,
    }


def kernel(name: str, start: int, duration: int, launched: int, **more: Any) -> dict[str, Any]:
    row = {"name": name, "start_ns": start, "duration_ns": duration, "scheduled_ns": launched}
    return {**row, "kind": "kernel", "lane": "stream:1", "device": GPU, **more}
