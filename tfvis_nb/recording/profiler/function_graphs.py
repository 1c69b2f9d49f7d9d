"""The graphs of functions that TensorFlow instantiates during a recording.

``run_metadata`` of the eager context has had no times since TensorFlow 2.1, but it has the graph of each
function when it first runs, after placement and optimisation.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from tfvis_nb.core.categories import is_kind
from tfvis_nb.kinds import NODES


class FunctionGraph(NamedTuple):
    """One function on one device, serialised.

    - `graph`: Its ``GraphDef``, as executed.
    - `function`: A ``RunMetadata`` with the function before and after optimisation.
    """

    graph: bytes
    function: bytes


class FunctionGraphs:
    """Collects graphs between `collect` and `taken`, unless the user's code collects them itself."""

    def __init__(self) -> None:
        self._context: Any = None

    def collect(self) -> None:
        """Start collecting. This initialises TensorFlow's eager context if needed."""
        from tensorflow.python.eager import context

        if self._context is None and not _user_collects():
            self._context = context.context()
            self._context.enable_graph_collection()

    def taken(self) -> list[FunctionGraph]:
        """Stop, and return the collected graphs, one per function and device."""
        eager, self._context = self._context, None
        if eager is None or _user_collects():
            return []
        metadata = eager.export_run_metadata()
        eager.disable_graph_collection()
        taken = []
        for function in metadata.function_graphs:
            partitions = [graph.SerializeToString() for graph in function.partition_graphs]
            function.ClearField("partition_graphs")
            rest = type(metadata)(function_graphs=[function]).SerializeToString()
            taken += [FunctionGraph(graph, rest) for graph in partitions]
        return taken


def graphs_of_steps(events: pd.DataFrame, graphs: Sequence[FunctionGraph]) -> list[list[FunctionGraph]]:
    """Give each step of a profile the graphs that contain its ops.

    A profile does not show the function of an op. So a step gets the graph with most of its ops, then the one
    with most of the remaining ops, as long as a graph has at least two of them.
    """
    from tensorflow.core.framework import graph_pb2

    ops = events[is_kind(events, *NODES)]
    names = pd.Index(ops["name"].astype("str").unique())
    nodes = [graph_pb2.GraphDef.FromString(one.graph).node for one in graphs]
    has = np.array([names.isin([node.name for node in every]) for every in nodes])
    ran: dict[Any, Any] = ops.groupby("step")["name"].agg(pd.Series.unique).to_dict()
    result = []
    for step in range(int(events["step"].max()) + 1):
        left = names.isin(ran.get(step, []))
        held = []
        while (has & left).sum(axis=1).max(initial=0) > 1:
            best = int((has & left).sum(axis=1).argmax())
            held.append(graphs[best])
            left &= ~has[best]
        result.append(held)
    return result


def _user_collects() -> bool:
    """Whether ``tf.summary.trace_on`` is collecting: it exports the graphs itself."""
    from tensorflow.python.ops import summary_ops_v2

    return summary_ops_v2._current_trace_context is not None  # noqa: SLF001
