"""Edges between the ops of functions, from the graphs that the program wrote."""

import threading
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.core.framework import graph_pb2

import tfvis_nb as tv
from tfvis_nb.analysis.dataflow.function_runs import function_runs
from tfvis_nb.core.nested_columns import GRAPH_INPUTS
from tfvis_nb.texts import id_of

pytestmark = pytest.mark.tensorflow

Pairs = Counter[tuple[str, str]]


def function(body: Callable[..., Any]) -> Any:
    """Make a ``tf.function``, which has no types."""
    return tf.function(body)


def data_edges(trace: tv.Trace) -> Pairs:
    """Count the data edges by the names of their ops."""
    found = trace.edges[trace.edges["kind"] == "data"]
    names = trace.events["name"].to_numpy(object)
    return Counter(zip(names[found["source"]], names[found["target"]], strict=True))


def recorded(called: Any, *calls: tuple[Any, ...], **options: Any) -> tv.Trace:
    """Record calls of a function that have all run before."""
    for arguments in calls:
        called(*arguments)
    with tv.trace(**options) as t:
        for arguments in calls:
            called(*arguments)
    return t


@pytest.fixture
def weights() -> Any:
    return tf.Variable(tf.ones((64, 64)) / 64, name="weights")


@pytest.fixture
def matrix() -> Any:
    return tf.ones((64, 64))


def test_ops_of_nested_functions_fused_or_without_rows(weights: Any, matrix: Any) -> None:
    @function
    def inner(x: Any) -> Any:
        return tf.nn.relu(tf.matmul(x, weights) + 1.0)

    @function
    def outer(x: Any) -> Any:
        hidden = tf.identity(inner(x))
        return tf.reduce_sum(tf.sin(hidden) + tf.cos(hidden, name="cosine"), name="total")

    found = data_edges(recorded(outer, (matrix,), (matrix,)))
    relu = "StatefulPartitionedCall/Relu"
    assert found[relu, "Sin"] == found[relu, "cosine"] == found["add", "total"] == 2
    assert found["StatefulPartitionedCall/MatMul/ReadVariableOp", relu] in (0, 2)
    assert not any(target == "total" for source, target in found if source != "add")


def test_a_loop_takes_its_first_value_once(matrix: Any) -> None:
    @function
    def loop(x: Any) -> Any:
        x = tf.sin(x, name="before")
        for _ in tf.range(3):
            x = tf.matmul(tf.cos(x, name="first"), x, name="last")
        return tf.reduce_sum(x, name="total")

    t = recorded(loop, (matrix,))
    (first,) = {name for name in t.events["name"] if name.endswith("/first")}
    last = first.removesuffix("first") + "last"
    found = data_edges(t)
    assert {pair: found[pair] for pair in found if {"before", "total", last} & {*pair}} == {
        ("before", first): 1,
        ("before", last): 1,
        (first, last): 3,
        (last, first): 2,
        (last, last): 2,
        (last, "total"): 1,
    }


def test_replaced_ops_have_the_edges_of_the_program(matrix: Any) -> None:
    @function
    def replaced(x: Any) -> Any:
        x = tf.matmul(x, x, name="before")
        squares = tf.multiply(x, x, name="squares")
        waves = tf.tanh(tf.sin(tf.exp(x)), name="waves")  # the chain
        return waves @ squares

    t = recorded(replaced, (matrix,))
    found = data_edges(t)
    assert len(found) == 4
    of_line = t.source_lines[t.source_lines["text"].str.endswith("# the chain")]
    assert of_line["events"].sum() == 1
    made = {source.removesuffix("/unary_ops_composition").split("_")[-1] for source, _ in found}
    assert made == {"before", "squares", "waves"}


def test_folded_transposes_have_the_line_of_their_product(matrix: Any) -> None:
    @function
    def folded(x: Any) -> Any:
        product = tf.matmul(x, tf.transpose(tf.sin(x)), name="product")  # the product
        return tf.tanh(product), tf.exp(product)

    t = recorded(folded, (matrix,))
    (name,) = {name for name in t.events["name"] if name.endswith("product")}
    assert name != "product"
    assert data_edges(t) == {("Sin", name): 1, (name, "Tanh"): 1, (name, "Exp"): 1}
    of_line = t.source_lines[t.source_lines["text"].str.endswith("# the product")]
    assert of_line["events"].sum() >= 2
    assert "ArithmeticOptimizer" not in "".join(t.layers["layer"])


def test_only_the_branch_that_ran_has_edges(matrix: Any) -> None:
    @function
    def branches(x: Any, taken: Any) -> Any:
        x = tf.sin(x, name="before")
        x = tf.cos(x, name="changed") if taken else tf.exp(x, name="other")
        if taken:
            x = tf.tanh(x, name="again")
        return tf.reduce_sum(x, name="total")

    t = recorded(branches, (matrix, tf.constant(True)), (matrix, tf.constant(False)))
    found = Counter((a.split("/")[-1], b.split("/")[-1]) for a, b in data_edges(t).elements())
    assert found == {
        ("before", "changed"): 1,
        ("changed", "again"): 1,
        ("again", "total"): 1,
        ("before", "other"): 1,
        ("other", "total"): 1,
    }


