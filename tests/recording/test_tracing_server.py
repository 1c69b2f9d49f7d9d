"""TracingServer and hook_inject: their options, the page of a job, its start and its end."""

import errno
import logging
import os
import socket
import ssl
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import trustme

import tfvis_nb as tv
from tests.serving.client import Printed, command, state
from tests.support.recorded_sessions import runs_of
from tests.support.texts import raises_id, says
from tfvis_nb import TracingServer
from tfvis_nb.texts import Text, text_of

pytestmark = pytest.mark.tensorflow


def monitor(server: TracingServer) -> Printed:
    assert server.url is not None
    return Printed(server.url)


def test_a_trace_is_asked_for_in_the_page(made: Callable[..., TracingServer], session: Any) -> None:
    server = made(keep_traces=2)
    with server.session:
        session.run("loss:0")
        for run in range(2, 5):
            command(monitor(server), do="trace_next", signature=1)
            session.run("loss:0")
            session.run("loss:0")
            assert server.session.traces["run"].iloc[-1] == 2 * run - 2
        server.session.trace_all()
        for _ in range(4):
            session.run("loss:0")
    # The limit is for the traces of rules.
    assert server.session.signatures["runs"].tolist() == [11]
    assert server.session.traces["run"].tolist() == [2, 4, 6, 10, 11]


def test_nobody_without_the_token(made: Callable[..., TracingServer]) -> None:
    server = made()
    assert server.url is not None
    for address in (server.url.partition("?")[0] + "api/save", server.url[:-3] + "abc"):
        with pytest.raises(urllib.error.HTTPError, match=r"40[13]"):
            urllib.request.urlopen(address)


def test_start_and_stop(made: Callable[..., TracingServer], session: Any) -> None:
    server = made(start_web_server_on_start=False)
    assert server.url is None
    server.join()  # at once
    server.start_web_server()
    server.start_web_server()
    with server.session:
        session.run("loss:0")
        assert state(monitor(server))["signatures"][0]["runs"] == 1
        threading.Timer(0.3, server.stop_web_server).start()
        server.join()
        assert server.url is None
        session.run("loss:0")
    assert runs_of(server.session) == {"loss": 2}


JOINED = """
import os, signal, sys, threading, time, traceback
from tfvis_nb import TracingServer

def interrupt():
    stack, main = "", threading.main_thread().ident
    while not ("tftracer_server.py" in stack and "threading.py" in stack):
        time.sleep(0.01)
        stack = "".join(traceback.format_stack(sys._current_frames()[main]))
    os.kill(os.getpid(), signal.SIGINT)

server = TracingServer(server_port=0)
threading.Thread(target=interrupt).start()
server.join()
print("ended")
"""


def test_join_ends_by_ctrl_c(folder: Path) -> None:
    command = [sys.executable, "-c", JOINED]
    ended = subprocess.run(command, check=False, cwd=folder, capture_output=True, text=True, timeout=60)
    assert (ended.returncode, ended.stdout) == (0, "ended\n")
    assert "Traceback" not in ended.stderr
    assert list(folder.iterdir()) == []


def test_another_port_where_that_one_is_in_use(
    made: Callable[..., TracingServer], caplog: pytest.LogCaptureFixture
) -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as taken:
        port = taken.getsockname()[1]
        with caplog.at_level(logging.WARNING):
            server = made(server_port=port)
    assert server.url is not None
    assert f":{port}/" not in server.url
    assert Text("port_in_use", port=port) in caplog.text
    address, _, token = server.url.partition("?token=")
    assert address in caplog.text
    assert token not in caplog.text


def test_other_machines_reach_it_when_asked_for(
    made: Callable[..., TracingServer], caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        made()
    assert Text("monitor_not_encrypted") not in caplog.text
    with caplog.at_level(logging.WARNING):
        made(server_ip="0.0.0.0")
    assert Text("monitor_not_encrypted") in caplog.text


def test_it_is_served_by_https(
    made: Callable[..., TracingServer], caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    authority = trustme.CA()
    certificate = authority.issue_cert("127.0.0.1", "localhost")
    certificate.private_key_pem.write_to_path(tmp_path / "key.pem")
    certificate.cert_chain_pems[0].write_to_path(tmp_path / "cert.pem")
    context = ssl.create_default_context()
    authority.configure_trust(context)
    files = {"certfile": str(tmp_path / "cert.pem"), "keyfile": tmp_path / "key.pem"}
    with caplog.at_level(logging.WARNING):
        server = made(server_ip="0.0.0.0", is_horovod=True, **files)
    assert Text("monitor_not_encrypted") not in caplog.text
    assert server.url is not None
    assert server.url.startswith("https://")
    assert state(monitor(server), context=context)["waiting"]
    with caplog.at_level(logging.WARNING):
        assert made(certfile=tmp_path / "none.pem").url is None
    assert says(caplog.text, "monitor_not_served")


def test_an_unusable_address_does_not_stop_training(
    made: Callable[..., TracingServer], caplog: pytest.LogCaptureFixture, session: Any
) -> None:
    with caplog.at_level(logging.WARNING):
        server = made(server_ip="192.0.2.1")  # of no machine
    assert says(caplog.text, "monitor_not_served")
    with server.session:
        session.run("loss:0")
    assert runs_of(server.session) == {"loss": 1}
    with pytest.raises(OSError, match=os.strerror(errno.EADDRNOTAVAIL)):
        server.start_web_server()


@pytest.mark.parametrize(
    ("option", "near"), [("server_prot", "server_port"), ("keep_trace", "keep_traces"), ("ip", "server_ip")]
)
def test_unknown_options_are_refused(option: str, near: str) -> None:
    options: dict[str, Any] = {option: 1}
    for call in (TracingServer, tv.hook_inject):
        with raises_id(TypeError, "unknown_option", name=option) as caught:
            call(**options)
        assert near in text_of(caught.value)


@pytest.mark.parametrize(
    ("options", "key"),
    [
        ({"keep_traces": 0}, "not_from_one"),
        ({"server_port": 1 << 16}, "port_out_of_range"),
        ({"token": "short"}, "token_too_short"),
    ],
)
def test_wrong_options(options: dict[str, Any], key: str) -> None:
    with raises_id(ValueError, key):
        TracingServer(**options)


@pytest.mark.parametrize(
    ("option", "value", "key"),
    [
        ("server_port", "x", "server_port_no_number"),
        ("server_port", 99.5, "server_port_no_number"),
        ("server_port", True, "server_port_no_number"),
        ("server_ip", None, "no_text"),
        ("token", 3, "no_text"),
        ("keep_traces", "x", "not_from_one"),
        ("path", 3, "path_no_path"),
    ],
)
def test_options_of_another_type(option: str, value: object, key: str) -> None:
    options: dict[str, Any] = {option: value}
    with raises_id(TypeError, key) as caught:
        TracingServer(**options)
    assert value in text_of(caught.value).figures.values()


def test_hook_inject_is_undone(tmp_path: Path, session: Any) -> None:
    server = tv.hook_inject(start_web_server_on_start=False, path=tmp_path / "run.tfvis")
    assert tv.hook_inject() is server
    session.run("loss:0")
    server.close()
    session.run("loss:0")
    assert runs_of(server.session) == {"loss": 1}
    other = tv.hook_inject(start_web_server_on_start=False, path=tmp_path / "other.tfvis")
    assert other is not server
    other.close()
