"""Add model layers to the trace of their runs."""

import contextlib
from collections.abc import Sequence

import pyarrow as pa

from tfvis_nb.analysis.model_layers.description import LiveLayer, from_json
from tfvis_nb.analysis.model_layers.scopes import layers_of
from tfvis_nb.analysis.steps.layers import event_layers
from tfvis_nb.core.nested_columns import LAYER, LAYER_CLASS, PARAMETER_BYTES, with_columns
from tfvis_nb.core.trace import Trace

_MOST_PAIRS = 20_000_000
"""Pairs of a scope and a layer. Each pair takes time, and no real model has this many."""


def put_layers(trace: Trace, models: Sequence[LiveLayer]) -> None:
    """Give the events of a trace the path, class and weights of their layer."""
    scope, _ = event_layers(trace)
    scopes = scope.dictionary.to_pylist()
    if len(scopes) * sum(1 + len(model.inner()) for model in models) > _MOST_PAIRS:
        return
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
    # Cached layers are those from scopes.
    vars(trace).pop("_cache", None)


def put_stored_layers(trace: Trace, models: str) -> None:
    """Give the events of a trace the model layers described in a file, which is untrusted."""
    with contextlib.suppress(AttributeError, OverflowError, TypeError, ValueError, RecursionError):
        put_layers(trace, from_json(models))
