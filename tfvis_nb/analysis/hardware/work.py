"""The operations and bytes of kernels, ops on a CPU and compiled instructions."""

from __future__ import annotations

import numpy as np
import pandas as pd

from tfvis_nb.analysis.dataflow.edges import edges as edges_of
from tfvis_nb.analysis.dataflow.recorded_links import launches
from tfvis_nb.analysis.events.activity import accelerators
from tfvis_nb.analysis.events.locations import LOCATIONS, locations
from tfvis_nb.analysis.events.nesting import parents_of, self_times_of
from tfvis_nb.analysis.hardware.op_work import op_work
from tfvis_nb.analysis.hardware.peak_rates import type_of
from tfvis_nb.analysis.programs.hlo_ops import hlo_ops, instruction_events, texts_of
from tfvis_nb.core.categories import is_kind
from tfvis_nb.core.nested_columns import HLO_OP, PROGRAM
from tfvis_nb.core.per_trace import per_trace
from tfvis_nb.core.trace import Trace


@per_trace
def work(trace: Trace) -> pd.DataFrame:
    """Return a row for each event whose operations and bytes are known.

    ``event``, ``execution`` (int64, the event of the op that ran it, or itself), ``self_ns`` (int64),
    ``flops``, ``bytes`` (float64) and ``type`` (object, XLA's name of the number type). The work of an op is
    divided among its kernels by their durations, so that it counts once.
    """
    table = pd.concat([of_ops(trace), _of_instructions(trace)], ignore_index=True)
    # The kernel of an instruction may also have a row through its node; XLA's row comes last and is kept.
    return table.drop_duplicates("event", keep="last").reset_index(drop=True)


@per_trace
def of_ops(trace: Trace) -> pd.DataFrame:
    """Return the rows of `work` for TensorFlow's ops."""
    ops = op_work(trace)
    if ops.empty:
        return _typed(ops.assign(execution=0, self_ns=0))
    own, known = self_times_of(trace)
    own = np.where(known, own, 0)
    launched = ops.rename(columns={"event": "execution"}).merge(_launched(trace, ops), on="execution")
    launched["self_ns"] = own[launched["event"].to_numpy()]
    kernels = launched.groupby("execution")["self_ns"]
    whole = kernels.transform("sum")
    part = (launched["self_ns"] / whole).where(whole > 0, 1 / kernels.transform("size"))
    launched = launched.assign(flops=launched["flops"] * part, bytes=launched["bytes"] * part)
    host = ~accelerators(trace.events) & (locations(trace.events) == LOCATIONS.index("host"))
    host[launched["execution"].to_numpy()] = False
    alone = ops[host[ops["event"].to_numpy()]]
    alone = alone.assign(execution=alone["event"], self_ns=own[alone["event"].to_numpy()])
    return _typed(pd.concat([alone, launched], ignore_index=True))


def _launched(trace: Trace, ops: pd.DataFrame) -> pd.DataFrame:
    """Return the kernels (``event``) that ops launched (``execution``), both int64."""
    execution = event = np.zeros(0, np.int64)
    kernel = is_kind(trace.events, "kernel")
    if kernel.any():
        edges = edges_of(trace)[(edges_of(trace)["kind"] == "launch").to_numpy()]
        call, launched = launches(trace)
        execution = np.concatenate([call, edges["source"].to_numpy()])
        event = np.concatenate([launched, edges["target"].to_numpy()])
        counted = np.zeros(len(trace.events), bool)
        counted[ops["event"].to_numpy()] = True
        parent = parents_of(trace)
        # The launching call of a host thread is nested in the op.
        while (outward := (execution >= 0) & ~counted[execution]).any():
            execution[outward] = parent[execution[outward]]
    kept = (execution >= 0) & kernel[event]
    return pd.DataFrame({"execution": execution[kept], "event": event[kept]}).drop_duplicates("event")


def _of_instructions(trace: Trace) -> pd.DataFrame:
    rows = instruction_events(trace)
    if not len(rows):
        return _typed(op_work(trace).iloc[:0].assign(execution=0, self_ns=0))
    names = ["program", "hlo_op"]
    ran = pd.DataFrame({"event": rows, "program": texts_of(trace, PROGRAM)[rows]})
    ran["hlo_op"] = texts_of(trace, HLO_OP)[rows]
    ops = hlo_ops(trace)
    ops = ops[ops["flops"].notna() & ops["bytes_accessed"].notna() & ~is_start(ops)]
    kinds = [type_of(expression) for expression in ops["expression"]]
    costs = ops[names].assign(
        flops=ops["flops"].astype("float64"),
        bytes=ops["bytes_accessed"].astype("float64"),
        type=np.array(kinds, object),
    )
    own, known = self_times_of(trace)
    executed = ran.astype(dict.fromkeys(names, object)).merge(
        costs.astype(dict.fromkeys(names, object)), on=names
    )
    event = executed["event"].to_numpy(np.int64)
    return _typed(executed.assign(execution=event, self_ns=np.where(known, own, 0)[event]))


MOST_EVENTS = 100
"""How many events per row `rows_events` lists: the longest ones."""


@per_trace
def rows_events(trace: Trace) -> dict[tuple[str, ...], list[int]]:
    """Return the events of each row of ``trace.roofline``: an instruction, or a node and its op."""
    events = instruction_events(trace)
    if len(events):
        keys = [texts_of(trace, name)[events] for name in (PROGRAM, HLO_OP)]
    else:
        ran = of_ops(trace)
        events, executions = ran["event"].to_numpy(), ran["execution"].to_numpy()
        keys = [trace.events[name].iloc[executions].astype(object).fillna("") for name in ("name", "op")]
    duration = trace.events["duration_ns"].to_numpy()[events]
    named = list(zip(*(map(str, key) for key in keys), strict=True))
    by_row: dict[tuple[str, ...], list[int]] = {}
    for at in np.argsort(-duration, kind="stable").tolist():
        of_row = by_row.setdefault(named[at], [])
        if len(of_row) < MOST_EVENTS:
            of_row.append(int(events[at]))
    return by_row


def is_start(ops: pd.DataFrame) -> pd.Series:
    """Return a mask of instructions that only start work which another one ends."""
    return ops["category"].str.endswith("-start").fillna(False).astype(bool)


def is_end(ops: pd.DataFrame) -> pd.Series:
    """Return a mask of instructions that wait for the end of work which another one started."""
    return ops["category"].str.endswith("-done").fillna(False).astype(bool)


def _typed(table: pd.DataFrame) -> pd.DataFrame:
    dtypes = {"event": "int64", "execution": "int64", "self_ns": "int64"}
    dtypes |= {"flops": "float64", "bytes": "float64", "type": "object"}
    return table[list(dtypes)].astype(dtypes).reset_index(drop=True)
