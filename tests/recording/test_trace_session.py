"""What a TraceSession counts and keeps, under which orders, and that the training notices nothing of it."""

import logging
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.python.client.session import BaseSession

import tfvis_nb as tv
from tests.recording.conftest import CallbackList
from tests.recording.monitored_job import told
from tests.recording.work import BATCH, BATCHES, INPUTS, TARGETS, fit
from tests.support.texts import raises_id
from tfvis_nb.recording.live import session_runs
from tfvis_nb.texts import Text

pytestmark = pytest.mark.tensorflow

v1 = tf.compat.v1
ROOT = Path(__file__).parents[2]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "run.tfvis"


@pytest.fixture(autouse=True)
def undone(tmp_path: Path) -> Iterator[None]:
    before = patched()
    yield
    assert patched() == before
    assert list(tmp_path.glob("*.tfvis-counts*")) == []


def patched() -> list[Any]:
    names = ("_call_tf_sessionrun", "_make_callable_from_options")
    return [
        *(vars(BaseSession)[name] for name in names),
        vars(BaseSession._Callable)["__call__"],
        vars(CallbackList)["__init__"],
    ]


def counted(session: tv.SavedSession) -> dict[str, tuple[int, int]]:
    table = session.signatures
    runs, traces = table["runs"].tolist(), table["traces"].tolist()
    return dict(zip(table["label"].tolist(), zip(runs, traces, strict=True), strict=True))


def test_every_kind_of_run_is_counted(session: Any, path: Path) -> None:
    loss = session.graph.get_tensor_by_name("loss:0")
    before_made = session.make_callable(loss)
    with tv.TraceSession(path) as recorded:
        for _ in range(3):
            session.run(loss)
        before_made()
        session.run({"a": loss, "b": session.graph.get_operation_by_name("product")})
        with pytest.raises(tf.errors.InvalidArgumentError):
            session.run(failing(session.graph))
    assert not recorded.recording
    assert counted(recorded) == {"loss": (4, 0), "product, loss": (1, 0), "fails": (0, 0)}
    table = recorded.signatures.set_index("label")
    assert table.loc["fails", "failed"] == 1
    assert table.loc["loss", "fetches"] == ["loss:0"]
    assert table.loc["product, loss", "targets"] == ["product"]
    row = table.loc["loss"]
    assert 0 < row["mean_ns"] <= row["longest_ns"] <= row["total_ns"] == pytest.approx(row["mean_ns"] * 4)
    assert row["first"] < row["last"]


def failing(graph: Any) -> Any:
    with graph.as_default():
        return v1.Print(tf.debugging.check_numerics(tf.constant(float("nan")), "no number"), [], name="fails")


def test_fed_values_do_not_tell_runs_apart_but_options_do(path: Path) -> None:
    with tf.Graph().as_default(), v1.Session() as session, tv.TraceSession(path) as recorded:
        x = v1.placeholder(tf.float32, [None], name="x")
        total = tf.reduce_sum(x, name="total")
        for size in (2, 3):
            assert session.run(total, {x: np.ones(size)}) == size
        session.run(total, {x: [1.0]}, options=v1.RunOptions(timeout_in_ms=5000))
    table = recorded.signatures
    assert table["runs"].tolist() == [2, 1]
    assert table["feeds"].tolist() == [["x:0"], ["x:0"]]
    assert table["options"].tolist() == ["", "timeout_in_ms: 5000"]


def test_orders(session: Any, path: Path) -> None:
    loss, product = (session.graph.get_tensor_by_name(f"{name}:0") for name in ("loss", "product"))
    with tv.TraceSession(path) as recorded:

        def traced(run: Any) -> bool:
            before = len(recorded.traces)
            session.run(run)
            return len(recorded.traces) > before

        assert not traced(loss)
        assert not traced(product)
        recorded.trace_next("loss")
        assert recorded.signatures.set_index("label")["requested"].to_dict() == {"loss": 1, "product": 0}
        assert [traced(product), traced(loss), traced(loss)] == [False, True, False]
        recorded.trace_next()
        assert [traced(product), traced(product)] == [True, False]
        recorded.trace_every(3, "loss")  # of which 3 have run
        assert [traced(loss) for _ in range(6)] == [False, False, True, False, False, True]
        assert not traced(product)
        recorded.trace_all()
        assert [traced(product), traced(loss)] == [True, False]  # its own rule goes before
        recorded.stop_tracing()
        assert [traced(product), traced(loss)] == [False, False]
    trace = recorded.read(1)
    assert trace.steps["label"].tolist() == ["loss"]
    assert "product" in set(trace.events["name"])
    assert recorded.traces.loc[1, "run"] == 2


