"""Calls of functions compiled by JAX: the events ``PjitFunction(step)`` of host threads.

JAX also compiles eager work, so ``PjitFunction(matmul)`` may belong to the program or to JAX itself.
"""

import re
import zlib
from collections.abc import Sequence

import numpy as np

from tfvis_nb.reading.xspace.rows import Sparse

LOWERING = "lower_sharding_computation"
"""The event of the lowering of a function that was traced."""

_CALL = re.compile(r"PjitFunction\((?P<function>.*)\)", re.DOTALL)
_OTHER = re.compile(r"\W")


def jitted_function(name: str) -> str:
    """Return the function called by an event; empty for other events.

    >>> jitted_function("PjitFunction(step)"), jitted_function("PjitFunction")
    ('step', '')
    """
    match = _CALL.fullmatch(name)
    return match["function"] if match else ""


def jitted_calls(texts: Sequence[str], meta: np.ndarray) -> Sparse:
    """Return the events that call functions, with the numbers of the functions.

    `texts` are the names of events, `meta` is for each event the index of its name.
    """
    functions = [jitted_function(text) for text in texts]
    numbers = np.array([function_number(one) if one else -1 for one in functions], np.int64)
    rows = np.flatnonzero((numbers >= 0)[meta]) if any(functions) else np.zeros(0, np.int64)
    return Sparse(rows, numbers[meta[rows]])


def function_number(function: str) -> int:
    """Return a number for a function's name, equal to that for the name of its compiled program.

    >>> function_number("<lambda>") == function_number("_lambda")
    True
    """
    return zlib.crc32(_OTHER.sub("_", function).rstrip("_").encode("utf-8", "replace"))
