"""Responses of a server to permitted requests: state, traces, files; and effects of commands."""

from __future__ import annotations

import gzip
import json
import os
import re
import resource
import sqlite3
import threading
from contextlib import closing
from pathlib import Path
from urllib.parse import unquote

import pytest

import tfvis_nb as tv
from tests.serving.client import ask, command
from tests.serving.conftest import METADATA, write_session
from tests.support.texts import says
from tfvis_nb import serving
from tfvis_nb.display import refusals
from tfvis_nb.display.monitor import trace_files
from tfvis_nb.display.shaping.gap_compression import compress_gaps
from tfvis_nb.display.wire.details import details
from tfvis_nb.display.wire.drawn import drawn
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


@pytest.mark.parametrize("place", ["/", "/serve.js", "/api/state", "/api/trace/1/drawn", "/no-such"])
def test_nothing_is_kept_or_shown_elsewhere(server: MonitorServer, place: str) -> None:
    headers = ask(server, place).headers
    assert headers["Cache-Control"] == "no-store"
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Referrer-Policy"] == "no-referrer"
    assert headers["X-Frame-Options"] == "DENY"
    assert headers["Cross-Origin-Resource-Policy"] == "same-origin"
    assert "default-src 'none'" in headers["Content-Security-Policy"]
    assert "Server" not in headers


def test_the_state(server: MonitorServer, path: Path) -> None:
    answer = ask(server, "/api/state")
    assert answer.headers["Content-Type"] == "application/json"
    with tv.open_session(path) as session:
        expected = session_state(session)
    state = answer.json
    assert abs(state.pop("now_ms") - expected.pop("now_ms")) < 60_000
    assert state == json.loads(json.dumps(expected))
    assert [(row["label"], row["runs"], row["traces"]) for row in state["signatures"]] == [("train", 1, 1)]
    packed = ask(server, "/api/state", Accept_Encoding="gzip, deflate")
    assert packed.headers["Content-Encoding"] == "gzip"
    assert json.loads(gzip.decompress(packed.body))["signatures"] == state["signatures"]


def test_a_state_that_is_known_is_not_sent_again(server: MonitorServer) -> None:
    tag = ask(server, "/api/state").headers["ETag"]
    again = ask(server, "/api/state", If_None_Match=f'"x", W/{tag}')
    assert (again.status, again.body, again.headers["ETag"]) == (304, b"", tag)
    ordered = command(server, do="trace_all", signature=None)
    changed = ask(server, "/api/state", If_None_Match=tag)
    assert changed.status == 200
    assert changed.headers["ETag"] == ordered.headers["ETag"] != tag
    # The connection is still in step after an answer without a body.
    assert changed.json["rule"] == ordered.json["rule"] == "all"


def test_commands(server: MonitorServer, path: Path) -> None:
    answer = command(server, do="trace_every", n=7, signature=1)
    assert answer.status == 200
    assert [row["rule"] for row in answer.json["signatures"]] == ["every 7"]
    assert command(server, do="stop_tracing", signature=None).json["signatures"][0]["rule"] == ""
    assert command(server, do="delete", traces=[1]).json["traces"] == []
    assert len(tv.open_session(path).traces) == 0
    assert ask(server, "/api/trace/1/drawn").error == Text("trace_gone", trace=1)


@pytest.mark.parametrize(
    "words",
    [
        {},
        {"do": "explode"},
        {"do": None},
        {"do": ["trace_next"]},
        {"do": "trace_next", "signature": 99},
        {"do": "trace_next", "signature": "no such"},
        {"do": "trace_next", "signature": {"a": 1}},
        {"do": "trace_next", "signature": 2**70},
        {"do": "trace_every", "n": 0},
        {"do": "trace_every", "n": "many"},
        {"do": "trace_every"},
        {"do": "trace_slow", "factor": -1},
        {"do": "trace_slow", "factor": float("nan")},
        {"do": "delete"},
        {"do": "delete", "traces": "all"},
        {"do": "delete", "traces": [2**70]},
        {"do": "delete", "traces": [[1]]},
    ],
)
def test_requests_without_a_command(server: MonitorServer, path: Path, words: dict[str, object]) -> None:
    answer = command(server, **words)
    assert answer.status == 400
    assert len(answer.error) < 400
    session = tv.open_session(path)
    assert len(session.traces) == 1
    assert session.signatures[["requested", "rule"]].values.tolist() == [[0, ""]]


