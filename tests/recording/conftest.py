"""What recordings are tried on, and that they leave nothing behind."""

import gc
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import keras
import pytest
import tensorflow as tf
from tensorflow.python import pywrap_tfe
from tensorflow.python.client.session import BaseSession
from tensorflow.python.profiler import profiler_v2, trace

from tfvis_nb import TracingServer
from tfvis_nb.recording.profiler import lock
from tfvis_nb.recording.profiler.eager_calls import CALLS

v1 = tf.compat.v1
CallbackList = keras.callbacks.CallbackList


@pytest.fixture(scope="module", autouse=True)
def garbage() -> Iterator[None]:
    """Leave no tf.data iterator to be collected by a test that measures time.

    To destroy one, TensorFlow 2.21 may wait a minute for its autotuning thread to wake up.
    """
    yield
    gc.collect()


@pytest.fixture(autouse=True)
def scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Where temporary files go; everything a recording puts there or into TensorFlow has to go again."""
    folder = tmp_path / "scratch"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    before = replaced()
    yield folder
    assert list(folder.glob("tfvis*")) == []
    assert replaced() == before
    assert profiler_v2._profiler is None


def replaced() -> list[Any]:
    """Everything that a recording replaces for profiling."""
    batches = [
        f"on_{phase}_batch_{end}" for phase in ("train", "test", "predict") for end in ("begin", "end")
    ]
    return [
        profiler_v2._pywrap_profiler,
        *(vars(pywrap_tfe)[name] for name in CALLS),
        vars(trace.Trace)["__init__"],
        *(vars(CallbackList)[name] for name in batches),
    ]


@pytest.fixture
def model() -> Any:
    model = keras.Sequential(
        [keras.Input((4,)), keras.layers.Dense(8, name="hidden"), keras.layers.Dense(1, name="output")]
    )
    model.compile("sgd", "mse")
    return model


@pytest.fixture
def session() -> Iterator[Any]:
    with tf.Graph().as_default() as graph:
        weights = v1.get_variable("weights", [4, 2], initializer=v1.ones_initializer())
        tf.reduce_sum(tf.matmul(weights, weights, transpose_b=True, name="product"), name="loss")
    session = v1.Session(graph=graph)
    session.run(weights.initializer)
    yield session
    session.close()


@pytest.fixture
def accelerated(monkeypatch: pytest.MonkeyPatch) -> None:
    """Really request full traces, so that TensorFlow also rejects them during a profile on a CPU."""
    monkeypatch.setattr(lock.ProfilerSlot, "_has_accelerator", lambda *_: True)


@pytest.fixture
def made(tmp_path: Path) -> Iterator[Callable[..., TracingServer]]:
    """Make servers, that end with the test."""
    servers = []

    def make(**options: Any) -> TracingServer:
        options = {"server_port": 0, "path": tmp_path / "run.tfvis", **options}
        servers.append(TracingServer(**options))
        return servers[-1]

    yield make
    for server in servers:
        server.close()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where a script runs."""
    folder = tmp_path / "job"
    folder.mkdir()
    return folder


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "run.tfvis"


@pytest.fixture
def undone(tmp_path: Path) -> Iterator[None]:
    before = patched()
    yield
    assert patched() == before
    assert list(tmp_path.glob("*.tfvis-counts*")) == []


def patched() -> list[Any]:
    names = ("_call_tf_sessionrun", "_make_callable_from_options")
    return [
        *(vars(BaseSession)[name] for name in names),
        vars(BaseSession._Callable)["__call__"],
        vars(CallbackList)["__init__"],
    ]
