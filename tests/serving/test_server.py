"""The server itself: encryption, several servers, start and end, and a job in another process."""

import asyncio
import contextlib
import errno
import http.client
import os
import signal
import socket
import ssl
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import FrameType

import pytest
import trustme
from tornado.httpclient import HTTPClientError

import tfvis_nb as tv
from tests.serving.client import Viewer, ask, command, raw, state
from tests.serving.conftest import worker_after, write_session
from tests.support.conditions import wait_until
from tests.support.texts import raises_id
from tfvis_nb.serving import MonitorServer, handlers
from tfvis_nb.texts import Text


def written(path: Path, *parts: trustme.Blob) -> Path:
    path.write_bytes(b"".join(part.bytes() for part in parts))
    return path


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA()


@pytest.fixture(scope="module")
def certificate(authority: trustme.CA) -> trustme.LeafCert:
    return authority.issue_cert("127.0.0.1", "localhost")


@pytest.mark.parametrize("apart", [True, False])
def test_encrypted(
    path: Path, tmp_path: Path, authority: trustme.CA, certificate: trustme.LeafCert, apart: bool
) -> None:
    key = written(tmp_path / "key.pem", certificate.private_key_pem)
    both = () if apart else (certificate.private_key_pem,)
    chain = written(tmp_path / "cert.pem", *both, *certificate.cert_chain_pems)
    context = ssl.create_default_context()
    authority.configure_trust(context)
    with MonitorServer(path, certfile=chain, keyfile=key if apart else None) as server:
        assert server.secure
        assert server.url.startswith(f"https://127.0.0.1:{server.port}/?token=")
        assert state(server, context=context)["name"] == "run.tfvis"
        assert ask(server, "/api/save", token="", context=context).status == 401
        entered = ask(server, f"/?token={server.token}", token="", context=context)
        assert entered.headers["Set-Cookie"].endswith("; HttpOnly; SameSite=Strict; Secure")
        own = f"https://127.0.0.1:{server.port}"
        assert ask(server, "/api/save", context=context, Origin=own).status == 200
        with pytest.raises(ssl.SSLCertVerificationError):
            ask(server, "/api/save", context=ssl.create_default_context())
        with pytest.raises((http.client.HTTPException, OSError)):
            ask(server, "/api/save")  # not encrypted
        assert raw(server, b"\x16\x03\x01\x00\x05hello") != b""  # an alert, of TLS
        with socket.create_connection(("127.0.0.1", server.port)) as silent:
            assert ask(server, "/api/save", context=context).status == 200
            assert silent.send(b"G") == 1
        assert ask(server, "/api/save", context=context).status == 200


def test_files_that_are_no_certificate(path: Path, tmp_path: Path, certificate: trustme.LeafCert) -> None:
    key = written(tmp_path / "key.pem", certificate.private_key_pem)
    other = written(tmp_path / "other.pem", trustme.CA().issue_cert("localhost").private_key_pem)
    chain = written(tmp_path / "cert.pem", *certificate.cert_chain_pems)
    for files in ((key, None), (chain, None), (chain, other), (path, None)):
        with pytest.raises(ssl.SSLError):
            MonitorServer(path, certfile=files[0], keyfile=files[1]).start()
    with pytest.raises(FileNotFoundError):
        MonitorServer(path, certfile=tmp_path / "none.pem").start()
    with raises_id(ValueError, "keyfile_alone"):
        MonitorServer(path, keyfile=key)


def test_two_at_once(tmp_path: Path) -> None:
    paths = [tmp_path / "one.tfvis", tmp_path / "other.tfvis"]
    for traces, path in enumerate(paths, start=1):
        write_session(path, traces)
    with MonitorServer(paths[0]) as one, MonitorServer(paths[1]) as other, MonitorServer(paths[0]) as third:
        assert len({one.port, other.port, third.port}) == 3
        assert [state(server)["traces_total"] for server in (one, other)] == [1, 2]
        with pytest.raises(HTTPClientError, match="403"):
            Viewer(one, token=other.token)
        command(one, do="trace_every", n=5)
        assert state(third)["rule"] == "every 5"
        assert state(other)["rule"] == ""


def test_beginning_and_end(path: Path) -> None:
    server = MonitorServer(path)
    running = [server.running]
    server.stop()
    with server:
        running.append(server.running)
        port = server.port
        with raises_id(RuntimeError, "serving_already"):
            server.start()
        with pytest.raises(OSError, match=os.strerror(errno.EADDRINUSE)):
            MonitorServer(path, port=port).start()
        waiting = threading.Thread(target=server.join)
        waiting.start()
        waiting.join(0.05)
        assert waiting.is_alive()
        open_connection = socket.create_connection(("127.0.0.1", port))
    waiting.join(10)
    assert not waiting.is_alive()
    assert [*running, server.running] == [False, True, False]
    assert open_connection.recv(1) == b""
    open_connection.close()
    with pytest.raises(ConnectionRefusedError):
        ask(server, "/api/save")
    server.stop()
    with server:
        assert server.port == port
        assert ask(server, "/api/save").status == 200


