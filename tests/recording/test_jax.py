"""Recording of JAX: its work, steps, lines of code, and early ends."""

import contextlib
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import tensorflow as tf

import tfvis_nb as tv
from tests.recording.work import labels
from tests.support.texts import figures_of, raises_id
from tests.support.with_tensorflow import run
from tfvis_nb.analysis.functions.retraced import retraced_times
from tfvis_nb.core.nested_columns import OP_NAME, PROGRAM
from tfvis_nb.recording.python_samples import PythonSampler
from tfvis_nb.texts import Text, id_of

pytestmark = pytest.mark.slow

SIZE, STEPS = 300, 4


@pytest.fixture(autouse=True)
def undone() -> Iterator[None]:
    profiler: Any = sys.modules["jax._src.profiler"]
    before = profiler._profiler, [*sys.meta_path]
    yield
    assert before == (profiler._profiler, sys.meta_path)


@jax.jit
def long_step(x: Any) -> Any:
    with jax.named_scope("layer"):
        return jnp.tanh(x @ x) / SIZE


TEXT = Path(__file__).read_text(encoding="utf-8")
LINE = next(number for number, line in enumerate(TEXT.splitlines(), 1) if "tanh" in line)


@pytest.fixture(scope="module")
def ones() -> Any:
    return long_step(jnp.ones((SIZE, SIZE))).block_until_ready()


def programs(trace: tv.Trace) -> list[str]:
    """Return the program of each event that ran one."""
    assert trace.nested is not None
    return [name for name in trace.nested[PROGRAM].to_pylist() if name]


def test_threads_have_lanes_with_their_names(ones: Any) -> None:
    with tv.trace(framework="jax") as t:
        thread = threading.Thread(target=lambda: long_step(ones).block_until_ready(), name="trainer")
        thread.start()
        thread.join()
        long_step(ones).block_until_ready()
    calls = t.events[t.events["name"] == "PjitFunction(long_step)"]
    assert set(calls["lane"]) == {"python", "python/trainer"}


def test_threads_of_the_recorder_have_no_lanes(ones: Any) -> None:
    with tv.trace(framework="jax") as t:
        thread = threading.Thread(target=lambda: long_step(ones).block_until_ready(), name="tfvis_nb machine")
        thread.start()
        thread.join()
    assert "PjitFunction(long_step)" not in set(t.events["name"])


def test_a_loop_of_a_jitted_function_has_a_step_a_call(ones: Any) -> None:
    with tv.trace() as t:
        for _ in range(STEPS):
            # Nobody waits for the results, nor keeps them.
            long_step(ones)
    assert labels(t) == ["long_step"] * STEPS
    ops = t.events[t.events["kind"] == "op"].groupby("step").size()
    assert ops.index.tolist() == [*range(STEPS)]
    assert len(set(ops)) == 1
    assert {name.partition("(")[0] for name in programs(t)} == {"jit_long_step"}
    assert not t.events["name"].str.contains("tfvis_nb").any()
    assert t.stacks is not None
    assert [file["name"] for file in t.stacks.files.to_pylist()] == ["tests/recording/test_jax.py"]
    assert len(t.profiles) == 1


def test_steps_called_ahead_exclude_earlier_steps(ones: Any) -> None:
    with tv.trace() as t:
        for _ in range(16):
            long_step(ones)
    steps = t.steps[t.steps["step"] >= 0]
    assert steps["start_ns"].is_monotonic_increasing
    # The calls take microseconds: from call to result, all steps would last as long as half of the loop.
    assert steps["duration_ns"].sum() < 3 * (steps["end_ns"].max() - steps["start_ns"].min())


def test_the_lines_and_scopes_of_the_code(ones: Any) -> None:
    with tv.trace() as t:
        long_step(ones)
    assert t.nested is not None
    assert any("/layer/" in (name or "") for name in t.nested[OP_NAME].to_pylist())
    lines = t.source_lines.dropna(subset="line")
    assert set(lines["file"]) == {"tests/recording/test_jax.py"}
    assert LINE in set(lines["line"])
    assert t.stacks is not None
    texts = {file["name"]: file["text"] for file in t.stacks.files.to_pylist()}
    assert texts["tests/recording/test_jax.py"] == TEXT
    with tv.trace(source=False) as bare:
        long_step(ones)
    assert bare.stacks is None


def test_functions_that_are_traced_again() -> None:
    @jax.jit
    def total(x: Any) -> Any:
        return jnp.sum(x * 2)

    sizes = [jnp.ones(size) for size in (3, 3, 5)]
    with tv.trace() as t:
        for x in sizes:
            total(x).block_until_ready()
    found = t.functions[t.functions["name"] == "total"]
    names = ["calls", "traces", "retraces", "compilations"]
    assert found[names].to_numpy().tolist() == [[3, 2, 1, 2]]
    spent = found[["tracing_ns", "compiling_ns"]].to_numpy(int)
    assert 0 < spent.min() < spent.sum() <= found["total_ns"].item()
    assert "retracing" in set(t.findings["kind"])