def test_a_trace_equals_the_exported_page(server: MonitorServer, path: Path) -> None:
    trace = compress_gaps(tv.open_session(path).read(1))
    for part, expected in (("drawn", drawn(trace, title="train, run 1")), ("details", details(trace))):
        answer = ask(server, f"/api/trace/1/{part}")
        assert answer.headers["Content-Type"] == "application/octet-stream"
        assert name_of(answer.headers["Content-Disposition"]) == f"train-run-1.{part}.gz"
        assert gzip.decompress(answer.body) == gzip.decompress(expected)


@pytest.mark.parametrize("form", ["json", "parquet"])
def test_downloads_are_read_back(server: MonitorServer, path: Path, form: str, tmp_path: Path) -> None:
    answer = ask(server, f"/api/trace/1/download?format={form}")
    assert answer.status == 200
    name = name_of(answer.headers["Content-Disposition"])
    assert name == f"run-train-run-1.{form}"
    (tmp_path / name).write_bytes(answer.body)
    again, trace = tv.read_trace(tmp_path / name), tv.open_session(path).read(1)
    assert again.events["name"].tolist() == trace.events["name"].tolist()
    assert again.events["start_ns"].tolist() == trace.events["start_ns"].tolist()


def test_tensorflows_own_message_byte_for_byte(server: MonitorServer, tmp_path: Path) -> None:
    answer = ask(server, "/api/trace/1/download?format=pb")
    assert name_of(answer.headers["Content-Disposition"]) == "run-train-run-1.pb"
    assert answer.headers["Content-Type"] == "application/octet-stream"
    assert answer.body == METADATA
    (tmp_path / "step.pickle").write_bytes(ask(server, "/api/trace/1/download?format=pickle").body)
    assert unpickled(tmp_path / "step.pickle") == METADATA


def test_a_page_is_downloaded_and_never_shown_here(server: MonitorServer) -> None:
    answer = ask(server, "/api/trace/1/download?format=html")
    assert name_of(answer.headers["Content-Disposition"]) == "run-train-run-1.html"
    assert answer.headers["Content-Type"] == "application/octet-stream"
    assert 'id="tfvis-drawn"' in answer.body.decode()


@pytest.mark.parametrize(
    "query", ["", "?format=", "?format=pkl", "?format=json&format=html", "?format=../x", "?" + "a&" * 200]
)
def test_unknown_formats(server: MonitorServer, query: str) -> None:
    answer = ask(server, f"/api/trace/1/download{query}")
    assert answer.status == 400
    assert says(answer.error, "no_such_format", formats=", ".join(trace_files.FORMATS))


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
    with MonitorServer(path) as server:
        assert "<title>run-\ufffd.tfvis - tfvis-nb</title>" in ask(server, "/").body.decode()
        assert ask(server, "/api/state").json["runs_total"] == 1
        for address in ("/api/save", "/api/trace/1/drawn", "/api/trace/1/download?format=html"):
            assert ask(server, address).status == 200
        path.unlink()
        assert ask(server, "/api/trace/1/drawn").error == Text("no_file_yet", name="run-\ufffd.tfvis")


def test_names_of_files_in_any_script(tmp_path: Path) -> None:
    path = tmp_path / 'Lauf "7"\r\nX: y; größe 数.tfvis'
    write_session(path)
    with MonitorServer(path) as server:
        answer = ask(server, "/api/save")
    assert name_of(answer.headers["Content-Disposition"]) == "Lauf-7-X-y-größe-数.tfvis"
    assert "X" not in answer.headers


