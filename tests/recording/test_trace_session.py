"""Counts and traces of a TraceSession, and its requests."""

import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import tfvis_nb as tv
from tests.recording.work import BATCH, BATCHES, INPUTS, TARGETS, fit
from tests.support.recorded_sessions import counted
from tests.support.texts import raises_id, says
from tfvis_nb.recording.live import session_runs
from tfvis_nb.recording.sessions.runs import SessionTracer
from tfvis_nb.texts import Text

pytestmark = [pytest.mark.tensorflow, pytest.mark.usefixtures("undone")]

v1 = tf.compat.v1


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
        of_any_rank = v1.placeholder(tf.int32, name="of_any_rank")
        same = tf.identity(of_any_rank, name="same")
        session.run([total, same], {x: [1.0], of_any_rank: 1})
        for size in (2, 3):
            assert session.run(total, {x: np.ones(size)}) == size
        session.run(total, {x: [1.0]}, options=v1.RunOptions(timeout_in_ms=5000))
    table = recorded.signatures
    assert table["label"].tolist() == ["total, same", "total", "total"]
    assert table["runs"].tolist() == [1, 2, 1]
    assert table["feeds"].tolist() == [["of_any_rank:0", "x:0"], ["x:0"], ["x:0"]]
    assert table["feed_types"].tolist() == [["int32", "float32[?]"], ["float32[?]"], ["float32[?]"]]
    assert table["fetch_types"].tolist() == [["float32[]", "int32"], ["float32[]"], ["float32[]"]]
    assert table["options"].tolist() == ["", "", "timeout_in_ms: 5000"]


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
        recorded.trace_every(3, "loss")  # including 3 that have run
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


@pytest.fixture
def take(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[int], None]]:
    """Run something for this many microseconds, of a clock that nothing else moves but tracing: by 7 and
    2."""
    now = [1_000_000]
    clock = SimpleNamespace(perf_counter_ns=lambda: now[0], time_ns=time.time_ns)
    monkeypatch.setattr(session_runs, "time", clock)
    trace = SessionTracer.run

    def tracing(*args: Any) -> Any:
        now[0] += 7000
        done = trace(*args)
        now[0] += 2000
        return done

    monkeypatch.setattr(SessionTracer, "run", tracing)
    with tf.Graph().as_default(), v1.Session() as session:
        microseconds = v1.placeholder(tf.int64, [], name="microseconds")

        def move(value: Any) -> Any:
            now[0] += int(value) * 1000
            return value

        taken = v1.py_func(move, [microseconds], tf.int64, name="taken")
        yield lambda took: session.run(taken, {microseconds: took})


def test_only_slow_runs_are_kept(path: Path, take: Callable[[int], None]) -> None:
    with tv.TraceSession(path) as recorded:
        recorded.trace_slow(factor=5)
        for run in range(1, 21):
            # At the second run there is no median yet.
            take({2: 500_000, 15: 5000, 16: 5001}.get(run, 1000))
    assert recorded.traces["run"].tolist() == [16]
    # There is no run that was not traced.
    assert recorded.signatures[["longest_ns", "traced"]].iloc[0].tolist() == [500_000_000, 20]
    assert recorded.signatures["mean_ns"].tolist() == [(500_000 + 5000 + 5001 + 17 * 1000) * 1000 / 20]


def test_runs_that_tracing_makes_slow_are_not_slow_ones(path: Path, take: Callable[[int], None]) -> None:
    with tv.TraceSession(path) as recorded:
        for _ in range(20):
            take(1000)
        recorded.trace_slow(factor=5)
        for took in [6000] * 20 + [31_000]:
            take(took)
    assert recorded.traces["duration_ns"].tolist() == [31_000_000]


def test_a_traced_run_is_compared_with_untraced_ones_before_it(
    path: Path, take: Callable[[int], None]
) -> None:
    with tv.TraceSession(path) as recorded:

        def traced(took: int) -> None:
            recorded.trace_next("taken")
            take(took)

        recorded.trace_next()
        take(9000)
        for took in (400, 1000, 1001, 1000):
            take(took)
        traced(3000)
        traced(50_000)  # which the one before does not change
        for _ in range(70):
            take(2000)
        traced(4000)
        signature = recorded.signatures.iloc[0]
    traces = recorded.traces
    assert traces["duration_ns"].tolist() == [9_000_000, 3_000_000, 50_000_000, 4_000_000]
    assert traces["tracing_ns"].tolist() == [9000] * 4
    assert traces["untraced_ns"].fillna(-1).tolist() == [-1, 1_000_000, 1_000_000, 2_000_000]
    assert traces["untraced_runs"].tolist() == [0, 4, 4, 64]
    assert traces["batch"].isna().all()
    assert (signature["runs"], signature["traced"], signature["longest_ns"]) == (78, 4, 2_000_000)
    assert signature["mean_ns"] == (400 + 1000 + 1001 + 1000 + 70 * 2000) * 1000 / 74
    assert signature["total_ns"] == (143_401 + 66_000) * 1000


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
    assert v1.RunMetadata.FromString(recorded.read(1).sources[0]) == metadata
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
    (profile,) = trace.profiles
    assert tv.read_trace(profile).events["name"].tolist() == trace.events["name"].tolist()
    assert trace.events["name"].str.contains("hidden").any()
    hidden = trace.layers[trace.layers["layer"] == f"{model.name}/hidden"]
    assert {"forward", "backward"} <= set(hidden["phase"])
    assert set(hidden["class"]) == {"Dense"}
    assert set(hidden["parameter_bytes"]) == {4 * model.get_layer("hidden").count_params()}
    assert recorded.traces["run"].tolist() == [1]  # the first of this recording
    assert "train 1" in trace.steps["label"].tolist()
    assert recorded.traces["tracing_ns"].gt(0).all()
    assert recorded.traces["batch"].tolist() == [0]
    assert recorded.signatures["traced"].tolist() == [1, 0]
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


def test_wrong_options(path: Path) -> None:
    with raises_id(ValueError, "not_from_one", name="keep", value=0):
        tv.TraceSession(path, keep=0)
    with raises_id(ValueError, "unknown_trace_option", name="level", value="fully"):
        tv.TraceSession(path, level="fully")  # type: ignore[arg-type]
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
    said = [
        [note for note in recorded.read(trace).notes if says(note, "run_without_gpu_rows")]
        for trace in (1, 2)
    ]
    assert said == [
        [Text("run_without_gpu_rows", why=Text("program_profiles"))],
        [],
    ]
