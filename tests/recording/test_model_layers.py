"""The layers of live models in recordings."""

import gc
import weakref
from pathlib import Path
from typing import Any

import keras
import numpy as np
import pandas as pd
import pytest
import tensorflow as tf

import tfvis_nb as tv
from tfvis_nb.analysis import layers
from tfvis_nb.recording.model_layers import live_layers

pytestmark = pytest.mark.tensorflow

X, Y = np.ones((8, 6), "float32"), np.ones((8, 1), "float32")


@pytest.fixture(autouse=True)
def _no_earlier_models() -> None:
    keras.backend.clear_session()
    gc.collect()


class Block(keras.layers.Layer):  # type: ignore[misc]
    """A layer with weights of its own and two layers in it."""

    def __init__(self) -> None:
        super().__init__()
        self.up, self.norm = keras.layers.Dense(6, activation="relu"), keras.layers.LayerNormalization()
        self.scale = self.add_weight(shape=(6,))

    def call(self, x: Any) -> Any:
        return self.norm(self.up(x)) * self.scale


class Net(keras.Model):  # type: ignore[misc]
    def __init__(self) -> None:
        super().__init__()
        self.blocks, self.head = [Block(), Block()], keras.layers.Dense(1)

    def call(self, x: Any) -> Any:
        for block in self.blocks:
            x = block(x)
        return self.head(x)


def functional() -> Any:
    inside = keras.Input((6,))
    inner = keras.Model(inside, keras.layers.Dense(6)(inside), name="inner")
    start = keras.Input((6,))
    return keras.Model(start, keras.layers.Dense(1)(keras.layers.BatchNormalization()(inner(start))))


def sequential() -> Any:
    return keras.Sequential([keras.layers.Dense(6, activation="relu"), keras.layers.Dense(1)])


def recorded(model: Any) -> tv.Trace:
    model.compile("sgd", "mse")
    with tv.trace() as trace:
        model.fit(X, Y, batch_size=4, verbose=0)
    return trace


def described(trace: tv.Trace) -> dict[str, tuple[str, int]]:
    """Class and parameter bytes of each layer of a live model; the same in each phase."""
    table = layers(trace)
    known = table[table["class"] != ""]
    found = {
        str(layer): set(zip(rows["class"], rows["parameter_bytes"], strict=True))
        for layer, rows in known.groupby("layer")
    }
    assert all(len(one) == 1 for one in found.values())
    return {layer: one.pop() for layer, one in found.items()}


def weights_of(layer: Any) -> int:
    return sum(int(np.prod(weight.shape)) * 4 for weight in layer.weights)


@pytest.mark.parametrize(
    "make", [Net, *(pytest.param(make, marks=pytest.mark.thorough) for make in (functional, sequential))]
)
def test_layers_have_their_class_and_the_bytes_of_their_weights(make: Any, tmp_path: Path) -> None:
    model = make()
    trace = recorded(model)
    found = described(trace)
    expected: dict[str, tuple[str, int]] = {}

    def walk(layer: Any, path: str) -> int:
        inner = sum(walk(part, f"{path}/{part.name}") for part in layer._flatten_layers(False, False))
        expected[path] = (type(layer).__name__, weights_of(layer) - inner)
        return weights_of(layer)

    assert walk(model, model.name) > 0
    assert {layer: facts for layer, facts in expected.items() if facts[1]}.items() <= found.items()
    assert found.items() <= expected.items()
    assert sum(size for _, size in found.values()) == weights_of(model)
    again = tv.read_trace(trace.to_parquet(tmp_path / "a.parquet"))
    pd.testing.assert_frame_equal(layers(again), layers(trace))
    both = tv.read_trace([trace, tv.read_trace(tmp_path / "a.parquet")])
    assert described(both) == found
    of_scopes = layers(tv.Trace(trace.events))
    assert layers(trace)[["device_ns", "host_ns"]].sum().equals(of_scopes[["device_ns", "host_ns"]].sum())


def test_scopes_named_like_an_idle_model_are_not_its_layers() -> None:
    idle = keras.Sequential([keras.Input((6,)), keras.layers.Dense(6, name="same")])
    model = keras.Sequential([keras.Input((6,)), keras.layers.Dense(1)])

    @tf.function  # type: ignore[untyped-decorator] # tensorflow has no types
    def step(x: Any) -> Any:
        with tf.name_scope("same"):
            x = tf.tanh(x)
        return model(x)

    with tv.trace() as trace:
        step(X)
    assert idle.weights
    assert {layer.partition("/")[0] for layer in described(trace)} == {model.name}
    assert "same" in set(layers(trace)["layer"])


def test_a_model_is_not_kept_alive() -> None:
    model = sequential()
    trace = recorded(model)
    assert described(trace)
    known = weakref.ref(model)
    keras.backend.clear_session()
    del model
    gc.collect()
    assert known() is None


def test_a_layer_that_fails_when_asked_leaves_the_others_theirs() -> None:
    class Broken(keras.layers.Dense):  # type: ignore[misc]
        @property
        def weights(self) -> Any:
            raise ZeroDivisionError

    broken, model = Broken(1), sequential()
    found = described(recorded(model))
    assert sum(size for _, size in found.values()) == weights_of(model)
    del broken
    gc.collect()


def test_modules_of_tensorflow_have_their_weights() -> None:
    class Linear(tf.Module):  # type: ignore[misc]
        def __init__(self, name: str) -> None:
            super().__init__(name)
            self.w = tf.Variable(tf.ones((4, 4)))

        @tf.Module.with_name_scope  # type: ignore[untyped-decorator]
        def __call__(self, x: Any) -> Any:
            return tf.matmul(x, self.w)

    class Mlp(tf.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__("mlp")
            self.first, self.second = Linear("one"), Linear("two")

        @tf.Module.with_name_scope  # type: ignore[untyped-decorator]
        def __call__(self, x: Any) -> Any:
            return self.second(self.first(x))

    mlp = Mlp()
    run = tf.function(mlp)
    run(tf.ones((4, 4)))
    with tv.trace() as trace:
        run(tf.ones((4, 4)))
    assert {layer: facts for layer, facts in described(trace).items() if "/" in layer} == {
        "mlp/one": ("Linear", 64),
        "mlp/two": ("Linear", 64),
    }


def test_without_keras_and_tensorflow_nothing_is_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    for name in ("keras", "tf_keras", "tensorflow"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    assert live_layers() == []
    assert "keras" not in sys.modules
