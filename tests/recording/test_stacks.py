"""The Python stacks of recorded ops."""

import importlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

import tfvis_nb as tv
from tests.support.attributed import ATTRIBUTED, by_line, compiling, function, of_line, part_with_lines
from tfvis_nb.analysis import op_statistics
from tfvis_nb.core.stacks import event_stacks
from tfvis_nb.texts import id_of

pytestmark = pytest.mark.tensorflow

v1 = tf.compat.v1


TEXT = Path(__file__).read_text(encoding="utf-8").splitlines()


@pytest.fixture
def running() -> Iterator[Any]:
    """A session of the default graph, which the test adds to."""
    with tf.Graph().as_default(), v1.Session() as session:
        yield session


def test_a_training_loop_of_sessions(running: Any) -> None:
    x = v1.placeholder(tf.float32, [64, 64], name="x")
    w = v1.get_variable("w", [64, 64])
    hidden = tf.matmul(x, w, name="hidden")  # the product
    loss = tf.reduce_sum(tf.nn.relu(hidden))  # the loss
    train = v1.train.AdamOptimizer(0.1).minimize(loss)
    running.run(v1.global_variables_initializer())
    with tv.trace() as t:
        for _ in range(3):
            running.run([train, loss], {x: np.ones((64, 64), "float32")})
    ops = by_line(t)
    assert {("MatMul", "forward"), ("MatMul", "backward")} <= of_line(ops, "# the product")
    assert ("ReluGrad", "backward") in of_line(ops, "# the loss")
    assert "optimizer" in {phase for _, phase in of_line(ops, "AdamOptimizer")}
    assert part_with_lines(ops) >= ATTRIBUTED


def test_loops_and_branches_of_sessions(running: Any) -> None:
    def body(i: Any, value: Any) -> Any:
        grown = tf.matmul(value, value)  # in the loop
        less = tf.cond(tf.reduce_sum(grown) > 1, lambda: tf.tanh(grown), lambda: grown)  # a branch
        return i + 1, less

    start = tf.ones([8, 8])
    looped = tf.while_loop(lambda i, _: i < 3, body, [0, start])[1]
    gradient = tf.gradients(looped, start)
    with tv.trace() as t:
        running.run([looped, gradient])
    ops = by_line(t)
    assert set(ops.loc[ops["line"] == "", "name"]) <= {"_SOURCE"}
    assert ("MatMul", "forward") in of_line(ops, "# in the loop")
    assert ("Tanh", "forward") in of_line(ops, "# a branch")


