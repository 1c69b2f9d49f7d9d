"""Recording processes from outside: real ones with TensorFlow, and servers that answer oddly."""

import json
import os
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import tfvis_nb as tv
from tests.cli.command import tfvis_nb, tfvis_nb_here
from tests.real_traces import DATA
from tests.support.conditions import wait_until
from tests.support.profiler_service import served
from tests.support.texts import raises_id
from tests.support.with_tensorflow import Started
from tfvis_nb.reading.protobuf.wire import delimited, fields
from tfvis_nb.texts import Text, id_of

NOBODY = "127.0.0.1:1"
XSPACE = (8, DATA / "cpu_jax.xplane.pb")


class Job:
    """A process with a profiler service."""

    def __init__(self, printed: Path) -> None:
        self.process = Started("-m", "tests.recording.served_job", output=printed)
        self._printed = printed

    @property
    def address(self) -> str:
        wait_until(lambda: self._printed.exists() and self._printed.read_text().endswith("\n"))
        return f"127.0.0.1:{int(self._printed.read_text())}"


@pytest.fixture(scope="module")
def jobs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Job]]:
    folder = tmp_path_factory.mktemp("jobs")
    started = {name: Job(folder / name) for name in ("one", "other")}
    yield started
    for job in started.values():
        job.process.send_signal(signal.SIGKILL)
        job.process.wait()


@pytest.mark.tensorflow
def test_running_processes_become_one_trace(jobs: dict[str, Job], tmp_path: Path) -> None:
    one, other = (job.address for job in jobs.values())
    trace = tv.capture([f"grpc://{one}", other, NOBODY], seconds=1, tries=1)
    assert sorted(trace.events["task"].unique()) == [f"/job:worker/replica:0/task:{n}" for n in (0, 1)]
    assert {"MatMul", "Sum"} <= set(trace.events["op"])
    both = trace.events[trace.events["step"] >= 0].groupby("step")["task"].nunique()
    assert len(both) > 5
    assert len(trace.profiles) == 2
    (note,) = (note for note in trace.notes if isinstance(note, Text) and note.id == "workers_not_recorded")
    assert f"{NOBODY} does not answer" in note.figures["workers"]

    # Without TensorFlow on the recording side.
    blocked = tmp_path / "tensorflow.py"
    blocked.write_text("raise ImportError")
    done = tfvis_nb(
        *("capture", one, "--seconds", "0.3", "-o", tmp_path / "one.json", "--title", "a worker"),
        PYTHONPATH=f"{tmp_path}:{Path.cwd()}",
    )
    assert done.returncode == 0, done.stderr
    assert json.loads((tmp_path / "one.json").read_bytes())["traceEvents"]

    threading.Timer(0.7, jobs["other"].process.send_signal, [signal.SIGKILL]).start()
    ended = tv.capture([one, other], seconds=2)
    assert len(ended.events)
    assert other in next(note for note in ended.notes if getattr(note, "id", "") == "workers_not_recorded")


def fail(_request: bytes) -> bytes:
    raise OSError


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (None, "worker_without_service"),
        (fail, "worker_failed"),
        (lambda _: b"", "worker_keeps_profile"),
        (lambda _: b"\x08", "worker_failed"),
        (lambda _: delimited(8, b"\xff"), "worker_failed"),
    ],
)
def test_a_worker_without_a_profile_is_named_with_the_reason(
    answer: Callable[[bytes], bytes] | None, reason: str
) -> None:
    with served(answer) as address, raises_id(ConnectionError, "no_worker_recorded") as raised:
        tv.capture(address, seconds=0.1, tries=1)
    sentence = Text(reason, address=address, port="", reason="\0").partition("\0")[0]
    assert sentence in str(raised.value)


def test_escape_codes_of_a_worker_reach_no_terminal(tmp_path: Path) -> None:
    def answer(_request: bytes) -> bytes:
        raise RuntimeError("\x1b]0;owned\x07\x1b[2J\u202ereason")

    with served(answer) as address:
        with pytest.raises(ConnectionError, match="reason") as raised:
            tv.capture(address, seconds=0.1, tries=1)
        done = tfvis_nb_here("capture", address, "--seconds", "0.1", "-o", tmp_path / "a.html", cwd=tmp_path)
    for text in (str(raised.value), done.stdout, done.stderr):
        assert all(letter.isprintable() for letter in text.replace("\n", ""))


def test_pipes_and_links_in_the_folder_are_not_read(tmp_path: Path) -> None:
    (tmp_path / "secret.pb").write_bytes(XSPACE[1].read_bytes())

    def answer(request: bytes) -> bytes:
        (folder,) = (
            Path(request[one.start : one.end].decode()) for one in fields(request) if one.number == 5
        )
        os.mkfifo(folder / "a.xplane.pb")
        (folder / "b.xplane.pb").symlink_to(tmp_path / "secret.pb")
        (folder / "c.xplane.pb").symlink_to("/dev/zero")
        return b""

    with served(answer) as address, raises_id(ConnectionError, "no_worker_recorded") as raised:
        tv.capture(address, seconds=0.1, tries=1)
    assert Text("worker_keeps_profile", address=address, port="", reason="").partition(address)[0] in str(
        raised.value
    )


