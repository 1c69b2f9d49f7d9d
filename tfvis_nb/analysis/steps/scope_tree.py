"""The name scopes of a graph as a tree, with the time spent in each."""

from collections.abc import Collection

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from tfvis_nb import events as event_table
from tfvis_nb.analysis._validate import validate_input
from tfvis_nb.analysis.dataflow.label_inputs import origins
from tfvis_nb.analysis.events.locations import LOCATIONS, locations
from tfvis_nb.analysis.events.nesting import self_times
from tfvis_nb.analysis.steps.tree import Tree
from tfvis_nb.analysis.unavailable import cannot_say
from tfvis_nb.core.categories import is_kind
from tfvis_nb.core.row_numbers import number_rows
from tfvis_nb.core.step_spans import of_steps
from tfvis_nb.core.trace import Trace
from tfvis_nb.kinds import MOVING
from tfvis_nb.texts import Text

_SELF = "without other nodes' ops nested in them on their thread, in ns"

FIGURES: dict[str, str] = {
    "events": "Number of events of the scope's nodes.",
    "device_ns": "Sum of the durations of the kernels, copies and memsets of the scope's nodes, in ns.",
    "device_own_ns": "The part of device_ns that belongs to the node with the scope's own name.",
    "host_ns": f"Sum of the durations of the ops of the scope's nodes, {_SELF}; for ops of a GPU, the time"
    " of launching them.",
    "host_own_ns": "The part of host_ns that belongs to the node with the scope's own name.",
    "network_ns": "Sum of the durations of receiving the scope's tensors from other tasks and of its "
    "collectives, including waits, in ns.",
    "network_own_ns": "The part of network_ns that belongs to the node with the scope's own name.",
    "device_share": "device_ns / device_ns of all scopes, from 0 to 1.",
    "host_share": "host_ns / host_ns of all scopes, from 0 to 1.",
}

_SIDES = LOCATIONS[:3]
_TIMES = [f"{side}{which}_ns" for side in _SIDES for which in ("", "_own")]
_COLUMNS = (
    {"scope": "str", "part": "str", "parent": "int64", "depth": "int64", "events": "int64"}
    | dict.fromkeys(_TIMES, "int64")
    | {"device_share": "float64", "host_share": "float64"}
)


