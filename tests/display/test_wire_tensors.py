"""The bars of tensors in the timeline add up to the recorded memory, and name tensors that share buffers."""

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.display.test_wire_memory import read
from tests.real_traces import each, real_trace, step_stats_files
from tests.wire_reader import read_container
from tfvis_nb import Trace
from tfvis_nb.display.wire.header import origin_ns
from tfvis_nb.display.wire.memory import memory_bytes

SMALL = [path for path in step_stats_files() if path.stat().st_size < 2**20]


def levels_by_record(trace: Trace) -> dict[tuple[str, str], dict[int, int]]:
    """Add up every allocation record of a trace as it stands there: bytes after each time, by allocator."""
    if trace.nested is None or "memory" not in trace.nested.column_names:
        return {}
    changes: dict[tuple[str, str], dict[int, dict[int, int]]] = {}
    tasks, steps = trace.events["task"].astype(str).tolist(), trace.events["step"].tolist()
    for task, step, uses in zip(tasks, steps, trace.nested["memory"].to_pylist(), strict=True):
        for use in uses or ():
            for record in use.get("records") or ():
                own = changes.setdefault((task, use["allocator"]), {}).setdefault(step, {})
                own[record["micros"] * 1000] = own.get(record["micros"] * 1000, 0) + record["bytes"]
    # What an earlier step left is unknown, so each begins at 0.
    return {
        where: {
            time: level
            for own in of_steps.values()
            for time, level in zip(
                sorted(own), itertools.accumulate(own[at] for at in sorted(own)), strict=True
            )
        }
        for where, of_steps in changes.items()
    }


@pytest.mark.parametrize("path", each(SMALL))
def test_bars_add_up_to_the_records(path: Path) -> None:
    trace = real_trace(path)
    recorded_levels = levels_by_record(trace)
    tracks = read(memory_bytes(trace), origin_ns(trace.events))
    last = int(trace.steps["end_ns"].max()) if len(trace.steps) else 0
    for track in tracks:
        if "estimated" in track:
            assert (track["task"], track["allocator"]) not in recorded_levels
            continue
        levels = recorded_levels[track["task"], track["allocator"]]
        for time, level in levels.items():
            # Beyond its step nothing is known to be alive, though a record may say when it was freed.
            if time <= last:
                assert level == sum(size for _, size, start, end, _ in track["of"] if start <= time < end)
    recorded = trace.memory[~trace.memory["estimated"]]
    curves = {
        (task, allocator): dict(zip(curve["time_ns"].tolist(), curve["bytes"].tolist(), strict=True))
        for (task, allocator), curve in recorded.groupby(["task", "allocator"], observed=True)
    }
    assert curves == recorded_levels


def aliases(data: bytes) -> list[list[list[tuple[int, int]]]]:
    """Each track's buffers' aliases, event and slot, as the front end decodes them."""
    header, columns = read_container(data)
    tracks: list[list[list[tuple[int, int]]]] = []
    for number in range(len(header["tracks"])):
        own: dict[str, Any] = {
            name: columns.get(f"track_{number}_{name}") for name in ("event", "alias_count")
        }
        if own["alias_count"] is None:
            tracks.append([[] for _ in own["event"]])
            continue
        folded = (columns[f"track_{number}_alias_distance"][at] for at in itertools.count())
        slots = iter(columns[f"track_{number}_alias_slot"])
        tracks.append(
            [
                [(int(event) - 1 + unfolded(int(next(folded))), int(next(slots))) for _ in range(int(count))]
                for event, count in zip(own["event"], own["alias_count"], strict=True)
            ]
        )
    return tracks


def unfolded(number: int) -> int:
    return number // 2 if number % 2 == 0 else -(number + 1) // 2


@pytest.mark.parametrize("path", each(SMALL))
def test_aliases_are_the_outputs_that_took_over_the_buffer(path: Path) -> None:
    trace = real_trace(path)
    names = trace.events["name"].tolist()
    start = trace.events["start_ns"].to_numpy()
    data = memory_bytes(trace)
    for track, found in zip(read(data, origin_ns(trace.events)), aliases(data), strict=True):
        where = (trace.lifetimes["task"] == track["task"]) & (
            trace.lifetimes["allocator"] == track["allocator"]
        )
        expected = trace.lifetimes.loc[where, "aliases"].tolist()
        for text, known, (_, _, alloc, free, _) in zip(expected, found, track["of"], strict=True):
            assert ", ".join(names[event] + (f":{slot}" if slot else "") for event, slot in known) == text
            events = np.array([event for event, _ in known], "i8")
            assert ((start[events] >= alloc) & (start[events] < free + 1000)).all()


def test_a_part_leaves_out_aliases_that_it_does_not_hold(data: Path) -> None:
    trace = real_trace(data / "local_mlp_step1.pb")
    whole = sum(map(len, aliases(memory_bytes(trace))[0]))
    start = trace.lifetimes["alloc_ns"].iloc[0]
    part = trace.between(int(start), int(start) + 200_000)
    held = [event for buffer in aliases(memory_bytes(part))[0] for event, _ in buffer]
    assert len(held) < whole
    assert all(0 <= event < len(part.events) for event in held)


def test_buffers_that_were_not_freed_are_marked(data: Path) -> None:
    trace = real_trace(data / "local_mlp_step1.pb")
    _, columns = read_container(memory_bytes(trace))
    roles = trace.lifetimes["role"].cat
    state = columns["track_0_state"]
    assert [int(number) // 4 for number in state] == trace.lifetimes["free_ns"].isna().astype(int).tolist()
    assert [roles.categories[int(number) % 4] for number in state] == trace.lifetimes["role"].tolist()
