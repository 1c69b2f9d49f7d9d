"""The monitor's widget: what it holds, pushes, answers, and when it rests."""

from __future__ import annotations

import gc
import json
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from traitlets import TraitError

import tfvis_nb as tv
from tests.support.stored_writer import METADATA
from tests.support.texts import raises_id
from tests.wire_reader import read_container
from tfvis_nb.display.bundles import bundle
from tfvis_nb.display.comm_thread import answer_on_own_thread
from tfvis_nb.display.monitor import trace_files
from tfvis_nb.display.monitor import widget as monitor
from tfvis_nb.session.file.counters import Counts
from tfvis_nb.session.file.entries import Recording, Signature
from tfvis_nb.session.file.writer import Writer
from tfvis_nb.texts import Text

pytestmark = pytest.mark.slow

VIEW = "application/vnd.jupyter.widget-view+json"
HOSTILE = "</script><img src=x onerror=alert(1)>\x1b[31m\u202e&amp;"


class Recorded(tv.MonitorWidget):
    """Keeps what it sends to the front end."""

    def __init__(self, *args: Any, **options: Any) -> None:
        self.sent: list[tuple[Any, list[bytes]]] = []
        super().__init__(*args, **options)

    def send(self, content: Any, buffers: Any = None) -> None:
        self.sent.append((content, list(buffers or [])))

    def ask(self, kind: str, **content: Any) -> tuple[Any, list[bytes]]:
        """What the widget answers to a message."""
        before = len(self.sent)
        self._answer(self, {"kind": kind, "id": "7", **content}, [])
        (answer,) = self.sent[before:]
        assert (answer[0]["kind"], answer[0]["id"]) == (kind, "7")
        return answer

    @property
    def state(self) -> Any:
        return json.loads(self.get_state()["_state"])


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "run.tfvis"


@pytest.fixture
def writer(path: Path) -> Iterator[Writer]:
    """A process that has run `train` twice and kept a trace of both."""
    writer = Writer(path, keep=None)
    number, slot = writer.add_signature(Signature("session", "train", "loss:0"))
    for run in (1, 2):
        writer.add_trace(number, Recording("run_metadata", METADATA, run, 10**18, 5_000), None)
    writer.count(slot, Counts(2, 0, 10_000, 5_000, 10**18, 10**18))
    yield writer
    writer.close({number: Counts(2)})


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(monitor, "LOOK_S", 0.02)


@pytest.fixture(autouse=True)
def closed() -> Iterator[None]:
    yield
    for widget in list(monitor._open):
        widget.close()
    wait_until(lambda: pushing() == 0)


def pushing() -> int:
    return sum(thread.name == "tfvis-nb monitor" for thread in threading.enumerate())


def wait_until(holds: Callable[[], bool]) -> None:
    until = time.monotonic() + 20
    while not holds():
        assert time.monotonic() < until, "this did not come about"
        time.sleep(0.01)


def apart(work: Callable[[], Any]) -> Any:
    """Do `work` on another thread, as a kernel does with messages that come while a cell runs."""
    found: list[Any] = []
    thread = threading.Thread(target=lambda: found.append(work()))
    thread.start()
    thread.join()
    return found[0]


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
    assert "there is no file run.tfvis yet" in data["text/html"]
    writer = Writer(path, keep=None)
    wait_until(lambda: len(json.loads(widget._state)["processes"]) == 1)
    writer.close({})
    wait_until(lambda: json.loads(widget._state)["processes"][0]["end_ms"] is not None)
    path.unlink()
    wait_until(lambda: "was deleted" in json.loads(widget._state)["waiting"])


@pytest.mark.usefixtures("writer")
def test_commands_are_obeyed_and_shown_before_the_answer(path: Path) -> None:
    widget = Recorded(tv.open_session(path))
    answer, _ = widget.ask("command", command={"do": "trace_next", "signature": 1})
    assert "error" not in answer
    assert widget.state["signatures"][0]["requested"] == 1
    answer, _ = apart(lambda: widget.ask("command", command={"do": "trace_all", "signature": None}))
    assert "error" not in answer
    assert widget.state["rule"] == "all"
    answer, _ = widget.ask("command", command={"do": "delete", "traces": [1]})
    assert [row["trace"] for row in widget.state["traces"]] == [2]


@pytest.mark.usefixtures("writer")
def test_a_trace_is_opened_whole(path: Path) -> None:
    widget = Recorded(tv.open_session(path))
    answer, (drawn, details) = widget.ask("open", trace=2)
    assert answer["title"] == "train, run 2"
    count = len(tv.read_trace(METADATA).events)
    assert read_container(drawn)[0]["title"] == "train, run 2"
    assert read_container(details)[0]["count"] == count


@pytest.mark.usefixtures("writer")
def test_files_of_a_trace_and_of_the_session(path: Path, tmp_path: Path) -> None:
    widget = Recorded(tv.open_session(path))
    found = {form: widget.ask("download", trace=1, format=form) for form in ("html", "json", "parquet")}
    names = {form: answer["name"] for form, (answer, _) in found.items()}
    assert names == {form: f"run-train-run-1.{form}" for form in found}
    assert b'id="tfvis-drawn"' in found["html"][1][0]
    answer, (page,) = widget.ask("download", trace=1, format="dashboard")
    assert answer["name"] == "run-train-run-1-dashboard.html"
    assert b'id="tfvis-tabs"' in page
    assert json.loads(found["json"][1][0])["traceEvents"]
    table = tmp_path / "trace.parquet"
    table.write_bytes(found["parquet"][1][0])
    assert tv.read_trace(table).events.equals(tv.read_trace(METADATA).events)
    answer, (copy,) = widget.ask("save")
    assert answer["name"] == "run.tfvis"
    saved = tmp_path / "saved.tfvis"
    saved.write_bytes(copy)
    with tv.open_session(saved) as session:
        assert session.signatures["runs"].tolist() == [2]
        assert len(session.read(1).events)


