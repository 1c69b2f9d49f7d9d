"""Times of the layers of a model in each phase of training."""

from __future__ import annotations

import re
from collections.abc import Collection

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from tfvis_nb import events as event_table
from tfvis_nb.analysis._validate import validate_input
from tfvis_nb.analysis.dataflow.recorded_links import launches
from tfvis_nb.analysis.events.locations import LOCATIONS, locations
from tfvis_nb.analysis.events.nesting import self_times_of
from tfvis_nb.analysis.events.recorded_outputs import recorded_outputs
from tfvis_nb.analysis.steps.layer_names import layer_names
from tfvis_nb.analysis.steps.scope_tree import distinct_nodes
from tfvis_nb.analysis.unavailable import cannot_say
from tfvis_nb.core.categories import beginning, is_kind
from tfvis_nb.core.nested_columns import LAYER, LAYER_CLASS, OP_NAME, PARAMETER_BYTES
from tfvis_nb.core.per_trace import per_trace
from tfvis_nb.core.phases import GRADIENTS, UPDATES, phases, without_calls
from tfvis_nb.core.row_numbers import number_rows
from tfvis_nb.core.stacks import PHASE, PHASES
from tfvis_nb.core.step_spans import of_steps
from tfvis_nb.core.trace import Trace
from tfvis_nb.texts import Text

FIGURES: dict[str, str] = {
    "layer": "The layer's path in its model, such as model/dense, if it existed when the recording ended; "
    "otherwise the name scope of a node. A gradient has the scope of its forward op, "
    "an update that of its variable. A call that launches a kernel has the kernel's layer. Empty for events"
    " of no layer, such as the other calls of host threads.",
    "class": "The class of the layer in its live model, such as Dense; empty if not known.",
    "phase": "forward, backward or optimizer: as recorded, otherwise by the node's name.",
    "device_ns": "Sum of the self times of kernels, copies and memsets, in ns; self_ns of op_statistics.",
    "host_ns": "Sum of the self times of ops and calls on the host, such as launches, in ns; self_ns of"
    " op_statistics.",
    "launches": "Number of kernels, copies and memsets.",
    "output_bytes": "Sum of the sizes of the outputs of its ops, in bytes; NA if they are not recorded.",
    "parameter_bytes": "Bytes of the layer's weights, without those of layers in it that have rows; the same"
    " in each phase. NA where the layer is of no live model.",
    "device_share": "device_ns / device_ns of all rows, from 0 to 1.",
    "host_share": "host_ns / host_ns of all rows, from 0 to 1.",
}

_COLUMNS = {
    "layer": "str",
    "class": "str",
    "phase": "category",
    **dict.fromkeys(("device_ns", "host_ns", "launches"), "int64"),
    **dict.fromkeys(("output_bytes", "parameter_bytes"), "Int64"),
    "device_share": "float64",
    "host_share": "float64",
    "longest": "int64",
}
_OF_WEIGHTS = re.compile(
    r"(?:Read|Assign\w*)VariableOp|VarHandleOp$|Variable(?:V2)?$|Resource(?:Sparse)?(?:Gather|Apply)"
    r"|(?:_\w*)?(?:BiasAdd|FusedBatchNorm|Conv[23]D|Depthwise\w*Conv)"
)
"""Ops of the weights of layers, by which models have layers even if nothing else is trained or recorded."""
_DEVICE, _HOST = LOCATIONS.index("device"), LOCATIONS.index("host")


