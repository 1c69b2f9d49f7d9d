"""The wall clock of a program: when each of its steps starts."""

from __future__ import annotations

import time
from typing import Any

STARTS: list[float] = []


def step() -> None:
    """Note that a step starts."""
    STARTS.append(time.perf_counter())


def keras_clock() -> Any:
    """Return a callback of Keras that notes the start of each batch."""
    from tensorflow import keras

    return keras.callbacks.LambdaCallback(on_train_batch_begin=lambda *_, **__: step())
