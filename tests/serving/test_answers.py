"""Responses of a server to permitted requests: state, traces, files; and effects of commands."""

import gzip
import json
import os
import re
import resource
import sqlite3
import threading
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest

import tfvis_nb as tv
from tests.serving.client import Viewer, ask, state
from tests.serving.conftest import METADATA, write_session
from tests.support.texts import says
from tfvis_nb import serving
from tfvis_nb.display.messages import messages_of
from tfvis_nb.display.monitor import trace_files
from tfvis_nb.display.monitor.monitor_widget import MonitorWidget
from tfvis_nb.display.shaping.gap_compression import compress_gaps
from tfvis_nb.display.stored_output import StoredWidget
from tfvis_nb.display.wire.bars import bar_bytes
from tfvis_nb.display.wire.details import details
from tfvis_nb.reading.pickles.run_metadata import unpickled
from tfvis_nb.serving import MonitorServer
from tfvis_nb.session.file.writer import Writer
from tfvis_nb.session.snapshot import session_state
from tfvis_nb.texts import Text


def name_of(disposition: str) -> str:
    found = re.fullmatch(r"attachment; filename=\"[\w.-]+\"; filename\*=UTF-8''([\w.%-]+)", disposition)
    assert found is not None
    return unquote(found[1])


def test_the_page_runs_its_own_script_alone(server: MonitorServer) -> None:
    answer = ask(server, "/")
    assert answer.status == 200
    policy = answer.headers["Content-Security-Policy"]
    (nonce,) = set(re.findall(r"'nonce-([\w-]+)'", policy))
    assert policy.startswith("default-src 'none';")
    assert "unsafe" not in policy
    assert "frame-ancestors 'none'" in policy
    page = answer.body.decode()
    assert re.findall(r"<(?:script|style)[^>]*>", page) == [
        f'<style nonce="{nonce}">',
        f'<script nonce="{nonce}" src="serve.js">',
    ]
    assert "<title>run.tfvis - tfvis-nb</title>" in page
    assert nonce not in ask(server, "/").body.decode()
    script = ask(server, "/serve.js")
    assert script.headers["Content-Type"].startswith("text/javascript")
    assert len(script.body) > 0


def test_a_hostile_name_is_text(tmp_path: Path) -> None:
    with MonitorServer(tmp_path / "<script>alert(1)<.tfvis") as server:
        page = ask(server, "/").body.decode()
    assert "<script>" not in page
    assert "&lt;script&gt;alert(1)&lt;.tfvis" in page


@pytest.mark.parametrize("place", ["/", "/serve.js", "/api/save", "/api/socket", "/no-such"])
def test_nothing_is_kept_or_shown_elsewhere(server: MonitorServer, place: str) -> None:
    headers = ask(server, place, Upgrade="none").headers
    assert headers["Cache-Control"] == "no-store"
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Referrer-Policy"] == "no-referrer"
    assert headers["X-Frame-Options"] == "DENY"
    assert headers["Cross-Origin-Resource-Policy"] == "same-origin"
    assert "default-src 'none'" in headers["Content-Security-Policy"]
    assert "Server" not in headers


def test_the_page_connects_to_the_host_that_the_browser_calls(server: MonitorServer) -> None:
    policy = ask(server, "/", Host="localhost:1234").headers["Content-Security-Policy"]
    assert "connect-src 'self' ws://localhost:1234 wss://localhost:1234;" in policy


def test_the_state(server: MonitorServer, path: Path) -> None:
    with tv.open_session(path) as session:
        expected: Any = session_state(session)
    sent = state(server)
    assert abs(sent.pop("now_ms") - expected.pop("now_ms")) < 60_000
    assert sent == json.loads(json.dumps(expected))
    assert [(row["label"], row["runs"], row["traces"]) for row in sent["signatures"]] == [("train", 1, 1)]


def test_changes_go_to_all_and_answers_to_who_asked(server: MonitorServer) -> None:
    with Viewer(server) as one, Viewer(server) as other:
        before = [viewer.now()["rule"] for viewer in (one, other)]
        assert len(one.ask("open", trace=1)["buffers"]) == 2
        assert one.command(do="trace_all")["rule"] == "all"
        # Nothing of the trace has come here.
        message = other.next()
        assert message is not None
        assert (message["method"], other.state["rule"]) == ("update", "all")
    assert before == ["", ""]


def test_commands_do_not_wait_for_a_trace(slow_traces: Path, path: Path) -> None:
    with MonitorServer(path) as server, Viewer(server) as viewer:
        viewer.now()
        viewer.send({"method": "custom", "content": {"kind": "open", "trace": 1, "id": "7"}})
        assert viewer.command(do="trace_all")["rule"] == "all"
        slow_traces.touch()
        opened = viewer.next()
        assert opened is not None
        assert opened["content"]["id"] == "7"


