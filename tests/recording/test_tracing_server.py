"""TracingServer and hook_inject, as scripts for tftracer use them."""

import json
import logging
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import tensorflow as tf

import tfvis_nb as tv
from tests.real_traces import DATA
from tests.support.texts import raises_id
from tfvis_nb import TracingServer
from tfvis_nb.texts import text_of

pytestmark = pytest.mark.tensorflow

v1 = tf.compat.v1
ROOT = Path(__file__).parents[2]
RUNS = 20

# The examples of tftracer's README, their import changed; what it leaves out with dots is filled in.
# TensorFlow has no Estimator since 2.16: one that trains as that did stands in.
PROLOGUE = f"""
import tensorflow.compat.v1 as tf
tf.disable_v2_behavior()

def model():
    tf.train.get_or_create_global_step()
    x = tf.get_variable("x", [64, 64])
    loss = tf.reduce_sum(tf.matmul(x, x, name="square"))
    return tf.train.GradientDescentOptimizer(0.1).minimize(loss, name="train")

class estimator:
    @staticmethod
    def train(input_fn, hooks):
        with tf.Graph().as_default():
            train_op = model()
            with tf.train.MonitoredTrainingSession(hooks=hooks) as sess:
                for _ in range({RUNS}):
                    sess.run(train_op)

input_fn = None
"""
SNIPPETS = {
    "estimator": """
from tfvis_nb import TracingServer

tracing_server = TracingServer()
estimator.train(input_fn, hooks=[tracing_server.hook])
""",
    "low-level": f"""
from tfvis_nb import TracingServer

train_op = model()
tracing_server = TracingServer()
with tf.train.MonitoredTrainingSession(hooks=[tracing_server.hook]) as sess:
    for _ in range({RUNS}):
        sess.run(train_op)
""",
    "options": """
from tfvis_nb import TracingServer

tracing_server = TracingServer(
    server_ip="localhost",
    server_port=0,
    keep_traces=5,
    start_web_server_on_start=True
)
estimator.train(input_fn, hooks=[tracing_server.hook])
""",
    # Last: it changes every session of the process.
    "existing code": """
import tfvis_nb as tftracer
tracing_server = tftracer.hook_inject()

estimator.train(input_fn, hooks=[])
""",
}
# What a browser asks for at the address in the log.
ASKING = """
import json, urllib.request
address, _, token = tracing_server.url.partition("?token=")
request = urllib.request.Request(address + "api/state", headers={"Authorization": "token " + token})
signatures = json.load(urllib.request.urlopen(request))["signatures"]
print(json.dumps({each["label"]: each["runs"] for each in signatures}))
"""


@pytest.fixture
def made(tmp_path: Path) -> Iterator[Callable[..., TracingServer]]:
    """Make servers, that end with the test."""
    servers = []

    def make(**options: Any) -> TracingServer:
        options = {"server_port": 0, "path": tmp_path / "run.tfvis", **options}
        servers.append(TracingServer(**options))
        return servers[-1]

    yield make
    for server in servers:
        server.close()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where a script runs."""
    folder = tmp_path / "job"
    folder.mkdir()
    return folder


def run(script: str, folder: Path) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-c", script], cwd=folder, capture_output=True, text=True, check=True
    )


def asked(server: TracingServer, path: str, command: dict[str, Any] | None = None) -> Any:
    """What the page of a server answers."""
    assert server.url is not None
    address, _, token = server.url.partition("?token=")
    headers = {"Authorization": f"token {token}", "Content-Type": "application/json"}
    data = None if command is None else json.dumps(command).encode()
    with urllib.request.urlopen(urllib.request.Request(address + path, data, headers)) as answer:
        return json.load(answer)


def runs_of(session: tv.SavedSession) -> dict[str, int]:
    table = session.signatures
    return dict(zip(table["label"].tolist(), table["runs"].tolist(), strict=True))


def file_in(folder: Path) -> Path:
    (file,) = folder.glob("run-*.tfvis*")
    return file


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where each snippet ran, in a folder of its name. One process ran them: TensorFlow is slow to import."""
    folder = tmp_path_factory.mktemp("snippets")
    script = [PROLOGUE, "import contextlib, os"]
    for name, snippet in SNIPPETS.items():
        (folder / name).mkdir()
        script += [f"os.chdir({str(folder / name)!r})", "tf.reset_default_graph()", snippet]
        script += ["with open('answer', 'w') as file, contextlib.redirect_stdout(file):"]
        script += [f"    {line}" for line in ASKING.strip().splitlines()]
    done = run("\n".join(script), folder)
    (folder / "said").write_text(done.stderr)
    return folder


