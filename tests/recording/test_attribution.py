"""At least 95 % of the time of ops is attributed to lines of code, no matter what runs them."""

import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.core.protobuf import config_pb2
from tensorflow.python.autograph.impl import api

import tfvis_nb as tv
from tests.support.attributed import ATTRIBUTED, by_line, compiling, function, of_line, part_with_lines
from tests.support.with_tensorflow import run
from tfvis_nb.core.stacks import event_stacks

pytestmark = pytest.mark.tensorflow

v1 = tf.compat.v1


def test_monitored_sessions(tmp_path: Path) -> None:
    with tf.Graph().as_default():
        x = tf.random.uniform([64, 64])
        w = v1.get_variable("w", [64, 64])
        steps = v1.train.get_or_create_global_step()
        loss = tf.reduce_mean(tf.nn.relu(tf.matmul(x, w)))  # the loss
        train = v1.train.AdamOptimizer().minimize(loss, global_step=steps)
        v1.summary.scalar("loss", loss)
        hooks = [v1.train.StopAtStepHook(4)]
        with (
            tv.trace() as t,
            v1.train.MonitoredTrainingSession(
                checkpoint_dir=str(tmp_path / "model"),
                hooks=hooks,
                save_checkpoint_steps=2,
                save_summaries_steps=2,
            ) as session,
        ):
            while not session.should_stop():
                session.run(train)
    ops = by_line(t)
    assert ("MatMul", "backward") in of_line(ops, "# the loss")
    assert part_with_lines(ops) >= ATTRIBUTED


def test_callables_of_sessions() -> None:
    with tf.Graph().as_default(), v1.Session() as session:
        product = tf.matmul(tf.random.uniform([300, 300]), tf.ones([300, 300]))  # the product
        call = session._make_callable_from_options(config_pb2.CallableOptions(fetch=[product.name]))
        with tv.trace(mode="profiler") as t:
            for _ in range(3):
                call()
    ops = by_line(t)
    assert "MatMul" in {op for op, _ in of_line(ops, "# the product")}
    assert part_with_lines(ops) >= ATTRIBUTED


@pytest.mark.parametrize("before", [True, False], ids=["traced before", "traced inside"])
def test_functions_in_functions_with_branches(before: bool) -> None:
    @function
    def leaf(value: Any) -> Any:
        return tf.matmul(value, value) * 0.01  # the leaf

    @function
    def looped(value: Any, count: Any) -> Any:
        at = tf.constant(0)
        while at < count:
            value = leaf(value) if tf.reduce_sum(value) > 0 else tf.tanh(leaf(value))
            at += 1
        return value

    @function
    def top(value: Any, count: Any) -> Any:
        return tf.switch_case(count % 2, [lambda: looped(value, count), lambda: looped(value, count + 1)])

    value, count = tf.ones([200, 200]), tf.constant(3)
    if before:
        top(value, count)
    with tv.trace() as t:
        for _ in range(2):
            top(value, count)
    ops = by_line(t)
    assert ("MatMul", "forward") in of_line(ops, "# the leaf")
    assert part_with_lines(ops) >= ATTRIBUTED


def test_what_xla_compiled_inside_a_function() -> None:
    @compiling
    def compiled(value: Any) -> Any:
        product = tf.matmul(value, value)  # the product
        return tf.sort(product)  # the order

    @function
    def outer(value: Any) -> Any:
        return tf.reduce_sum(compiled(value))

    value = tf.random.uniform([300, 300])
    outer(value)
    with tv.trace() as t:
        for _ in range(2):
            outer(value)
    ops = by_line(t)
    assert of_line(ops, "# the product")
    assert of_line(ops, "# the order")
    assert part_with_lines(ops) >= ATTRIBUTED
    assert "the order" in t.source_lines["text"][0]


def test_functions_of_an_input_pipeline_that_was_there_before() -> None:
    def sums(_: Any) -> Any:
        return tf.reduce_sum(tf.random.uniform([200, 200]))  # the pipeline

    iterator = iter(tf.data.Dataset.range(100).map(sums).batch(10))
    next(iterator)
    with tv.trace() as t:
        for _ in range(3):
            next(iterator)
    ops = by_line(t)
    assert "RandomUniform" in {op for op, _ in of_line(ops, "# the pipeline")}
    assert part_with_lines(ops) >= ATTRIBUTED


def test_values_that_become_tensors() -> None:
    value = tf.ones([50, 50])
    with tv.trace() as t:
        for at in range(20):
            value = value + np.float32(at)  # a sum
    ops = by_line(t)
    assert {"_EagerConst", "AddV2"} <= {op for op, _ in of_line(ops, "# a sum")}
    calls = t.events[t.events["name"] == "tf.constant"].index
    assert len(calls) == (event_stacks(t)[calls] >= 0).sum() > 0
    assert part_with_lines(ops) >= ATTRIBUTED


@pytest.mark.parametrize("known", [True, False])
def test_generated_code_in_another_thread(monkeypatch: pytest.MonkeyPatch, *, known: bool) -> None:
    def body(value: Any) -> Any:
        return tf.matmul(value, value)  # in a thread

    converted, made = tf.autograph.to_graph(body), []
    if not known:
        monkeypatch.delattr(api, "_TRANSPILER")

    def traced(value: Any) -> Any:
        graph = v1.get_default_graph()

        def inside() -> None:
            with graph.as_default():
                made.append(converted(value))

        thread = threading.Thread(target=inside)
        thread.start()
        thread.join()
        return made.pop()

    step = tf.function(traced, autograph=False)
    with tv.trace() as t:
        step(tf.ones([100, 100]))
    ops = by_line(t)
    assert (("MatMul", "forward") in of_line(ops, "# in a thread")) == known
    # The line of generated code is better than none.
    assert part_with_lines(ops) >= ATTRIBUTED


MIRRORED = """
import keras, tensorflow as tf, tfvis_nb as tv
from tests.support.attributed import by_line, of_line, part_with_lines
(cpu,) = tf.config.list_physical_devices("CPU")
tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
with strategy.scope():
    weights = tf.Variable(tf.random.normal([256, 256]))
    optimizer = keras.optimizers.SGD(0.1)

def replica(x):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.nn.relu(tf.matmul(x, weights))) # the loss
    optimizer.apply_gradients([(tape.gradient(loss, weights), weights)])
    return loss

@tf.function
def train(x):
    return strategy.reduce("SUM", strategy.run(replica, args=(x,)), axis=None)

batch = tf.ones([256, 256])
train(batch)
with tv.trace() as t:
    for _ in range(2):
        train(batch)
ops = by_line(t)
print(sorted({phase for op, phase in of_line(ops, "# the loss") if op == "MatMul"}))
print(part_with_lines(ops))
"""


@pytest.mark.thorough
def test_replicas_of_a_mirrored_strategy(tmp_path: Path) -> None:
    script = tmp_path / "mirrored.py"
    script.write_text(MIRRORED, encoding="utf-8")
    printed, _ = run("-c", f"import runpy; runpy.run_path({str(script)!r})", folder=tmp_path)
    phases, part = printed.splitlines()
    assert phases == "['backward', 'forward']"
    assert float(part) >= ATTRIBUTED


def test_a_profile_of_jax(data: Path) -> None:
    t = tv.read_trace(data / "cpu_jax.xplane.pb")
    assert t.stacks is not None
    known = np.append(t.stacks.own_frame(), -1)[event_stacks(t)] >= 0
    ops = (t.events["kind"] == "op").to_numpy()
    duration = t.events["duration_ns"].to_numpy()
    assert duration[ops & known].sum() >= ATTRIBUTED * duration[ops].sum() > 0
