"""Rows of batches, callbacks and savers, and the findings that name their lines, in programs of JAX."""

import gc
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import jax
import jax.numpy as jnp
import pytest

import tfvis_nb as tv
from tfvis_nb.core.python_rows import CALLBACK, NEXT_BATCH, SAVING

pytestmark = pytest.mark.slow

HERE = Path(__file__).name
SOURCE = Path(__file__).read_text(encoding="utf-8").splitlines()


def line_of(mark: str) -> str:
    """Return the line of this file that ends with a mark."""
    return next(f"{number}" for number, line in enumerate(SOURCE, 1) if line.endswith(f"# {mark}"))


@jax.jit
def step(x: Any) -> Any:
    return jnp.tanh(x @ x) / len(x)


@pytest.fixture(scope="module")
def ones() -> Any:
    return step(jnp.ones((64, 64))).block_until_ready()


class Loader:
    """Stands in for an iterator of a package that is not installed."""

    _num_workers = 2

    def __init__(self, batches: int, inner: Any = None) -> None:
        self.left, self.inner = batches, inner

    def __iter__(self) -> Any:
        return self

    def __next__(self) -> int:
        if not self.left:
            raise StopIteration
        self.left -= 1
        return self.left if self.inner is None else next(self.inner)


class Checkpointer:
    """Stands in for a saver of a package that is not installed."""

    def save(self, folder: str, *, force: bool = False) -> tuple[str, bool]:
        return folder, force


class OwnCheckpointer(Checkpointer):
    """A saver of the program, which calls the package's."""

    def save(self, folder: str, *, force: bool = True) -> tuple[str, bool]:
        return super().save(folder, force=force)


