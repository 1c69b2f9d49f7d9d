"""How busy devices are, against time counted nanosecond by nanosecond."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.real_traces import DATA, real_trace
from tests.support.bitmaps import counted, painted, windows
from tfvis_nb import Trace, events
from tfvis_nb.analysis import why_not
from tfvis_nb.analysis.events.activity import ACTIVITIES, activity
from tfvis_nb.analysis.steps.utilization import FIGURES, utilization

CPU, GPU = "/device:CPU:0", "/device:GPU:0"

ON_GPU = {"device_compute", "h2d", "d2h", "d2d", "communication"}
ON_CPU = {"host_compute", "launch", "compile"}

ROW = st.fixed_dictionaries(
    {
        "device": st.sampled_from([CPU, GPU]),
        "start_ns": st.integers(0, 60),
        "duration_ns": st.integers(0, 20),
        "step": st.integers(-1, 1),
        "kind": st.sampled_from(events.KINDS),
        "lane": st.sampled_from(["ops", "collective", "stream:13", "tf_data_1"]),
        "op": st.sampled_from(["MatMul", "IteratorGetNext", "launch", "MemcpyH2D", "train"]),
        "scheduled_ns": st.one_of(st.none(), st.integers(0, 80)),
    }
)

TRACED = {"kernel", "memcpy", "memset"}


def expected(trace: Trace) -> dict[tuple[int, str], dict[str, float | None]]:
    """Return the figures of each step and device, counted one by one."""
    rows: list[dict[Any, Any]] = trace.events.to_dict("records")
    found: dict[tuple[int, str], list[tuple[dict[Any, Any], int, int]]] = {}
    for event, step, (start, end) in counted(trace):
        row = rows[event]
        group = found.setdefault((step, row["device"]), [])
        doing = ACTIVITIES[activity(trace)[event]]
        if "GPU" in row["device"]:
            ran = doing in ON_GPU and row["lane"] not in ("ops", "collective", "recv")
        else:
            ran = doing in ON_CPU
        if ran:
            group.append((row, start, end))
    shares_of = {}
    for (step, device), ran_here in found.items():
        window = windows(trace)[step]
        kinds = {
            (rows[event]["device"], rows[event]["kind"]) for event, at, _ in counted(trace) if at == step
        }
        ops = {kind for where, kind in kinds if "GPU" in where}
        blind = "GPU" in device and ops == {"op"} and not {kind for _, kind in kinds} & TRACED
        idle, busy = painted(window, [[(start, end) for _, start, end in ran_here]])
        _, compute = painted(window, [[(s, e) for row, s, e in ran_here if row["kind"] == "kernel"]])
        waits = [
            max(start - row["scheduled_ns"], 0)
            for row, start, _ in ran_here
            if not pd.isna(row["scheduled_ns"])
        ]
        kernel = max(end for *_, end in ran_here) - min(start for _, start, _ in ran_here) if ran_here else 0
        hta = "GPU" in device and bool(ran_here)
        shares_of[step, device] = {
            "step_ns": window[1] - window[0],
            "busy_ns": None if blind else busy,
            "idle_ns": None if blind else idle,
            "utilization": None if blind or window[0] == window[1] else busy / (window[1] - window[0]),
            "parallelism": sum(end - start for _, start, end in ran_here) / busy
            if busy and not blind
            else None,
            "queued": len(waits),
            "queueing_ns": sum(waits) if waits else None,
            "queueing_mean_ns": sum(waits) / len(waits) if waits else None,
            "hta_kernel_ns": kernel if hta else None,
            "hta_idle_ns": kernel - busy if hta else None,
            "hta_compute_ns": compute if hta else None,
            "hta_non_compute_ns": busy - compute if hta else None,
        }
    return shares_of


def shares_of(table: pd.DataFrame) -> dict[tuple[int, str], dict[str, float | None]]:
    return {
        (row["step"], row["device"]): {name: None if pd.isna(row[name]) else row[name] for name in FIGURES}
        for row in table.to_dict("records")
    }


@given(st.lists(ROW, min_size=1, max_size=15))
def test_every_figure_is_that_counted_one_by_one(rows: list[dict[str, Any]]) -> None:
    columns: dict[str, Any] = {name: [row[name] for row in rows] for name in rows[0]}
    columns["scheduled_ns"] = pd.array(columns["scheduled_ns"], dtype="Int64")
    trace = Trace(events.order(events.build(columns))[0])
    table = utilization(trace)
    assert shares_of(table) == expected(trace)
    known = table[table["busy_ns"].notna()]
    assert (known["busy_ns"] + known["idle_ns"] == known["step_ns"]).all()
    assert bool(why_not(table)) == all(row["step"] < 0 for row in rows)


@pytest.mark.parametrize(
    "name",
    [
        "gpu_tf221_mlp.pb.xz",
        "gpu_tf221_mixed.pb.xz",
        "gpu_tf218_function.xplane.pb.xz",
        "cpu_tf115_horovod.pb.xz",
    ],
)
def test_real_devices_counted_one_by_one(name: str) -> None:
    trace = real_trace(DATA / name)
    assert shares_of(utilization(trace)) == expected(trace)


def test_streams_of_one_gpu_run_side_by_side() -> None:
    columns = {"kind": ["kernel"] * 2, "lane": ["stream:1", "stream:2"], "device": [GPU] * 2}
    trace = Trace(events.build({"start_ns": [0, 0], "duration_ns": [10, 10], **columns}))
    row = trace.utilization.iloc[0]
    assert (row["busy_ns"], row["utilization"], row["parallelism"]) == (10, 1, 2)
    assert row["queued"] == 0
    assert pd.isna(row["queueing_ns"])
    assert np.isnan(row["queueing_mean_ns"])


def test_nothing_of_nothing() -> None:
    assert why_not(utilization(Trace(events.build({}, rows=0)))).id == "no_devices"
    nowhere = events.build({"start_ns": [0], "duration_ns": [1], "kind": ["op"]})
    found = utilization(Trace(nowhere))
    assert why_not(found).id == "no_devices"
    somewhere = utilization(Trace(nowhere.assign(device=pd.Categorical([CPU]))))
    assert found.dtypes.astype(str).to_dict() == somewhere.dtypes.astype(str).to_dict()