def test_ops_outside_jit_are_not_traced_again() -> None:
    @jax.jit
    def add(x: Any) -> Any:
        return jnp.tanh(x) + 1

    arrays = [jnp.asarray(np.ones((7, size), np.float32)) for size in (11, 13, 17)]
    with tv.trace() as t:
        for x in arrays:
            add(x).block_until_ready()
            jnp.mean(x).block_until_ready()
    table = t.functions.set_index("name")[["traces", "retraces"]]
    assert table.loc[["add", "_mean"]].to_numpy().tolist() == [[3, 2], [3, 0]]


def test_a_step_called_ahead_keeps_its_own_tracing_and_compiling() -> None:
    @jax.jit
    def product(x: Any) -> Any:
        return x @ x @ x

    large, small = (jnp.ones((size, size)) for size in (1200, 40))
    product(large).block_until_ready()
    with tv.trace() as t:
        # Nobody waits, so the first run continues long after the last call began.
        for x in (large, large, small):
            product(x)
    events = t.events
    calls = events[events["name"] == "PjitFunction(product)"]
    assert calls.sort_values("start_ns")["step"].iloc[-1] == 2
    compiling = events[events["op"].isin(["lower_sharding_computation", "backend_compile_and_load"])]
    assert set(compiling["step"]) - {-1} == {2}
    found = t.functions.set_index("name").loc["product"]
    longest = t.steps.loc[t.steps["step"] == 2, "duration_ns"].item()
    assert found["retraces"] == 1
    # The step starts when the one before it ends, so what these hide costs nothing.
    assert retraced_times(t).sum() <= min(found[["tracing_ns", "compiling_ns"]].sum(), longest)
    steps = t.steps[t.steps["step"] >= 0]
    assert steps["duration_ns"].sum() <= steps["end_ns"].max() - steps["start_ns"].min()


def test_marked_steps(ones: Any) -> None:
    with tv.trace(steps=True) as t:
        for number in range(3):
            with jax.profiler.StepTraceAnnotation("train", step_num=number):
                ones = long_step(ones) * 2
    assert labels(t) == ["train 0", "train 1", "train 2"]
    assert (t.events["step"] >= 0).all()


def test_both_files_of_a_profile_have_the_marked_steps(ones: Any, tmp_path: Path) -> None:
    with jax.profiler.trace(tmp_path):
        for number in range(7, 10):
            with jax.profiler.StepTraceAnnotation("train", step_num=number):
                long_step(ones).block_until_ready()
    ends = ("*.xplane.pb", "*.trace.json.gz")
    (profile,), (viewer,) = ([tv.read_trace(file) for file in tmp_path.rglob(end)] for end in ends)
    assert labels(profile) == labels(viewer) == ["train 7", "train 8", "train 9"]
    columns = ["start_ns", "duration_ns"]
    spans = [
        trace.steps.query("step >= 0")[columns].to_numpy() - [trace.events["start_ns"].min(), 0]
        for trace in (profile, viewer)
    ]
    np.testing.assert_allclose(spans[0], spans[1], atol=2)


def test_eager_code_has_no_steps(ones: Any) -> None:
    with tv.trace() as t:
        for _ in range(3):
            ones = ones @ ones + 1
    assert t.step_labels == {}
    assert "jit_matmul" in {name.partition("(")[0] for name in programs(t)}


@pytest.mark.parametrize("error", [ZeroDivisionError, KeyboardInterrupt])
def test_an_error_leaves_what_ran_before_it(ones: Any, error: type[BaseException]) -> None:
    def fail() -> None:
        for _ in range(2):
            long_step(ones)
        raise error

    with pytest.raises(error) as caught, tv.trace() as t:
        fail()
    assert caught.value.__context__ is None
    assert labels(t) == ["long_step"] * 2
    assert figures_of(t.notes, "ended_by_error") == [{"error": error.__name__}]