def test_functions_in_functions_with_loops_and_gradients() -> None:
    @function
    def inner(value: Any) -> Any:
        for _ in tf.range(3):
            value = tf.matmul(value, value) * 0.01  # in the loop
            if tf.reduce_sum(value) > 0:
                value = tf.nn.tanh(value)  # a branch
        return value

    @function
    def outer(value: Any) -> Any:
        return tf.map_fn(lambda one: tf.matmul(one, one), inner(value)[None])  # a lambda

    @function
    def step(value: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(value)
            loss = outer(value)
        return loss, tape.gradient(loss, value)

    value = tf.ones([100, 100])
    with tv.trace() as t:
        for _ in range(3):
            step(value)
    ops = by_line(t)
    assert {("MatMul", "forward"), ("MatMul", "backward")} <= of_line(ops, "# in the loop")
    assert ("Tanh", "forward") in of_line(ops, "# a branch")
    assert {("MatMul", "forward"), ("MatMul", "backward")} <= of_line(ops, "# a lambda")
    assert part_with_lines(ops) >= ATTRIBUTED


def test_equal_names_in_two_functions() -> None:
    @function
    def one(value: Any) -> Any:
        return tf.matmul(value, value)  # of one

    @function
    def other(value: Any) -> Any:
        return tf.matmul(value, value, transpose_b=True)  # of the other

    value = tf.ones([30, 30])
    with tv.trace() as t:
        for called in (one, other, other, one, other):
            called(value)
    ops = by_line(t)
    ops = ops[ops["op"] == "MatMul"]
    marks = ["# of one", "# of the other", "# of the other", "# of one", "# of the other"]
    assert [line.split("  ")[-1] for line in ops["line"]] == marks


class Wide(keras.layers.Layer):  # type: ignore[misc] # keras has no types
    """A layer of the user's."""

    def build(self, shape: Any) -> None:
        self.kernel = self.add_weight(shape=(shape[-1], 64), name="kernel")

    def call(self, value: Any) -> Any:
        return tf.nn.relu(tf.matmul(value, self.kernel))  # the layer


def test_keras_fit() -> None:
    model = keras.Sequential([Wide(), keras.layers.Dense(4)])
    model.compile("adam", "mse")
    x, y = np.ones((256, 64), "float32"), np.ones((256, 4), "float32")
    with tv.trace() as t:
        model.fit(x, y, verbose=0)  # fits
    ops = by_line(t)
    assert {("MatMul", "forward"), ("MatMul", "backward"), ("ReluGrad", "backward")} <= of_line(
        ops, "# the layer"
    )
    assert {"forward", "backward", "optimizer"} <= {phase for _, phase in of_line(ops, "# fits")}
    assert part_with_lines(ops) >= ATTRIBUTED


def test_the_dearest_line_is_the_first() -> None:
    @function
    def step(value: Any) -> Any:
        small = tf.reduce_sum(value)
        wide = tf.matmul(tf.tile(value, [1, 4]), tf.tile(value, [4, 1]))  # four times too wide
        return small + tf.reduce_sum(wide)

    value = tf.ones([700, 700])
    step(value)
    # Samples give lines time in which no op runs, such as a pause of the machine.
    with tv.trace(sampling=False) as t:
        for _ in range(3):
            step(value)
    assert "# four times too wide" in t.source_lines["text"][0]
    ops = op_statistics(t)
    assert t.source_lines["host_ns"].sum() == ops.loc[ops["side"] == "host", "self_ns"].sum()


def test_a_compiled_function() -> None:
    @compiling
    def compiled(value: Any) -> Any:
        return tf.reduce_sum(tf.matmul(value, value))

    value = tf.ones([300, 300])
    with tv.trace() as t:
        for _ in range(2):
            compiled(value)  # the call
    assert part_with_lines(by_line(t)) >= ATTRIBUTED


def test_eager_ops_have_the_lines_of_their_calls() -> None:
    value = tf.ones([50, 50])
    with tv.trace() as t:
        product = tf.matmul(value, value)  # first
        tf.nn.relu(product)  # second
    ops = by_line(t)
    assert {op for op, _ in of_line(ops, "# first")} == {"MatMul"}
    assert {op for op, _ in of_line(ops, "# second")} == {"Relu"}


def test_frames_are_of_the_user_and_lines_of_the_file(running: Any) -> None:
    total = tf.reduce_sum(tf.random.uniform([4]), name="total")
    with tv.trace() as t:
        running.run(total)
    assert t.stacks is not None
    event = int(t.events.index[t.events["name"] == "total"][0])
    stack = t.stacks.frames_of(int(event_stacks(t)[event]))
    own = next(frame for frame in stack if frame.own)
    assert own.function == "test_frames_are_of_the_user_and_lines_of_the_file"
    assert TEXT[own.line - 1].strip() == own.text
    assert Path(own.file).name == Path(__file__).name
    assert stack[0].own is False
    files = dict(zip(t.stacks.files["name"].to_pylist(), t.stacks.files["text"].to_pylist(), strict=True))
    assert files[own.file] == Path(__file__).read_text(encoding="utf-8")
    assert files[stack[0].file] is None


def test_packages_in_a_target_folder_are_not_your_code(
    running: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "targeted").mkdir()
    body = "import tensorflow as tf\n\ndef total(x):\n    return tf.reduce_sum(x, name='total')\n"
    (tmp_path / "targeted" / "__init__.py").write_text(body)
    (tmp_path / "targeted-1.0.dist-info").mkdir()
    (tmp_path / "targeted-1.0.dist-info" / "RECORD").write_text("targeted/__init__.py,,\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    total = importlib.import_module("targeted").total(tf.random.uniform([4]))  # the call
    with tv.trace() as t:
        running.run(total)
    assert "Sum" in {op for op, _ in of_line(by_line(t), "# the call")}


def test_without_source(running: Any) -> None:
    total = tf.reduce_sum(tf.random.uniform([4]))
    with tv.trace(source=False) as t:
        running.run(total)
        with tf.init_scope():
            tf.function(lambda: tf.ones([3]))()
    assert t.stacks is None


def test_what_goes_wrong_is_a_note(running: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    total = tf.reduce_sum(tf.random.uniform([4]))

    def broken(*_: Any) -> None:
        raise LookupError

    monkeypatch.setattr("tfvis_nb.recording.stacks.sources.op_stacks", broken)
    with tv.trace() as t:
        running.run(total)
    assert "stacks_failed" in map(id_of, t.notes)
    assert len(t.events)


def test_stacks_outlive_a_file(running: Any, tmp_path: Path) -> None:
    total = tf.reduce_sum(tf.random.uniform([4]))
    with tv.trace() as t:
        running.run(total)
        with tf.init_scope():
            tf.matmul(tf.ones([2, 2]), tf.ones([2, 2]))
    again = tv.read_trace(t.to_parquet(tmp_path / "step.parquet"))
    assert again.stacks == t.stacks
    assert event_stacks(again).tolist() == event_stacks(t).tolist()
    assert (event_stacks(t) >= 0).sum() > 1
    assert again.stacks is not None
    files = again.stacks.files["name"].to_pylist()
    assert len(files) == len({*files})