def test_errors_tell_unknown_hosts_from_foreign_ports(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("tfvis_nb.recording.remote.capture._CONNECT_S", 0.1)
    with socket.create_server(("127.0.0.1", 0)) as other:
        open_port = f"127.0.0.1:{other.getsockname()[1]}"
        unknown, malformed = "no-such-host.invalid:6009", "worker..invalid:6009"
        with raises_id(ConnectionError, "no_worker_recorded") as raised:
            tv.capture([NOBODY, open_port, unknown, malformed], seconds=0.1, tries=1)
    reasons = {
        NOBODY: "worker_absent",
        open_port: "worker_of_other_program",
        **dict.fromkeys((unknown, malformed), "worker_host_unknown"),
    }
    for address, reason in reasons.items():
        text = Text(reason, address=address, port=address.rpartition(":")[2], reason="\0")
        assert text.partition("\0")[0] in str(raised.value)


@pytest.mark.parametrize("cut", [1000, 100_000])
def test_a_damaged_profile_costs_no_other(cut: int, tmp_path: Path) -> None:
    number, file = XSPACE
    whole = file.read_bytes()
    # After a complete part, so that it is damaged at any length.
    damaged = whole + delimited(1, b"\xff" * cut)
    with (
        served(lambda _: delimited(number, whole)) as one,
        served(lambda _: delimited(number, damaged)) as other,
    ):
        trace = tv.capture([one, other], seconds=0.1, tries=1)
        words = ("capture", one, other, NOBODY, "--seconds", "0.1", "--tries", "1", "-o", "a.json")
        done = tfvis_nb_here(*words, cwd=tmp_path)
    assert done.returncode == 0
    lines = done.stderr.splitlines()
    assert [sum(worker in line for line in lines) for worker in (one, other, NOBODY)] == [0, 1, 1]
    assert trace.events.equals(tv.read_trace(file).events)
    assert trace.title == one
    (note,) = (note for note in trace.notes if id_of(note) == "workers_not_recorded")
    assert other in note


def test_an_idle_worker_is_asked_again() -> None:
    number, file = XSPACE
    idle = [b"\x38\x01", delimited(number, delimited(4, b"a host without events"))]
    answers = iter([*idle, delimited(number, file.read_bytes()), *idle])

    def answer(_request: bytes) -> bytes:
        return next(answers)

    with served(answer) as address:
        trace = tv.capture(address, seconds=0.1, tries=5)
        with raises_id(tv.EmptyTraceError, "no_worker_recorded"):
            tv.capture(address, seconds=0.1, tries=2)
    assert trace.events.equals(tv.read_trace(file).events)
    assert trace.title == address
    assert next(answers, None) is None


def test_an_older_worker_writes_its_profile_to_a_folder_of_ours() -> None:
    folders: list[Path] = []

    def answer(request: bytes) -> bytes:
        (folder,) = (
            Path(request[one.start : one.end].decode()) for one in fields(request) if one.number == 5
        )
        folders.append(folder)
        (folder / "run").mkdir()
        (folder / "run" / "host.xplane.pb").write_bytes(XSPACE[1].read_bytes())
        return b""

    with served(answer) as address:
        trace = tv.capture(address, seconds=0.1)
    assert trace.events.equals(tv.read_trace(XSPACE[1]).events)
    assert not folders[0].exists()


@pytest.mark.tensorflow
def test_a_capture_sends_the_requested_options() -> None:
    requests: list[bytes] = []

    def answer(request: bytes) -> bytes:
        requests.append(request)
        return delimited(XSPACE[0], XSPACE[1].read_bytes())

    with served(answer) as address:
        tv.capture(address, seconds=0.25, python=True, shapes=True, device_level=2)
    from tensorflow.core.profiler.profiler_options_pb2 import ProfileOptions

    (request,) = requests
    whole = {one.number: request[one.start : one.end] for one in fields(request)}
    options = ProfileOptions.FromString(whole[4])
    assert (options.host_tracer_level, options.device_tracer_level, options.python_tracer_level) == (3, 2, 1)
    assert (options.version, options.duration_ms, whole[9]) == (1, 250, b"\x01")


@pytest.mark.parametrize(
    ("workers", "options", "error"),
    [
        ("localhost", {}, "no_worker_address"),
        ("http://localhost:6009", {}, "no_worker_address"),
        ("localhost:70000", {}, "worker_port_out_of_range"),
        (5, {}, "workers_no_text"),
        ([NOBODY, 5], {}, "workers_no_text"),
        (NOBODY, {"seconds": "x"}, "capture_no_numbers"),
        (NOBODY, {"tries": None}, "capture_no_numbers"),
        (NOBODY, {"tries": 1.5}, "capture_no_numbers"),
        ([], {}, "worker_count"),
        ([NOBODY, "localhost:2", f"grpc://{NOBODY}/"], {}, "worker_given_twice"),
        (["HOST:06009", "host:6009"], {}, "worker_given_twice"),
        (NOBODY, {"seconds": 0}, "capture_out_of_range"),
        (NOBODY, {"seconds": float("nan")}, "capture_out_of_range"),
        (NOBODY, {"tries": 0}, "capture_out_of_range"),
        (NOBODY, {"device_level": 7}, "unknown_trace_option"),
    ],
)
def test_wrong_arguments_are_refused(workers: Any, options: dict[str, Any], error: str) -> None:
    with raises_id((TypeError, ValueError), error):  # type: ignore[arg-type]
        tv.capture(workers, **options)


def test_without_grpc_the_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "grpc", None)
    with raises_id(ImportError, "grpc_missing"):
        tv.capture(NOBODY)


@pytest.mark.parametrize(
    "words",
    [("localhost",), ("localhost:abc",), ("localhost:0",), (NOBODY, NOBODY), (NOBODY, "--seconds", "0")],
)
def test_wrong_arguments_of_the_command(words: tuple[str, ...], tmp_path: Path) -> None:
    done = tfvis_nb_here("capture", *words, "-o", "run.html", cwd=tmp_path)
    assert (done.returncode, done.stdout, [*tmp_path.glob("*.html")]) == (2, "", [])
