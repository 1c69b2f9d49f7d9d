"""A batch that fails counts as failed, ends its recording, and does not keep TensorFlow's profiler."""

import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

import tfvis_nb as tv
from tests.recording.work import labels
from tests.support.conditions import wait_until
from tfvis_nb.recording.profiler import keras_phases
from tfvis_nb.texts import id_of

pytestmark = pytest.mark.tensorflow

INPUTS, TARGETS = np.ones((40, 4)), np.ones((40, 3))
BATCHES = 5


class _Fails(keras.callbacks.Callback):  # type: ignore[misc] # keras has no types
    """Fails in the third batch of the training, or elsewhere."""

    def __init__(self, at: str = "batch") -> None:
        super().__init__()
        self.at = at

    def on_train_batch_begin(self, batch: int, logs: Any = None) -> None:  # noqa: ARG002
        self._fail("batch" if batch == 2 else "")

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:  # noqa: ARG002
        self._fail("epoch")

    def on_test_batch_begin(self, batch: int, logs: Any = None) -> None:  # noqa: ARG002
        self._fail("validation")

    def _fail(self, at: str) -> None:
        if at == self.at:
            raise KeyboardInterrupt


def _fit(*callbacks: Any, **options: Any) -> None:
    model = keras.Sequential([keras.layers.Dense(3)], name="small")
    model.compile("sgd", "mse")
    model.fit(INPUTS, TARGETS, batch_size=8, verbose=0, callbacks=list(callbacks), **options)


def _fit_that_fails(recorded: tv.TraceSession, at: str = "batch", **options: Any) -> None:
    with pytest.raises(KeyboardInterrupt):
        _fit(recorded.keras_callback(), _Fails(at), **options)


@pytest.fixture
def recorded(tmp_path: Path) -> Iterator[tv.TraceSession]:
    recorded = tv.TraceSession(tmp_path / "run.tfvis", keep=None)
    yield recorded
    recorded.close()


