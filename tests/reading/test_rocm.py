"""Profiles of JAX on ROCm: launches with the name of their instruction, copies by HSA."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tensorflow.tsl.profiler.protobuf.xplane_pb2 import XSpace

import tfvis_nb as tv
from tests.support.examples import examples
from tests.support.texts import raises_id

pytestmark = pytest.mark.tensorflow

US = 10**6
"""In ps, the unit of an XSpace."""


class Writer:
    """Adds events to a plane, by name."""

    def __init__(self, space: Any, name: str) -> None:
        self.plane = space.planes.add(name=name)
        self.lines: dict[str, Any] = {}
        self.names: dict[str, int] = {}
        self.stats: dict[str, int] = {}

    def add(self, line: str, name: str, start: int, end: int, **facts: int | str) -> None:
        """Add an event of a line, with times in us."""
        if line not in self.lines:
            self.lines[line] = self.plane.lines.add(id=len(self.lines) + 1, name=line, timestamp_ns=10**18)
        number = self.names.setdefault(name, len(self.names) + 1)
        self.plane.event_metadata[number].id = number
        self.plane.event_metadata[number].name = name
        event = self.lines[line].events.add(
            metadata_id=number, offset_ps=start * US, duration_ps=(end - start) * US
        )
        for key, value in facts.items():
            place = self.stats.setdefault(key, len(self.stats) + 1)
            self.plane.stat_metadata[place].id = place
            self.plane.stat_metadata[place].name = key
            if isinstance(value, int):
                event.stats.add(metadata_id=place, int64_value=value)
            else:
                event.stats.add(metadata_id=place, str_value=value)


LAUNCHES = ("hipLaunchKernel", "hipModuleLaunchKernel", "hipExtModuleLaunchKernel", "hipGraphLaunch")


@settings(max_examples=examples(60))
@given(
    api=st.sampled_from(LAUNCHES),
    counts=st.lists(st.integers(1, 3), min_size=1, max_size=4),
    delay=st.integers(0, 90),
)
def test_kernels_belong_to_the_step_of_their_launch(api: str, counts: list[int], delay: int) -> None:
    space = XSpace()
    host, gpu = Writer(space, "/host:CPU"), Writer(space, "/device:GPU:0")
    expected = []
    correlation = 0
    for step, kernels in enumerate(counts):
        begin = step * 1000
        host.add("python", "train", begin, begin + 900, step_num=step)
        host.add("python", "PjitFunction(f)", begin + 10, begin + 800)
        for number in range(kernels):
            correlation += 1
            at = begin + 20 + number * 100
            facts: dict[str, Any] = {
                "hlo_op": f"fusion.{number}",
                "hlo_module": "jit_f",
                "correlation_id": correlation,
            }
            host.add("python", api, at, at + 5, **facts)
            gpu.add("Stream #1(Compute)", f"fusion_{number}", at + 6 + delay, at + 9 + delay, **facts)
            expected.append(step)
    events = tv.read_trace(space.SerializeToString()).events
    launches = events[events["op"] == "launch"]
    assert launches["kind"].astype(str).tolist() == ["host"] * correlation
    ran = events[events["kind"] == "kernel"]
    assert ran["step"].tolist() == expected
    assert (ran["start_ns"] - ran["scheduled_ns"]).tolist() == [(6 + delay) * 1000] * correlation


@settings(max_examples=examples(60))
@given(
    copies=st.lists(
        st.tuples(st.sampled_from("HD"), st.sampled_from("HD"), st.integers(1, 10**9), st.integers(0, 7)),
        min_size=1,
        max_size=6,
    )
)
def test_copies_of_hsa_have_their_bytes(copies: list[tuple[str, str, int, int]]) -> None:
    space = XSpace()
    gpu = Writer(space, "/device:GPU:0")
    words = {"H": "Host", "D": "Device"}
    for number, (origin, target, size, card) in enumerate(copies):
        details = f"kind:Unknown size:{size} dest:{card} async:1"
        name = f"Copy{words[origin]}To{words[target]}"
        start = number * 50
        gpu.add("Stream #7", name, start, start + 20, correlation_id=number + 1, memcpy_details=details)
    events = tv.read_trace(space.SerializeToString()).events
    assert events["kind"].astype(str).tolist() == ["memcpy"] * len(copies)
    assert events["bytes"].tolist() == [size for _, _, size, _ in copies]
    assert events["op"].astype(str).tolist() == [f"Memcpy{origin}2{target}" for origin, target, *_ in copies]


def test_fills_of_hsa_are_memsets() -> None:
    space = XSpace()
    Writer(space, "/device:GPU:0").add("Stream #7", "FillBuffer", 0, 5, correlation_id=1)
    assert tv.read_trace(space.SerializeToString()).events["kind"].tolist() == ["memset"]


@pytest.mark.parametrize("planes", [0, 1])
def test_an_error_without_events_is_repeated(planes: int) -> None:
    error = "Failed to load libcupti (is it installed and accessible?)"
    space = XSpace(errors=[error], warnings=["2 events dropped"], hostnames=["worker-3"])
    for _ in range(planes):
        space.planes.add(name="Task Environment")
    with raises_id(tv.EmptyTraceError, "xspace_without_events") as caught:
        tv.read_trace(space.SerializeToString())
    assert error in str(caught.value)
    assert "2 events dropped" in str(caught.value)
    assert "LD_LIBRARY_PATH" in str(caught.value)
