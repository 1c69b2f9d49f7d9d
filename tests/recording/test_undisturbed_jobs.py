"""A TraceSession does not disturb its job, even if that is watched, killed or forked, or the disk is full."""

import logging
import re
import signal
from pathlib import Path
from typing import Any

import pytest

import tfvis_nb as tv
from tests.recording.monitored_job import progress
from tests.support.conditions import wait_until
from tests.support.recorded_sessions import counted
from tests.support.texts import pattern_of, raises_id
from tests.support.with_tensorflow import Started, run

pytestmark = [pytest.mark.tensorflow, pytest.mark.usefixtures("undone")]


def job(path: Path, kind: str) -> Started:
    # A process that is killed leaves its temporary files.
    temporary = path.with_suffix(".temporary")
    temporary.mkdir()
    environment = {"TMPDIR": str(temporary)}
    return Started("-m", "tests.recording.monitored_job", path, kind, environment=environment)


def take_in_counts(session: tv.SavedSession) -> None:
    """Check that reading has left the counts of a process that could not close its recording, and write."""
    before = counted(session)
    assert session.path.with_name(f"{session.path.name}-counts1").exists()
    session.stop_tracing()
    assert counted(session) == before


STEPS = 600


@pytest.mark.parametrize(
    ("kind", "begins"),
    [
        pytest.param("session", "GradientDescent", id="session"),
        pytest.param("keras", "train small", id="keras", marks=pytest.mark.thorough),
    ],
)
def test_a_long_job_is_watched_and_killed(path: Path, kind: str, begins: str) -> None:
    file = path.with_suffix(".progress")
    with job(path, kind) as process:
        wait_until(lambda: progress(file).finished and process.poll() is None)
        with tv.open_session(path) as watched:
            label = next(each for each in counted(watched) if each.startswith(begins))
            assert watched.processes["end"].isna().all()
            for number in (1, 2):
                wait_until(lambda number=number: progress(file).finished > number * STEPS // 3)  # type: ignore[misc]
                watched.trace_next(label)
                wait_until(lambda number=number: len(watched.traces) == number)  # type: ignore[misc]
                # As of now: while one looks here, the job goes on.
                before, runs, after = (
                    progress(file).finished,
                    counted(watched)[label][0],
                    progress(file).finished,
                )
                assert before <= runs <= after + 1
            wait_until(lambda: progress(file).finished >= STEPS)
            watched.trace_all(label)
            wait_until(lambda: len(watched.traces) >= 5)
            process.send_signal(signal.SIGKILL)
            process.wait()
    end = progress(file)
    with tv.open_session(path) as reopened:
        assert reopened.processes["end"].notna().all()
        row = reopened.signatures.set_index("label").loc[label]
        # The last step may have ended without having been written down.
        more = row["runs"] - end.finished
        assert more in (0, 1)
        assert row["failed"] == 0
        longest = max(end.longest, more * row["longest_ns"])
        assert end.at_least <= row["total_ns"] <= end.at_most + more * longest
        assert end.at_least / end.finished <= row["longest_ns"] <= longest
        assert end.began <= row["first"].value <= end.began + end.longest
        assert end.last <= row["last"].value <= end.last + 2 * longest

        traces = reopened.traces[reopened.traces["label"] == label]
        assert traces["run"].iloc[:2].tolist() == sorted(traces["run"].iloc[:2])
        # From then on every step that has ended has its trace; of that which was written down last as well.
        assert traces["run"].iloc[-1] >= end.finished
        if kind == "session":  # one that Keras ran while TensorFlow's profiler was not free has none
            first = traces["run"].iloc[2]
            assert first >= STEPS
            assert traces["run"].iloc[2:].tolist() == list(range(first, traces["run"].iloc[-1] + 1))
            assert len(reopened.signatures) > 4  # of initialisers and of the saver
        for trace in traces.index:
            assert len(reopened.read(trace).events)
        take_in_counts(reopened)


def test_a_read_only_folder_does_not_stop_training(session: Any, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING), tv.TraceSession("/proc/run.tfvis") as recorded:
        for _ in range(3):
            assert session.run("loss:0") == pytest.approx(32)
        assert not recorded.recording
    assert len(caplog.records) == 1
    assert recorded.problem


FULL = """
import resource, signal, sys
import tensorflow.compat.v1 as tf
import tfvis_nb as tv
from tests.support.conditions import wait_until

tf.disable_eager_execution()
with tf.Session() as session, tv.TraceSession(sys.argv[1]) as recorded:
    total = tf.reduce_sum(tf.random.uniform([10, 10]), name="total")
    session.run(total)
    recorded.trace_all()
    resource.setrlimit(resource.RLIMIT_FSIZE, (400_000, 400_000))  # a write beyond that fails
    runs = 0
    while recorded.recording and runs < 20_000:
        session.run(total)
        runs += 1
    for _ in range(100):
        session.run(total)
    print(recorded.recording, bool(recorded.problem), len(recorded.traces) > 3)
"""


def test_a_full_disk_leaves_the_training_alone(path: Path) -> None:
    printed, said = run("-c", FULL, path, folder=path.parent)
    assert printed.split() == ["False", "True", "True"]
    assert len(re.findall(pattern_of("recording_stopped"), said)) == 1
    with tv.open_session(path) as reopened:
        assert len(reopened.read(int(reopened.traces.index[-1])).events)
        take_in_counts(reopened)


FORKED = """
import multiprocessing
import sys
import time
import tensorflow as tf
import tfvis_nb as tv
with tf.Graph().as_default():
    tf.zeros([], name="loss")
    session = tf.compat.v1.Session()
with tv.TraceSession(sys.argv[1]):
    session.run("loss:0")
    child = multiprocessing.get_context("fork").Process(target=time.sleep, args=(0.01,))
    child.start()
    child.join()
    assert child.exitcode == 0
    session.run("loss:0")
"""


def test_a_forked_process_leaves_the_file_alone(path: Path) -> None:
    # In a process without JAX, whose threads may hold locks when a process is forked.
    run("-c", FORKED, path, folder=path.parent)
    with tv.open_session(path) as recorded:
        assert counted(recorded) == {"loss": (2, 0)}


def test_a_file_of_something_else_is_not_touched(path: Path) -> None:
    path.write_bytes(b"not a session" * 100)
    with raises_id(tv.TraceFormatError, "no_session"):
        tv.record_process(path)
    assert path.read_bytes() == b"not a session" * 100