@pytest.fixture
def unwatched(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody looks of himself whether phases are under way."""
    # A thread of an earlier test that ends from here on would leave the undone attribute wrong.
    wait_until(lambda: not keras_phases._watching)
    monkeypatch.setattr(keras_phases, "_watching", True)


def counted(session: tv.SavedSession) -> dict[str, tuple[int, int]]:
    table = session.signatures
    runs, failed = table["runs"].tolist(), table["failed"].tolist()
    return dict(zip(table["kind"].tolist(), zip(runs, failed, strict=True), strict=True))


@pytest.mark.usefixtures("unwatched")
def test_the_next_fit_and_later_runs_are_traced(recorded: tv.TraceSession) -> None:
    recorded.trace_all()
    _fit_that_fails(recorded)
    before = len(recorded.traces)
    _fit(recorded.keras_callback())
    assert len(recorded.traces) == before + BATCHES
    assert counted(recorded) == {"train": (2 + BATCHES, 1)}
    assert not recorded.recording
    recorded.close()
    with tv.trace() as trace:
        _fit()
    assert len(trace.events)


@pytest.mark.usefixtures("unwatched")
def test_the_next_recording_gets_the_profiler(recorded: tv.TraceSession) -> None:
    recorded.trace_all()
    _fit_that_fails(recorded)
    with tv.trace() as trace:
        _fit()
    assert labels(trace) == [f"train {batch}" for batch in range(BATCHES)]
    ids = [id_of(note) for note in trace.notes]
    assert not [key for key in ids if key.startswith("profiler_") or "gpu_rows" in key]
    assert counted(recorded) == {"train": (2, 1)}
    assert not recorded.recording
    assert recorded.processes["end"].notna().tolist() == [True]


@pytest.mark.usefixtures("unwatched", "accelerated")
def test_a_session_run_right_after_it_has_the_profiler(recorded: tv.TraceSession, session: Any) -> None:
    with recorded:
        recorded.trace_all()
        _fit_that_fails(recorded)
        session.run("loss:0")
    trace = recorded.read(recorded.traces.index[-1])
    assert labels(trace) == ["loss"]
    assert not any(id_of(note).endswith("without_gpu_rows") for note in trace.notes)


@pytest.mark.usefixtures("unwatched")
def test_a_closed_session_leaves_the_profiler(recorded: tv.TraceSession) -> None:
    recorded.trace_all()
    _fit_that_fails(recorded)
    recorded.close()
    assert counted(recorded) == {"train": (2, 1)}
    with tv.trace() as trace:
        _fit()
    assert len(trace.events)


@pytest.mark.usefixtures("unwatched")
def test_a_session_closed_within_a_batch_frees_the_profiler(recorded: tv.TraceSession) -> None:
    class Closes(keras.callbacks.Callback):  # type: ignore[misc] # keras has no types
        def on_train_batch_begin(self, batch: int, logs: Any = None) -> None:  # noqa: ARG002
            if batch == 2:
                recorded.close()
                tf.profiler.experimental.start(str(recorded.path.parent / "profile"))
                tf.profiler.experimental.stop()

    recorded.trace_all()
    _fit(recorded.keras_callback(), Closes())
    assert counted(recorded) == {"train": (2, 0)}


@pytest.mark.parametrize("traced", [False, True], ids=["counted", "traced"])
def test_its_recording_ends_though_nothing_else_runs(
    recorded: tv.TraceSession, monkeypatch: pytest.MonkeyPatch, traced: bool
) -> None:
    monkeypatch.setattr(keras_phases, "LOOK_S", 0.01)
    if traced:
        recorded.trace_all()
    _fit_that_fails(recorded)
    with tv.open_session(recorded.path) as watched:
        wait_until(lambda: watched.processes["end"].notna().all())
        assert counted(watched) == {"train": (2, 1)}
    assert not recorded.recording
    wait_until(lambda: not any(thread.name == "tfvis_nb phases" for thread in threading.enumerate()))


@pytest.mark.parametrize(
    ("at", "expected"),
    [
        ("epoch", {"train": (BATCHES, 0), "test": (BATCHES, 0)}),
        ("validation", {"train": (BATCHES, 0), "test": (0, 1)}),
    ],
)
def test_only_the_batch_under_way_has_failed(
    recorded: tv.TraceSession, at: str, expected: dict[str, tuple[int, int]]
) -> None:
    callback = recorded.keras_callback()
    with pytest.raises(KeyboardInterrupt):
        _fit(callback, _Fails(at), validation_data=(INPUTS, TARGETS))
    keras_phases.drop_abandoned()
    assert not recorded.recording
    assert counted(recorded) == expected
    _fit(callback)  # of a phase less
    assert not recorded.recording
    assert counted(recorded) == {**expected, "train": (2 * BATCHES, 0)}


def test_a_batch_for_which_there_was_no_data_is_none(recorded: tv.TraceSession) -> None:
    def batches() -> Iterator[tuple[Any, Any]]:
        for _ in range(3):
            yield INPUTS[:8], TARGETS[:8]

    model = keras.Sequential([keras.layers.Dense(3)])
    model.compile("sgd", "mse")
    signature = (tf.TensorSpec((8, 4)), tf.TensorSpec((8, 3)))
    data = tf.data.Dataset.from_generator(batches, output_signature=signature)
    recorded.trace_all()
    model.fit(data, epochs=2, verbose=0, callbacks=[recorded.keras_callback()])
    assert counted(recorded) == {"train": (6, 0)}
    assert recorded.traces["run"].tolist() == [1, 2, 3, 4, 5, 6]


def test_a_custom_loop_continues_after_its_caller_returned(recorded: tv.TraceSession) -> None:
    model = keras.Sequential([keras.layers.Dense(3)], name="small")

    def begun() -> Any:
        callbacks = keras.callbacks.CallbackList([recorded.keras_callback()], model=model)
        callbacks.on_train_begin()
        return callbacks

    callbacks = begun()
    for batch in range(3):
        keras_phases.drop_abandoned()
        callbacks.on_train_batch_begin(batch)
        callbacks.on_train_batch_end(batch)
    callbacks.on_train_batch_begin(3)  # which fails
    begun().on_train_end()
    assert not recorded.recording
    assert counted(recorded) == {"train": (3, 1)}


def test_a_forked_process_has_no_batch_under_way(recorded: tv.TraceSession) -> None:
    class Forks(keras.callbacks.Callback):  # type: ignore[misc] # keras has no types
        def on_train_batch_begin(self, batch: int, logs: Any = None) -> None:  # noqa: ARG002
            if batch == 2:
                child = os.fork()
                if child == 0:
                    os._exit(len(keras_phases._all))
                ends.append(os.waitpid(child, 0)[1])

    ends: list[int] = []
    _fit(recorded.keras_callback(), Forks())
    assert ends == [0]
    assert counted(recorded) == {"train": (BATCHES, 0)}


def test_a_failing_run_ends_its_sessions_recording(recorded: tv.TraceSession) -> None:
    v1: Any = tf.compat.v1
    with tf.Graph().as_default():
        v1.train.get_or_create_global_step()
        fails = tf.debugging.check_numerics(tf.constant(float("nan")), "no number", name="fails")
        for failed in (1, 2):
            with pytest.raises(tf.errors.InvalidArgumentError, match="no number"):
                _run_monitored(recorded, fails)
            assert not recorded.recording
            assert recorded.signatures.set_index("label")["failed"]["fails"] == failed
    assert recorded.processes["end"].notna().tolist() == [True, True]


def _run_monitored(recorded: tv.TraceSession, fetched: Any) -> None:
    with tf.compat.v1.train.MonitoredTrainingSession(hooks=[recorded.hook]) as session:
        session.run(fetched)


def test_a_monitored_session_that_is_made_anew_is_recorded_on(recorded: tv.TraceSession) -> None:
    v1: Any = tf.compat.v1
    made: list[Any] = []
    aborted = [tf.errors.AbortedError(None, None, "a worker was lost")]

    class Loses(v1.train.SessionRunHook):  # type: ignore[misc] # tensorflow has no types
        def after_create_session(self, session: Any, coord: Any) -> None:  # noqa: ARG002
            made.append(session)

        def before_run(self, context: Any) -> None:  # noqa: ARG002
            if aborted and recorded.recording and len(recorded.traces):
                raise aborted.pop()

    recorded.trace_all()
    with tf.Graph().as_default():
        step = v1.train.get_or_create_global_step()
        train = tf.group(step.assign_add(1), name="train")
        with v1.train.MonitoredTrainingSession(hooks=[Loses(), recorded.hook]) as session:
            for _ in range(3):
                session.run(train)
    assert len(made) == 2
    assert int(recorded.signatures.set_index("label")["runs"]["train"]) == 3
    assert not recorded.recording


def test_batches_of_the_only_model_are_found_by_their_kind(recorded: tv.TraceSession) -> None:
    with recorded:
        _fit(recorded.keras_callback())
        recorded.trace_next("train")
        assert recorded.signatures["requested"].tolist() == [1]


def test_a_trace_is_called_by_the_number_of_its_run(recorded: tv.TraceSession) -> None:
    recorded.trace_every(3)
    _fit(recorded.keras_callback(), epochs=2)
    assert recorded.traces["run"].tolist() == [3, 6, 9]
    for trace, run in recorded.traces["run"].items():
        read = recorded.read(int(str(trace)))
        assert labels(read) == [f"train {run}"]
        assert read.title == f"train small, run {run}"
