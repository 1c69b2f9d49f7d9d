"""Runs and batches of a session that run out of memory: kept data, traced or not."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

import tfvis_nb as tv
from tests.support.texts import figures_of, raises_id
from tfvis_nb.display.monitor.trace_files import export_trace
from tfvis_nb.recording.profiler import keras_phases

pytestmark = pytest.mark.tensorflow

tf1 = tf.compat.v1
EDGE = 1 << 21
"""A square matrix with this edge, of float32, takes 16 TiB."""
ASKED = EDGE * EDGE * 4
LINES = Path(__file__).read_text(encoding="utf-8").splitlines()


class Wide(keras.layers.Layer):  # type: ignore[misc] # keras has no types
    """Asks for too much memory in its third batch."""

    def __init__(self) -> None:
        super().__init__()
        self.calls = tf.Variable(0, trainable=False)

    def call(self, values: Any) -> Any:
        edge = tf.where(self.calls.assign_add(1) > 2, EDGE, 4)
        column = tf.ones([edge, 1])
        return values + tf.reduce_mean(tf.matmul(column, column, transpose_b=True, name="product"))


class Survives(keras.callbacks.Callback):  # type: ignore[misc] # keras has no types
    def on_train_batch_begin(self, batch: int, logs: Any = None) -> None:  # noqa: ARG002
        if batch == 1:
            with pytest.raises(tf.errors.ResourceExhaustedError):
                tf.fill([1 << 42], 1.0)


@pytest.fixture
def recorded(tmp_path: Path) -> Iterator[tv.TraceSession]:
    recorded = tv.TraceSession(tmp_path / "run.tfvis")
    yield recorded
    recorded.close()


def fit(recorded: tv.TraceSession, *layers: Any, callbacks: Any = (), eagerly: bool = False) -> None:
    model = keras.Sequential([*layers, keras.layers.Dense(3)], name="small")
    model.compile("sgd", "mse", run_eagerly=eagerly)
    given = [recorded.keras_callback(), *callbacks]
    model.fit(np.ones((40, 4)), np.ones((40, 3)), batch_size=8, verbose=0, callbacks=given)


def line_of(code: str) -> int:
    return next(number for number, line in enumerate(LINES, 1) if code in line and "line_of" not in line)


@pytest.mark.parametrize("traced", [False, True], ids=["counted", "traced"])
def test_a_session_run(recorded: tv.TraceSession, *, traced: bool) -> None:
    with tf.Graph().as_default(), tf1.Session() as session, recorded:
        rows = tf1.placeholder(tf.float32, [None, 1])
        total = tf.reduce_sum(tf.matmul(rows, rows, transpose_b=True, name="dense/big"), name="total")
        session.run(total, {rows: np.ones([4, 1])})
        if traced:
            recorded.trace_next()
        with pytest.raises(tf.errors.ResourceExhaustedError):
            session.run(total, {rows: np.ones([EDGE, 1])})
        assert recorded.signatures[["runs", "failed", "traces"]].iloc[0].tolist() == [1, 1, 1]
        assert recorded.traces[["run", "format"]].iloc[0].tolist() == [2, "parquet"]
        session.run(total, {rows: np.ones([4, 1])})
        assert len(recorded.traces) == 1 + traced  # the request goes to the next run
    trace = recorded.read(1)
    found = trace.out_of_memory.iloc[0]
    assert (found["node"], found["op"], found["requested_bytes"]) == ("dense/big", "MatMul", ASKED)
    assert found["line"] == line_of('name="dense/big"')
    assert trace.findings["id"][0] == "out_of_memory.larger"
    assert len(figures_of(trace.notes, "ended_out_of_memory")) == 1
    with raises_id(ValueError, "no_messages_to_write"):
        export_trace(recorded, 1, "pb")
    assert export_trace(recorded, 1, "html")[1]


@pytest.mark.parametrize(
    ("traced", "eagerly"), [(False, True), (True, False)], ids=["counted, eager", "traced, graph"]
)
def test_a_batch_of_keras(recorded: tv.TraceSession, *, traced: bool, eagerly: bool) -> None:
    if traced:
        recorded.trace_all()
    with pytest.raises(tf.errors.ResourceExhaustedError):
        fit(recorded, Wide(), eagerly=eagerly)
    keras_phases.drop_abandoned()
    table = recorded.traces[recorded.traces["format"] == "parquet"]
    assert table[["run", "batch"]].values.tolist() == [[3, 2]]
    assert table["duration_ns"].iloc[0] > 0
    assert recorded.signatures["failed"].tolist() == [1]
    trace = recorded.read(int(table.index[0]))
    found = trace.out_of_memory.iloc[0]
    assert (found["op"], found["requested_bytes"]) == ("MatMul", ASKED)
    assert found["line"] == line_of('name="product"')
    assert (len(trace.events) > 0) == traced


def test_a_batch_that_survives_keeps_nothing(recorded: tv.TraceSession) -> None:
    fit(recorded, callbacks=[Survives()])
    assert recorded.traces.empty
    assert recorded.signatures[["runs", "failed"]].iloc[0].tolist() == [5, 0]