@validate_input
def layers(trace: Trace, steps: Collection[int] | None = None) -> pd.DataFrame:
    """Add up the events of a trace by layer and phase.

    Parameters
    ----------
    trace
        Any trace.
    steps
        Numbers of the steps to add up; None for all events, including those outside steps.

    Returns
    -------
    pandas.DataFrame
        One row per layer and phase, the largest ``device_ns``, then ``host_ns`` first. ``layer`` and
        ``class`` (str), ``phase`` (category; NA if unknown), the other `FIGURES` (int64; ``output_bytes`` and
        ``parameter_bytes`` Int64; shares float64, NaN if the total is 0) and ``longest`` (int64), the event
        of the row with the longest self time. `cannot_say` if there are no events.

    Raises
    ------
    TypeError
        If `steps` is not a collection of numbers.
    ValueError
        If a number in `steps` is not a step.

    Notes
    -----
    `tfvis_nb.trace` finds the layers of live Keras models and ``tf.Module`` objects. In other traces, layers
    are name scopes: those of Keras and Flax contain the layer's path in the model, ``variable_scope`` that of
    its variables. The rows add up to the totals of `op_statistics` on the device and on the host.

    Examples
    --------
    >>> from tfvis_nb import Trace, events
    >>> from tfvis_nb.analysis import layers
    >>> table = events.build({"start_ns": [0, 9], "duration_ns": [5, 7], "kind": ["op"] * 2,
    ...                       "lane": ["ops"] * 2,
    ...                       "name": ["net/fc/MatMul", "gradient_tape/net/fc/MatMul/MatMul_1"]})
    >>> layers(Trace(table))[["layer", "phase", "host_ns"]].values.tolist()
    [['net/fc', 'backward', 7], ['net/fc', 'forward', 5]]
    """
    rows = of_steps(trace, steps)
    if not len(rows):
        return cannot_say(_COLUMNS, Text("no_events"))
    layer, phase = event_layers(trace)
    names = layer.dictionary.to_pylist()
    number = np.asarray(layer.indices).astype(np.int64)
    group, first = number_rows(number[rows], phase[rows])
    own, known = self_times_of(trace)
    own = np.where(known, own, 0)
    side = locations(trace.events)
    on_device = side[rows] == _DEVICE
    amounts = {
        "device_ns": np.where(on_device, own[rows], 0),
        "host_ns": np.where(side[rows] == _HOST, own[rows], 0),
        "launches": on_device & ~is_kind(trace.events, "collective")[rows],
        "output_bytes": _output_bytes(trace)[rows],
    }
    table = pd.DataFrame(
        {
            "layer": pd.array([names[one] for one in number[rows[first]]], dtype=event_table.TEXT),
            "phase": pd.Categorical.from_codes(
                phase[rows[first]].astype(np.int8), dtype=pd.CategoricalDtype(list(PHASES))
            ),
        }
    )
    for name, amount in amounts.items():
        summed = np.zeros(len(first), np.int64)
        np.add.at(summed, group, amount.astype(np.int64))
        table[name] = summed
    outputs = trace.nested is not None and "outputs" in trace.nested.column_names
    size = table["output_bytes"].to_numpy(np.int64)
    table["output_bytes"] = pd.arrays.IntegerArray(size, np.full(len(size), not outputs))
    table["class"], table["parameter_bytes"] = _described(trace, rows, group, len(first))
    for name in ("device", "host"):
        whole = int(table[f"{name}_ns"].sum())
        table[f"{name}_share"] = table[f"{name}_ns"] / whole if whole else np.nan
    counted = own[rows] * ((side[rows] == _DEVICE) | (side[rows] == _HOST))
    by_length = np.argsort(counted, kind="stable")
    longest = np.zeros(len(first), np.int64)
    # The last one written stays.
    longest[group[by_length]] = rows[by_length]
    table["longest"] = longest
    order = np.lexsort((-table["host_ns"].to_numpy(), -table["device_ns"].to_numpy()))
    return table.loc[order, list(_COLUMNS)].reset_index(drop=True)


