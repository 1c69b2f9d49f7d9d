"""The monitor's widget: its state, when it pushes and rests, and that it releases resources."""

import gc
import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from traitlets import TraitError

import tfvis_nb as tv
from tests.support.conditions import wait_until
from tests.support.monitor_widget import Recorded, apart, pushing
from tests.support.texts import raises_id
from tfvis_nb.display.bundles import bundle
from tfvis_nb.display.monitor import monitor_widget as monitor
from tfvis_nb.session.file.counters import Counts
from tfvis_nb.session.file.entries import Signature
from tfvis_nb.session.file.writer import Writer
from tfvis_nb.texts import Text

pytestmark = pytest.mark.slow

VIEW = "application/vnd.jupyter.widget-view+json"
HOSTILE = "</script><img src=x onerror=alert(1)>\x1b[31m\u202e&amp;"


@pytest.mark.usefixtures("writer")
def test_the_state_is_there_at_once(path: Path) -> None:
    with tv.open_session(path) as session:
        widget = Recorded(session)
    (signature,) = widget.state["signatures"]
    assert (signature["label"], signature["runs"], signature["traces"]) == ("train", 2, 2)
    assert widget.get_state()["height"] == 560
    assert str(widget.get_state()["_esm"]) == bundle("monitor.js")
    assert repr(widget) == "<Recorded run.tfvis: 1 signature, 2 runs, 2 traces, 1 process running>"


@pytest.mark.usefixtures("quick")
def test_what_happens_is_pushed_once_it_is_displayed(path: Path, writer: Writer) -> None:
    widget = Recorded(tv.open_session(path))
    assert pushing() == 0
    data, _ = widget._repr_mimebundle_()
    assert data[VIEW]["model_id"] == widget.model_id
    widget._repr_mimebundle_()
    assert pushing() == 1
    pushed: list[Any] = []
    widget.observe(lambda change: pushed.append(json.loads(change["new"])), names="_state")
    writer.count(0, Counts(3))
    wait_until(lambda: bool(pushed) and pushed[-1]["signatures"][0]["runs"] == 3)
    count = len(pushed)
    time.sleep(0.2)  # several looks, at nothing new
    assert len(pushed) == count
    widget.close()
    wait_until(lambda: pushing() == 0)
    writer.count(0, Counts(4))
    widget._look()
    widget.ask("watch")
    assert pushing() == 0
    assert pushed[-1]["signatures"][0]["runs"] == 3


@pytest.mark.usefixtures("quick")
def test_a_view_in_another_widget_says_that_it_is_there(path: Path, writer: Writer) -> None:
    widget = Recorded(tv.open_session(path))
    writer.count(0, Counts(3))
    assert widget.ask("watch") == ({"kind": "watch", "id": "7"}, [])
    assert widget.state["signatures"][0]["runs"] == 3
    assert pushing() == 1


@pytest.mark.usefixtures("quick")
def test_nothing_is_pushed_to_a_page_that_is_gone(
    path: Path, writer: Writer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(monitor, "SEEN_S", 0.1)
    widget = Recorded(tv.open_session(path))
    widget._repr_mimebundle_()
    apart(lambda: widget.ask("watch"))
    wait_until(lambda: pushing() == 0)
    writer.count(0, Counts(3))
    assert widget.state["signatures"][0]["runs"] == 2
    monkeypatch.setattr(monitor, "SEEN_S", 100)
    apart(lambda: widget.ask("watch"))  # the page is opened again
    assert widget.state["signatures"][0]["runs"] == 3
    assert pushing() == 1


@pytest.mark.usefixtures("quick")
def test_a_view_of_a_kernel_that_answers_after_the_cell_stays(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(monitor, "SEEN_S", 0.05)
    widget = Recorded(tv.SavedSession(path))
    widget._repr_mimebundle_()
    widget.ask("watch")
    time.sleep(0.3)
    assert pushing() == 1


@pytest.mark.usefixtures("quick")
def test_a_file_that_is_not_there_yet(path: Path) -> None:
    widget = tv.monitor(path)
    data, _ = widget._repr_mimebundle_()
    assert Text("no_file_yet", name="run.tfvis") in data["text/html"]
    writer = Writer(path, keep=None)
    wait_until(lambda: len(json.loads(widget._state)["processes"]) == 1)
    writer.close({})
    wait_until(lambda: json.loads(widget._state)["processes"][0]["end_ms"] is not None)
    path.unlink()
    wait_until(lambda: "was deleted" in json.loads(widget._state)["waiting"])


def test_heights(path: Path) -> None:
    with raises_id(ValueError, "height_out_of_range", low=160, high=4000):
        tv.monitor(path, height=100)
    with raises_id(TypeError, "unknown_option", hint="; did you mean 'height'?"):
        tv.monitor(path, hieght=300)  # type: ignore[call-arg]
    widget = tv.monitor(path, height=300)
    with pytest.raises(TraitError):
        widget.height = 5
    assert widget.height == 300


@pytest.mark.usefixtures("writer")
def test_a_cell_that_is_run_again_shows_the_same_monitor(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(path.parent)
    widget = tv.monitor(path)
    assert tv.monitor("run.tfvis", height=400) is widget
    assert widget.height == 400
    assert widget.session.monitor() is widget
    session = tv.open_session(path)
    own = session.monitor(height=200)
    assert own is not widget
    assert session.monitor() is own
    with raises_id(TypeError, "unknown_option", name="title", options="height"):
        session.monitor(title="x")  # type: ignore[call-arg]
    widget.close()
    own.close()
    assert tv.monitor(path) is not widget
    assert session.signatures["runs"].tolist() == [2]
    session.close()


@pytest.mark.usefixtures("writer")
def test_a_closed_monitor_has_let_go_of_the_file(path: Path) -> None:
    widget = tv.monitor(path)
    assert widget.session._reader is not None
    session = widget.session
    widget.close()
    assert session._reader is None
    del widget, session
    gc.collect()
    assert not list(monitor._open)


def test_names_in_what_stands_in_are_texts(path: Path) -> None:
    writer = Writer(path, keep=None)
    for number in range(30):
        writer.add_signature(Signature("session", f"{HOSTILE}{number}", str(number)))
    with tv.open_session(path) as session:
        session.trace_every(1000)
        data, _ = Recorded(session)._repr_mimebundle_()
    text = data["text/html"]
    assert "<script" not in text
    assert "<img" not in text
    assert "&lt;img src=x onerror=alert(1)&gt;" in text
    assert not {"\x1b", "\u202e"} & set(text)
    assert "traced: every 1000" in text
    assert "<i>10 more</i>" in text
    assert len(text) < 20_000
    writer.close({})


def test_a_monitor_keeps_no_process_alive(path: Path) -> None:
    code = (
        "import sys, time, tfvis_nb as tv\n"
        "widget = tv.monitor(sys.argv[1])\n"
        "widget._repr_mimebundle_()\n"
        "time.sleep(0.1)\n"
        "print('tensorflow' in sys.modules)"
    )
    run = subprocess.run(
        [sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True, timeout=60
    )
    assert (run.stdout, run.stderr) == ("False\n", "")
