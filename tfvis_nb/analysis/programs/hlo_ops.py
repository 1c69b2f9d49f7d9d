"""Instructions of compiled programs: their times, operations and bytes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from tfvis_nb.analysis._validate import validate_input
from tfvis_nb.analysis.events.nesting import self_times_of
from tfvis_nb.analysis.programs.hlo_flops import Flops
from tfvis_nb.analysis.programs.hlo_module import Computation, HloModule, modules
from tfvis_nb.analysis.programs.hlo_shapes import size_bytes
from tfvis_nb.analysis.programs.hlo_text import category, expression
from tfvis_nb.analysis.unavailable import cannot_say, dtypes
from tfvis_nb.core.nested_columns import BYTES_ACCESSED, FLOPS, HLO_OP, OP_NAME, PROGRAM
from tfvis_nb.core.stacks import event_stacks
from tfvis_nb.core.trace import Trace
from tfvis_nb.texts import Text

FIGURES: dict[str, str] = {
    "program": "Name and number of the compiled program, such as jit_f(3314).",
    "hlo_op": "Name of the instruction. Kernels of libraries in a command buffer do not record which they"
    " are: they share the command buffer's name.",
    "category": "XLA's category of the instruction, such as loop fusion; empty without the program's HLO.",
    "op_name": "TensorFlow node or JAX op that the instruction was made of; for a fusion that of its result.",
    "source": "File and line of the user's code that made it, if known.",
    "count": "Number of times it ran, on all devices.",
    "total_ns": "Sum of the durations, in ns. Instructions on an asynchronous line do not count.",
    "self_ns": "Sum of the durations without those of other events within them on the same lane, in ns.",
    "share": "self_ns / sum of self_ns of all instructions, from 0 to 1.",
    "flops": "Floating-point operations of one run. From shapes: 2 for each product that a dot or convolution"
    " adds up, 1 for each element of other arithmetic, including exp or tanh. A fusion has the sum of its"
    " instructions.",
    "bytes_accessed": "Bytes that one run reads and writes. From shapes: each operand once and the result "
    "once; of an operand that is only sliced, gathered or updated in part, that part.",
    "cost": "Who counted flops and bytes_accessed: XLA, as recorded in the profile, or here from the shapes "
    "in the program's HLO. Empty if both are unknown.",
    "expression": "The instruction as XLA writes it, without layouts.",
    "longest": "The event with the longest duration.",
}

_COLUMNS = {
    "program": "str",
    "hlo_op": "str",
    "category": "str",
    "op_name": "str",
    "source": "str",
    "count": "int64",
    "total_ns": "int64",
    "self_ns": "int64",
    "share": "float64",
    "flops": "Int64",
    "bytes_accessed": "Int64",
    "cost": "str",
    "expression": "str",
    "longest": "int64",
}
_ASYNCHRONOUS = "Async XLA Ops"


class _Instruction(NamedTuple):
    """The program's record of an instruction; empty or None if it has none."""

    category: str = ""
    expression: str = ""
    flops: int | None = None
    bytes_accessed: int | None = None


@validate_input
def hlo_ops(trace: Trace) -> pd.DataFrame:
    """Add up the events of a trace by the instruction of a compiled program that they ran.

    Parameters
    ----------
    trace
        Any trace.

    Returns
    -------
    pandas.DataFrame
        One row per program and instruction, the largest self time first: ``program``, ``hlo_op``,
        ``category``, ``op_name``, ``source``, ``cost`` and ``expression`` (str, empty if unknown),
        ``count``, ``total_ns``, ``self_ns`` (int64), ``share`` (float64), ``flops``, ``bytes_accessed``
        (Int64) as in `FIGURES`, and ``longest`` (int64), the event with the longest duration.
        `cannot_say` if no event ran an instruction of a compiled program.

    Notes
    -----
    XLA compiles equal instructions to one kernel. In a command buffer only the kernel is known, so its runs
    count toward the first instruction of that kernel, which does the same work.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from tfvis_nb import Trace, events
    >>> from tfvis_nb.analysis import hlo_ops
    >>> table = events.build({"start_ns": [0, 9], "duration_ns": [5, 3], "kind": ["kernel"] * 2})
    >>> nested = pa.table({"program": ["jit_f(3)"] * 2, "hlo_op": ["dot.1"] * 2, "flops": [64, 64]})
    >>> result = hlo_ops(Trace(table, nested=nested))
    >>> result[["program", "hlo_op", "count", "total_ns", "flops", "cost"]].values.tolist()
    [['jit_f(3)', 'dot.1', 2, 8, 64, 'XLA']]
    """
    rows = instruction_events(trace)
    if not len(rows):
        return cannot_say(_COLUMNS, Text("no_hlo_ops"))
    ran = instruction_runs(trace)
    table = (
        ran.groupby(["program", "hlo_op"], sort=False)
        .agg(
            count=("duration_ns", "size"),
            total_ns=("duration_ns", "sum"),
            self_ns=("self_ns", "sum"),
            at=("duration_ns", "idxmax"),
        )
        .reset_index()
    )
    table["share"] = table["self_ns"] / max(int(table["self_ns"].sum()), 1)
    table["longest"] = rows[table["at"]]
    table = table.assign(**_described(trace, table))
    table = table.sort_values("self_ns", ascending=False, kind="stable").reset_index(drop=True)
    return table[list(_COLUMNS)].astype(dtypes(_COLUMNS))


