"""The files of the history: two processes at once, a full disk, damage, and how much is kept."""

import errno
import json
import os
import stat
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.run_history.runs import run_of, times
from tfvis_nb.analysis.steps.compared_unit import EagerLoop
from tfvis_nb.run_history import files
from tfvis_nb.run_history.files import keep, read_all
from tfvis_nb.run_history.summary import MOST_STEPS, KindTimes, from_line, to_line

MANY = """
import sys
from pathlib import Path
from typing import Any
from tests.run_history.runs import run_of
from tfvis_nb.run_history.files import keep
for number in range(20):
    keep(Path(sys.argv[1]), run_of(time_ns=int(sys.argv[2]) + number))
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "data" / "history"


def test_runs_are_kept_in_order_for_their_owner_alone(folder: Path) -> None:
    first, second, other = run_of(time_ns=5), run_of(time_ns=7), run_of("b", time_ns=6)
    assert [keep(folder, run) for run in (first, second, other)] == [([], None), ([first], None), ([], None)]
    assert read_all(folder) == [first, other, second]
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()} == {0o600}


@pytest.mark.slow
def test_two_processes_lose_no_run(folder: Path) -> None:
    started = [subprocess.Popen([sys.executable, "-c", MANY, folder, str(100 * one)]) for one in (0, 1)]
    assert [process.wait(120) for process in started] == [0, 0]
    assert {run.time_ns for run in read_all(folder)} == {*range(20), *range(100, 120)}


def test_a_full_disk_does_not_change_the_file(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    keep(folder, run_of())
    before = {path.name: path.read_bytes() for path in folder.iterdir()}

    def fill(path: Path, text: str, **_: object) -> None:
        path.write_bytes(text.encode()[:10])
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(Path, "write_text", fill)
    with pytest.raises(OSError, match="No space"):
        keep(folder, run_of())
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


@given(st.binary(max_size=60), st.integers(0, 600), st.integers(0, 60))
@example(b" ", 173, 0)  # in a key whose value may be missing
def test_damage_is_moved_aside_and_the_rest_is_kept(
    tmp_path_factory: pytest.TempPathFactory, put: bytes, start: int, length: int
) -> None:
    folder = tmp_path_factory.mktemp("damaged") / "history"
    keep(folder, run_of(time_ns=1))
    keep(folder, run_of(time_ns=2))
    (path,) = folder.iterdir()
    whole = path.read_bytes()
    damaged = whole[:start] + put + whole[start + length :]
    path.write_bytes(damaged)
    runs, aside = keep(folder, run_of(time_ns=3))
    assert read_all(folder) == sorted([*runs, run_of(time_ns=3)], key=lambda run: run.time_ns)
    if aside is not None:
        assert aside.read_bytes() == damaged
    else:
        assert "".join(map(to_line, runs)).encode() == damaged or len(runs) == damaged.count(b"\n")
    assert keep(folder, run_of(time_ns=4))[1] is None


@pytest.mark.parametrize("kind", ["link", "pipe", "folder", "large", "of another cell"])
def test_foreign_files_are_moved_aside(folder: Path, tmp_path: Path, kind: str) -> None:
    keep(folder, run_of())
    (path,) = folder.iterdir()
    path.unlink()
    match kind:
        case "link":
            (tmp_path / "mine").write_text("mine")
            path.symlink_to(tmp_path / "mine")
        case "pipe":
            os.mkfifo(path)
        case "folder":
            path.mkdir()
        case "large":
            path.write_bytes(b"\n" * (files._LARGEST_FILE + 1))
        case _:
            path.write_text(to_line(run_of("b")))
    runs, aside = keep(folder, run_of())
    assert runs == []
    assert aside is not None
    assert aside.exists() or aside.is_symlink()
    assert read_all(folder) == [run_of()]
    if kind == "link":
        assert (tmp_path / "mine").read_text() == "mine"


KIND = asdict(times([5]))


@pytest.mark.parametrize(
    "changes",
    [
        {"time_ns": "1"},
        {"time_ns": -1},
        {"kinds": None},
        {"kinds": [1]},
        {"kinds": {"": [1]}},
        {"kinds": {"x" * 5000: KIND}},
        {"kinds": {str(number): KIND for number in range(9)}},
        {"kinds": {"": KIND | {"steps": True}}},
        {"kinds": {"": KIND | {"step_ns": []}}},
        {"kinds": {"": KIND | {"median_ns": None}}},
        {"kinds": {"": KIND | {"step_ns": [1.5]}}},
        {"kinds": {"": KIND | {"step_ns": [1] * (MOST_STEPS + 1)}}},
        {"loop": {}},
        {"loop": [5, "ops"]},
        {"loop": [5, "ops", [1.5]]},
        {"loop": [5, None, [1]]},
        {"kernels": 1 << 70},
        {"busy_share": float("nan")},
        {"busy_share": 2},
        {"title": "x" * 5000},
        {"notebook": None},
    ],
    ids=lambda changes: str(changes)[:40],
)
def test_a_value_that_cannot_be_ours_is_none(changes: dict[str, object]) -> None:
    line = json.dumps(asdict(run_of()) | changes)
    assert from_line(line) is None


def test_lines_of_later_versions_are_read() -> None:
    assert from_line(json.dumps(asdict(run_of()) | {"new": [1]})) == run_of()


def test_a_run_without_steps_is_read_again() -> None:
    loop = EagerLoop(40, "ops", [7, 8, 9])
    for run in (run_of(kinds={}, loop=loop), run_of(kinds={"train": times([5, 6], [7]), "test": times([1])})):
        assert from_line(to_line(run)) == run


def test_lines_of_earlier_versions_are_read() -> None:
    """They have the times of one kind, and a recording without steps is one step in them."""
    line = asdict(run_of())
    for name in ("kinds", "loop", "whole_ns"):
        del line[name]
    line |= {"steps": 4, "step_ns": [7, 9, 8], "first_ns": 50, "loop_ns": [10, 11], "median_ns": 8}
    line |= {"kernels": 7, "ops": 30}
    for earlier in (line, {name: value for name, value in line.items() if name != "median_ns"}):
        read = from_line(json.dumps(earlier))
        assert read is not None
        assert read.whole_ns is None
        assert read.kinds == {"": KindTimes(4, 24, 8, 50, [7, 9, 8], [10, 11], 7, 30)}
    one = from_line(json.dumps(line | {"steps": 1, "step_ns": [70]}))
    assert one is not None
    assert (one.kinds, one.whole_ns) == ({}, 70)
    strange: list[dict[str, Any]] = [{"step_ns": []}, {"steps": None}, {"step_ns": ["7"]}]
    for damaged in strange:
        assert from_line(json.dumps(line | damaged)) is None


def test_runs_of_a_cell_and_all_files_are_bounded(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(files.MOST_RUNS + 2):
        keep(folder, run_of(time_ns=number))
    assert [run.time_ns for run in read_all(folder)] == [*range(2, files.MOST_RUNS + 2)]
    (folder / "notes.jsonl").write_text("of the user")
    monkeypatch.setattr(files, "MOST_BYTES", 2 * len(to_line(run_of())))
    for number, cell in enumerate("bcd", 1):
        keep(folder, run_of(cell))
        os.utime(next(iter(folder.glob(files._name(run_of(cell))))), ns=(number, number))
    assert sorted(run.cell for run in read_all(folder)) == ["c", "d"]
    assert (folder / "notes.jsonl").exists()
