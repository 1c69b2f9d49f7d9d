"""Samples of memory, and of GPUs by NVIDIA's library, for which a stand-in answers."""

import ctypes
import importlib
import signal
import sys
import threading
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import tfvis_nb as tv
from tests.support import fake_nvml
from tfvis_nb.recording.machine_samples import MachineSampler
from tfvis_nb.recording.options import TraceOptions
from tfvis_nb.recording.recorder import Recorder


@pytest.fixture(autouse=True)
def nvml(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Install the stand-in, and check that nothing of a sampler is left."""
    library = importlib.reload(fake_nvml)
    monkeypatch.setitem(sys.modules, "pynvml", library)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    yield library
    assert library.opened == 0
    assert not samplers()


def samplers() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "tfvis_nb machine"]


def sampled() -> Any:
    sampler = MachineSampler()
    sampler.start()
    sampler.stop()
    return sampler.counters("")


def latest(table: Any, device: str) -> dict[tuple[str, str], tuple[float, str]]:
    """Return the last value and the unit of each series of a device."""
    own = table[table["device"] == device].astype({"counter": str, "series": str, "unit": str})
    rows = zip(own["counter"], own["series"], own["value"], own["unit"], strict=True)
    return {(counter, series): (value, unit) for counter, series, value, unit in rows}


def test_each_gpu_has_what_it_supports() -> None:
    table = sampled()
    first, second = (latest(table, f"/device:GPU:{number}") for number in (0, 1))
    assert first["energy", ""][0] >= 7
    alike = {
        ("power", ""): (250, "W"),
        ("SM clock", ""): (990, "MHz"),
        ("SM clock", "maximum"): (1980, "MHz"),
        ("memory in use", ""): (3 << 30, "bytes"),
        ("utilization", ""): (97, "%"),
        ("utilization", "memory"): (41, "%"),
    }
    energies = [own.pop(("energy", ""))[1] for own in (first, second)]
    assert energies == ["J", "J"]
    assert first == alike | {
        ("temperature", ""): (71, "°C"),
        ("throttled", ""): (1, ""),
        ("throttled", "heat"): (1, ""),
    }
    assert second == alike | {("throttled", ""): (0, "")}


def test_energy_is_that_of_the_meter_or_the_integral_of_power() -> None:
    table = sampled()
    for device, expected in (("/device:GPU:0", None), ("/device:GPU:1", 250.0)):
        own = table[(table["device"] == device) & (table["counter"] == "energy")]
        assert own["value"].iloc[0] == 0
        seconds = (own["time_ns"] - own["time_ns"].iloc[0]).to_numpy() / 1e9
        if expected is None:
            assert np.diff(own["value"]).tolist() == pytest.approx([14] * (len(own) - 1))
        else:
            assert own["value"].tolist() == pytest.approx((expected * seconds).tolist())


@pytest.mark.parametrize(
    ("visible", "heated"),
    [("1,0", ["/device:GPU:1"]), ("GPU-one, GPU-zero", ["/device:GPU:1"]), ("1,-1,0", []), ("", [])],
)
def test_gpus_have_the_numbers_of_cuda(
    monkeypatch: pytest.MonkeyPatch, visible: str, heated: list[str]
) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    table = sampled()
    assert table.loc[table["counter"] == "temperature", "device"].unique().tolist() == heated


def on_devices(table: Any) -> list[tuple[str, ...]]:
    """Return the device, counter and series of each value but those of the process, each once."""
    names = table[["device", "counter", "series"]].astype(str).drop_duplicates()
    return [tuple(row) for row in names[names["device"] != ""].to_numpy().tolist()]


def test_process_and_devices_have_the_memory_in_use(monkeypatch: pytest.MonkeyPatch) -> None:
    """JAX and TensorFlow are not imported: their modules are stand-ins."""
    monkeypatch.setitem(sys.modules, "pynvml", None)
    stats: list[Any] = [{"bytes_in_use": 512}, None]  # a CPU has none
    devices = [
        SimpleNamespace(platform=name, local_hardware_id=1, memory_stats=partial(stats.pop, 0))
        for name in ("gpu", "cpu")
    ]
    bridge = SimpleNamespace(backends_are_initialized=lambda: True, local_devices=lambda: stats and devices)
    monkeypatch.setitem(sys.modules, "jax._src.xla_bridge", bridge)
    logical = [SimpleNamespace(name=f"/device:{name}:0", device_type=name) for name in ("CPU", "GPU")]
    context = SimpleNamespace(
        _logical_devices=logical, get_memory_info=lambda name: {"GPU:0": {"current": 2048}}[name]
    )
    monkeypatch.setitem(sys.modules, "tensorflow.python.eager.context", SimpleNamespace(_context=context))
    table = sampled()
    assert on_devices(table) == [
        ("/device:GPU:0", "allocated", "TensorFlow"),
        ("/device:GPU:1", "allocated", "JAX"),
    ]
    assert latest(table, "/device:GPU:0")["allocated", "TensorFlow"] == (2048, "bytes")
    assert latest(table, "/device:GPU:1")["allocated", "JAX"] == (512, "bytes")
    assert latest(table, "")["resident memory", ""][0] > 1 << 20


def test_devices_that_no_framework_has_made_are_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", None)
    bridge = SimpleNamespace(backends_are_initialized=lambda: False)
    monkeypatch.setitem(sys.modules, "jax._src.xla_bridge", bridge)
    context = SimpleNamespace(_context=SimpleNamespace(_logical_devices=None))
    monkeypatch.setitem(sys.modules, "tensorflow.python.eager.context", context)
    assert not on_devices(sampled())


def test_nothing_is_sampled_without_the_library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", None)
    assert not on_devices(sampled())


def test_nothing_is_sampled_without_a_driver(monkeypatch: pytest.MonkeyPatch, nvml: Any) -> None:
    def fails() -> None:
        raise nvml.NVMLError

    monkeypatch.setattr(nvml, "nvmlInit", fails)
    assert not on_devices(sampled())


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_killed_thread_closes_the_library(nvml: Any) -> None:
    sampler = MachineSampler()
    sampler.start()
    nvml.sampled.wait()
    (thread,) = samplers()
    ctypes.pythonapi.PyThreadState_SetAsyncExc(
        ctypes.c_ulong(thread.ident or 0), ctypes.py_object(SystemExit)
    )
    sampler.stop()
    assert len(sampler.counters(""))


def test_long_recordings_keep_few_samples(monkeypatch: pytest.MonkeyPatch, nvml: Any) -> None:
    monkeypatch.setattr("tfvis_nb.recording.machine_samples.MOST_SAMPLES", 4)
    monkeypatch.setattr("tfvis_nb.recording.machine_samples.PERIOD_S", 0.0)
    monkeypatch.setattr("tfvis_nb.recording.machine_samples.MOST_COST", 1e9)
    sampler = MachineSampler()
    sampler.start()
    while nvml.asked.count("nvmlDeviceGetPowerUsage") < 40:
        nvml.sampled.wait()
    sampler.stop()
    assert 2 <= (sampler.counters("")["counter"] == "temperature").sum() <= 4


@pytest.fixture
def run(nvml: Any) -> Any:
    """Something of TensorFlow that runs when the sampler has started."""
    tf = pytest.importorskip("tensorflow")
    session, total = tf.compat.v1.Session(graph=(graph := tf.Graph())), None
    with graph.as_default():
        total = tf.reduce_sum(tf.ones([9]))

    def runs() -> None:
        nvml.sampled.wait()
        session.run(total)

    return runs


@pytest.mark.tensorflow
def test_steps_have_the_energy_that_they_used(run: Any, tmp_path: Path) -> None:
    with tv.trace(tmp_path / "a.parquet") as t:
        run()
        run()
    device = f"{t.events['task'].iloc[0]}/device:GPU:0"
    assert device in set(t.counters["device"])
    energy = t.counters[t.counters["counter"] == "energy"].groupby("device", observed=True)["value"].max()
    assert (t.steps["joules"] > 0).all()
    assert t.steps["joules"].sum() < energy.sum()
    assert t.overview["steps"]["joules"] == t.steps["joules"].median()
    assert tv.read_trace(tmp_path / "a.parquet").steps["joules"].equals(t.steps["joules"])
    anonymous = t.anonymized()
    assert {*anonymous.counters["counter"]} == {*t.counters["counter"]}
    assert {*anonymous.counters["series"]} == {*t.counters["series"]}


@pytest.mark.tensorflow
def test_error_of_the_program_ends_sampling(run: Any) -> None:
    def fail() -> None:
        run()
        raise KeyError

    with pytest.raises(KeyError), tv.trace() as t:
        fail()
    assert "power" in set(t.counters["counter"])
    with tv.trace(sampling=False) as t:
        run()
    assert not len(t.counters)


@pytest.mark.tensorflow
def test_nested_recording_gives_its_samples_to_the_outer_one(run: Any) -> None:
    with Recorder(TraceOptions(), encloses=True) as whole:
        run()
        with tv.trace() as block:
            run()
        run()
    times = [set(one.counters["time_ns"]) for one in (block, whole)]
    assert times[0] < times[1]


IMPORTED = """
from tests.support import fake_nvml
sys.modules["pynvml"] = fake_nvml
def state():
    return fake_nvml.opened, [one.name for one in threading.enumerate() if "machine" in one.name]
"""


@pytest.mark.tensorflow
def test_forked_child_has_no_sampler(tmp_path: Path) -> None:
    from tests.recording.test_own_code_of_programs import ended

    text = """
with tv.trace("step.parquet") as t:
    fake_nvml.sampled.wait()
    session.run(total)
    child = os.fork()
    if child:
        print(os.waitstatus_to_exitcode(os.wait()[1]))
    else:
        assert not state()[1]
if child:
    assert state() == (0, [])
"""
    assert ended(tmp_path, IMPORTED + text) == (0, "0\n")
    assert "power" in set(tv.read_trace(tmp_path / "step.parquet").counters["counter"])


@pytest.mark.tensorflow
def test_sigterm_keeps_the_samples(tmp_path: Path) -> None:
    from tests.recording.test_own_code_of_programs import ended

    text = """
with tv.trace("step.parquet"):
    fake_nvml.sampled.wait()
    session.run(total)
    os.kill(os.getpid(), signal.SIGTERM)
    threading.Event().wait()
"""
    assert ended(tmp_path, IMPORTED + text) == (-signal.SIGTERM, "")
    assert "power" in set(tv.read_trace(tmp_path / "step.parquet").counters["counter"])