@validate_input
def instruction_runs(trace: Trace) -> pd.DataFrame:
    """Return program, instruction, step and times of each event of `instruction_events`."""
    rows = instruction_events(trace)
    own, known = self_times_of(trace)
    return pd.DataFrame(
        {
            "program": texts_of(trace, PROGRAM)[rows] if len(rows) else [],
            "hlo_op": texts_of(trace, HLO_OP)[rows] if len(rows) else [],
            "step": trace.events["step"].to_numpy()[rows],
            "duration_ns": trace.events["duration_ns"].to_numpy(np.int64)[rows],
            "self_ns": np.where(known, own, 0)[rows],
        }
    )


@validate_input
def instruction_events(trace: Trace) -> np.ndarray:
    """Return the events that ran instructions, without asynchronous ones."""
    if trace.nested is None or not {PROGRAM, HLO_OP} <= {*trace.nested.column_names}:
        return np.zeros(0, np.int64)
    aside = (trace.events["lane"] == _ASYNCHRONOUS).to_numpy(bool)
    ran = pc.and_(pc.is_valid(trace.nested[PROGRAM]), pc.is_valid(trace.nested[HLO_OP]))
    return np.flatnonzero(ran.to_numpy(zero_copy_only=False) & ~aside)


def _described(trace: Trace, table: pd.DataFrame) -> dict[str, Any]:
    """Return the columns that describe the instruction of each row, without its times."""
    rows_of_table = instructions(trace, table["program"].tolist(), table["hlo_op"].tolist())
    rows = table["longest"].to_numpy()
    recorded = [_numbers(trace, name, rows) for name in (FLOPS, BYTES_ACCESSED)]
    of_xla = np.array(~recorded[0].isna() | ~recorded[1].isna(), bool)
    counted = [
        pd.array([getattr(one, name) for one in rows_of_table], "Int64") for name in (FLOPS, BYTES_ACCESSED)
    ]
    costs = [ours.copy() for ours in counted]
    for ours, theirs in zip(costs, recorded, strict=True):
        ours[of_xla] = theirs[of_xla]
    here = ~counted[0].isna() | ~counted[1].isna()
    operations = trace.events["op"].astype(object).to_numpy()[rows]
    return {
        "category": [
            one.category or (str(op) if xla else "")
            for one, op, xla in zip(rows_of_table, operations, of_xla, strict=True)
        ],
        "op_name": texts_of(trace, OP_NAME)[rows],
        "source": _sources(trace, rows),
        "flops": costs[0],
        "bytes_accessed": costs[1],
        "cost": np.where(of_xla, "XLA", np.where(here, "shapes", "")),
        "expression": [one.expression for one in rows_of_table],
    }


def instructions(trace: Trace, programs: list[str], names: list[str]) -> list[_Instruction]:
    """Return the program's record of each instruction."""
    counters: dict[str, Flops] = {}
    described = []
    for program, name in zip(programs, names, strict=True):
        module = modules(trace).get(program)
        described.append(_Instruction() if module is None else _described_by(module, counters, program, name))
    return described


def _described_by(module: HloModule, counters: dict[str, Flops], program: str, name: str) -> _Instruction:
    place = module.find(name)
    if place is None:
        return _Instruction()
    if program not in counters:
        counters[program] = Flops(module)
    return _Instruction(
        category(place[1]),
        expression(*place),
        counters[program].of(*place),
        accessed_bytes(module, *place),
    )