@pytest.fixture(autouse=True)
def packages(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    own: dict[str, dict[str, Any]] = {
        "torch.utils.data.dataloader": {"_BaseDataLoaderIter": Loader},
        "orbax.checkpoint": {"Checkpointer": Checkpointer},
    }
    for name, found in own.items():
        module = ModuleType(name)
        vars(module).update(found)
        monkeypatch.setitem(sys.modules, name, module)
    before = [vars(owner)[name] for owner, name in PATCHED]
    yield
    assert before == [vars(owner)[name] for owner, name in PATCHED]


PATCHED = ((Loader, "__next__"), (Checkpointer, "save"), (OwnCheckpointer, "save"))


def rows(trace: tv.Trace) -> list[str]:
    """Return the names of the rows of Python, in order of time."""
    own = trace.events[trace.events["op"].isin([NEXT_BATCH, CALLBACK, SAVING])]
    return own.sort_values("start_ns")["name"].tolist()


def test_each_batch_of_a_loader_is_a_row_with_its_workers(ones: Any) -> None:
    with tv.trace() as t:
        assert [number for number in Loader(3) if step(ones).block_until_ready() is not None] == [2, 1, 0]
    assert rows(t) == ["NextBatch(DataLoader)"] * 4
    assert set(t.events["detail"][t.events["op"] == NEXT_BATCH]) == {"workers=2"}


def test_batches_within_batches_are_one_row(ones: Any) -> None:
    with tv.trace() as t:
        step(ones).block_until_ready()
        assert next(Loader(1, Loader(1))) == 0
    assert rows(t) == ["NextBatch(DataLoader)"]


def test_batches_that_another_thread_takes_are_no_rows(ones: Any) -> None:
    with tv.trace() as t:
        step(ones).block_until_ready()
        thread = threading.Thread(target=list, args=[Loader(3)])
        thread.start()
        thread.join()
    assert rows(t) == []


def test_saves_are_rows_named_by_their_class(ones: Any) -> None:
    with tv.trace() as t:
        step(ones).block_until_ready()
        assert OwnCheckpointer().save("a") == ("a", True)
        assert Checkpointer().save("b") == ("b", False)
    assert rows(t) == ["Saving(OwnCheckpointer.save)", "Saving(Checkpointer.save)"]


def test_an_error_in_a_batch_ends_its_row(ones: Any) -> None:
    def fail() -> None:
        step(ones).block_until_ready()
        next(Loader(1, iter([])))

    with pytest.raises(StopIteration), tv.trace() as t:
        fail()
    assert rows(t) == ["NextBatch(DataLoader)"]
    assert next(Loader(1)) == 0


def load() -> Iterator[int]:
    for number in range(12):
        time.sleep(0.12)  # LOAD
        yield number


def save() -> None:
    time.sleep(0.04)  # SAVE


def test_loop_names_loader_saver_and_collector_with_their_lines(ones: Any) -> None:
    def train(x: Any) -> None:
        for _ in load():
            x = step(x).block_until_ready()
            save()
            gc.collect()  # COLLECT

    held = [[number] for number in range(400_000)]
    with tv.trace() as t:
        train(ones)
    del held
    first = t.findings.iloc[0]
    assert first["id"] == "between_steps"
    named = f"{first['text']} {first['how']}"
    assert "TensorFlow" not in f"{named} {first['advice']} {t.overview['headline']}"
    assert first["figures"]["line"].endswith(f"{HERE}:{line_of('LOAD')}")
    assert first["figures"]["gc"]["line"].endswith(f"{HERE}:{line_of('COLLECT')}")
    for mark in ("LOAD", "SAVE"):
        assert f"{HERE}:{line_of(mark)}" in named


KERAS = """
import gc, json, os, signal, sys, threading
import numpy as np
import tfvis_nb as tv
import keras, time

class Slow(keras.utils.PyDataset):
    def __len__(self):
        return 12
    def __getitem__(self, number):
        time.sleep(0.04)
        x = np.ones((8, 4), "float32")
        return x, x[:, :1]

def kept():
    from keras.src.backend.jax.trainer import JAXEpochIterator
    from keras.src.callbacks.callback_list import CallbackList
    own = [vars(owner)[name] for owner, name in (
        (JAXEpochIterator, "_get_iterator"), (CallbackList, "set_model"), (keras.Model, "save"),
        (keras.callbacks.ModelCheckpoint, "on_epoch_end"), (keras.callbacks.History, "on_epoch_end"))]
    threads = [thread.name for thread in threading.enumerate() if "tfvis" in thread.name]
    return [*own, *gc.callbacks, sys.getswitchinterval(), *threads]

before = kept()
model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(8)])
model.compile("sgd", "mse")
found = {}
model.fit(Slow(), verbose=0)  # compiles
for name, data in ("alone", Slow()), ("workers", Slow(workers=2)):
    with tv.trace(f"{name}.parquet") as t:
        class Own(keras.callbacks.Callback):
            def on_epoch_end(self, epoch, logs=None):
                self.epoch = epoch
        model.fit(data, epochs=2, verbose=0, shuffle=False,
                  callbacks=[Own(), keras.callbacks.ModelCheckpoint("model.keras")])
    events = t.events
    own = events["op"].isin(["NextBatch", "Callback", "Saving"])
    read = tv.read_trace(f"{name}.parquet").findings.set_index("kind").loc["input"]
    # A busy machine may take longer to save the model at the end of an epoch.
    first = t.findings.set_index("kind", drop=False).loc["input"]
    found[name] = {
        "id": first["id"], "stage": first["figures"].get("slowest_stage"),
        "texts": " ".join([*first[["title", "text", "how", "advice"]], t.overview["headline"]]),
        "read": read["text"] == first["text"],
        "rows": events["name"][own].value_counts().to_dict(),
        "details": sorted(set(events["detail"][events["op"] == "NextBatch"].fillna(""))),
        "lines": t.source_lines["line"].dropna().astype(int).tolist(),
    }

class Broken(Slow):
    def __getitem__(self, number):
        if number > 3:
            raise ZeroDivisionError
        return super().__getitem__(number)

try:
    with tv.trace():
        model.fit(Broken(), verbose=0, shuffle=False)
except ZeroDivisionError:
    found["error"] = kept() == before

with tv.trace():
    model.predict(np.ones((8, 4)), verbose=0)
    child = os.fork()
    if not child:
        os._exit(kept() != before)
    found["fork"] = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0

def killed():
    with tv.trace():
        model.predict(np.ones((8, 4)), verbose=0)
        raise SystemExit

thread = threading.Thread(target=killed)
thread.start()
thread.join()
found["thread"] = kept() == before

print(json.dumps(found), flush=True)
with tv.trace("ended.parquet"):
    model.predict(np.ones((8, 4)), verbose=0)
    os.kill(os.getpid(), signal.SIGTERM)
    threading.Event().wait(60)
"""


@pytest.fixture(scope="module")
def of_keras(tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = tmp_path_factory.mktemp("keras")
    (folder / "train.py").write_text(KERAS)
    done = subprocess.run(
        [sys.executable, "train.py"],
        env={**os.environ, "KERAS_BACKEND": "jax"},
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == -signal.SIGTERM, done.stderr
    ended = tv.read_trace(folder / "ended.parquet")
    return {**json.loads(done.stdout.splitlines()[-1]), "sigterm": "NextBatch(arrays)" in rows(ended)}


SLEEPS = f"train.py:{next(n for n, line in enumerate(KERAS.splitlines(), 1) if 'time.sleep' in line)}"


@pytest.mark.parametrize("name", ["alone", "workers"])
def test_keras_on_jax_names_the_line_of_a_slow_data_set(of_keras: Any, name: str) -> None:
    found = of_keras[name]
    assert found["id"] == "input_bound.all"
    assert found["stage"]["op"] == "NextBatch(PyDataset)"
    assert found["stage"]["python"]["line"] == SLEEPS
    assert SLEEPS in found["texts"]
    assert "TensorFlow" not in found["texts"]
    assert "tf.data" not in found["texts"]
    assert found["read"]
    assert int(SLEEPS.split(":")[1]) in found["lines"]


def test_batches_of_workers_have_the_fill_of_their_queue(of_keras: Any) -> None:
    assert of_keras["alone"]["details"] == [""]
    assert all(text.startswith("workers=2 ready=") for text in of_keras["workers"]["details"])
    assert all(text.endswith("queue=10") for text in of_keras["workers"]["details"])
    assert of_keras["workers"]["stage"]["workers"] == 2


def test_callbacks_of_keras_and_saved_models_are_rows(of_keras: Any) -> None:
    names = of_keras["alone"]["rows"]
    assert names["Callback(Own.on_epoch_end)"] == 2
    assert names["Callback(ModelCheckpoint.on_epoch_end)"] == 2
    assert names["Saving(Sequential.save)"] == 2
    # Two epochs of 12 batches; fit may take one more to build the model.
    assert names["NextBatch(PyDataset)"] in (24, 25)


@pytest.mark.parametrize("ended", ["error", "fork", "thread", "sigterm"])
def test_recordings_that_end_early_leave_nothing(of_keras: Any, ended: str) -> None:
    assert of_keras[ended]
