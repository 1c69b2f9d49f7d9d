"""A cell with ``%%trace`` that runs again: its widget, its view, and what changed."""

import uuid
from pathlib import Path
from typing import Any

import pytest
from ipywidgets import Widget
from ipywidgets.widgets.widget import _instances

import tfvis_nb as tv
from tests.magics.ran import Ran
from tests.support.texts import says
from tfvis_nb.analysis.steps.comparison_headline import comparison_headline
from tfvis_nb.magics.trace_cell import CellFailed
from tfvis_nb.run_history.files import VARIABLE
from tfvis_nb.texts import Text

pytestmark = pytest.mark.tensorflow


def test_running_a_cell_again_closes_the_widget_it_replaces(
    shell: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def run(cell_id: str, code: str = "%%trace t\nsession.run(total);") -> str:
        request = {"metadata": {"cellId": cell_id}, "header": {"msg_id": uuid.uuid4().hex}}
        monkeypatch.setattr(shell, "get_parent", lambda: request, raising=False)
        *_, view = Ran(shell, code).views
        return str(view)

    first, elsewhere = run("a"), run("b")
    _instances[first].views = {"mine": {"group_by": "kind", "details": False}}
    _instances[first].view = _instances[first].views["mine"]
    again = run("a")
    alive = Widget.get_manager_state()["state"]
    assert first not in alive
    assert {elsewhere, again} <= set(alive)
    # Its timeline is shown again.
    shown = _instances[again]
    assert (shown.view["group_by"], shown.view["details"], list(shown.views)) == ("kind", False, ["mine"])
    assert _instances[elsewhere].view["group_by"] == "device"
    # And by any other timeline that the cell shows in its place.
    replaced = _instances[run("a", "import tfvis_nb as tv\ndisplay(tv.show_timeline(t))")]
    assert (replaced.view["group_by"], list(replaced.views)) == ("kind", ["mine"])


def test_the_next_run_of_a_cell_says_what_changed(shell: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def run(line: str, code: str, cell_id: str = "changed") -> Ran:
        monkeypatch.setattr(shell, "get_parent", lambda: {"metadata": {"cellId": cell_id}}, raising=False)
        return Ran(shell, f"%%trace {line}\n{code}")

    one, two = "_ = session.run(total)", "_ = [session.run(total) for _ in range(5)]"
    assert run("t", one).text == ""
    said = run("ran", two).text
    assert says(said, "run_and_last", compare=Text("run_compare"))
    assert Text("run_compared") in said
    again = run("ran", two).text
    assert says(again, "run_and_last", compare=Text("run_compare"))
    assert Text("run_same_code") in again
    assert [len(tv.history("changed")), len(tv.history())] == [3, 3]
    for silent in ("-q", "--no-history", "--level software"):
        assert run(silent, two).text == ""
    assert run("", two, "another").text == ""
    assert isinstance(run("", f"{one}\n1 / 0").error, CellFailed)
    assert len(tv.history("changed")) == 5
    monkeypatch.setenv(VARIABLE, "off")
    assert run("", two).text == ""


@pytest.mark.parametrize("options", ["-q", "-q --no-history", "-q --steps --no-history"])
@pytest.mark.parametrize("history", ["", "off"])
@pytest.mark.parametrize("runs", [1, 6])
def test_cells_with_equal_text_ran_the_same_code(
    shell: Any, monkeypatch: pytest.MonkeyPatch, options: str, history: str, runs: int
) -> None:
    def run(name: str, code: str) -> tv.Trace:
        Ran(shell, f"%%trace {options} {name}\n{code}")
        trace = shell.user_ns[name]
        assert isinstance(trace, tv.Trace)
        return trace

    monkeypatch.setenv(VARIABLE, history or str(Path.cwd() / "history"))
    one, other = (f"_ = [session.run({what}) for _ in range({runs})]" for what in ("total", "other"))
    a, b, changed = run("t", one), run("ran", one), run("ran", other)
    same = Text("comparison_same_code")
    assert same in comparison_headline(a, b)
    assert same not in comparison_headline(a, changed)
    # The code of a block is unknown.
    with tv.trace() as block:
        shell.user_ns["session"].run(shell.user_ns["total"])
    assert same not in comparison_headline(a, block)
    assert same not in comparison_headline([a, block], b)


def test_a_history_that_cannot_be_written_is_said_once(
    shell: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv(VARIABLE, str(tmp_path / "file" / "history"))
    first, second = (Ran(shell, "%%trace\nsession.run(total);") for _ in range(2))
    assert says(first.text, "run_not_kept")
    assert (second.text, first.error, second.error) == ("", None, None)
    assert len(first.views) == len(second.views) == 1
