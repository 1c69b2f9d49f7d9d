"""The instructions of a fusion, and the ops and lines they were made from."""

from __future__ import annotations

from typing import Any

import pandas as pd

from tfvis_nb.analysis._validate import validate_input
from tfvis_nb.analysis.programs.hlo_flops import Flops
from tfvis_nb.analysis.programs.hlo_module import Computation, HloModule, modules
from tfvis_nb.analysis.programs.hlo_text import category, expression
from tfvis_nb.analysis.unavailable import cannot_say, dtypes
from tfvis_nb.core.trace import Trace
from tfvis_nb.reading.protobuf.wire import text
from tfvis_nb.texts import Text

FIGURES: dict[str, str] = {
    "hlo_op": "Name of the instruction.",
    "category": "XLA's category of it.",
    "op_name": "TensorFlow node or JAX op that it was made of; empty if not known.",
    "source": "File and line of the user's code that made it, if known.",
    "flops": "Floating-point operations of one run, counted from shapes as for hlo_ops.",
    "expression": "The instruction as XLA writes it, without layouts.",
}

_COLUMNS = {name: "Int64" if name == "flops" else "str" for name in FIGURES}
_PASSED_ON = frozenset((b"parameter", b"constant", b"tuple", b"get-tuple-element"))
_MOST = 10_000


@validate_input
def fused_instructions(trace: Trace, program: str, hlo_op: str) -> pd.DataFrame:
    """Return the instructions inside an instruction of a compiled program, such as a fusion.

    Parameters
    ----------
    trace
        Any trace.
    program, hlo_op
        A row of `tfvis_nb.analysis.hlo_ops`.

    Returns
    -------
    pandas.DataFrame
        One row per instruction inside, in the program's order: ``hlo_op``, ``category``, ``op_name``,
        ``source``, ``expression`` (str) and ``flops`` (Int64) as in `FIGURES`. Instructions that only pass
        values on (parameters, constants and tuples) are left out. No rows for an instruction that calls no
        others; `cannot_say` if the trace does not have the program or the instruction.

    Examples
    --------
    >>> from tfvis_nb import Trace, events
    >>> from tfvis_nb.analysis import fused_instructions
    >>> fused_instructions(Trace(events.build({}, rows=0)), "jit_f(3)", "fusion.1")
    Not available: the trace does not have the HLO of this instruction.
    """
    module = modules(trace).get(program)
    place = None if module is None else module.find(hlo_op)
    if module is None or place is None:
        return cannot_say(_COLUMNS, Text("no_hlo"))
    count = Flops(module)
    rows = [
        {
            "hlo_op": text(one.name),
            "category": category(one),
            "op_name": text(one.metadata.op_name),
            "source": modules(trace).source(program, text(one.name)),
            "flops": count.of(computation, one),
            "expression": expression(computation, one),
        }
        for computation, one in inside(module, place[1])
    ]
    return pd.DataFrame(rows, columns=[*_COLUMNS]).astype(dtypes(_COLUMNS))


def inside(module: HloModule, instruction: Any) -> list[tuple[Computation, Any]]:
    """Return the instructions that an instruction calls, without those that only pass values on."""
    called = module.called(instruction) if instruction.opcode in (b"fusion", b"call", b"async-start") else []
    pairs = [
        (computation, one)
        for computation in called
        for one in computation.instructions.values()
        if one.opcode not in _PASSED_ON
    ]
    return pairs[:_MOST]
