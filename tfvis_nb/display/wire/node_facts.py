"""Facts about the events of a page, from graphs and compiled programs: one text number for each."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from tfvis_nb.analysis.events.activity import accelerators
from tfvis_nb.analysis.graph.attributes import attributes, colocation, original_names
from tfvis_nb.analysis.graph.costs import costs
from tfvis_nb.analysis.graph.gpu_kernels import has_gpu_kernel
from tfvis_nb.analysis.graph.nodes import Node, step_nodes
from tfvis_nb.analysis.programs.fused_instructions import inside
from tfvis_nb.analysis.programs.hlo_module import modules
from tfvis_nb.core.format import format_bytes, format_duration, format_operations
from tfvis_nb.core.labels import printable
from tfvis_nb.core.nested_columns import HLO_OP, PROGRAM
from tfvis_nb.core.row_numbers import number_rows
from tfvis_nb.core.tensor_senders import executor_rows
from tfvis_nb.core.trace import Trace
from tfvis_nb.reading.protobuf.wire import text

OF_GRAPHS = ("requested_device", "gpu_kernel", "attributes", "colocation", "original_names", "cost")
OF_PROGRAMS = ("program", "instruction", "hlo_category", "operations", "accessed", "expression", "fused")
"""The last one lists the nested instructions, one per line."""
FACTS = (*OF_GRAPHS, *OF_PROGRAMS)
"""The facts sent about a node of a graph, or of an instruction of a compiled program."""

_MOST_GRAPH_BYTES = 1 << 24
_MOST_TEXT_BYTES = 1 << 18
"""Limit for all facts together; later events have none."""
_LONGEST = 400
_MOST_FUSED = 40
_COUNTED = {"XLA": "", "shapes": ", counted from shapes"}


def node_facts(trace: Trace, events: pd.DataFrame) -> tuple[np.ndarray, list[pa.Array]]:
    """Return the index of each event in the table of facts, -1 without facts, and the columns of that table.

    An op of the same name, device and label is described by the first step that has it.
    """
    index = np.full(len(events), -1)
    estimates = _estimates(trace)
    rows = executor_rows(events) if estimates or any(trace.graphs) else index[:0]
    labelled = events.iloc[rows]
    same, first = number_rows(*(labelled[column] for column in ("name", "device", "detail")))
    of_key = np.full(len(first), -1)
    step = labelled["step"].to_numpy()
    name = labelled["name"].astype(object).to_numpy()
    device = labelled["device"].astype(object).to_numpy()
    cost = [estimates.get(key, "") for key in zip(step.tolist(), name, device, strict=True)]
    facts: dict[tuple[str, ...], int] = {}
    on_gpus = bool(accelerators(trace.events).any())
    graph_bytes = text_bytes = 0
    for number, graphs in enumerate(trace.graphs):
        here = np.flatnonzero((step == number) & (of_key[same] < 0))
        graph_bytes += sum(map(len, graphs)) if len(here) else 0
        if not len(here) or graph_bytes > _MOST_GRAPH_BYTES:
            continue
        wanted: dict[str, list[int]] = {}
        cost_of: dict[str, str] = {}
        for row in here:
            wanted.setdefault(name[row], []).append(same[row])
            cost_of.setdefault(name[row], cost[row])
        for node in step_nodes(trace, number, wanted):
            fact = (*_facts(node, on_gpus=on_gpus), cost_of[node.name], *[""] * len(OF_PROGRAMS))
            if fact not in facts:
                text_bytes += sum(map(len, fact))
                if not any(fact) or text_bytes > _MOST_TEXT_BYTES:
                    continue
            of_key[wanted[node.name]] = facts.setdefault(fact, len(facts))
    # Nodes of which only a cost graph knows.
    for known in np.flatnonzero(of_key[same] < 0).tolist() if estimates else ():
        if cost[known] and of_key[same[known]] < 0 and text_bytes < _MOST_TEXT_BYTES:
            text_bytes += len(cost[known])
            fact = (*[""] * (len(OF_GRAPHS) - 1), cost[known], *[""] * len(OF_PROGRAMS))
            of_key[same[known]] = facts.setdefault(fact, len(facts))
    index[rows] = of_key[same]
    _add_instructions(trace, events, index, facts)
    columns = zip(*facts, strict=True) if facts else [()] * len(FACTS)
    return index, [pa.array(column, pa.large_string()) for column in columns]


def _add_instructions(
    trace: Trace, events: pd.DataFrame, index: np.ndarray, facts: dict[tuple[str, ...], int]
) -> None:
    """Add facts about instructions of compiled programs to the events that ran them."""
    if trace.nested is None or trace.hlo_ops.empty:
        return
    code = np.zeros(len(events), np.int64)
    texts: list[dict[str, int]] = []
    for name in (PROGRAM, HLO_OP):
        # Other sources may have duplicate texts in a dictionary.
        column = pa.array(trace.nested[name].cast(pa.string()).to_numpy(), pa.string()).dictionary_encode()
        distinct = column.dictionary.to_pylist()
        texts.append({one: at for at, one in enumerate(distinct)})
        codes = column.indices.fill_null(len(distinct)).to_numpy()
        code = code * (len(distinct) + 1) + codes[events.index]
    ran, codes = np.unique(code, return_inverse=True)
    numbers = np.full(len(ran), -1)
    text_bytes = sum(len(fact) for one in facts for fact in one)
    for (program, op), described in _instructions(trace):
        fact = (*[""] * len(OF_GRAPHS), *described)
        text_bytes += 0 if fact in facts else sum(map(len, fact))
        if text_bytes > _MOST_TEXT_BYTES:
            break
        here = ran == texts[0][program] * (len(texts[1]) + 1) + texts[1][op]
        numbers[here] = facts.setdefault(fact, len(facts))
    index[:] = np.where(index >= 0, index, numbers[codes])


def _instructions(trace: Trace) -> Iterator[tuple[tuple[str, str], tuple[str, ...]]]:
    """Yield each program and instruction, longest first, with the texts of `OF_PROGRAMS`."""
    for row in trace.hlo_ops.astype(object).to_dict("records"):
        yield (
            (row["program"], row["hlo_op"]),
            (
                printable(row["program"], _LONGEST),
                printable(row["hlo_op"], _LONGEST),
                printable(row["category"], _LONGEST),
                _count(row, "flops", format_operations),
                _count(row, "bytes_accessed", format_bytes),
                printable(row["expression"], _LONGEST),
                _fused(trace, row["program"], row["hlo_op"]),
            ),
        )


def _count(row: Mapping[Any, Any], name: str, written: Callable[[float], str]) -> str:
    return "" if pd.isna(row[name]) else f"{written(row[name])}{_COUNTED[row['cost']]}"


def _fused(trace: Trace, program: str, hlo_op: str) -> str:
    """Return the nested instructions as text: the expression of each, and after tabs its op and its line."""
    module = modules(trace).get(program)
    place = None if module is None else module.find(hlo_op)
    if module is None or place is None:
        return ""
    instructions = inside(module, place[1])
    lines = []
    for _, one in instructions[:_MOST_FUSED]:
        name = text(one.name)
        facts = (name, text(one.metadata.op_name), modules(trace).source(program, name))
        lines.append("\t".join(printable(fact, _LONGEST) for fact in facts))
    more = [f"and {len(instructions) - _MOST_FUSED:,} more\t\t"] if len(instructions) > _MOST_FUSED else []
    return "\n".join([*lines, *more])


def _estimates(trace: Trace) -> dict[tuple[int, str, str], str]:
    """Return the estimate of the cost graph for each node that ran, by step, name and device."""
    table = costs(trace)
    table = table[(table["count"] > 0) & table["compute_cost_ns"].notna()]
    columns = (table[name] for name in ("step", "name", "device", "compute_cost_ns", "measured_ns"))
    return {
        (step, name, device): f"{format_duration(cost)} estimated, {format_duration(measured)} measured"
        for step, name, device, cost, measured in zip(*columns, strict=True)
    }


def _facts(node: Node, *, on_gpus: bool) -> tuple[str, ...]:
    """Return the texts of `OF_GRAPHS` without the cost, empty if unknown."""
    registered = has_gpu_kernel(node.definition) if on_gpus else None
    return (
        node.requested_device or "",
        "" if registered is None else "registered" if registered else "none registered",
        attributes(node.definition),
        colocation(node.definition),
        original_names(node.definition),
    )