def test_an_interrupted_wait_can_still_stop_the_server(path: Path) -> None:
    class Interruption(BaseException):
        pass

    def interrupt(_number: int, _frame: FrameType | None) -> None:
        raise Interruption

    server = MonitorServer(path).start()
    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.1)
        with pytest.raises(Interruption):
            server.join()
    finally:
        signal.signal(signal.SIGALRM, before)
    assert server.running
    assert ask(server, "/api/save").status == 200
    server.stop()
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", server.port))


def test_a_session_that_is_given_stays_open(path: Path) -> None:
    session = tv.open_session(path)
    with MonitorServer(session) as server:
        assert len(session.traces) == 1
        assert command(server, do="trace_every", n=3)["rule"] == "every 3"
    assert session._reader is not None
    session.close()


def test_other_ports_and_hosts(path: Path) -> None:
    for port in (-1, 1 << 16):
        with raises_id(ValueError, "port_out_of_range"):
            MonitorServer(path, port=port)
    with MonitorServer(path, host="localhost") as server:
        assert server.loopback
        assert server.address == f"http://localhost:{server.port}/"
        assert ask(server, "/api/save").status == 200
    with pytest.raises(socket.gaierror):
        MonitorServer(path, host="no-such-host.invalid").start()
    with pytest.raises(OSError, match=os.strerror(errno.EADDRNOTAVAIL)):
        MonitorServer(path, host="192.0.2.1").start()


def test_a_process_does_not_wait_for_it(path: Path) -> None:
    code = (
        "import sys; from tfvis_nb.serving import MonitorServer\n"
        f"server = MonitorServer({str(path)!r}).start()\n"
        "assert server.running and 'tensorflow' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_a_job_in_another_process(tmp_path: Path) -> None:
    path = tmp_path / "run.tfvis"
    with MonitorServer(path) as server, Viewer(server) as viewer:
        assert viewer.now()["waiting"]
        job = subprocess.Popen(
            [sys.executable, "-m", "tests.support.stored_writer", path, "4"],
            stdout=subprocess.PIPE,
            text=True,
        )
        counts, until = [], time.monotonic() + 60
        while job.poll() is None and time.monotonic() < until:
            counts.append(sum(row["runs"] for row in viewer.now()["signatures"]))
            for row in viewer.state["traces"][:1]:
                assert viewer.ask("open", trace=row["trace"])["buffers"]
            with contextlib.suppress(subprocess.TimeoutExpired):
                job.wait(0.1)
        assert job.stdout is not None
        runs = int(job.stdout.read())
        job.stdout.close()
        wait_until(lambda: viewer.now()["processes"][0]["end_ms"] is not None)
        assert sum(row["runs"] for row in viewer.state["signatures"]) == viewer.state["traces_total"] == runs
    assert len(set(counts)) > 1
    assert counts == sorted(counts)


def test_the_end_does_not_wait_for_a_long_answer(slow_traces: Path, path: Path) -> None:
    server = MonitorServer(path).start()
    with Viewer(server) as waiting, Viewer(server) as other:
        for viewer in (waiting, other):
            viewer.now()
            viewer.send({"method": "custom", "content": {"kind": "open", "trace": 1, "id": "1"}})
        assert other.now()["name"] == "run.tfvis"  # others are answered in the meantime
        server.stop()
        assert waiting.next() is None
    assert not slow_traces.exists()


def test_what_fails_here_is_said_and_logged_without_the_query(
    server: MonitorServer, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(*_: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(handlers, "_copy_of", broken)
    answer = ask(server, "/api/save?secret=7")
    assert (answer.status, answer.error) == (500, Text("failed_here", error="ZeroDivisionError"))
    assert Text("request_failed", request="GET /api/save") in caplog.text
    assert "secret" not in caplog.text
    assert ask(server, "/").status == 200


FAILURES = (
    *("SystemExit", "KeyboardInterrupt", "StopIteration", "asyncio.CancelledError", "RecursionError"),
    *("MemoryError", "type('Panic', (BaseException,), {})"),  # as Rust's, it is not an Exception
)


def test_whatever_an_answer_raises_is_answered(
    server: MonitorServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    worker_after(
        monkeypatch,
        "import asyncio\n"
        "from tfvis_nb.display.monitor import monitor_widget, trace_files\n"
        "def broken(session, given):\n"
        "    raise eval(given['do'] if isinstance(given, dict) else given)\n"
        "monitor_widget.execute_command = trace_files.timeline_payload = broken",
    )
    with Viewer(server) as viewer:
        viewer.now()
        for failure in FAILURES:
            sentence = Text("failed_here", error=failure.removeprefix("asyncio."))
            if failure.startswith("type"):
                sentence = Text("failed_here", error="Panic")
            assert viewer.error("command", command={"do": failure}) == sentence
            assert viewer.error("open", trace=failure) == sentence
        assert viewer.now()["name"] == "run.tfvis"


@pytest.mark.parametrize("raised", [SystemExit, KeyboardInterrupt, StopIteration, asyncio.CancelledError])
def test_whatever_a_copy_raises_is_answered(
    server: MonitorServer, monkeypatch: pytest.MonkeyPatch, raised: type[BaseException]
) -> None:
    def broken(*_: object) -> None:
        raise raised

    with monkeypatch.context() as patch:
        patch.setattr(handlers, "_copy_of", broken)
        answer = ask(server, "/api/save")
    assert (answer.status, answer.error) == (500, Text("failed_here", error=raised.__name__))
    assert ask(server, "/api/save").status == 200