@pytest.mark.usefixtures("writer")
@pytest.mark.parametrize(
    ("kind", "content", "error"),
    [
        ("command", {}, Text("no_such_command", command="None", hint="")),
        ("command", {"command": None}, "a command is an object"),
        ("command", {"command": {"do": "trace_next", "signature": 99}}, "there is no signature 99"),
        ("open", {}, Text("trace_not_a_number", trace="None")),
        ("open", {"trace": 99}, Text("trace_gone", trace=99)),
        ("open", {"trace": 10**30}, "there is no trace 1000"),
        ("download", {"trace": 1, "format": "pdf"}, "there is no format 'pdf'; the formats are html,"),
        ("download", {"trace": 1, "format": ["html"]}, "there is no format"),
        ("download", {"trace": 99, "format": "html"}, "there is no trace 99"),
    ],
)
def test_what_cannot_be_done_is_said_in_the_browser(
    path: Path, kind: str, content: dict[str, Any], error: str
) -> None:
    answer, buffers = Recorded(tv.open_session(path)).ask(kind, **content)
    assert answer["error"].startswith(error)
    assert buffers == []


def test_orders_without_a_file_are_refused(path: Path) -> None:
    widget = Recorded(tv.SavedSession(path))
    for kind in ("save", "open"):
        answer, _ = widget.ask(kind, trace=1)
        assert "run.tfvis" in answer["error"]
    answer, _ = widget.ask("command", command={"do": "trace_all"})
    assert answer["error"] == f"there is no file {str(path)!r}"


@pytest.mark.usefixtures("writer")
def test_what_is_too_large_for_a_browser_is_refused_with_the_call_that_does_it(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    widget = Recorded(tv.open_session(path))
    monkeypatch.setattr(trace_files, "MOST_COPIED", 1000)
    monkeypatch.setattr(trace_files, "MOST_HELD", 10)
    answer, _ = widget.ask("save")
    assert f"tfvis_nb.open_session({str(path)!r}).save('copy.tfvis')" in answer["error"]
    answer, _ = widget.ask("open", trace=1)
    assert f"tfvis_nb.show_timeline(tfvis_nb.open_session({str(path)!r}).read(1))" in answer["error"]


class Panic(BaseException):
    """As Rust's, it is no Exception."""


@pytest.mark.usefixtures("writer")
@pytest.mark.parametrize("raised", [ZeroDivisionError, RecursionError, Panic])
def test_whatever_an_answer_raises_is_answered(
    path: Path, monkeypatch: pytest.MonkeyPatch, raised: type[BaseException], caplog: pytest.LogCaptureFixture
) -> None:
    widget = Recorded(tv.open_session(path))

    def fail(*_: object) -> None:
        raise raised

    monkeypatch.setattr(trace_files, "timeline_payload", fail)
    answer, _ = widget.ask("open", trace=1)
    assert answer["error"] == Text("failed_here", error=raised.__name__)
    assert "Traceback" in caplog.text


@pytest.mark.usefixtures("writer")
def test_an_answer_that_is_interrupted_is_answered(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    widget = Recorded(tv.open_session(path))

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(trace_files, "timeline_payload", interrupted)
    with pytest.raises(KeyboardInterrupt):
        widget.ask("open", trace=1)
    assert "KeyboardInterrupt" in widget.sent[-1][0]["error"]


@pytest.mark.parametrize("content", [None, "save", {}, {"kind": "other"}, {"kind": ["save"]}])
def test_other_messages_are_not_answered(path: Path, content: Any) -> None:
    widget = Recorded(tv.SavedSession(path))
    widget._answer(widget, content, [])
    assert widget.sent == []


def test_heights(path: Path) -> None:
    with raises_id(ValueError, "height_out_of_range", low=160, high=4000):
        tv.monitor(path, height=100)
    with raises_id(TypeError, "unknown_option", hint="; did you mean 'height'?"):
        tv.monitor(path, hieght=300)
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
    with pytest.raises(TypeError, match="height"):
        session.monitor(title="x")
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


def test_only_making_a_widget_needs_the_front_end(tmp_path: Path) -> None:
    code = f"""
import pathlib, tfvis_nb.display.bundles as bundles
bundles._STATIC = pathlib.Path({str(tmp_path)!r})
import tfvis_nb
from tfvis_nb.display.monitor.widget import monitor
try:
    monitor("run.tfvis")
except FileNotFoundError as error:
    print(error)
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "npm run build" in run.stdout


class Comm:
    """Of a kernel that sends answers to where the last message came from."""

    def _reply_subshell_for(self, data: Any, default: Any) -> Any:
        raise AssertionError((data, default))


def test_messages_come_to_the_thread_that_the_front_end_chooses() -> None:
    comm = Comm()
    answer_on_own_thread(comm)
    assert vars(comm) == {"_reply_subshell_for": None}
