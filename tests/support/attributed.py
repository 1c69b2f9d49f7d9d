"""Attribution of recorded ops to lines by their stacks."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

from tfvis_nb.core.stacks import PHASE, event_stacks
from tfvis_nb.core.trace import Trace

ATTRIBUTED = 0.98
"""The part of the ops that have lines."""

_OF_THE_RUNTIME = ["_Send", "NoOp"]
"""Ops that no line of code asks for."""


def function(body: Callable[..., Any]) -> Any:
    """Return a ``tf.function``, which has no types."""
    import tensorflow as tf

    return tf.function(body)


def compiling(body: Callable[..., Any]) -> Any:
    """Return a ``tf.function`` that XLA compiles."""
    import tensorflow as tf

    return tf.function(body, jit_compile=True)


def by_line(trace: Trace) -> pd.DataFrame:
    """The ops of a trace: name, op, time, the text of the user's line, phase."""
    events, stacks = trace.events, trace.stacks
    assert stacks is not None
    assert trace.nested is not None
    own, stack = stacks.own_frame(), event_stacks(trace)
    texts = np.array([*stacks.frames["text"].to_pylist(), ""], dtype=object)
    line = np.where(stack >= 0, texts[own[stack]], "")
    table = events.assign(line=line, phase=trace.nested[PHASE].to_pylist())
    return table[table["kind"] == "op"]


def part_with_lines(ops: pd.DataFrame) -> float:
    """Return the part of the ops that have lines.

    Not of their time: on a busy machine a short op, whose thread has to wait, can take most of it.
    """
    asked = ops[~ops["op"].isin(_OF_THE_RUNTIME)]
    return float((asked["line"] != "").mean())


def of_line(ops: pd.DataFrame, text: str) -> set[tuple[str, str]]:
    """Return op types and phases of the ops of the line with a mark in it."""
    found = ops[ops["line"].str.contains(text, regex=False)]
    return set(zip(found["op"], found["phase"], strict=True))
