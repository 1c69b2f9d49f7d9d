"""Why functions of a running program were traced again."""

import gc
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import keras
import numpy as np
import pytest
import tensorflow as tf
from tensorflow.core.function.polymorphism import function_cache

import tfvis_nb as tv
from tests.support import xspace_oracle
from tfvis_nb.analysis import functions, retraces, why_not

pytestmark = pytest.mark.tensorflow


def function(body: Callable[..., Any], **options: Any) -> Any:
    """Return a ``tf.function``, which has no types."""
    return tf.function(body, **options)


class Pair(NamedTuple):
    """Two arguments in one."""

    left: Any
    right: Any


def changes(trace: tv.Trace, name: str) -> list[tuple[Any, ...]]:
    """Return argument, kind of change, before and after of a function, None for missing ones."""
    table = retraces(trace)
    assert not why_not(table)
    columns = table[table["name"] == name][["argument", "change", "before", "after"]]
    return [tuple(row) for row in columns.astype(object).where(columns.notna(), None).to_numpy().tolist()]


def row(trace: tv.Trace, name: str) -> dict[Any, Any]:
    table = functions(trace)
    (found,) = table[table["name"] == name].to_dict("records")
    return dict(found)


def test_each_kind_of_argument() -> None:
    def scaled(x: Any, n: Any) -> Any:
        return tf.reduce_sum(x) * tf.cast(n, x.dtype)

    traced = function(scaled)
    with tv.trace() as t:
        for n in range(1, 6):
            traced(tf.ones([3]), n)
        traced(tf.ones([4]), 1)
        traced(tf.ones([3], tf.float64), 1)
        traced(tf.ones([4]), tf.constant(1))
        traced(tf.ones([3]), 1)
    assert changes(t, "scaled") == [
        *(("n", "value", str(n), str(n + 1)) for n in range(1, 5)),
        ("x", "shape", "(3,)", "(4,)"),
        ("x", "dtype", "float32", "float64"),
        ("n", "value", "1", "int32()"),
    ]
    found = row(t, "scaled")
    assert (found["calls"], found["traces"], found["retraces"], found["compilations"]) == (9, 8, 7, 0)
    assert found["source"] == f"tests/recording/test_functions.py:{scaled.__code__.co_firstlineno}"
    assert found["nodes"] > 1
    assert 0 < found["tracing_ns"] < found["total_ns"]


@pytest.mark.parametrize("relaxed", [False, True])
def test_a_python_number_is_advised_before_the_shape(*, relaxed: bool) -> None:
    traced = function(lambda x, flag: tf.reduce_sum(x) * flag, reduce_retracing=relaxed)
    with tv.trace() as t:
        for n in range(8):
            with tf.profiler.experimental.Trace("step", step_num=n, _r=1):
                traced(tf.ones([n + 1, 3]), float(n))
    (found,) = t.findings["figures"][t.findings["id"] == "retracing"]
    assert (found["retraces"], found["argument"], found["change"]) == (7, "flag", "value")
    assert found["also"] == [{"change": "shape", "argument": "x"}]
    assert not found["relaxable"]


def test_arguments_in_containers() -> None:
    traced = function(lambda state, pair: state["a"][0] + pair.left)
    one = tf.ones([])
    with tv.trace() as t:
        traced({"a": [one]}, Pair(one, 1))
        traced({"a": [tf.ones([2])]}, Pair(one, 1))
        traced({"a": [one]}, Pair(one, 2))
        traced({"a": [one, one]}, Pair(one, 1))
    reported = changes(t, "<lambda>")
    assert reported[:2] == [("state['a'][0]", "shape", "()", "(2,)"), ("pair.right", "value", "1", "2")]
    assert [(argument, kind) for argument, kind, *_ in reported[2:]] == [("state", "structure")]


def test_other_objects_and_other_devices() -> None:
    class Thing:
        """The argument of a function."""

        number = 1

    traced = function(lambda thing, x: x + thing.number)
    second = Thing()
    with tv.trace() as t:
        traced(Thing(), tf.ones([]))
        gc.collect()
        traced(first := Thing(), tf.ones([]))
        traced(second, tf.ones([]))
        with tf.device("CPU:0"):
            traced(second, tf.ones([]))
    assert first is not second
    assert changes(t, "<lambda>")[:2] == [
        ("thing", "value", "a deleted object", "Thing object"),
        ("thing", "value", "Thing object", "Thing object"),
    ]