def test_orders_before_anything_is_recorded(session: Any, path: Path) -> None:
    recorded = tv.TraceSession(path)
    with pytest.raises(FileNotFoundError):
        tv.open_session(path).trace_every(2)
    recorded.trace_every(2)
    recorded.trace_next()
    assert not recorded.recording
    with recorded:
        for _ in range(4):
            session.run("loss:0")
    assert recorded.traces["run"].tolist() == [1, 2, 4]


def test_only_slow_runs_are_kept(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = [1_000_000]  # of a clock that only this test moves
    clock = SimpleNamespace(perf_counter_ns=lambda: now[0], time_ns=time.time_ns)
    monkeypatch.setattr(session_runs, "time", clock)
    with tf.Graph().as_default(), v1.Session() as session, tv.TraceSession(path) as recorded:
        microseconds = v1.placeholder(tf.int64, [], name="microseconds")

        def take(value: Any) -> Any:
            now[0] += int(value) * 1000
            return value

        taken = v1.py_func(take, [microseconds], tf.int64, name="taken")
        recorded.trace_slow(factor=5)
        for run in range(1, 21):
            # At the second run there is no median yet.
            took = {2: 500_000, 15: 5000, 16: 5001}.get(run, 1000)
            assert session.run(taken, {microseconds: took}) == took
    assert recorded.traces["run"].tolist() == [16]
    assert recorded.signatures["longest_ns"].tolist() == [500_000_000]


def test_the_newest_are_kept(session: Any, path: Path) -> None:
    with tv.TraceSession(path, keep=2) as recorded:
        recorded.trace_all()
        for _ in range(5):
            session.run("loss:0")
        session.run("product:0")
    assert recorded.traces.groupby("label")["run"].apply(list).to_dict() == {"loss": [4, 5], "product": [1]}


def test_runs_of_threads_have_numbers_of_their_own(session: Any, path: Path) -> None:
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with tv.TraceSession(path, keep=None) as recorded:
            recorded.trace_every(5)
            session.run("loss:0")

            def work() -> None:
                for _ in range(150):
                    session.run("loss:0")

            threads = [threading.Thread(target=work) for _ in range(8)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert sorted(recorded.traces["run"]) == list(range(5, 1202, 5))


def test_the_programs_own_trace_goes_on(session: Any, path: Path) -> None:
    metadata = v1.RunMetadata()
    with tv.TraceSession(path) as recorded:
        recorded.trace_all()
        options = v1.RunOptions(trace_level=v1.RunOptions.FULL_TRACE)
        session.run("loss:0", options=options, run_metadata=metadata)
        with tv.trace() as t:
            session.run("loss:0")
    assert metadata.step_stats.dev_stats
    assert t.steps["label"].tolist() == ["loss"]
    assert len(recorded.traces) == 2


def test_inject_records_sessions_and_keras_and_is_undone(session: Any, path: Path, model: Any) -> None:
    with tv.record_process(path) as recorded:
        session.run("loss:0")
        fit(model)
        model.predict(INPUTS, batch_size=BATCH, verbose=0)
    session.run("loss:0")
    fit(model)
    found = counted(recorded)
    assert found["loss"] == (1, 0)
    assert found[f"train {model.name}"] == found[f"predict {model.name}"] == (BATCHES, 0)


def test_batches_of_keras(model: Any, path: Path) -> None:
    recorded = tv.TraceSession(path)
    callback = recorded.keras_callback()
    fit(model, callbacks=[callback])
    recorded.trace_next(f"train {model.name}")
    fit(model, callbacks=[callback], validation_data=(INPUTS, TARGETS))
    assert not recorded.recording
    assert counted(recorded)[f"train {model.name}"] == (2 * BATCHES, 1)
    assert counted(recorded)[f"test {model.name}"] == (BATCHES, 0)
    trace = recorded.read(1)
    assert trace.events["name"].str.contains("hidden").any()
    assert recorded.traces["run"].tolist() == [1]  # the first of this recording
    assert "train 1" in trace.steps["label"].tolist()
    assert abs(trace.events["start_ns"].max() - time.time_ns()) < 600 * 10**9


def test_a_session_is_continued(session: Any, path: Path) -> None:
    for _ in range(2):
        with tv.TraceSession(path) as recorded:
            session.run("loss:0")
        recorded.close()
    reopened = tv.open_session(path)
    assert counted(reopened) == {"loss": (2, 0)}
    assert reopened.processes["end"].notna().tolist() == [True, True]
    reopened.close()
    assert sorted(file.name for file in path.parent.glob("run*")) == ["run.tfvis"]


@contextmanager
def job(path: Path, kind: str) -> Iterator["subprocess.Popen[bytes]"]:
    command = [sys.executable, "-m", "tests.recording.monitored_job", str(path), kind]
    # A process that is killed leaves its temporary files.
    temporary = path.with_suffix(".temporary")
    temporary.mkdir()
    environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", "TMPDIR": str(temporary)}
    with subprocess.Popen(command, cwd=ROOT, env=environment) as process:
        try:
            yield process
        finally:
            process.kill()


def wait(until: Callable[[], Any], seconds: float = 90.0) -> None:
    end = time.monotonic() + seconds
    while not until():
        assert time.monotonic() < end
        time.sleep(0.02)


STEPS = 600


@pytest.mark.parametrize(
    ("kind", "begins"), [("session", "GradientDescent"), ("keras", "train small")], ids=["session", "keras"]
)
def test_a_long_job_is_watched_and_killed(path: Path, kind: str, begins: str) -> None:
    file = path.with_suffix(".told")
    with job(path, kind) as process:
        wait(lambda: told(file).finished and process.poll() is None)
        with tv.open_session(path) as watched:
            label = next(each for each in counted(watched) if each.startswith(begins))
            assert watched.processes["end"].isna().all()
            for number in (1, 2):
                wait(lambda number=number: told(file).finished > number * STEPS // 3)  # type: ignore[misc]
                watched.trace_next(label)
                wait(lambda number=number: len(watched.traces) == number)  # type: ignore[misc]
                # As of now: while one looks here, the job goes on.
                before, runs, after = told(file).finished, counted(watched)[label][0], told(file).finished
                assert before <= runs <= after + 1
            wait(lambda: told(file).finished >= STEPS)
            watched.trace_all(label)
            wait(lambda: len(watched.traces) >= 5)
            process.send_signal(signal.SIGKILL)
            process.wait()
    end = told(file)
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
        # From then on every step that has ended has its trace; of that which was written down last, too.
        assert traces["run"].iloc[-1] >= end.finished
        if kind == "session":  # one that Keras ran while TensorFlow's profiler was not free has none
            first = traces["run"].iloc[2]
            assert first >= STEPS
            assert traces["run"].iloc[2:].tolist() == list(range(first, traces["run"].iloc[-1] + 1))
            assert len(reopened.signatures) > 4  # of initialisers and of the saver
        for trace in traces.index:
            assert len(reopened.read(trace).events)


def test_a_folder_that_cannot_be_written_leaves_the_training_alone(
    session: Any, caplog: pytest.LogCaptureFixture
) -> None:
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
    run = subprocess.run([sys.executable, "-c", FULL, str(path)], capture_output=True, text=True, check=True)
    assert run.stdout.split() == ["False", "True", "True"]
    assert run.stderr.count("tfvis_nb records no more") == 1
    with tv.open_session(path) as reopened:
        assert len(reopened.read(int(reopened.traces.index[-1])).events)


def test_a_forked_process_leaves_the_file_alone(session: Any, path: Path) -> None:
    with tv.TraceSession(path) as recorded:
        session.run("loss:0")
        child = multiprocessing.get_context("fork").Process(target=time.sleep, args=(0.01,))
        child.start()
        child.join()
        assert child.exitcode == 0
        session.run("loss:0")
    assert counted(recorded) == {"loss": (2, 0)}


def test_a_file_of_something_else_is_not_touched(path: Path) -> None:
    path.write_bytes(b"not a session" * 100)
    with raises_id(tv.TraceFormatError, "no_session"):
        tv.record_process(path)
    assert path.read_bytes() == b"not a session" * 100


def test_wrong_options(path: Path) -> None:
    with raises_id(ValueError, "not_from_one", name="keep", value=0):
        tv.TraceSession(path, keep=0)
    with raises_id(ValueError, "unknown_trace_option", name="level", value="fully"):
        tv.TraceSession(path, level="fully")
    with raises_id(TypeError, "flag_not_bool", name="steps"):
        tv.trace(steps="x")  # type: ignore[arg-type]
    with raises_id(TypeError, "unknown_option", hint="; did you mean 'keep'?"):
        tv.TraceSession(path, kep=3)  # type: ignore[call-arg]


@pytest.mark.usefixtures("accelerated")
def test_a_trace_without_gpu_rows_says_so(session: Any, path: Path) -> None:
    with tv.TraceSession(path) as recorded:
        recorded.trace_all()
        tf.profiler.experimental.start(str(path.parent / "profile"))
        session.run("loss:0")
        tf.profiler.experimental.stop()
        session.run("loss:0")
    said = [[note for note in recorded.read(trace).notes if "GPU rows" in note] for trace in (1, 2)]
    assert said == [
        [Text("run_without_gpu_rows", why=Text("program_profiles"))],
        [],
    ]