def test_commands(server: MonitorServer, path: Path) -> None:
    with Viewer(server) as viewer:
        rules = [row["rule"] for row in viewer.command(do="trace_every", n=7, signature=1)["signatures"]]
        assert rules == ["every 7"]
        assert viewer.command(do="stop_tracing", signature=None)["signatures"][0]["rule"] == ""
        assert viewer.command(do="delete", traces=[1])["traces"] == []
        assert len(tv.open_session(path).traces) == 0
        assert viewer.error("open", trace=1) == Text("trace_gone", trace=1)


NO_COMMANDS: tuple[object, ...] = (
    *(None, 7, [], "trace_all", {}, {"do": "explode"}, {"do": None}, {"do": ["trace_next"]}),
    *({"do": "trace_next", "signature": signature} for signature in (99, "no such", {"a": 1}, 2**70)),
    *({"do": "trace_every"}, {"do": "trace_every", "n": 0}, {"do": "trace_every", "n": "many"}),
    *({"do": "trace_slow", "factor": -1}, {"do": "trace_slow", "factor": float("nan")}),
    *({"do": "delete"}, {"do": "delete", "traces": "all"}, {"do": "delete", "traces": [2**70]}),
    {"do": "delete", "traces": [[1]]},
)


def test_requests_without_a_command(viewer: Viewer, path: Path) -> None:
    for words in NO_COMMANDS:
        assert len(viewer.error("command", command=words)) < 400
    session = tv.open_session(path)
    assert len(session.traces) == 1
    assert session.signatures[["requested", "rule"]].values.tolist() == [[0, ""]]


def test_a_trace_equals_the_exported_page(viewer: Viewer, path: Path) -> None:
    trace = compress_gaps(tv.open_session(path).read(1))
    answer = viewer.ask("open", trace=1)
    assert answer["title"] == "train, run 1"
    expected = (bar_bytes(trace, title="train, run 1"), details(trace))
    assert list(map(gzip.decompress, answer["buffers"])) == list(map(gzip.decompress, expected))


def test_downloads_are_read_back(viewer: Viewer, path: Path, tmp_path: Path) -> None:
    for form in ("json", "parquet"):
        answer = viewer.ask("download", trace=1, format=form)
        assert answer["name"] == f"run-train-run-1.{form}"
        (tmp_path / answer["name"]).write_bytes(answer["buffers"][0])
        again, trace = tv.read_trace(tmp_path / answer["name"]), tv.open_session(path).read(1)
        assert again.events["name"].tolist() == trace.events["name"].tolist()
        assert again.events["start_ns"].tolist() == trace.events["start_ns"].tolist()


def test_tensorflows_own_message_byte_for_byte(viewer: Viewer, tmp_path: Path) -> None:
    answer = viewer.ask("download", trace=1, format="pb")
    assert (answer["name"], answer["buffers"]) == ("run-train-run-1.pb", [METADATA])
    (tmp_path / "step.pickle").write_bytes(viewer.ask("download", trace=1, format="pickle")["buffers"][0])
    assert unpickled(tmp_path / "step.pickle") == METADATA


def test_unknown_formats(viewer: Viewer) -> None:
    for form in (None, "", "pkl", "../x", ["json"], "a" * 500):
        sentence = viewer.error("download", trace=1, format=form)
        assert says(sentence, "no_such_format", formats=", ".join(trace_files.FORMATS))


def test_a_copy_is_a_session(server: MonitorServer, tmp_path: Path) -> None:
    answer = ask(server, "/api/save")
    assert name_of(answer.headers["Content-Disposition"]) == "run.tfvis"
    (tmp_path / "copy.tfvis").write_bytes(answer.body)
    copy = tv.open_session(tmp_path / "copy.tfvis")
    assert copy.signatures["runs"].tolist() == [1]
    assert len(copy.read(1).events) > 0


def test_a_name_that_is_no_text(tmp_path: Path) -> None:
    path = Path(os.fsdecode(os.fsencode(tmp_path) + b"/run-\xff.tfvis"))
    write_session(path)
    with MonitorServer(path) as server, Viewer(server) as viewer:
        assert "<title>run-\ufffd.tfvis - tfvis-nb</title>" in ask(server, "/").body.decode()
        assert viewer.now()["runs_total"] == 1
        assert ask(server, "/api/save").status == 200
        assert viewer.ask("open", trace=1)["buffers"]
        assert viewer.ask("download", trace=1, format="html")["buffers"]
        path.unlink()
        assert ask(server, "/api/save").error == Text("no_file_yet", name="run-\ufffd.tfvis")


