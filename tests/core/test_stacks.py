"""Stacks are kept once, go wherever their trace goes, and a damaged table is refused."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tfvis_nb as tv
from tfvis_nb import Trace, events
from tfvis_nb.analysis.subset import subset
from tfvis_nb.core.stacks import (
    FILES,
    FRAMES,
    MOST_FRAMES,
    STACKS,
    Frame,
    StackBuilder,
    StackTable,
    event_stacks,
    joined,
)
from tfvis_nb.reading.concat import concatenate
from tfvis_nb.texts import id_of

LIBRARY = Frame("keras/layers.py", 80, "call", own=False)
FRAMES_OF = st.lists(
    st.builds(
        Frame,
        file=st.sampled_from(["a.py", "Cell [7]"]),
        line=st.integers(0, 3),
        function=st.sampled_from(["", "f"]),
        text=st.just(""),
        own=st.just(True),
    )
    | st.just(LIBRARY),
    max_size=6,
)


def built(*stacks: list[Frame]) -> tuple[StackTable, list[int]]:
    builder = StackBuilder()
    numbers = [builder.stack(frames) for frames in stacks]
    return builder.table(), numbers


def trace(*stacks: list[Frame], start: int = 0) -> Trace:
    table, numbers = built(*stacks)
    count = len(numbers)
    rows = events.build(
        {"start_ns": range(start, start + count), "duration_ns": [1] * count, "kind": ["op"] * count}
    )
    column = pa.array([None if number < 0 else number for number in numbers], pa.int32())
    return Trace(rows, nested=pa.table({"stack": column}), stacks=table)


def frames_of(trace: Trace) -> list[list[Frame]]:
    assert trace.stacks is not None
    return [trace.stacks.frames_of(stack) for stack in event_stacks(trace).tolist()]


@given(st.lists(FRAMES_OF, min_size=1, max_size=8))
def test_stacks_are_returned_unchanged(stacks: list[list[Frame]]) -> None:
    table, numbers = built(*stacks)
    assert [table.frames_of(number) for number in numbers] == [frames[::-1] for frames in stacks]
    assert len(table) == len({tuple(frames[:end]) for frames in stacks for end in range(1, len(frames) + 1)})
    own = table.own_frame()
    for frames, number in zip(stacks, numbers, strict=True):
        mine = [frame for frame in frames if frame.own]
        if number >= 0:
            row = int(own[number])
            assert (row < 0) == (not mine)
            if mine:
                assert table.frames["line"][row].as_py() == mine[-1].line
    assert StackTable.from_json(table.to_json()) == table


def deep(count: int) -> StackTable:
    own = pa.table(
        {"name": ["a.py", "lib.py"], "text": [None, None], "own": [True, False], "edited": [False, False]},
        schema=FILES,
    )
    frames = pa.table({"file": [0, 1], "line": [1, 2], "function": ["", ""], "text": ["", ""]}, schema=FRAMES)
    stacks = pa.table(
        {"caller": np.arange(-1, count - 1), "frame": [0] + [1] * (count - 1)},
    )
    return StackTable(own, frames, stacks)


def test_deep_stacks_take_no_time(tmp_path: Path) -> None:
    table = deep(200_000)
    assert (table.own_frame() == 0).all()
    rows = events.build({"start_ns": [5], "duration_ns": [1], "kind": ["op"]})
    made = Trace(rows, nested=pa.table({"stack": [len(table) - 1]}), stacks=table)
    again = tv.read_trace(made.to_parquet(tmp_path / "t.parquet"))
    (note,) = again.notes
    assert (id_of(note), note.figures) == ("stacks_cut", {"stacks": len(table) - MOST_FRAMES})  # type: ignore[attr-defined]
    (frames,) = frames_of(again)
    assert len(frames) == MOST_FRAMES
    assert {frame.line for frame in frames} == {2}


@given(st.lists(FRAMES_OF, max_size=8))
def test_depths_count_frames(stacks: list[list[Frame]]) -> None:
    table, numbers = built(*stacks)
    assert [0 if number < 0 else table.depths()[number] for number in numbers] == [*map(len, stacks)]


@given(st.lists(FRAMES_OF, min_size=1, max_size=4), st.lists(FRAMES_OF, min_size=1, max_size=4))
def test_traces_one_after_the_other_keep_their_stacks(one: list[list[Frame]], two: list[list[Frame]]) -> None:
    first, second = trace(*one), trace(*two, start=100)
    assert frames_of(concatenate([first, second], "")) == frames_of(first) + frames_of(second)


def test_unknown_stack_numbers_do_not_refer_to_other_traces() -> None:
    odd = trace([Frame("a.py", 1)])
    odd.nested = pa.table({"stack": pa.array([7], pa.int32())})
    without = Trace(
        events.build({"start_ns": [50], "duration_ns": [1], "kind": ["op"]}), nested=pa.table({"stack": [0]})
    )
    both = concatenate([odd, without, trace([Frame("b.py", 2)], start=100)], "")
    assert [[frame.file for frame in frames] for frames in frames_of(both)] == [[], [], ["b.py"]]


@pytest.mark.parametrize("number", [pa.scalar(2**63, pa.uint64()), pa.scalar(-7, pa.int8())])
def test_numbers_out_of_range_are_no_stack(number: pa.Scalar) -> None:
    odd = trace([Frame("a.py", 1)])
    odd.nested = pa.table({"stack": pa.array([number.as_py()], number.type)})
    both = concatenate([odd, trace([Frame("b.py", 2)], start=100)], "")
    assert [*event_stacks(odd), *event_stacks(both)[:1]] == [-1, -1]


def test_a_file_keeps_stacks_and_texts(tmp_path: Path) -> None:
    builder = StackBuilder()
    builder.stack([Frame("Cell [7]", 2, text="b")])
    builder.file("Cell [7]", "a\nb", edited=True)
    rows = events.build({"start_ns": [5], "duration_ns": [1], "kind": ["op"]})
    made = Trace(rows, nested=pa.table({"stack": [0], "phase": ["backward"]}), stacks=builder.table())
    again = tv.read_trace(made.to_parquet(tmp_path / "t.parquet"))
    assert again.stacks is not None
    assert again.stacks == made.stacks
    assert again.stacks.files.to_pylist() == [
        {"name": "Cell [7]", "text": "a\nb", "own": True, "edited": True}
    ]
    assert again.nested is not None
    assert again.nested["phase"].to_pylist() == ["backward"]
    assert frames_of(subset(made, np.array([0])))[0][0].text == "b"


@pytest.mark.parametrize(
    ("part", "column", "value"),
    [
        ("files", "name", None),
        ("files", "own", None),
        ("files", "edited", None),
        ("frames", "file", 1),
        ("frames", "file", -1),
        ("frames", "line", None),
        ("stacks", "frame", 5),
        ("stacks", "frame", None),
        ("stacks", "caller", 0),
        ("stacks", "caller", -2),
    ],
)
def test_a_damaged_table_is_refused(part: str, column: str, value: object) -> None:
    parts: dict[str, dict[str, list[object]]] = {
        "files": {"name": ["a.py"], "text": [None], "own": [True], "edited": [True]},
        "frames": {"file": [0], "line": [1], "function": [""], "text": [""]},
        "stacks": {"caller": [-1], "frame": [0]},
    }
    schemas = {"files": FILES, "frames": FRAMES, "stacks": STACKS}

    def made() -> StackTable:
        return StackTable(*(pa.table(parts[name], schema=schemas[name]) for name in parts))

    assert len(made()) == 1
    parts[part][column] = [value]
    with pytest.raises(ValueError, match="stack"):
        made()


@pytest.mark.parametrize("text", ["", "[]", "{}", "[1, 2, 3]", '[{"name": ["a"]}, {}, {}]', "null"])
def test_values_that_are_no_table_are_rejected(text: str) -> None:
    with pytest.raises((KeyError, TypeError, ValueError)):
        StackTable.from_json(text)


def test_tables_are_joined_where_some_have_none() -> None:
    table, _ = built([Frame("a.py", 1), Frame("b.py", 2)])
    both, firsts = joined([table, None, table])
    assert both is not None
    assert (len(both), firsts) == (4, [0, 2, 2])
    assert both.files["name"].to_pylist() == ["a.py", "b.py"]
    assert both.frames["file"].to_pylist() == [0, 1, 0, 1]
    assert joined([None]) == (None, [0])


def test_a_damaged_table_costs_the_lines_of_code_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = trace([Frame("a.py", 1)])
    for text in ("[]", "not JSON", '[{"name": [1], "text": [1], "own": [1]}, {}, {}]', "[" * 100_000):
        monkeypatch.setattr(StackTable, "to_json", lambda _, text=text: text)
        again = tv.read_trace(made.to_parquet(tmp_path / "t.parquet"))
        assert again.stacks is None
        assert "stacks_damaged" in map(id_of, again.notes)
        assert again.events.equals(made.events)