@validate_input
@per_trace
def event_layers(trace: Trace) -> tuple[pa.DictionaryArray, np.ndarray]:
    """Return the layer of each event, and the index of its phase in `PHASES`, -1 if unknown."""
    events = trace.events
    names, code = distinct_nodes(events, np.arange(len(events)))
    # Calls on host threads belong to no node, regardless of their names.
    code = np.where(is_kind(events, "host", "sync"), len(names), code)
    names = pa.concat_arrays([names, pa.array([""], names.type)])
    made_of = _nested(trace, OP_NAME)
    if made_of is not None:
        code = np.where(made_of.is_valid(), len(names) + _codes(made_of), code)
        names = pa.concat_arrays([names, made_of.dictionary])
    updates = beginning(events["op"], UPDATES)
    pair, pairs = pd.factorize(2 * code + updates)
    call, kernel = launches(trace)
    call, first, kernels = np.unique(call, return_index=True, return_counts=True)
    # A call that launches a graph of kernels belongs to several layers.
    pair[call[kernels == 1]] = pair[kernel[first[kernels == 1]]]
    nodes = without_calls(names)
    known = nodes.filter(pc.invert(pc.match_substring_regex(names, GRADIENTS)))
    node = nodes.take(pa.array(pairs // 2))
    is_update = pc.and_(pa.array(pairs % 2 == 1), pc.not_equal(node, ""))
    phase = pc.if_else(is_update, "optimizer", phases(node))
    layer = layer_names(node, phase, known)
    is_forward = pc.and_(pc.is_null(phase), pc.not_equal(layer, ""))
    phase = pc.if_else(is_forward, "forward", phase)
    phase_numbers = pc.fill_null(pc.index_in(phase, pa.array(PHASES)), -1).to_numpy().astype(np.int64)[pair]
    recorded = _nested(trace, PHASE)
    if recorded is not None:
        numbers = np.array(
            [PHASES.index(text) if text in PHASES else -1 for text in recorded.dictionary.to_pylist()] + [-1],
            np.int64,
        )[_codes(recorded)]
        phase_numbers = np.where(numbers >= 0, numbers, phase_numbers)
    layer = layer.cast(pa.string()).take(pa.array(pair))
    live = _nested(trace, LAYER)
    if live is not None:
        layer = pc.coalesce(live.cast(pa.string()), layer)
    return layer.dictionary_encode(), phase_numbers


@validate_input
def live_layers(trace: Trace) -> np.ndarray:
    """Return the path of each event's layer in a model that existed after recording; empty if none."""
    live = _nested(trace, LAYER)
    if live is None:
        return np.full(len(trace.events), "", object)
    names = np.array([*live.dictionary.to_pylist(), ""], object)
    layers: np.ndarray = names[_codes(live)]
    return layers


@validate_input
@per_trace
def has_layers(trace: Trace) -> bool:
    """Return whether name scopes can be layers: a model is recorded, or ops have weights or train them.

    A graph without weights, such as one that multiplies random matrices, has name scopes but no layers.
    """
    phase = event_layers(trace)[1]
    trains = np.isin(phase, [PHASES.index("backward"), PHASES.index("optimizer")])
    is_weight = is_kind(trace.events, "op") & beginning(trace.events["op"], _OF_WEIGHTS)
    return bool((live_layers(trace) != "").any() or trains.any() or is_weight.any())


def _described(
    trace: Trace, rows: np.ndarray, group: np.ndarray, groups: int
) -> tuple[pd.api.extensions.ExtensionArray, pd.arrays.IntegerArray]:
    """Return class and parameter bytes of the layer of each group of `rows`, if all agree."""
    kinds, size = np.full(groups, "", object), pd.array([None] * groups, "Int64")
    kind = _nested(trace, LAYER_CLASS)
    if kind is not None:
        code, names = _codes(kind)[rows], [*kind.dictionary.to_pylist(), ""]
        kinds = np.array([names[one] for one in _agreed(code, code >= 0, group, groups).tolist()], object)
    if trace.nested is not None and PARAMETER_BYTES in trace.nested.column_names:
        parameters = trace.nested[PARAMETER_BYTES].cast(pa.int64(), safe=False)
        size = pc.fill_null(parameters, -1).to_numpy(zero_copy_only=False)[rows]
        agreed = _agreed(size, size >= 0, group, groups)
        size = pd.arrays.IntegerArray(agreed.clip(0), agreed < 0)
    return pd.array(kinds, dtype=event_table.TEXT), size


def _agreed(values: np.ndarray, known: np.ndarray, group: np.ndarray, groups: int) -> np.ndarray:
    """Return the single known value of each group; -1 if there is none or several."""
    least, most = np.full(groups, np.iinfo(np.int64).max), np.full(groups, -1)
    np.minimum.at(least, group[known], values[known])
    np.maximum.at(most, group[known], values[known])
    agreed: np.ndarray = np.where(least == most, most, -1)
    return agreed


def _nested(trace: Trace, name: str) -> pa.DictionaryArray | None:
    if trace.nested is None or name not in trace.nested.column_names:
        return None
    column = pa.chunked_array(trace.nested[name]).cast(pa.large_string()).combine_chunks()
    return pc.dictionary_encode(column)


def _codes(column: pa.DictionaryArray) -> np.ndarray:
    """Return the index of each text; -1 if there is none."""
    codes: np.ndarray = column.indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64)
    return codes


def _output_bytes(trace: Trace) -> np.ndarray:
    """Return the bytes of the outputs of each event; 0 if none are recorded."""
    outputs = recorded_outputs(trace)
    size = np.zeros(len(trace.events), np.int64)
    most = event_table.MOST_IN_ALL // max(len(outputs), 1)
    np.add.at(
        size, outputs["event"].to_numpy(np.int64), np.clip(outputs["bytes"].to_numpy(np.int64), 0, most)
    )
    return size
