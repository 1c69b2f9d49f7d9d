"""``tfvis-nb serve``: its output, its end, and the arguments it rejects."""

import errno
import http.client
import os
import re
import resource
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import psutil
import pytest
import trustme

from tests.cli.command import complaint, tfvis_nb_here
from tests.serving.client import Printed, Viewer
from tests.serving.conftest import command_after, write_session
from tests.support.conditions import wait_until
from tests.support.texts import says
from tfvis_nb.cli import main
from tfvis_nb.display import bundles
from tfvis_nb.texts import Text

TOKEN = "a-token-of-16-ch"


@contextmanager
def serving(
    *words: str | Path, files: int | None = None, **environment: str
) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Run the command without a display, with this many files at most; yield it and the address it prints."""
    displays = ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER")
    variables = {name: value for name, value in os.environ.items() if name not in displays}
    limited = [] if files is None else ["prlimit", f"--nofile={files}"]
    process = subprocess.Popen(
        [*limited, sys.executable, "-m", "tfvis_nb", "serve", *map(str, words)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**variables, **environment},
    )
    try:
        assert process.stdout is not None
        yield process, process.stdout.readline().strip()
    finally:
        process.kill()
        process.communicate()


def ended(process: subprocess.Popen[str], by: int = signal.SIGINT) -> tuple[int, list[str]]:
    """End it, and return its exit code and its output except the address."""
    process.send_signal(by)
    out, said = process.communicate(timeout=60)
    assert out == ""
    return process.returncode, said.splitlines()


def status_at(url: str) -> int:
    address = urlsplit(url)
    assert address.hostname is not None
    connection = http.client.HTTPConnection("127.0.0.1", address.port, timeout=30)
    try:
        connection.request("GET", f"{address.path}?{address.query}")
        answer = connection.getresponse()
        answer.read()
        return answer.status
    finally:
        connection.close()


def test_until_ctrl_c(tmp_path: Path) -> None:
    path = tmp_path / "run.tfvis"
    write_session(path)
    with serving(path, "--no-browser") as (process, url):
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+/\?token=[\w-]{43}", url)
        assert status_at(url) == 200
        assert status_at(url.partition("?")[0]) == 401
        assert ended(process) == (130, [f"tfvis-nb: {Text('ctrl_c_ends_server')}"])


@pytest.mark.thorough
def test_without_files_left_it_says_so_once_and_rests(tmp_path: Path) -> None:
    path = tmp_path / "run.tfvis"
    write_session(path)
    with serving(path, "--no-browser") as (process, url), ExitStack() as stack:
        assert status_at(url) == 200
        held = len(list(Path(f"/proc/{process.pid}/fd").iterdir()))
        before = resource.prlimit(process.pid, resource.RLIMIT_NOFILE)
        resource.prlimit(process.pid, resource.RLIMIT_NOFILE, (held + 3, before[1]))
        address = ("127.0.0.1", urlsplit(url).port)
        for _ in range(30):
            stack.enter_context(socket.create_connection(address))
        began = cpu_seconds(process.pid)
        time.sleep(2)  # its processor time is measured over this time
        assert cpu_seconds(process.pid) - began < 0.5
        stack.close()
        resource.prlimit(process.pid, resource.RLIMIT_NOFILE, before)
        assert status_at(url) == 200
        said = ended(process)[1]
    assert [line for line in said if "Ctrl-C" not in line] == [
        Text("connections_refused", reason=os.strerror(errno.EMFILE))
    ]


@pytest.mark.thorough
def test_more_connections_than_files_leave_it_usable(tmp_path: Path) -> None:
    with serving(tmp_path / "run.tfvis", "--no-browser", files=64) as (process, url), ExitStack() as stack:
        for _ in range(100):
            stack.enter_context(socket.create_connection(("127.0.0.1", urlsplit(url).port)))
        assert status_at(url) == 200
        assert len(list(Path(f"/proc/{process.pid}/fd").iterdir())) < 40
        said = ended(process)[1]
    assert said.count(Text("too_many_connections", most=16)) == 1


def cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def test_ctrl_c_does_not_wait_for_a_trace_that_is_being_written(tmp_path: Path) -> None:
    path, asked = tmp_path / "run.tfvis", tmp_path / "asked"
    write_session(path)
    slow = command_after(
        "import pathlib, time\n"
        "from tfvis_nb.display.monitor import trace_files\n"
        "def payload(*given):\n"
        f"    pathlib.Path({str(asked)!r}).touch()\n"
        "    time.sleep(60)\n"
        "trace_files.timeline_payload = payload"
    )
    code = (
        "import sys; from tfvis_nb.cli import main; from tfvis_nb.serving import process\n"
        f"process._COMMAND = {slow}; sys.exit(main(['serve', {str(path)!r}, '--no-browser']))"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        with Viewer(Printed(process.stdout.readline().strip())) as viewer:
            viewer.send({"method": "custom", "content": {"kind": "open", "trace": 1}})
            wait_until(asked.exists)
            (worker,) = psutil.Process(process.pid).children()
            began = time.monotonic()
            assert ended(process) == (130, [f"tfvis-nb: {Text('ctrl_c_ends_server')}"])
            assert time.monotonic() - began < 20
            wait_until(lambda: not worker.is_running())


def test_a_server_that_is_killed_leaves_no_process(tmp_path: Path) -> None:
    with serving(tmp_path / "run.tfvis", "--no-browser") as (process, url), Viewer(Printed(url)) as viewer:
        assert viewer.now()["waiting"]
        (worker,) = psutil.Process(process.pid).children()
        assert os.getpgid(worker.pid) != os.getpgid(process.pid)  # signals of the terminal are for the server
        process.kill()
        wait_until(lambda: not worker.is_running() or worker.status() == psutil.STATUS_ZOMBIE)


@pytest.mark.thorough
def test_a_session_of_tftracer(data: Path, tmp_path: Path) -> None:
    session = data / "tftracer_session.pickle.gz"
    with serving(session, "--no-browser", TMPDIR=str(tmp_path)) as (process, url):
        assert status_at(url) == 200
        code, (left, *_) = ended(process)
    assert code == 130
    assert left == f"tfvis-nb: {session}: {Text('traces_not_kept', lost=1, traces=7)}"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.thorough
def test_a_file_that_is_not_there_yet(tmp_path: Path) -> None:
    path = tmp_path / "run.tfvis"
    for number, code in ((signal.SIGHUP, 129), (signal.SIGTERM, 143)):
        with serving(path, "--no-browser") as (process, url):
            assert status_at(url) == 200
            ended_with, said = ended(process, number)
        assert ended_with == code
    assert said[0] == f"tfvis-nb: {Text('session_not_there_yet', path=path)}"
    assert not path.exists()


@pytest.mark.thorough
def test_the_browser_is_led_there_by_a_file(tmp_path: Path) -> None:
    # Every user of the machine sees the arguments of a browser.
    browser, temporary = tmp_path / "browser", tmp_path / "tmp"
    temporary.mkdir()
    browser.write_text(
        f'#!/bin/sh\ncat "${{1#file://}}" > "{tmp_path}/page"\necho "$1" > "{tmp_path}/asked"\n'
    )
    browser.chmod(0o755)
    with serving(tmp_path / "run.tfvis", BROWSER=f"{browser} %s", TMPDIR=str(temporary)) as (process, url):
        wait_until((tmp_path / "asked").exists)
        token = url.partition("token=")[2]
        assert token not in (tmp_path / "asked").read_text()
        assert f'content="0; url={url}"' in (tmp_path / "page").read_text()
        (folder,) = temporary.iterdir()
        assert folder.stat().st_mode & 0o077 == 0
        assert ended(process)[0] == 130
    assert list(temporary.iterdir()) == []


@pytest.mark.thorough
def test_no_browser_is_said(tmp_path: Path) -> None:
    expected = f"tfvis-nb: {Text('browser_for_address')}"
    with serving(tmp_path / "run.tfvis") as (process, _):
        assert process.stderr is not None
        assert any(line.strip() == expected for line in process.stderr)
        assert ended(process)[0] == 130


def test_a_token_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text(f"{TOKEN}\n")
    file.chmod(0o640)
    with serving(tmp_path / "run.tfvis", "--token-file", file, "--no-browser") as (process, url):
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+/", url)
        assert status_at(f"{url}?token={TOKEN}") == 200
        code, said = ended(process)
    assert code == 130
    assert said[0] == f"tfvis-nb: {Text('token_readable_by_others', path=file)}"
    assert said[1] == f"tfvis-nb: {Text('address_of_token_file', path=file)}"
    assert TOKEN not in "".join(said)


def test_without_encryption_others_are_warned_of(tmp_path: Path) -> None:
    with serving(tmp_path / "run.tfvis", "--host", "0.0.0.0", "--no-browser") as (process, url):
        assert urlsplit(url).hostname == socket.gethostname().lower()
        assert status_at(url) == 200
        said = ended(process)[1]
    assert said.count(f"tfvis-nb: {Text('not_encrypted')}") == 1


def test_with_encryption_nobody_is_warned(tmp_path: Path) -> None:
    certificate, file = trustme.CA().issue_cert("localhost"), tmp_path / "both.pem"
    certificate.private_key_and_cert_chain_pem.write_to_path(str(file))
    words = ("--host", "0.0.0.0", "--certfile", file, "--no-browser")
    with serving(tmp_path / "run.tfvis", *words) as (process, url):
        assert url.startswith("https://")
        assert Text("not_encrypted") not in "".join(ended(process)[1])


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "tfvis-nb serve --help"),
        (["run.tfvis", "--prot", "1"], "--port"),
        (["run.tfvis", "--port", "65536"], "65536"),
        (["run.tfvis", "--port", "-1"], "-1"),
        (["run.tfvis", "--keyfile", "key.pem"], Text("keyfile_option_alone")),
        (["run.tfvis", "--allowed-host", "http://a"], Text("allowed_host_no_name", name="http://a")),
    ],
)
def test_wrong_arguments(words: list[str], said: str, tmp_path: Path) -> None:
    assert said in complaint(tfvis_nb_here("serve", *words, cwd=tmp_path), 2)


def test_what_cannot_be_served(tmp_path: Path, data: Path) -> None:
    is_folder = os.strerror(errno.EISDIR).lower()
    for words, said in (
        ([data / "local_mlp_step1.pb"], Text("no_session", path="local_mlp_step1.pb")),
        ([data / "pickle_tf221.pickle"], Text("pickle_of_no_session", label="pickle_tf221.pickle")),
        ([data / "cpu_tf18_dist.pb.xz"], Text("neither_session", label="cpu_tf18_dist.pb.xz")),
        (["absent.pickle.gz"], Text("no_such_file", path="absent.pickle.gz")),
        ([tmp_path], Text("no_session_file", path=tmp_path)),
        (["r.tfvis", "--token-file", "none"], Text("no_such_file", path="none")),
        (
            ["r.tfvis", "--token-file", tmp_path],
            Text("file_unreadable", path=tmp_path, reason=is_folder),
        ),
        (["r.tfvis", "--certfile", "none.pem"], Text("no_such_file", path="none.pem")),
        (
            ["r.tfvis", "--host", "no-such-host.invalid"],
            f"; {Text('try_own_host')}",
        ),
        (["r.tfvis", "--host", "192.0.2.1"], f"cannot assign requested address; {Text('try_own_host')}"),
    ):
        assert said in complaint(tfvis_nb_here("serve", *words, "--no-browser", cwd=tmp_path), 1)
    done = tfvis_nb_here("serve", "r.tfvis", "--certfile", data / "README.md", cwd=tmp_path)
    assert says(complaint(done, 1), "no_certificate", files=data / "README.md")
    (tmp_path / "token").write_text("short")
    (tmp_path / "token").chmod(0o600)
    done = tfvis_nb_here("serve", "r.tfvis", "--token-file", "token", cwd=tmp_path)
    assert complaint(done, 1) == Text("token_too_short").named("token")


def test_a_port_that_is_taken(tmp_path: Path) -> None:
    with serving(tmp_path / "run.tfvis", "--no-browser") as (_, url):
        port = str(urlsplit(url).port)
        said = complaint(tfvis_nb_here("serve", "run.tfvis", "--port", port, cwd=tmp_path), 1)
    in_use = os.strerror(errno.EADDRINUSE).lower()
    where, advice = f"127.0.0.1, port {port}", Text("try_free_port")
    assert said == Text("cannot_serve", where=where, reason=in_use, advice=advice)


def test_a_front_end_that_is_not_built(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(bundles, "_STATIC", tmp_path)
    assert main(["serve", str(tmp_path / "run.tfvis"), "--no-browser"]) == 1
    assert says(capsys.readouterr().err, "front_end_missing")