@pytest.mark.parametrize("name", SNIPPETS)
def test_snippets_of_the_readme(name: str, ran: Path) -> None:
    assert json.loads((ran / name / "answer").read_text())["train"] == RUNS
    with tv.open_session(file_in(ran / name)) as session:
        assert runs_of(session)["train"] == RUNS
        assert session.processes["end"].notna().all()


def test_snippets_say_where_their_monitors_are(ran: Path) -> None:
    said = (ran / "said").read_text()
    monitors = re.findall(r"the monitor of this job is at http://(?:127\.0\.0\.1|localhost):\d+/;", said)
    assert len(monitors) == len(SNIPPETS)
    assert "token=" not in said


def test_a_script_saves_and_another_one_loads(folder: Path) -> None:
    saving = (
        "\ntracing_server.session.trace_next('train')\nestimator.train(input_fn, [tracing_server.hook])\n"
    )
    run(PROLOGUE + SNIPPETS["estimator"] + saving + 'tracing_server.save_session("session.pickle")', folder)
    file_in(folder).unlink()
    loading = """
from tfvis_nb import TracingServer

tracing_server = TracingServer()
tracing_server.load_session("session.pickle")
"""
    done = run(loading + ASKING + "import sys; print('tensorflow' in sys.modules)", folder)
    state, tensorflow = done.stdout.splitlines()
    assert json.loads(state)["train"] == 2 * RUNS
    assert tensorflow == "False"
    # What was only loaded is in the file it was loaded from.
    assert [file.name for file in folder.iterdir()] == ["session.pickle"]
    with tv.open_session(folder / "session.pickle") as session:
        assert len(session.traces) == 1
        assert len(session.read(1).events)


def test_a_trace_is_asked_for_in_the_page(made: Callable[..., TracingServer], session: Any) -> None:
    server = made(keep_traces=2)
    with server.session:
        session.run("loss:0")
        for run in range(2, 5):
            asked(server, "api/command", {"do": "trace_next", "signature": 1})
            session.run("loss:0")
            session.run("loss:0")
            assert server.session.traces["run"].iloc[-1] == 2 * run - 2
    assert server.session.signatures[["runs", "traces"]].to_numpy().tolist() == [[7, 2]]


def test_nobody_without_the_token(made: Callable[..., TracingServer]) -> None:
    server = made()
    assert server.url is not None
    for address in (server.url.partition("?")[0] + "api/state", server.url[:-3] + "abc"):
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
        assert asked(server, "api/state")["signatures"][0]["runs"] == 1
        threading.Timer(0.3, server.stop_web_server).start()
        server.join()
        assert server.url is None
        session.run("loss:0")
    assert runs_of(server.session) == {"loss": 2}


def test_join_ends_by_ctrl_c(folder: Path) -> None:
    script = (
        "from tfvis_nb import TracingServer\n"
        "server = TracingServer(server_port=0)\n"
        "try:\n    print('joining', flush=True)\n    server.join()\n"
        "except KeyboardInterrupt:\n    print('ended')\n"
    )
    command = [sys.executable, "-c", script]
    with subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "joining\n"
        process.send_signal(signal.SIGINT)
        assert process.communicate(timeout=60)[0] == "ended\n"
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
    assert f"port {port} is in use" in caplog.text
    address, _, token = server.url.partition("?token=")
    assert address in caplog.text
    assert token not in caplog.text