def test_methods_with_variables_and_functions_from_loops() -> None:
    class Model(tf.Module):  # type: ignore[misc]  # it has no types
        """A model that makes its variable when it is called."""

        variable: Any = None

        def step(self, x: Any) -> Any:
            """Scale."""
            if self.variable is None:
                self.variable = tf.Variable(2.0)
            return x * self.variable

    model = Model()
    step = function(model.step)
    with tv.trace() as t:
        step(tf.ones([2]))
        step(tf.ones([3]))
        for _ in range(3):
            function(lambda x: x + 1)(tf.ones([2]))
    assert changes(t, "step") == [("x", "shape", "(2,)", "(3,)")]
    assert row(t, "step")["retraces"] == 1
    assert changes(t, "<lambda>") == [("", "function", None, None)] * 2


def test_functions_within_functions_and_compiled_ones() -> None:
    inner = function(lambda x: x * 2)
    outer = function(lambda x: inner(x) + 1)
    compiled = function(lambda x: tf.tanh(x) + 1, jit_compile=True)
    with tv.trace() as t:
        outer(tf.ones([3]))
        outer(tf.ones([4]))
        compiled(tf.ones([3]))
        compiled(tf.ones([3]))
    # All of them have the same name.
    found = row(t, "<lambda>")
    assert (found["calls"], found["traces"], found["retraces"]) == (6, 5, 2)
    assert found["compilations"] == 1
    assert 0 < found["compiling_ns"] < found["total_ns"]


def test_lines_that_call_with_new_arguments_are_named() -> None:
    scaled = function(lambda x, n: x * n)
    with tv.trace() as t:
        scaled(tf.ones([3]), 1)
        scaled(tf.ones([3]), 2)  # a new number
        scaled(tf.ones([4]), 2)  # a new shape
    lines = Path(__file__).read_text(encoding="utf-8").splitlines()
    expected = [f"{Path(__file__).name}:{at + 1}" for at, line in enumerate(lines) if "# a new " in line]
    assert [Path(line).name for line in retraces(t)["line"]] == expected[:2]


def test_a_last_batch_that_is_smaller() -> None:
    model = keras.Sequential([keras.layers.Dense(2)])
    model.compile("sgd", "mse")
    x, y = np.ones((20, 3), "float32"), np.ones((20, 2), "float32")
    with tv.trace() as t:
        model.fit(x, y, batch_size=8, verbose=0)
    assert int(functions(t)["traces"].sum()) > 0
    assert functions(t).set_index("name")["retraces"].get("multi_step_on_iterator") == 0


def test_a_parquet_file_keeps_the_reasons(tmp_path: Path) -> None:
    traced = function(lambda x: x + 1)
    with tv.trace() as t:
        traced(tf.ones([1]))
        traced(tf.ones([2]))
    again = tv.read_trace(t.to_parquet(tmp_path / "a.parquet"))
    assert retraces(again).equals(retraces(t))
    assert functions(again).equals(functions(t))
    both = tv.read_trace([tmp_path / "a.parquet", tmp_path / "a.parquet"])
    assert len(retraces(both)) == 2


def test_the_profile_alone_has_the_same_counts(tmp_path: Path) -> None:
    traced = function(lambda x, n: x + n)
    with tv.trace() as t:
        for n in range(4):
            traced(tf.ones([1]), n)
    (profile,) = t.profiles
    path = tmp_path / "a.xplane.pb"
    path.write_bytes(profile)
    table = functions(tv.read_trace(path))
    names = ["name", "calls", "traces", "retraces", "compilations", "total_ns"]
    assert table[names].equals(functions(t)[names])
    assert why_not(retraces(tv.read_trace(path))).id == "signatures_not_recorded"
    # TensorFlow's own classes count the same.
    space = xspace_oracle.load(path)
    (host,) = (plane for plane in space.planes if plane.name == "/host:CPU")
    stats = {key: entry.name for key, entry in host.stat_metadata.items()}
    names_of = [
        (host.event_metadata[event.metadata_id].name, {stats[one.metadata_id] for one in event.stats})
        for line in host.lines
        for event in line.events
    ]
    assert sum("tf_function_call" in found for _, found in names_of) == int(table["calls"].sum())
    built = sum(name == "tf.function-graph_building" for name, _ in names_of)
    assert built == int(table["traces"].sum()) == 4


def test_what_cannot_be_compared_fails_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_: Any) -> Any:
        raise RuntimeError

    traced = function(lambda x: x + 1)
    with tv.trace() as t:
        monkeypatch.setattr(function_cache.FunctionCache, "values", broken)
        value = traced(tf.ones([1]))
        monkeypatch.undo()
    assert float(value[0]) == 2
    assert row(t, "<lambda>")["traces"] == 1


def test_code_is_left_out_without_sources() -> None:
    traced = function(lambda x: x + 1)
    with tv.trace(source=False) as t:
        traced(tf.ones([1]))
        traced(tf.ones([2]))
    assert functions(t)["source"].isna().all()
    assert why_not(retraces(t)).id == "signatures_not_recorded"
