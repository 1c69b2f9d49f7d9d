"""The live layers of a recording's events, put into its trace."""

import contextlib

import pyarrow as pa

from tfvis_nb.analysis.steps.layers import event_layers
from tfvis_nb.core.nested_columns import LAYER, LAYER_CLASS, PARAMETER_BYTES, with_columns
from tfvis_nb.core.trace import Trace
from tfvis_nb.recording.model_layers.live import live_layers
from tfvis_nb.recording.model_layers.scopes import layers_of


def put_layers(trace: Trace) -> None:
    """Give the events of a recording the path, class and weights of their layer, if its model still lives."""
    # Layers run code of their own when asked for their parts: a recording without layers is better than none.
    with contextlib.suppress(Exception):
        _put(trace)


def _put(trace: Trace) -> None:
    models = live_layers()
    if not models:
        return
    scope, _ = event_layers(trace)
    scopes = scope.dictionary.to_pylist()
    found = layers_of(scopes, models)
    if not found:
        return
    facts = [found.get(one) for one in scopes]
    of_event = scope.indices
    columns = {
        LAYER: pa.array([one and one.path for one in facts], pa.string()).dictionary_encode(),
        LAYER_CLASS: pa.array([one and one.kind for one in facts], pa.string()).dictionary_encode(),
        PARAMETER_BYTES: pa.array([one and one.parameter_bytes for one in facts], pa.int64()),
    }
    taken = {name: column.take(of_event) for name, column in columns.items()}
    trace.nested = with_columns(trace.nested, taken)
    # The layers that it keeps are those of scopes.
    vars(trace).pop("_cache", None)
