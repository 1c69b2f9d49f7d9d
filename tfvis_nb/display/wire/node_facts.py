"""What the graphs say of the ops of a page: one text number for each event and fact."""

import numpy as np
import pandas as pd
import pyarrow as pa

from tfvis_nb.analysis.dataflow.graph_inputs import executor_rows
from tfvis_nb.analysis.events.activity import accelerators
from tfvis_nb.analysis.graph.attributes import attributes, colocation, original_names
from tfvis_nb.analysis.graph.gpu_kernels import has_gpu_kernel
from tfvis_nb.analysis.graph.nodes import Node, step_nodes
from tfvis_nb.core.trace import Trace

FACTS = ("requested_device", "gpu_kernel", "attributes", "colocation", "original_names")
"""What is sent of a node."""

_MOST_GRAPH_BYTES = 1 << 24
_MOST_TEXT_BYTES = 1 << 18
"""Of all facts together: later events go without them."""


def node_facts(trace: Trace, events: pd.DataFrame) -> tuple[np.ndarray, list[pa.Array]]:
    """Return the index of each event in the table of facts, -1 if it has none, and that table's columns.

    An op of the same name, device and label is described by the first step that has it.
    """
    index = np.full(len(events), -1)
    rows = executor_rows(events) if any(trace.graphs) else index[:0]
    labelled = events.iloc[rows]
    keys = labelled.groupby(["name", "device", "detail"], observed=True, sort=False, dropna=False)
    same = keys.ngroup().to_numpy()
    of_key = np.full(int(same.max(initial=-1)) + 1, -1)
    step = labelled["step"].to_numpy()
    name = labelled["name"].astype(object).to_numpy()
    facts: dict[tuple[str, ...], int] = {}
    on_gpus = bool(accelerators(trace.events).any())
    graph_bytes = text_bytes = 0
    for number, graphs in enumerate(trace.graphs):
        here = np.flatnonzero((step == number) & (of_key[same] < 0))
        graph_bytes += sum(map(len, graphs)) if len(here) else 0
        if not len(here) or graph_bytes > _MOST_GRAPH_BYTES:
            continue
        wanted: dict[str, list[int]] = {}
        for row in here:
            wanted.setdefault(name[row], []).append(same[row])
        for node in step_nodes(trace, number, wanted):
            told = _facts(node, on_gpus=on_gpus)
            if told not in facts:
                text_bytes += sum(map(len, told))
                if not any(told) or text_bytes > _MOST_TEXT_BYTES:
                    continue
            of_key[wanted[node.name]] = facts.setdefault(told, len(facts))
    index[rows] = of_key[same]
    columns = zip(*facts, strict=True) if facts else [()] * len(FACTS)
    return index, [pa.array(column, pa.large_string()) for column in columns]


def _facts(node: Node, *, on_gpus: bool) -> tuple[str, ...]:
    """Return the texts of `FACTS`, empty where nothing is known."""
    registered = has_gpu_kernel(node.definition) if on_gpus else None
    return (
        node.requested_device or "",
        "" if registered is None else "registered" if registered else "none registered",
        attributes(node.definition),
        colocation(node.definition),
        original_names(node.definition),
    )