@validate_input
def scope_tree(trace: Trace, steps: Collection[int] | None = None) -> pd.DataFrame:
    """Return the name scopes of a trace as a tree, each with the time of its contents.

    Parameters
    ----------
    trace
        Any trace.
    steps
        Numbers of the steps to add up; None for all events, including those outside steps.

    Returns
    -------
    pandas.DataFrame
        One row per scope and node, and one with an empty name for the root. Rows are in tree order: each is
        followed by its nested rows, the one with the largest ``device_ns``, then ``host_ns``, first.
        ``scope`` (str; the whole name), ``part`` (str; the name after the last slash), ``parent`` (int64; a
        row number, -1 for the first row), ``depth`` (int64; 0 for the first row), ``events`` and the times of
        `FIGURES` (int64), shares (float64; NaN if the total is 0). If a name has more than 32 parts, the last
        ones stay together. `cannot_say` if no event belongs to a node.

    Raises
    ------
    TypeError
        If `steps` is not a collection of numbers.
    ValueError
        If a number in `steps` is not a step.

    Notes
    -----
    The time of a row is exactly its own plus those of its children. Rows of host threads that are not ops
    have no scope. Rows that repeat others are left out, and so is the time of whole functions and loops in an
    executor's lane, whose ops have their own rows. A copy counts toward the node whose tensor it moves;
    kernels of unknown nodes only count toward the first row.

    Examples
    --------
    >>> from tfvis_nb import Trace, events
    >>> from tfvis_nb.analysis import scope_tree
    >>> table = events.build({"start_ns": [0, 1, 9], "duration_ns": [5, 2, 1], "kind": ["op"] * 3,
    ...                       "lane": ["ops"] * 3, "name": ["net/fc/MatMul", "net/fc/BiasAdd", "net/Sum"]})
    >>> scope_tree(Trace(table))[["part", "parent", "depth", "host_ns", "host_own_ns"]].values.tolist()
    [['', -1, 0, 8, 0], ['net', 0, 1, 8, 0], ['fc', 1, 2, 7, 0], ['MatMul', 2, 3, 5, 5],
     ['BiasAdd', 2, 3, 2, 2], ['Sum', 1, 2, 1, 1]]
    """
    events = trace.events
    side = locations(events)
    of_graph = (side < len(_SIDES)) & ~is_kind(events, "host")
    rows = of_steps(trace, steps)
    rows = rows[of_graph[rows]]
    if not len(rows):
        return cannot_say(_COLUMNS, Text("no_nodes"))
    own, known = self_times(events, of_graph)
    names, of_event = distinct_nodes(events, rows)
    tree, row = Tree.of_names(names)
    row = row[of_event]
    amounts = np.zeros((len(_SIDES) + 1, len(tree.part)), np.int64)
    np.add.at(amounts, (side[rows], row), np.where(known, own, 0)[rows])
    np.add.at(amounts[-1], row, 1)
    within = tree.added_up(amounts)
    names = tree.names()
    order = tree.preorder(within[LOCATIONS.index("device")], within[LOCATIONS.index("host")])
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    table = pd.DataFrame(
        {
            "scope": pd.array([names[row] for row in order.tolist()], dtype=event_table.TEXT),
            "part": pd.array([tree.part[row] for row in order.tolist()], dtype=event_table.TEXT),
            "parent": np.where(order > 0, rank[tree.parent[order]], -1),
            "depth": tree.depth[order],
            "events": within[-1][order],
        }
    )
    for number, name in enumerate(_SIDES):
        table[f"{name}_ns"] = within[number][order]
        table[f"{name}_own_ns"] = amounts[number][order]
    for name in ("device", "host"):
        whole = int(table[f"{name}_ns"].iloc[0])
        table[f"{name}_share"] = table[f"{name}_ns"] / whole if whole else np.nan
    return table


def scope_times(trace: Trace, side: str) -> pd.DataFrame:
    """Return the self time of each scope in each step on one of `LOCATIONS`, as ``amount`` in ns.

    Scopes include those nested in them, as in `scope_tree`.
    """
    events = trace.events
    of_graph = ~is_kind(events, "host")
    rows = np.flatnonzero(of_graph & (locations(events) == LOCATIONS.index(side)))
    own, known = self_times(events, of_graph & (locations(events) < len(_SIDES)))
    names, of_event = distinct_nodes(events, rows)
    tree, row = Tree.of_names(names)
    times = pd.DataFrame({"row": row[of_event], "step": events["step"].to_numpy()[rows]})
    times = times.assign(amount=np.where(known, own, 0)[rows])
    times = times.groupby(["row", "step"])[["amount"]].sum().reset_index()
    levels = []
    while len(times := times[times["row"] > 0]):
        levels.append(times)
        times = times.assign(row=tree.parent[times["row"]])
    if not levels:
        return pd.DataFrame({"scope": [], "step": [], "amount": []})
    added = pd.concat(levels, ignore_index=True)
    return added.assign(scope=np.array(tree.names(), object)[added["row"]]).drop(columns="row")


def distinct_nodes(events: pd.DataFrame, rows: np.ndarray) -> tuple[pa.Array, np.ndarray]:
    """Return the distinct nodes of events, and the number of each event's node."""
    texts = pa.chunked_array(pa.array(events["name"])).combine_chunks()
    names = pc.fill_null(texts.cast(pa.large_string()).take(pa.array(rows)), "").dictionary_encode()
    nodes = pc.coalesce(origins(names.dictionary), names.dictionary)
    moves = is_kind(events, *MOVING)[rows]
    number = np.asarray(names.indices).astype(np.int64) + np.where(moves, len(nodes), 0)
    row, first = number_rows(number)
    distinct = pa.concat_arrays([names.dictionary, nodes]).take(pa.array(number[first]))
    encoded = distinct.dictionary_encode()
    return encoded.dictionary, np.asarray(encoded.indices).astype(np.int64)[row]