def test_other_machines_reach_it_when_asked_for(
    made: Callable[..., TracingServer], caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        made()
    assert "other machines" not in caplog.text
    with caplog.at_level(logging.WARNING):
        made(server_ip="0.0.0.0")
    assert "other machines reach it, too" in caplog.text


def test_an_address_that_cannot_be_served_leaves_the_training_alone(
    made: Callable[..., TracingServer], caplog: pytest.LogCaptureFixture, session: Any
) -> None:
    with caplog.at_level(logging.WARNING):
        server = made(server_ip="192.0.2.1")  # of no machine
    assert "the training goes on" in caplog.text
    with server.session:
        session.run("loss:0")
    assert runs_of(server.session) == {"loss": 1}
    with pytest.raises(OSError, match="address"):
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


def offline(made: Callable[..., TracingServer], **options: Any) -> TracingServer:
    return made(start_web_server_on_start=False, **options)


def test_a_session_of_tftracer_is_loaded(
    made: Callable[..., TracingServer], caplog: pytest.LogCaptureFixture, session: Any
) -> None:
    server = offline(made)
    with caplog.at_level(logging.WARNING):
        server.load_session(DATA / "tftracer_session.pickle.gz", gziped=True)
    assert "tftracer_session.pickle.gz: 1 of 7 traces was no longer kept by tftracer" in caplog.text
    assert runs_of(server.session) == {"GradientDescent": 12, "loss, mul": 3}
    assert server.session.traces.groupby("label").size().to_dict() == {"GradientDescent": 4, "loss, mul": 2}
    with server.session:
        session.run("loss:0")
    server.close()
    assert server.session.path.exists()  # something was recorded, too
    assert runs_of(server.session) == {"GradientDescent": 12, "loss, mul": 3, "loss": 1}


def test_what_was_only_loaded_leaves_no_file(made: Callable[..., TracingServer]) -> None:
    server = offline(made)
    server.load_session(DATA / "tftracer_session.pickle.gz")
    child = os.fork()
    if child == 0:  # which ends with everything that the end of a process does
        try:
            server.close()
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    assert server.session.path.exists()
    server.close()
    assert list(server.session.path.parent.glob("run*")) == []


def test_saving(made: Callable[..., TracingServer], session: Any, tmp_path: Path) -> None:
    server = offline(made)
    copy = tmp_path / "session.pickle"
    with raises_id(FileNotFoundError, "nothing_to_save"):
        server.save_session(copy)
    copy.write_text("what was there before")
    with server.session:
        session.run("loss:0")
        server.save_session(copy)
        session.run("loss:0")
        server.save_session(str(copy))
        for taken in (server.session.path, tmp_path / "run.tfvis"):
            with raises_id(FileExistsError, "save_over_recording"):
                server.save_session(taken)
    with pytest.raises(FileExistsError):
        server.save_session(server.session.path)
    with raises_id(FileNotFoundError, "no_folder_to_write_to"):
        server.save_session(tmp_path / "none" / "session.pickle")
    with tv.open_session(copy) as saved:
        assert runs_of(saved) == {"loss": 2}
    server.close()
    assert sorted(file.name for file in tmp_path.iterdir()) == ["run.tfvis", "scratch", "session.pickle"]


@pytest.mark.parametrize(
    "content", [b"", b"SQLite format 3\0" * 9, b"<html>"], ids=["empty", "sqlite", "page"]
)
def test_what_is_no_session_is_not_loaded(
    made: Callable[..., TracingServer], tmp_path: Path, content: bytes
) -> None:
    server = offline(made)
    (tmp_path / "other").write_bytes(content)
    with pytest.raises(tv.TraceFormatError):
        server.load_session(tmp_path / "other")
    with pytest.raises(FileNotFoundError):
        server.load_session(tmp_path / "none")
    server.close()
    assert not server.session.path.exists()