def test_a_damaged_trace_is_said(server: MonitorServer, path: Path) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        database.execute("UPDATE traces SET data = x'00'")
    for address in ("/api/trace/1/drawn", "/api/trace/1/download?format=html"):
        answer = ask(server, address)
        assert answer.status == 422
        assert "damaged" in answer.error


def test_a_trace_too_large_for_the_timeline_is_said(
    server: MonitorServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trace_files, "MOST_HELD", 10)
    answer = ask(server, "/api/trace/1/drawn")
    assert answer.status == 422
    assert says(answer.error, "trace_too_large_to_send")


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
    files = [*folder.glob("*.py"), Path(refusals.__file__)]
    code = "\n".join(file.read_text(encoding="utf-8") for file in files)
    used = set(re.findall(r"Refusal\(\s*([45]\d\d)\b", code))
    page = (folder.parents[1] / "docs" / "cli.md").read_text(encoding="utf-8").partition("## serve")[2]
    rows = re.findall(r"^\| ([\d, ]+) \|", page, re.MULTILINE)
    assert used == {number for row in rows for number in row.split(", ")}
    assert all(f"`{form}`" in page for form in trace_files.FORMATS)


def test_a_file_that_comes_later(tmp_path: Path) -> None:
    path = tmp_path / "run.tfvis"
    with MonitorServer(path) as server:
        state = ask(server, "/api/state").json
        assert state["waiting"] == Text("no_file_yet", name="run.tfvis")
        assert (state["signatures"], state["controllable"]) == ([], False)
        assert command(server, do="trace_next").status == 404
        assert ask(server, "/api/trace/1/drawn").status == 404
        assert ask(server, "/api/save").status == 404
        assert not path.exists()
        write_session(path)
        assert command(server, do="stop_tracing").json["traces_total"] == 1


def test_no_run_of_an_ended_job_can_be_requested(server: MonitorServer, path: Path) -> None:
    before = path.read_bytes()
    for signature in (None, 1):
        answer = command(server, do="trace_next", signature=signature)
        assert (answer.status, answer.error) == (400, Text("command_after_end"))
    assert path.read_bytes() == before
    writer = Writer(path, keep=None)
    assert command(server, do="trace_next").json["requested"] == 1
    writer.close({})


def test_a_file_that_is_replaced(server: MonitorServer, path: Path) -> None:
    assert ask(server, "/api/trace/1/drawn").status == 200
    path.unlink()
    # It notices that and lets go of the companions, which would be in the way of the second file.
    assert command(server, do="stop_tracing").error == Text("no_file_yet", name="run.tfvis")
    write_session(path, traces=3)
    assert command(server, do="stop_tracing").json["traces_total"] == 3
    assert ask(server, "/api/trace/3/drawn").status == 200
    path.unlink()
    assert command(server, do="stop_tracing").error == Text("no_file_yet", name="run.tfvis")


@pytest.mark.thorough
def test_twenty_clients_at_once(path: Path) -> None:
    addresses = ["/api/state", "/api/trace/1/drawn", "/api/trace/1/download?format=json", "/api/save"]
    statuses: list[int] = []
    writer = Writer(path, keep=None)
    with MonitorServer(path) as server:

        def client(which: int) -> None:
            for turn in range(4):
                statuses.append(ask(server, addresses[(which + turn) % 4]).status)
                statuses.append(command(server, do="trace_next", signature=1).status)

        clients = [threading.Thread(target=client, args=(which,)) for which in range(20)]
        for one in clients:
            one.start()
        for one in clients:
            one.join()
        assert ask(server, "/api/state").json["signatures"][0]["requested"] == 80
    assert statuses == [200] * 160
    writer.close({})
