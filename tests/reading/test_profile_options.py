"""The levels of a profile, and notes on the events that they omit."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tfvis_nb as tv
from tests.real_traces import DATA
from tests.support import xspace_oracle
from tfvis_nb.texts import id_of

pytestmark = pytest.mark.tensorflow

NOTES = {"host_tracer_low", "device_tracer_off"}


def with_options(options: bytes | None) -> tv.Trace:
    """Read a small profile with other options, or without any."""
    space = xspace_oracle.load(DATA / "cpu_jax.xplane.pb")
    (plane,) = (plane for plane in space.planes if plane.name == "Task Environment")
    (key,) = (key for key, entry in plane.stat_metadata.items() if entry.name == "profile_options")
    for stat in [*plane.stats]:
        if stat.metadata_id == key:
            if options is None:
                plane.stats.remove(stat)
            else:
                stat.bytes_value = options
    return tv.read_trace(space.SerializeToString())


def message(**levels: int) -> bytes:
    from tensorflow.tsl.profiler.protobuf.profiler_options_pb2 import ProfileOptions

    written: bytes = ProfileOptions(version=1, **levels).SerializeToString()
    return written


def levels(trace: tv.Trace) -> list[list[Any]]:
    names = ["host_tracer_level", "device_tracer_level", "python_tracer_level"]
    rows: list[list[Any]] = trace.metadata["profiles"][names].to_numpy().tolist()
    return rows


def notes(trace: tv.Trace) -> list[str]:
    return [id_of(note) for note in trace.notes if id_of(note) in NOTES]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("cpu_jax.xplane.pb", [[2, 1, 1]]),
        ("cpu_tf221_keras_fit.xplane.pb.xz", [[2, 1, 0]]),
        ("gpu_tf218_function.xplane.pb.xz", []),
    ],
)
def test_real_profiles(name: str, expected: list[list[int]]) -> None:
    trace = tv.read_trace(DATA / name)
    assert levels(trace) == expected
    assert notes(trace) == []


@pytest.mark.parametrize(
    ("host", "device", "expected"),
    [
        (2, 1, []),
        (3, 2, []),
        (1, 1, ["host_tracer_low"]),
        (0, 0, ["host_tracer_low", "device_tracer_off"]),
        (2, 0, ["device_tracer_off"]),
    ],
)
def test_levels_that_leave_something_out(host: int, device: int, expected: list[str]) -> None:
    trace = with_options(message(host_tracer_level=host, device_tracer_level=device))
    assert levels(trace) == [[host, device, 0]]
    assert notes(trace) == expected


@pytest.mark.parametrize("options", [None, b"", b"\xff\xff", b"\x10", b"\x08\x01", b"\x28"])
def test_options_that_cannot_be_read_say_nothing(options: bytes | None) -> None:
    trace = with_options(options)
    assert levels(trace) == []
    assert notes(trace) == []


@given(st.binary(max_size=20))
def test_any_bytes_may_be_there(options: bytes) -> None:
    assert len(with_options(options).events) == len(with_options(None).events)


def test_a_parquet_file_keeps_them(tmp_path: Path) -> None:
    trace = with_options(message(host_tracer_level=1))
    again = tv.read_trace(trace.to_parquet(tmp_path / "a.parquet"))
    assert levels(again) == levels(trace)
    assert notes(again) == notes(trace)
