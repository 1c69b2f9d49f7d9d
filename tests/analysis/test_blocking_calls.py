"""Calls that wait for the device do not launch meanwhile. The oracle counts microseconds of plain JSON."""

import json
from typing import Any, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tfvis_nb as tv
from tests.support.examples import examples
from tfvis_nb.analysis import launch_gaps

EPOCH_US = 1_700_000_000_000_000
LONG_US = 100
CALLS = {"kernel": "cudaLaunchKernel", "H2D": "cudaMemcpyAsync", "D2H": "cudaMemcpyAsync"}
COPIES = {"H2D": "Memcpy HtoD (Pageable -> Device)", "D2H": "Memcpy DtoH (Device -> Pageable)"}


class Work(NamedTuple):
    """A call of the host, from `start` to `end`, and its work on a stream, from `ran` to `done` (us)."""

    kind: str
    stream: int
    start: int
    end: int
    ran: int
    done: int


def read(works: list[Work]) -> tv.Trace:
    events: list[dict[str, Any]] = []
    for number, one in enumerate(works, 1):
        args = {"correlation": number, "device": 0, "stream": one.stream}
        host = {"cat": "cuda_runtime", "name": CALLS[one.kind], "pid": 100, "tid": 100}
        device = {"cat": "kernel", "name": f"k{number}"}
        if one.kind in COPIES:
            device = {"cat": "gpu_memcpy", "name": COPIES[one.kind]}
        events += [
            host | {"ts": EPOCH_US + one.start, "dur": one.end - one.start, "args": args},
            device
            | {"pid": 0, "tid": one.stream, "args": args}
            | {"ts": EPOCH_US + one.ran, "dur": one.done - one.ran},
        ]
    document = [{"ph": "X"} | event for event in events]
    return tv.read_trace(json.dumps({"schemaVersion": 1, "traceEvents": document}).encode())


def launching(works: list[Work], moment: int) -> bool:
    """Return whether a call launches at a moment, and does not wait for its stream or its own copy."""
    for number, one in enumerate(works):
        if not one.start <= moment < one.end:
            continue
        blocks = one.kind != "kernel" and one.start <= one.ran and one.done <= one.end
        earlier = [other.done for other in works[:number] if other.stream == one.stream]
        waits = (blocks or one.end - one.start > LONG_US) and moment < max(earlier, default=0)
        if not waits and not (blocks and one.ran <= moment < one.done):
            return True
    return False


def parts(works: list[Work]) -> dict[str, int]:
    """Return the microseconds of each part of the breakdown."""
    first, last = min(one.start for one in works), max(max(one.end, one.done) for one in works)
    found = dict.fromkeys(("device_compute", "d2h", "launch", "h2d", "idle"), 0)
    for moment in range(first, last):
        on = {one.kind for one in works if one.ran <= moment < one.done}
        if "kernel" in on:
            found["device_compute"] += 1
        elif "D2H" in on:
            found["d2h"] += 1
        elif launching(works, moment):
            found["launch"] += 1
        else:
            found["h2d" if "H2D" in on else "idle"] += 1
    return found


def of_task(trace: tv.Trace, names: Any) -> dict[str, int]:
    (row,) = trace.breakdown.query("device == ''").to_dict("records")
    return {name: row[f"{name}_ns"] // 1000 for name in names}


@st.composite
def works(draw: st.DrawFn) -> list[Work]:
    made: list[Work] = []
    now = 0
    for _ in range(draw(st.integers(1, 6))):
        kind, stream = draw(st.sampled_from([*CALLS])), draw(st.sampled_from([7, 20]))
        start = now + draw(st.integers(1, 30))
        free = max((one.done for one in made if one.stream == stream), default=0)
        ran = max(start + draw(st.integers(1, 20)), free + draw(st.integers(0, 3)))
        done = ran + draw(st.integers(1, 150))
        blocks = draw(st.booleans())
        length = draw(st.integers(1, 15) | st.integers(101, 200))
        now = done + draw(st.integers(0, 20)) if blocks and kind != "kernel" else start + length
        made.append(Work(kind, stream, start, now, ran, done))
    return made


@given(works())
@settings(max_examples=examples(300))
def test_waits_of_calls_are_no_launches(made: list[Work]) -> None:
    trace = read(made)
    expected = parts(made)
    assert of_task(trace, expected) == expected
    gaps = launch_gaps(trace)
    for gap in gaps.to_dict("records"):
        launched = trace.events["scheduled_ns"].loc[gap["event"]]
        first, launch = (int(at) // 1000 - EPOCH_US for at in (gap["start_ns"], launched))
        moments = sum(launching(made, moment) for moment in range(first, launch))
        assert gap["launching_ns"] == 1000 * moments


@pytest.mark.parametrize("kind", ["H2D", "D2H"])
def test_a_copy_that_blocks_for_463_ms_launches_for_microseconds(kind: str) -> None:
    trace = read(
        [
            Work("kernel", 7, 0, 8, 10, 400_000),
            Work(kind, 7, 20, 463_000, 400_002, 462_990),
            Work("kernel", 7, 463_010, 463_020, 463_025, 463_100),
        ]
    )
    assert of_task(trace, ["launch", "h2d", "d2h"]) == {
        "launch": 8 + 2 + 10 + 10,
        "h2d": 62_988 if kind == "H2D" else 0,
        "d2h": 62_988 if kind == "D2H" else 0,
    }
    lengths = trace.critical_path.groupby("category", observed=True)["duration_ns"].sum() // 1000
    assert lengths["launch"] <= 30
    assert lengths["device_compute"] == 399_990 + 75
    assert lengths[kind.lower()] == 62_988
    assert not [finding for finding in trace.findings["id"] if finding == "launch_bound"]


def test_a_call_in_a_full_queue_waits() -> None:
    made = [Work("kernel", 7, 0, 8, 10, 5_000), Work("kernel", 7, 20, 4_000, 5_001, 5_002)]
    trace = read([*made, Work("kernel", 20, 4_010, 4_018, 4_020, 5_100)])
    on_host = trace.breakdown.query("device.str.endswith('CPU:0')", engine="python")
    assert on_host["launch_ns"].tolist() == [16_000]
