"""Notes are shown in the order of how much they hinder reading."""

import json

import pytest

from tests.real_traces import DATA, real_trace
from tests.wire_reader import read_drawn
from tfvis_nb.cli import main
from tfvis_nb.core.note_order import HARMLESS, HINDERS, most_important_first
from tfvis_nb.display.wire.bars import bar_bytes
from tfvis_nb.texts import Text, catalogue


def test_notes_of_both_lists_are_in_the_catalogue() -> None:
    assert set(catalogue()) >= HINDERS | HARMLESS
    assert not HINDERS & HARMLESS


def test_important_notes_come_first_and_others_keep_their_order() -> None:
    missing, harmless = Text("gpu_profiling_failed"), Text("events_of_no_step", events=2)
    notes = [harmless, "first", missing, "second"]
    assert most_important_first(notes) == [missing, "first", "second", harmless]


def test_pages_and_overview_show_important_notes_first() -> None:
    trace = real_trace(DATA / "gpu_tf221_dist.pb.xz")
    expected = [str(note) for note in most_important_first(trace.notes)]
    assert expected[0].startswith("clocks left as recorded")
    assert expected != [str(note) for note in trace.notes]
    assert read_drawn(bar_bytes(trace))[0]["notes"] == trace.overview["notes"] == expected


def test_info_shows_important_notes_first(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["info", "--json", str(DATA / "gpu_tf221_dist.pb.xz")]) == 0
    assert json.loads(capsys.readouterr().out)["notes"][0].startswith("clocks left as recorded")