def test_names_of_files_in_any_script(tmp_path: Path) -> None:
    path = tmp_path / 'Lauf "7"\r\nX: y; größe 数.tfvis'
    write_session(path)
    with MonitorServer(path) as server:
        answer = ask(server, "/api/save")
    assert name_of(answer.headers["Content-Disposition"]) == "Lauf-7-X-y-größe-数.tfvis"
    assert "X" not in answer.headers


def test_a_damaged_trace_is_said(viewer: Viewer, path: Path) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        database.execute("UPDATE traces SET data = x'00'")
    assert "damaged" in viewer.error("open", trace=1)
    assert "damaged" in viewer.error("download", trace=1, format="html")


def test_a_copy_for_which_there_is_no_room_is_said(
    server: MonitorServer, caplog: pytest.LogCaptureFixture
) -> None:
    most = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, most[1]))  # a write beyond that fails
    try:
        answer = ask(server, "/api/save")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, most)
    assert answer.status == 503
    assert says(answer.error, "file_unusable_now")
    assert "disk I/O error" in answer.error
    assert caplog.text == ""


def test_the_manual_has_every_answer_and_format() -> None:
    folder = Path(serving.__file__).parent
    code = "\n".join(file.read_text(encoding="utf-8") for file in folder.glob("*.py"))
    used = set(re.findall(r"Refusal\(\s*([45]\d\d)\b", code))
    page = (folder.parents[1] / "docs" / "cli.md").read_text(encoding="utf-8").partition("## serve")[2]
    rows = re.findall(r"^\| ([\d, ]+) \|", page, re.MULTILINE)
    assert used | {"500", "503"} == {number for row in rows for number in row.split(", ")}
    assert all(f"`{form}`" in page for form in trace_files.FORMATS)
    kinds = messages_of(MonitorWidget).keys() - messages_of(StoredWidget).keys()
    assert all(f"`{kind}`" in page for kind in kinds)


def test_a_file_that_comes_later(tmp_path: Path) -> None:
    path = tmp_path / "run.tfvis"
    with MonitorServer(path) as server, Viewer(server) as viewer:
        before = viewer.now()
        assert before["waiting"] == Text("no_file_yet", name="run.tfvis")
        assert (before["signatures"], before["controllable"]) == ([], False)
        for kind, content in (("command", {"command": {"do": "trace_all"}}), ("open", {"trace": 1})):
            assert viewer.error(kind, **content) == Text("no_file_yet", name="run.tfvis")
        assert ask(server, "/api/save").status == 404
        assert not path.exists()
        write_session(path)
        assert viewer.command(do="stop_tracing")["traces_total"] == 1


def test_no_run_of_an_ended_job_can_be_requested(viewer: Viewer, path: Path) -> None:
    before = path.read_bytes()
    for signature in (None, 1):
        sentence = viewer.error("command", command={"do": "trace_next", "signature": signature})
        assert sentence == Text("command_after_end")
    assert path.read_bytes() == before
    writer = Writer(path, keep=None)
    assert viewer.command(do="trace_next")["requested"] == 1
    writer.close({})


def test_a_file_that_is_replaced(viewer: Viewer, path: Path) -> None:
    assert viewer.ask("open", trace=1)["buffers"]
    path.unlink()
    # It notices that and lets go of the companions, which would be in the way of the second file.
    gone = Text("no_file_yet", name="run.tfvis")
    assert viewer.error("command", command={"do": "stop_tracing"}) == gone
    write_session(path, traces=3)
    assert viewer.command(do="stop_tracing")["traces_total"] == 3
    assert viewer.ask("open", trace=3)["buffers"]
    path.unlink()
    assert viewer.error("command", command={"do": "stop_tracing"}) == gone


@pytest.mark.thorough
def test_twenty_clients_at_once(path: Path) -> None:
    errors: list[object] = []
    writer = Writer(path, keep=None)
    with MonitorServer(path) as server:

        def client() -> None:
            with Viewer(server) as viewer:
                errors.append(viewer.ask("open", trace=1).get("error"))
                errors.append(viewer.ask("download", trace=1, format="json").get("error"))
                errors.append(None if ask(server, "/api/save").status == 200 else "save")
                viewer.command(do="trace_next", signature=1)

        clients = [threading.Thread(target=client) for _ in range(20)]
        for one in clients:
            one.start()
        for one in clients:
            one.join()
        assert state(server)["signatures"][0]["requested"] == 20
    assert errors == [None] * 60
    writer.close({})
