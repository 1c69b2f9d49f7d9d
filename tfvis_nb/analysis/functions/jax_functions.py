"""Functions of JAX's own that it compiles for ops outside of jax.jit, such as ``add`` and ``_mean``.

They are compiled once for each op and shape. Their calls look like those of a program's own functions.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd
import pyarrow as pa

from tfvis_nb.core.nested_columns import PROGRAM
from tfvis_nb.core.stacks import event_stacks
from tfvis_nb.core.trace import Trace
from tfvis_nb.reading.xspace.jitted import function_number, jitted_function

_PROGRAM = "jit_"


def of_jax(trace: Trace, names: pd.Series) -> np.ndarray:
    """Return which names of calls are of JAX's own functions, or may be.

    Ops of the program's own function have a frame of it on their stacks; ops of JAX's function have only the
    frames that call it. Without any such stacks, all functions count as the program's own.
    """
    functions = names.map(jitted_function)
    jitted = functions.astype(bool).to_numpy(bool)
    known = set(_called(trace)) if jitted.any() else set()
    if not known:
        return np.zeros(len(names), bool)
    defined = {program for program, function in known if program == function}
    unknown: np.ndarray = ~functions.map(function_number).isin(defined).to_numpy(bool)
    return unknown & jitted


def _called(trace: Trace) -> Iterator[tuple[int, int]]:
    """Return the numbers of programs of JAX, with those of the functions on the stacks of their ops."""
    if trace.nested is None or trace.stacks is None or PROGRAM not in trace.nested.column_names:
        return
    table = pa.table({"program": trace.nested[PROGRAM], "stack": event_stacks(trace)})
    pairs = table.group_by(["program", "stack"]).aggregate([])
    for program, stack in zip(*(pairs[name].to_pylist() for name in ("program", "stack")), strict=True):
        if stack < 0 or not (program or "").startswith(_PROGRAM):
            continue
        number = function_number(program.partition("(")[0].removeprefix(_PROGRAM))
        for frame in trace.stacks.frames_of(stack):
            yield number, function_number(frame.function.rpartition(".")[2])
