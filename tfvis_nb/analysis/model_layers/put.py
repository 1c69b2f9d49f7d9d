"""Add model layers to the trace of their runs.

TensorFlow numbers repeated name scopes: ``net_1/dense_2`` may belong to the layer ``dense`` of ``net``.
"""

import contextlib
import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import pyarrow as pa

from tfvis_nb.analysis.model_layers.description import LiveLayer, from_json
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
    by_scope = layers_of(scopes, models)
    if not by_scope:
        return
    facts = [by_scope.get(one) for one in scopes]
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


_MOST_DEPTH = 64
_NUMBERED = re.compile(r"_\d+", re.ASCII)


class Scope:
    """A name scope and its nested scopes, by their last part."""

    def __init__(self) -> None:
        self.inside: dict[str, Scope] = {}


class LayerFacts(NamedTuple):
    """The layer of a scope: its path and class, and the bytes of its weights.

    Weights of nested layers with their own scope do not count.
    """

    path: str
    kind: str
    parameter_bytes: int


_Found = dict[tuple[str, ...], LiveLayer]


def layers_of(scopes: Iterable[str], models: Sequence[LiveLayer]) -> dict[str, LayerFacts]:
    """Return the innermost layer of each scope; ambiguous scopes are left out.

    >>> dense = LiveLayer("dense", "Dense", "net/dense", {1: 64})
    >>> net = LiveLayer("net", "Net", "net", {1: 64, 2: 8}, [dense])
    >>> result = layers_of(["net_1/dense_1", "net_1/loss", "adam"], [net])
    >>> {scope: tuple(facts) for scope, facts in result.items()}
    {'net_1/dense_1': ('net/dense', 'Dense', 64), 'net_1/loss': ('net', 'Net', 8)}
    """
    split = {scope: tuple(scope.split("/", _MOST_DEPTH - 1)) for scope in scopes if scope}
    root = Scope()
    for parts in split.values():
        at = root
        for part in parts:
            at = at.inside.setdefault(part, Scope())
    by_path = _matched(root, models)
    # A part of a model may have run on its own.
    inner = [layer for model in models for layer in model.inner()]
    for part, scope in root.inside.items():
        alone = Scope()
        alone.inside[part] = scope
        if not any(path[0] == part for path in by_path):
            by_path |= _matched(alone, inner)
    innermost = {
        scope: by_path[path]
        for scope, parts in split.items()
        for path in [next((parts[:end] for end in range(len(parts), 0, -1) if parts[:end] in by_path), None)]
        if path is not None
    }
    named = set(map(id, innermost.values()))
    facts = {id(layer): _facts(layer, named) for layer in innermost.values()}
    return {scope: facts[id(layer)] for scope, layer in innermost.items()}


def _facts(layer: LiveLayer, named: set[int]) -> LayerFacts:
    elsewhere = {weight for part in layer.inner() if id(part) in named for weight in part.weights}
    own = sum(size for weight, size in layer.weights.items() if weight not in elsewhere)
    return LayerFacts(layer.path, layer.kind, own)


def _matched(scope: Scope, layers: Sequence[LiveLayer]) -> _Found:
    """Return the layer of each scope in `scope`, by relative path, if only one is likely."""
    likely = {
        name: pairs
        for name, inner in scope.inside.items()
        if (pairs := [(layer, _matched(inner, layer.parts)) for layer in layers if _may_be(name, layer.name)])
    }
    result: _Found = {}
    used: set[int] = set()
    # A scope that fits only one layer excludes that layer for the others.
    for name in sorted(likely, key=lambda name: len(likely[name])):
        free = [each for each in likely[name] if id(each[0]) not in used] or likely[name]
        most = max(len(inside) for _, inside in free)
        best = [each for each in free if len(each[1]) == most]
        if len({_signature(*each) for each in best}) > 1:
            continue
        layer, inside = best[0]
        used.add(id(layer))
        result |= {(name,): layer, **{(name, *path): part for path, part in inside.items()}}
    for name, inner in scope.inside.items():
        if name not in likely:
            # The scope of a loop or a replica, or one opened by the code of the layer.
            result |= {(name, *path): layer for path, layer in _matched(inner, layers).items()}
    return result


def _may_be(scope: str, name: str) -> bool:
    return scope == name or (scope.startswith(name) and bool(_NUMBERED.fullmatch(scope, len(name))))


def _signature(layer: LiveLayer, inside: _Found) -> tuple[object, ...]:
    """Return the facts about a layer and its nested layers; layers with equal facts are interchangeable."""
    parts = ((path, part.path, part.kind, sum(part.weights.values())) for path, part in inside.items())
    return layer.path, layer.kind, sum(layer.weights.values()), *parts