def test_each_output_of_identity_n_has_its_own_input(matrix: Any) -> None:
    @function
    def several(x: Any) -> Any:
        one, other = tf.identity_n([tf.sin(x, name="one"), tf.cos(x, name="other")])
        return tf.matmul(one, x, name="of_one") @ tf.matmul(other, x, name="of_other")

    found = data_edges(recorded(several, (matrix,)))
    assert found["one", "of_one"] == found["other", "of_other"] == 1
    assert not found["one", "of_other"]
    assert not found["other", "of_one"]


def test_edges_stay_within_a_run_of_a_function(weights: Any) -> None:
    @function
    def chain(x: Any) -> Any:
        return tf.matmul(tf.matmul(x, weights, name="first"), weights, name="second")

    matrix = tf.ones((512, 64))
    chain(matrix)
    with tv.trace() as t, tf.profiler.experimental.Trace("train", step_num=1, _r=1):
        threads = [threading.Thread(target=chain, args=(matrix,)) for _ in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        chain(matrix).numpy()
    found = t.edges[t.edges["kind"] == "data"]
    names = t.events["name"].to_numpy(object)
    pairs = found[names[found["target"]] == "second"]
    pairs = pairs[names[pairs["source"]] == "first"]
    assert len(pairs) >= 6
    assert pairs["source"].is_unique
    assert pairs["target"].is_unique
    run = function_runs(t).number
    assert (run[found["source"]] == run[found["target"]]).all()


def walked(t: tv.Trace, step: int) -> set[tuple[str, str]]:
    """Read the data edges of a step from the executed graphs, with TensorFlow's own messages."""
    names = set(t.events["name"][t.events["step"] == step])
    nodes = {
        node.name: node for graph in t.graphs[step] for node in graph_pb2.GraphDef.FromString(graph).node
    }
    found = set()
    for node in nodes.values():
        ahead = [given for given in node.input if node.name in names]
        seen = set()
        while ahead:
            given = ahead.pop()
            maker = given.split(":")[0]
            if given.startswith("^") or maker in seen:
                continue
            seen.add(maker)
            if maker in names:
                found.add((maker, node.name))
            else:
                ahead += nodes[maker].input
    return found


@pytest.mark.parametrize("seed", range(4))
def test_the_written_graph_has_the_edges_of_the_executed_one(seed: int, weights: Any, matrix: Any) -> None:
    random, drawn = np.random.default_rng(seed), set[tuple[int, int, int]]()

    @function
    def layer(x: Any) -> Any:
        return tf.nn.relu(x @ weights)

    @function
    def step(x: Any) -> Any:
        with tf.GradientTape() as tape:
            values = [x]
            while len(values) < 14:
                # Equal ops would run once. TensorFlow fuses chains of elementwise ops under new names.
                one, other, kind = (int(at) for at in random.integers((len(values), len(values), 3)))
                if (one, other, kind) not in drawn:
                    drawn.add((one, other, kind))
                    made = (tf.matmul, tf.maximum, lambda a, b: layer(a) @ b)[kind](
                        values[one], values[other]
                    )
                    values.append(tf.identity(made))
            loss = tf.reduce_sum(tf.add_n(values[-3:]))
        weights.assign_sub(0.001 * tape.gradient(loss, weights))
        return loss

    with tv.trace() as first:
        step(matrix).numpy()
    with tv.trace() as later:
        step(matrix).numpy()
    at = max(range(len(first.graphs)), key=lambda one: len(first.graphs[one]))
    executed = walked(first, at)
    assert len(executed) > 12
    assert not any(later.graphs)
    assert data_edges(later).keys() == executed


def test_edges_survive_files_and_missing_sources(matrix: Any, tmp_path: Path) -> None:
    @function
    def private(x: Any) -> Any:
        return tf.matmul(tf.matmul(x, x, name="customers"), x, name="revenue")

    t = recorded(private, (matrix,), source=False)
    assert t.stacks is None
    assert data_edges(t) == {("customers", "revenue"): 1}
    assert tv.read_trace(t.to_parquet(tmp_path / "t.parquet")).edges.equals(t.edges)
    assert tv.read_trace(t.to_chrome_trace(tmp_path / "t.json")).edges.equals(t.edges)
    anonymous = t.anonymized()
    assert anonymous.edges.equals(t.edges)
    assert anonymous.nested is not None
    names = {name for names in anonymous.nested[GRAPH_INPUTS].to_pylist() for name in names or ()}
    assert names == {anonymous.events["name"].iloc[t.edges["source"][t.edges["kind"] == "data"].iloc[0]]}
    assert not {"customers", "revenue"} & set(anonymous.events["name"])


def test_inputs_can_be_left_out(matrix: Any) -> None:
    t = recorded(function(lambda x: tf.matmul(tf.matmul(x, x), x)), (matrix,), partition_graphs=False)
    assert not data_edges(t)
    assert t.slack.empty


def test_a_graph_that_cannot_be_read_costs_its_edges_alone(
    matrix: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(*_: Any) -> None:
        raise AttributeError("inputs")

    monkeypatch.setattr("tfvis_nb.recording.written_graphs.WrittenGraph.inputs", failing)
    t = recorded(function(lambda x: tf.matmul(tf.matmul(x, x), x)), (matrix,))
    assert "inputs_failed" in map(id_of, t.notes)
    assert {"MatMul", "MatMul_1"} <= set(t.events["name"])