def texts_of(trace: Trace, name: str) -> np.ndarray:
    """Return a nested column of texts (object), empty if there is none."""
    if trace.nested is None or name not in trace.nested.column_names:
        return np.full(len(trace.events), "", object)
    texts: np.ndarray = pc.fill_null(trace.nested[name].cast(pa.string()), "").to_numpy(zero_copy_only=False)
    return texts


def _numbers(trace: Trace, name: str, rows: np.ndarray) -> Any:
    """Return a nested column of numbers at some rows (Int64)."""
    if trace.nested is None or name not in trace.nested.column_names:
        return pd.array([pd.NA] * len(rows), "Int64")
    return pd.array(trace.nested[name].take(pa.array(rows)).to_pylist(), "Int64")


def _sources(trace: Trace, rows: np.ndarray) -> list[str]:
    """Return file and line of each event's innermost frame of the user's own code."""
    if trace.stacks is None:
        return [""] * len(rows)
    frame = np.append(trace.stacks.own_frame(), -1)[event_stacks(trace)[rows]].tolist()
    files = trace.stacks.files["name"].to_pylist()
    numbers, lines = (trace.stacks.frames[name].to_pylist() for name in ("file", "line"))
    return [f"{files[numbers[at]]}:{lines[at]}" if at >= 0 else "" for at in frame]


_FREE = frozenset(
    b"add-dependency after-all bitcast constant domain get-tuple-element opt-barrier parameter partition-id"
    b" replica-id tuple".split()
)
"""Instructions that touch no memory."""

_UNKNOWN = frozenset((b"while", b"conditional", b"call"))
"""Instructions whose memory is that of the instructions they call."""

_PART = frozenset((b"slice", b"dynamic-slice", b"gather"))
"""Instructions that read only as much of their first operand as they return."""


def accessed_bytes(module: HloModule, computation: Computation, instruction: Any) -> int | None:
    """Return the bytes that one run of an instruction reads and writes; None if unknown.

    Each operand is read once and the result is written once. If the instruction or its fusion only slices,
    gathers or updates part of an array, only that part counts.
    """
    opcode = instruction.opcode
    if opcode in _FREE:
        return 0
    if opcode in _UNKNOWN:
        return None
    operands = computation.operands(instruction)
    written = _written(computation, instruction)
    inside = module.called(instruction)[0] if opcode == b"fusion" and module.called(instruction) else None
    if inside is not None:
        parameters = _parameters(inside)
        read = [
            _read_of(inside, parameters[at]) if at in parameters else size_bytes(one.shape)
            for at, one in enumerate(operands)
        ]
        written = size_bytes(instruction.shape) if inside.root is None else _written(inside, inside.root)
    else:
        read = [_read(instruction, operands, at) for at in range(len(operands))]
    distinct = dict(zip((one.id for one in operands), read, strict=True))
    known = [size for size in (written, *distinct.values()) if size is not None]
    return sum(known) if len(known) == 1 + len(distinct) else None


def _read(instruction: Any, operands: Sequence[Any], at: int) -> int | None:
    if at == 0 and instruction.opcode in _PART:
        return size_bytes(instruction.shape)
    if at == 0 and instruction.opcode == b"dynamic-update-slice":
        return 0
    if at == 0 and instruction.opcode == b"scatter":
        return size_bytes(operands[-1].shape)
    return size_bytes(operands[at].shape)


def _written(computation: Computation, instruction: Any) -> int | None:
    operands = computation.operands(instruction)
    if instruction.opcode == b"dynamic-update-slice" and len(operands) > 1:
        return size_bytes(operands[1].shape)
    if instruction.opcode == b"scatter" and operands:
        return size_bytes(operands[-1].shape)
    return size_bytes(instruction.shape)


def _parameters(computation: Computation) -> Mapping[int, Any]:
    return {
        one.parameter_number: one for one in computation.instructions.values() if one.opcode == b"parameter"
    }


def _read_of(computation: Computation, parameter: Any) -> int | None:
    """Return the bytes of a parameter that its users in a fusion read: all, unless each reads only a part."""
    whole, parts = size_bytes(parameter.shape), 0
    for user in computation.users.get(parameter.id, ()):
        operands = computation.operands(user)
        part = _read(user, operands, [one.id for one in operands].index(parameter.id))
        if part is None or part == whole:
            return whole
        parts += part
    return parts if whole is None else min(parts, whole)
