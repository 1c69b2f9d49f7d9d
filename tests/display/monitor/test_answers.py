"""Answers of the monitor's widget to the front end: commands, traces, files, and errors."""

import json
import pickle
from pathlib import Path
from typing import Any

import pytest

import tfvis_nb as tv
from tests.real_traces import DATA
from tests.support.monitor_widget import Recorded, apart
from tests.support.stored_writer import METADATA
from tests.support.texts import says
from tests.wire_reader import read_container
from tfvis_nb.display.comm_thread import answer_on_own_thread
from tfvis_nb.display.monitor import trace_files
from tfvis_nb.session.file.entries import Recording, Signature
from tfvis_nb.session.file.writer import Writer
from tfvis_nb.texts import Text

pytestmark = pytest.mark.slow


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


def test_tensorflows_own_messages_byte_for_byte(path: Path, writer: Writer) -> None:
    profile = (DATA / "cpu_jax.xplane.pb").read_bytes()
    number, _ = writer.add_signature(Signature("train", "train model"))
    writer.add_trace(number, Recording("xspace", profile, 1, 10**18, 5_000, 10**18), None)
    widget = Recorded(tv.open_session(path))
    answer, (message,) = widget.ask("download", trace=1, format="pb")
    assert (answer["name"], message) == ("run-train-run-1.pb", METADATA)
    answer, (message,) = widget.ask("download", trace=1, format="pickle")
    assert answer["name"] == "run-train-run-1.pickle"
    unpickled = pickle.loads(message)
    assert type(unpickled).__name__ == "RunMetadata"
    assert unpickled == type(unpickled).FromString(METADATA)
    answer, (message,) = widget.ask("download", trace=3, format="pb")
    assert (answer["name"], message) == ("run-train-model-run-1.xplane.pb", profile)
    answer, _ = widget.ask("download", trace=3, format="pickle")
    assert answer["error"] == Text("profile_in_pickle")
    # One that cannot be read is the message all the same.
    writer.add_trace(number, Recording("run_metadata", b"damaged", 2, 10**18, 5_000), None)
    assert widget.ask("download", trace=4, format="pb")[1] == [b"damaged"]


@pytest.mark.usefixtures("writer")
@pytest.mark.parametrize(
    ("kind", "content", "key", "figures"),
    [
        ("command", {}, "no_such_command", {"command": "None"}),
        ("command", {"command": None}, "command_without_name", {"command": "None"}),
        (
            "command",
            {"command": {"do": "trace_next", "signature": 99}},
            "no_such_signature",
            {"signature": 99},
        ),
        ("open", {}, "trace_not_a_number", {"trace": "None"}),
        ("open", {"trace": 99}, "trace_gone", {"trace": 99}),
        ("open", {"trace": 10**30}, "trace_gone", {"trace": 10**30}),
        ("download", {"trace": 1, "format": "pdf"}, "no_such_format", {"format": "pdf"}),
        ("download", {"trace": 1, "format": ["html"]}, "no_such_format", {"format": "['html']"}),
        ("download", {"trace": 99, "format": "html"}, "trace_gone", {"trace": 99}),
    ],
)
def test_what_cannot_be_done_is_said_in_the_browser(
    path: Path, kind: str, content: dict[str, Any], key: str, figures: dict[str, Any]
) -> None:
    answer, buffers = Recorded(tv.open_session(path)).ask(kind, **content)
    assert says(answer["error"], key, **figures)
    assert buffers == []


def test_orders_without_a_file_are_refused(path: Path) -> None:
    widget = Recorded(tv.SavedSession(path))
    for kind in ("save", "open", "command"):
        answer, _ = widget.ask(kind, trace=1, command={"do": "trace_all"})
        assert answer["error"] == Text("no_file_yet", name="run.tfvis")


@pytest.mark.usefixtures("writer")
def test_answers_too_large_for_a_browser_name_the_call(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    widget = Recorded(tv.open_session(path))
    monkeypatch.setattr(trace_files, "MOST_COPIED", 1000)
    monkeypatch.setattr(trace_files, "MOST_HELD", 10)
    answer, _ = widget.ask("save")
    assert f"tfvis_nb.open_session({str(path)!r}).save('copy.tfvis')" in answer["error"]
    answer, _ = widget.ask("open", trace=1)
    assert f"tfvis_nb.show_timeline(tfvis_nb.open_session({str(path)!r}).read(1))" in answer["error"]


class Panic(BaseException):
    """As Rust's, it is not an Exception."""


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
    widget._handle_custom_msg(content, [])
    assert widget.sent == []


class Comm:
    """Of a kernel that sends answers to where the last message came from."""

    def _reply_subshell_for(self, data: Any, default: Any) -> Any:
        raise AssertionError((data, default))


def test_messages_come_to_the_thread_that_the_front_end_chooses() -> None:
    comm = Comm()
    answer_on_own_thread(comm)
    assert vars(comm) == {"_reply_subshell_for": None}
