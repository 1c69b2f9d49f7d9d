"""A page of any part of any trace can be written, and shows the memory of that part."""

import random
from pathlib import Path

import pytest

import tfvis_nb as tv
from tests.real_traces import SHARED, each, real_trace, step_stats_files, xspace_files
from tests.wire_reader import read_container
from tfvis_nb import events
from tfvis_nb.display.wire.memory import memory_bytes

RANGES = 3
"""For each trace."""
WITH_PAGE = 1
"""So many of them also as a whole page."""

WITH_MEMORY = "h200/keras_fit_gpu.xplane.pb"


def check_ranges(path: Path, count: int, pages: int) -> None:
    trace = real_trace(path)
    chosen = random.Random(path.name)
    start, duration = (trace.events[name] for name in ("start_ns", "duration_ns"))
    first, last = int(start.iloc[0]), int((start + duration).max())
    for number in range(count):
        begin = int(start.iloc[chosen.randrange(len(start))])
        span = max(int((last - first) * 10 ** -chosen.uniform(0, 5)), 1)
        part = trace.between(begin, begin + span)
        header, _ = read_container(memory_bytes(part))
        for track in header["tracks"]:
            assert track["peak"] >= 0
            known = part.lifetimes if track.get("estimated") else part.memory
            assert known["allocator"].eq(track["allocator"]).any()
        if number < pages:
            assert part.to_html(max_bytes=None).startswith("<!doctype html>")


@pytest.mark.slow
@pytest.mark.parametrize("path", each([*step_stats_files(), *xspace_files()]))
def test_any_range_of_a_trace_can_be_written(path: Path) -> None:
    check_ranges(path, RANGES, WITH_PAGE)


@pytest.mark.thorough
@pytest.mark.collection(WITH_MEMORY)
def test_many_ranges_of_a_profile_can_be_written() -> None:
    check_ranges(SHARED / WITH_MEMORY, 60, 0)


def test_a_range_without_allocations_has_only_the_level() -> None:
    import pyarrow as pa

    table = events.build(
        {
            "start_ns": [0, 10, 20],
            "duration_ns": [5, 0, 0],
            "kind": ["host"] * 3,
            "op": ["", "MemoryDeallocation", "MemoryDeallocation"],
            "detail": ["", "allocator_name=GPU_0_bfc", "allocator_name=GPU_0_bfc"],
        }
    )
    nested = pa.table({"address": [None, 4096, 8192], "in_use_bytes": [None, 300, 100]})
    trace = tv.Trace(table, nested=nested)
    (track,) = read_container(memory_bytes(trace))[0]["tracks"]
    assert (track["peak"], track["buffers"]) == (300, 0)
    assert trace.to_html(time_range=(0, 15)).startswith("<!doctype html>")
