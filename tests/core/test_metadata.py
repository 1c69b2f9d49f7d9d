"""Tables other than events: kept, joined, and left out if damaged."""

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import tfvis_nb as tv
from tfvis_nb import events
from tfvis_nb.core import metadata
from tfvis_nb.core.metadata import DEVICES, SUBJECTS, table_of
from tfvis_nb.texts import id_of

GPU = {"task": "", "device": "/device:GPU:0", "model": "H<i>", "cores": 132, "memory_bytes": 2**40 + 1}


def trace(rows: list[dict[str, Any]], device: str = "/device:GPU:0", task: str = "") -> tv.Trace:
    columns = {"start_ns": [0], "duration_ns": [5], "kind": ["kernel"], "device": [device], "task": [task]}
    return tv.Trace(events.build(columns), metadata={DEVICES: table_of(DEVICES, rows)})


def test_metadata_is_kept_in_parquet_files(tmp_path: Path) -> None:
    made = trace([GPU, {"device": "/device:TPU:1"}])
    again = tv.read_trace(made.to_parquet(tmp_path / "t.parquet"))
    pd.testing.assert_frame_equal(again.metadata[DEVICES], made.metadata[DEVICES])
    assert again.metadata[DEVICES]["memory_bytes"].tolist() == [2**40 + 1, pd.NA]


@pytest.mark.parametrize(
    "damaged",
    [
        [],
        None,
        {DEVICES: 3},
        {DEVICES: [[]]},
        {DEVICES: ["x"]},
        {DEVICES: [{"cores": "many"}]},
        {DEVICES: [{"cores": 2**70}]},
        {DEVICES: [{"cores": 1.5}]},
        {DEVICES: [{"model": {"a": 1}}]},
        {DEVICES: [{}] * 100_001},
    ],
)
def test_damaged_metadata_costs_nothing_else(
    damaged: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = trace([GPU])
    monkeypatch.setattr(metadata, "to_json", lambda _: damaged)
    again = tv.read_trace(made.to_parquet(tmp_path / "t.parquet"))
    assert DEVICES not in again.metadata or not len(again.metadata[DEVICES])
    assert ("metadata_damaged" in map(id_of, again.notes)) == (damaged != [])
    assert again.events.equals(made.events)


def test_what_several_traces_say_alike_is_said_once() -> None:
    other = {"device": "/device:GPU:1"}
    both = tv.read_trace([trace([GPU]), trace([GPU, other])])
    assert both.metadata[DEVICES]["device"].tolist() == ["/device:GPU:0", "/device:GPU:1"]
    assert dict(both.metadata[DEVICES].dtypes) == SUBJECTS[DEVICES]


def test_devices_are_those_with_events() -> None:
    assert trace([GPU]).devices[["device", "model", "cores"]].to_dict("records") == [
        {"device": "/device:GPU:0", "model": "H<i>", "cores": 132}
    ]
    elsewhere = trace([GPU], device="/device:GPU:1").devices
    assert elsewhere["cores"].isna().all()
    task = "/job:worker/replica:0/task:1"
    assert trace([GPU], f"{task}/device:GPU:0", task).devices["cores"].tolist() == [132]
    others = trace([GPU | {"task": "/job:worker/replica:0/task:0"}], f"{task}/device:GPU:0", task)
    assert others.devices["cores"].isna().all()
    # Two processes without task names: the owner of the GPU is unknown.
    assert trace([GPU, GPU | {"cores": 80}]).devices["cores"].isna().all()


def test_a_trace_without_devices_says_so() -> None:
    table = tv.Trace(events.build({}, rows=0)).devices
    assert tv.analysis.why_not(table).id == "no_events_on_devices"


def test_the_hardware_of_a_profile(data: Path) -> None:
    found = tv.read_trace(data / "gpu_tf218_function.xplane.pb.xz").devices.set_index("device")
    gpu = found.loc["/device:GPU:0"]
    assert (gpu["vendor"], gpu["compute_capability"], gpu["cores"]) == ("Nvidia", "9.0", 132)
    assert (gpu["clock_hz"], gpu["memory_bytes"]) == (1_980_000_000, 150_109_880_320)
    assert gpu["memory_bandwidth"] == 4_814_304_000_000
    assert found.loc["/device:CPU:0"][["cores", "clock_hz"]].isna().all()


def test_hosts_of_a_run_keep_their_own(data: Path) -> None:
    workers = [data / f"gpu_tf221_worker{number}.xplane.pb.xz" for number in (0, 1)]
    found = tv.read_trace(workers).devices
    gpus = found[found["device"].str.endswith("GPU:0")]
    assert gpus["task"].tolist() == [f"/job:worker/replica:0/task:{number}" for number in (0, 1)]
    assert gpus["model"].tolist() == ["NVIDIA H200"] * 2
