"""A batch that fails while it is traced does not keep TensorFlow's profiler."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest

import tfvis_nb as tv

pytestmark = pytest.mark.tensorflow


class _Fails(keras.callbacks.Callback):  # type: ignore[misc] # keras has no types
    def on_train_batch_begin(self, batch: int, logs: Any = None) -> None:  # noqa: ARG002
        if batch == 2:
            raise KeyboardInterrupt


def _fit(*callbacks: Any) -> None:
    model = keras.Sequential([keras.layers.Dense(3)])
    model.compile("sgd", "mse")
    model.fit(np.ones((40, 4)), np.ones((40, 3)), batch_size=8, verbose=0, callbacks=list(callbacks))


def test_the_next_fit_is_traced_and_so_is_what_comes_after(tmp_path: Path) -> None:
    recorded = tv.TraceSession(tmp_path / "run.tfvis", keep=None)
    recorded.trace_all()
    with pytest.raises(KeyboardInterrupt):
        _fit(recorded.keras_callback(), _Fails())
    before = len(recorded.traces)
    _fit(recorded.keras_callback())
    assert len(recorded.traces) == before + 5
    recorded.close()
    with tv.trace() as trace:
        _fit()
    assert len(trace.events)


def test_a_closed_session_leaves_the_profiler(tmp_path: Path) -> None:
    recorded = tv.TraceSession(tmp_path / "run.tfvis")
    recorded.trace_all()
    with pytest.raises(KeyboardInterrupt):
        _fit(recorded.keras_callback(), _Fails())
    recorded.close()
    with tv.trace() as trace:
        _fit()
    assert len(trace.events)


def test_batches_of_the_only_model_are_found_by_their_kind(tmp_path: Path) -> None:
    with tv.TraceSession(tmp_path / "run.tfvis") as recorded:
        _fit(recorded.keras_callback())
        recorded.trace_next("train")
        assert recorded.signatures["requested"].tolist() == [1]
    recorded.close()