def test_interrupted_end_of_sampling_restores_jax(ones: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    stop = PythonSampler.stop

    def interrupted(sampler: PythonSampler) -> None:
        stop(sampler)
        raise KeyboardInterrupt

    monkeypatch.setattr(PythonSampler, "stop", interrupted)
    with pytest.raises(KeyboardInterrupt), tv.trace():
        long_step(ones)


def test_a_decorated_function_and_traces_within_each_other(ones: Any) -> None:
    @tv.trace(framework="jax")
    def repeat(times: int) -> None:
        for _ in range(times):
            long_step(ones)
        with raises_id(RuntimeError, "already_tracing"), tv.trace():
            pass

    repeat(2)
    assert tv.last_trace is not None
    assert labels(tv.last_trace) == ["long_step"] * 2


def test_a_profile_of_the_program_itself(ones: Any, tmp_path: Path) -> None:
    with tv.trace() as t:
        long_step(ones)
        with jax.profiler.trace(tmp_path):
            long_step(ones).block_until_ready()
        long_step(ones)
    assert [id_of(note) for note in t.notes].count("profile_of_program") == 1
    assert len(t.profiles) == 3
    assert labels(t) == ["long_step"] * 3
    assert [*tmp_path.rglob("*.xplane.pb")]


def test_a_profile_that_runs_already_keeps_the_profiler(ones: Any, tmp_path: Path) -> None:
    jax.profiler.start_trace(tmp_path)
    try:
        with raises_id(tv.EmptyTraceError, "nothing_recorded", reason=Text("jax_profiler_taken")), tv.trace():
            long_step(ones)
    finally:
        jax.profiler.stop_trace()
    assert [*tmp_path.rglob("*.xplane.pb")]


def test_both_frameworks_in_one_block(ones: Any) -> None:
    squares = tf.function(lambda x: tf.reduce_sum(x * x, name="sum_of_squares"))

    def work() -> None:
        for _ in range(2):
            long_step(ones)
            squares(tf.ones([3]))

    with tv.trace() as both:
        work()
    assert sorted(label.partition("_")[0] for label in labels(both)) == ["<lambda>"] * 2 + ["long"] * 2
    assert {"sum_of_squares"} <= set(both.events["name"])
    assert "recorded_by_two_profilers" in map(id_of, both.notes)
    with tv.trace(framework="jax") as t:
        work()
    assert labels(t) == ["long_step"] * 2
    with tv.trace(framework="tensorflow") as t:
        work()
    assert labels(t) == ["<lambda>"] * 2
    assert "recorded_by_two_profilers" not in map(id_of, t.notes)


def test_jax_beside_tensorflow_that_marks_no_steps(ones: Any) -> None:
    with tv.trace() as t:
        for _ in range(2):
            long_step(ones)
            tf.ones([3]) + 1
    assert labels(t) == ["long_step"] * 2
    assert (t.events[t.events["name"].str.startswith("TFE_")]["step"] == -1).all()


def test_unknown_frameworks_and_options_jax_lacks() -> None:
    with raises_id(ValueError, "unknown_trace_option", name="framework", value="torch"):
        tv.trace(framework="torch")  # type: ignore[arg-type]
    with raises_id(ValueError, "jax_without_sessions"):
        tv.trace(framework="jax", mode="session")


def test_an_imported_jax_that_runs_nothing() -> None:
    nothing = raises_id(tv.EmptyTraceError, "nothing_recorded", reason=Text("nothing_ran"))
    with nothing, tv.trace(framework="jax"):
        np.ones(3)


def test_what_another_thread_has_jax_do(ones: Any) -> None:
    with tv.trace() as t, contextlib.ExitStack() as stack:
        import threading

        threads = [threading.Thread(target=lambda: long_step(ones).block_until_ready()) for _ in range(2)]
        for thread in threads:
            thread.start()
            stack.callback(thread.join)
    assert labels(t) == ["long_step"] * 2


WITHOUT_TENSORFLOW = """
import importlib.abc, json, os, sys
class Absent(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "tensorflow":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Absent())
import tfvis_nb as tv
assert "jax" not in sys.modules
with tv.trace("keras.html") as t:
    import keras, numpy as np
    x = np.ones((24, 4), "float32")
    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(8, name="hidden")])
    model.compile("sgd", "mse")
    for run in model.fit, model.evaluate:
        run(x, x[:, :1], batch_size=8, verbose=0)
    model.predict(x, batch_size=8, verbose=0)
print(json.dumps({
    "labels": [*t.step_labels.values()],
    "layers": t.layers[["layer", "class", "parameter_bytes"]].dropna().to_dict("records"),
    "page": "tfvis-drawn" in open("keras.html", encoding="utf-8").read(),
}))
"""


def test_keras_on_jax_without_tensorflow(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_TENSORFLOW],
        env={**os.environ, "KERAS_BACKEND": "jax"},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    found = json.loads(done.stdout.splitlines()[-1])
    assert found["labels"] == [
        f"{phase} {batch}" for phase in ("train", "test", "predict") for batch in range(3)
    ]
    assert {"layer": "sequential/hidden", "class": "Dense", "parameter_bytes": 160} in found["layers"]
    assert found["page"]


BESIDE_TENSORFLOW = """
import jax, jax.numpy as jnp, json, tensorflow as tf, tfvis_nb as tv
from jax._src import xla_bridge
with tv.trace() as t:
    tf.ones([3]) + 1
unused = not xla_bridge.backends_are_initialized()
step = jax.jit(lambda x: jnp.tanh(x) * 2)
with tv.trace() as t:
    x = jnp.ones(3)
    for _ in range(3):
        x = step(x)
print(json.dumps([unused, [*t.step_labels.values()]]))
"""


@pytest.mark.tensorflow
def test_an_unused_jax_imported_by_tensorflow_is_not_traced(tmp_path: Path) -> None:
    printed, _ = run("-c", BESIDE_TENSORFLOW, folder=tmp_path)
    assert json.loads(printed) == [True, ["<lambda>"] * 3]
