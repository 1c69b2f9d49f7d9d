"""Steps of own loops and of Keras on JAX, counted and traced by a TraceSession."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import jax
import numpy as np
import pytest
import tensorflow as tf

import tfvis_nb as tv
from tests.recording.work import labels
from tests.support.texts import raises_id
from tfvis_nb.recording.jax import capture
from tfvis_nb.recording.live import steps
from tfvis_nb.recording.options import FRAMEWORKS, Framework

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("undone")]

MULTIPLY = {
    "tensorflow": tf.function(lambda x: tf.matmul(x, x)),
    "jax": jax.jit(lambda x: x @ x),
}
ONES = np.ones((100, 100), np.float32)
SLOW = 12


@pytest.fixture
def take(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Move the clock of the steps by this many ms; nothing else does."""
    now = [1_000_000]
    clock = SimpleNamespace(perf_counter_ns=lambda: now[0], time_ns=time.time_ns)
    monkeypatch.setattr(steps, "time", clock)

    def move(milliseconds: int) -> None:
        now[0] += milliseconds * 1_000_000

    return move


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_slow_steps_of_an_own_loop_are_kept(
    framework: Framework, path: Path, take: Callable[[int], None]
) -> None:
    with tv.TraceSession(path) as recorded:
        recorded.trace_slow(factor=5)
        for run in range(1, 15):
            with recorded.step("fit", framework=framework):
                product = MULTIPLY[framework](ONES)
                take({2: 50, SLOW: 6}.get(run, 1))
    assert product.shape == ONES.shape
    assert recorded.traces["run"].tolist() == [SLOW]
    assert recorded.signatures[["kind", "label", "runs", "traced"]].values.tolist() == [
        ["step", "fit", 14, 14]
    ]
    trace = recorded.read(1)
    assert labels(trace) == [f"fit {SLOW}"]
    # The recording's own wait for the devices is no part of it.
    ops = trace.events[trace.events["kind"] == "op"]
    assert set(ops["step"]) == {0}
    assert not trace.events["name"].str.contains(capture.WAIT).any()


def test_a_step_that_its_device_finishes_late_is_slow(
    path: Path, take: Callable[[int], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [0]
    monkeypatch.setattr(capture, "finish_arrays", lambda: take(60 if now[0] == SLOW else 10))
    with tv.TraceSession(path) as recorded:
        recorded.trace_slow(factor=5)
        for now[0] in range(1, 15):
            with recorded.step(framework="jax"):
                take(1)
    assert recorded.traces[["run", "duration_ns"]].values.tolist() == [[SLOW, 1_000_000]]


def test_failed_and_nested_steps(path: Path) -> None:
    recorded = tv.TraceSession(path)
    recorded.trace_every(2)
    # The first step starts the recording.
    for _ in range(2):
        with recorded.step("outer"), recorded.step("inner"):
            pass
    assert recorded.recording
    for error in (KeyboardInterrupt, StopIteration):
        with pytest.raises(error), recorded.step("outer"):
            raise error
    with recorded.step("outer"):
        pass
    recorded.close()
    table = recorded.signatures.set_index("label")
    assert table[["runs", "failed"]].to_dict("index") == {
        "outer": {"runs": 3, "failed": 1},
        "inner": {"runs": 2, "failed": 0},
    }
    # TensorFlow has one profiler, which the outer step had; a step that did not happen has no number.
    assert recorded.traces[["label", "run"]].values.tolist() == [["outer", 2], ["outer", 4]]
    with raises_id(ValueError, "unknown_trace_option", name="framework"), recorded.step(framework="torch"):  # type: ignore[arg-type]
        pass


KERAS_ON_JAX = """
import importlib.abc, json, sys
class Absent(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "tensorflow":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Absent())
import keras, numpy as np
import tfvis_nb as tv
x = np.ones((48, 4), "float32")
model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(8, name="hidden")], name="small")
model.compile("sgd", "mse")
recorded = tv.record_process("run.tfvis")
recorded.trace_every(3)
model.fit(x, x[:, :1], batch_size=8, verbose=0)
recorded.trace_slow(factor=1e9)
model.fit(x, x[:, :1], batch_size=8, verbose=0, callbacks=[recorded.keras_callback()])
recorded.close()
traces = [*recorded]
print(json.dumps({
    "counts": recorded.signatures[["kind", "label", "runs", "traced"]].values.tolist(),
    "traces": recorded.traces[["run", "batch"]].values.tolist(),
    "labels": [[*trace.step_labels.values()] for trace in traces],
    "layers": traces[0].layers[["layer", "class"]].dropna().to_dict("records"),
}))
"""


def test_batches_of_keras_on_jax_without_tensorflow(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", KERAS_ON_JAX],
        env={**os.environ, "KERAS_BACKEND": "jax"},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    # Nothing is slow by this factor.
    assert found["counts"] == [["train", "train small", 12, 8]]
    assert found["traces"] == [[3, 2], [6, 5]]
    assert found["labels"] == [["train 3"], ["train 6"]]
    assert {"layer": "small/hidden", "class": "Dense"} in found["layers"]
