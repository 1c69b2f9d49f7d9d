"""TensorFlow has one profiler per process: who gets it if several need it, and the consequences."""

import threading
from pathlib import Path
from typing import Any

import pytest
import tensorflow as tf
from tensorflow.python.eager import context

import tfvis_nb as tv
from tests.recording.work import labels, squared
from tests.support.texts import raises_id
from tfvis_nb.recording.profiler import lock, profiles
from tfvis_nb.texts import Text, id_of

pytestmark = pytest.mark.tensorflow

v1 = tf.compat.v1


def test_sessions_alone_leave_the_profiler_alone(session: Any, tmp_path: Path) -> None:
    with tv.trace(mode="session") as t:
        tf.profiler.experimental.start(str(tmp_path))
        squared(tf.ones((4, 4)))
        tf.profiler.experimental.stop()
        session.run("loss:0")
    assert t.profiles == []
    assert len(list(tmp_path.rglob("*.xplane.pb"))) == 1
    with (
        raises_id(tv.EmptyTraceError, "nothing_recorded", reason=Text("no_session_ran")),
        tv.trace(mode="session"),
    ):
        squared(tf.ones((4, 4)))


def test_a_profiler_that_is_already_active_is_left_alone(tmp_path: Path, session: Any) -> None:
    tf.profiler.experimental.start(str(tmp_path))
    try:
        with tv.trace() as t:
            squared(tf.ones((4, 4)))
            session.run("loss:0")
    finally:
        tf.profiler.experimental.stop()
    assert len(list(tmp_path.rglob("*.xplane.pb"))) == 1
    assert labels(t) == ["loss"]
    assert any(id_of(note) == "profiler_taken" for note in t.notes)


def test_recording_begins_when_the_other_profiler_has_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(profiles, "RETRY_S", 0.0)
    tf.profiler.experimental.start(str(tmp_path))
    with tv.trace() as t:
        tf.ones((4, 4))
        tf.profiler.experimental.stop()
        squared(tf.ones((4, 4)))
    assert "square" in set(t.events["name"])


def test_the_codes_own_profiler_gets_its_way_and_nothing_is_lost(tmp_path: Path) -> None:
    first, second, third = (tf.ones((side, side)) for side in (2, 3, 4))

    named = tf.function(lambda x: tf.matmul(x, x, name=f"side{x.shape[0]}"))
    for each in (first, second, third):
        named(each)
    with tv.trace() as t:
        named(first)
        with tf.profiler.experimental.Profile(str(tmp_path)):
            named(second)
        named(third)
    assert len(list(tmp_path.rglob("*.xplane.pb"))) == 1
    ops = t.events[t.events["kind"] == "op"]
    assert [name for name in ops["name"] if name.startswith("side")] == ["side2", "side3", "side4"]
    assert len(t.profiles) == 3
    assert len(labels(t)) == 3
    assert any(id_of(note) == "profile_of_program" for note in t.notes)


def test_a_users_unsaved_profile_is_a_gap(tmp_path: Path) -> None:
    with tv.trace() as t:
        tf.profiler.experimental.start(str(tmp_path))
        squared(tf.ones((4, 4)))
        tf.profiler.experimental.stop(save=False)
        squared(tf.ones((4, 4)))
    assert (t.events["name"] == "square").sum() == 1
    assert any(id_of(note) == "profile_of_program_lost" for note in t.notes)


def test_a_profile_of_the_codes_own_that_outlasts_the_block(tmp_path: Path) -> None:
    with tv.trace() as t:
        squared(tf.ones((4, 4)))
        tf.profiler.experimental.start(str(tmp_path))
    squared(tf.ones((4, 4)))
    tf.profiler.experimental.stop()
    assert (t.events["name"] == "square").sum() == 1
    assert len(list(tmp_path.rglob("*.xplane.pb"))) == 1


@pytest.mark.usefixtures("accelerated")
def test_full_traces_and_the_profile_keep_out_of_each_others_way(
    session: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(profiles, "PATIENCE_S", 60.0)  # however slow the machine is
    monkeypatch.setattr(lock, "LONGEST_WAIT_S", 60.0)

    def sessions() -> None:
        results.extend(session.run("loss:0") for _ in range(20))

    def functions() -> None:
        results.extend(float(squared(ones)) for _ in range(20))

    results: list[float] = []
    ones = tf.ones((2, 2))
    squared(ones)
    with tv.trace() as t:
        session.run("loss:0")
        threads = [threading.Thread(target=work) for work in (sessions, functions, sessions)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        session.run("loss:0")
    assert sorted(set(results)) == [8, 32]
    assert len(results) == 60
    assert labels(t).count("loss") == 42
    ops = t.events[t.events["kind"] == "op"]
    assert (ops["name"] == "square").sum() == 20
    assert (ops["name"] == "product").sum() == 42
    assert any(id_of(note) == "runs_beside_profile" for note in t.notes)
    assert not any(id_of(note) == "runs_without_gpu_rows" for note in t.notes)


@pytest.mark.usefixtures("accelerated")
def test_a_session_run_that_waits_for_eager_code_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(profiles, "PATIENCE_S", 0.05)
    with tf.Graph().as_default() as graph:
        tf.py_function(lambda: tf.ones(()) + 1, [], tf.float32, name="eager")
    session = v1.Session(graph=graph)
    with tv.trace() as t:
        assert session.run("eager:0") == 2
    assert labels(t) == ["eager"]
    assert any(id_of(note) == "profiler_held_by_run" for note in t.notes)
    session.close()


def test_the_graphs_that_the_code_collects_itself_stay_its_own() -> None:
    tf.summary.trace_on(graph=True)
    try:
        with tv.trace() as t:
            squared(tf.ones((6, 6)))
        assert not any(t.graphs)
        assert len(context.context().export_run_metadata().function_graphs) > 0
    finally:
        tf.summary.trace_off()
