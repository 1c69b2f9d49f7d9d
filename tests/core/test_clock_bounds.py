"""How far clocks may still be apart goes wherever the trace goes, and to the front end."""

from collections.abc import Callable
from math import inf
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tfvis_nb as tv
from tests.clocks.test_alignment import WORKERS
from tests.large_traces import answers_of
from tests.support.texts import raises_id
from tests.wire_reader import read_container
from tfvis_nb import Trace, events
from tfvis_nb.analysis.events.lane_order import order_lanes
from tfvis_nb.core.clock_bounds import combined, from_json
from tfvis_nb.display.large.layout import lay_out
from tfvis_nb.display.shaping.gap_compression import compress_gaps
from tfvis_nb.display.wire.bars import bar_bytes
from tfvis_nb.reading.concat import concatenate
from tfvis_nb.reading.xspace.epoch import on_the_clock
from tfvis_nb.recording.assemble import merged, whole_steps

FIRST, SECOND, THIRD = (f"/job:worker/replica:0/task:{number}" for number in range(3))
BOUNDS = {FIRST: (0.0, 0.0), SECOND: (-250.0, 40.5), THIRD: (-3.0, inf)}
YEAR_NS = 365 * 24 * 3600 * 10**9


def trace(
    bounds: dict[str, tuple[float, float]] = BOUNDS, tasks: tuple[str, ...] = (FIRST, SECOND, THIRD)
) -> Trace:
    """Make a trace of some tasks, an event of each an hour and more apart from the next."""
    count = len(tasks)
    columns = {
        "task": tasks,
        "device": [f"{task}/device:CPU:0" for task in tasks],
        "lane": ["ops"] * count,
        "start_ns": np.arange(count) * YEAR_NS,
        "duration_ns": [10] * count,
        "kind": ["op"] * count,
        "step": [0] * (count - 1) + [-1],
    }
    return Trace(events.build(columns), clock_bounds=bounds, step_labels={0: "train"})


def parquet(folder: Path, made: Trace) -> Trace:
    return tv.read_trace(made.to_parquet(folder / "trace.parquet"))


def chrome(folder: Path, made: Trace) -> Trace:
    return tv.read_trace(made.to_chrome_trace(folder / "trace.json.gz"))


def profile_beside(_: Path, made: Trace) -> Trace:
    table = events.build({"start_ns": [5], "duration_ns": [3], "kind": ["host"], "name": ["a"]})
    return merged(made, [Trace(table)])


@pytest.mark.parametrize(
    "through",
    [
        parquet,
        chrome,
        profile_beside,
        lambda _, made: tv.read_trace([made], title="other"),
        lambda _, made: concatenate([made, made], "both"),
        lambda _, made: compress_gaps(made),
        lambda _, made: made.between(YEAR_NS, 2 * YEAR_NS),
        lambda _, made: on_the_clock(made, 10**18),
        lambda _, made: whole_steps(made),
    ],
)
def test_bounds_stay_with_the_trace(tmp_path: Path, through: Callable[[Path, Trace], Trace]) -> None:
    made = trace()
    after = through(tmp_path, made)
    assert after is not made
    assert list(after.clock_bounds.items()) == list(BOUNDS.items())


def test_traces_of_other_clocks_together_know_less() -> None:
    wider = {FIRST: (0.0, 0.0), SECOND: (-1.0, 70.0)}
    assert combined([trace(), trace(wider)]) == {
        FIRST: (0.0, 0.0),
        SECOND: (-250.0, 70.0),
        THIRD: (-inf, inf),
    }
    # Where a task is not, nothing is said of it.
    assert combined([trace(), trace(wider, (FIRST, SECOND))])[THIRD] == (-3.0, inf)
    against_another = {THIRD: (0.0, 0.0), SECOND: (-1.0, 1.0)}
    assert combined([trace(), trace(against_another)]) == {
        FIRST: (0.0, 0.0),
        SECOND: (-inf, inf),
        THIRD: (-inf, inf),
    }
    assert combined([trace({}), trace({})]) == {}


def test_the_front_end_is_told() -> None:
    bounds_in_notes = [
        {"task": FIRST, "low": 0, "high": 0},
        {"task": SECOND, "low": -250, "high": 40.5},
        {"task": THIRD, "low": -3, "high": None},
    ]
    shown = compress_gaps(trace())
    assert read_container(bar_bytes(shown))[0]["clocks"] == bounds_in_notes
    outline = answers_of(lay_out(shown, order_lanes(shown.events))).outline_bytes("", "windows")
    assert read_container(outline)[0]["clocks"] == bounds_in_notes
    assert read_container(bar_bytes(trace({})))[0]["clocks"] == []


def test_hosts_of_one_run_have_bounds(data: Path) -> None:
    read = tv.read_trace([data / name for name in WORKERS])
    assert read.clock_bounds == {FIRST: (0.0, 0.0), SECOND: (-21207936.0, 38630185.0)}


def test_nothing_is_said_without_evidence(data: Path) -> None:
    assert tv.read_trace(data / "local_mlp_step1.pb").clock_bounds == {}
    assert tv.read_trace(data / "timeline_tf115_distributed.json").clock_bounds == {}


@pytest.mark.parametrize("interval", [(1, 0), (float("nan"), 1)])
def test_intervals_that_are_none(interval: tuple[float, float]) -> None:
    with raises_id(ValueError, "clock_bounds_reversed"):
        trace({FIRST: (0, 0), SECOND: interval})


def test_edited_bounds_in_a_file_are_ignored() -> None:
    wrong: list[Any] = [None, "a", [], {"task": 3}, {"task": "b", "low": "1"}, {"task": "c", "high": 10**400}]
    assert from_json(wrong) == from_json({"task": "a"}) == from_json(None) == {}
    assert from_json([*wrong, {"task": "d"}]) == {"d": (-inf, inf)}
