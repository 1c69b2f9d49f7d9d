"""The layers of live models of Keras, Sonnet and tf.Module."""

import contextlib
import gc
import sys
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import numpy as np

from tfvis_nb.analysis.model_layers.description import LiveLayer
from tfvis_nb.analysis.model_layers.put import put_layers
from tfvis_nb.core.trace import Trace

Found = TypeVar("Found")


def put_live_layers(trace: Trace, graphs: Iterable[Any] = ()) -> None:
    """Give the events of a recording the path, class and weights of their layer, if its model still exists.

    `graphs` are those of all executed functions; without them, all models may have run.
    """
    # Layers run their own code when asked for their parts: a recording without layers is better than none.
    with contextlib.suppress(Exception):
        if models := _that_ran(live_layers(), graphs):
            put_layers(trace, models)


def _that_ran(models: list[LiveLayer], graphs: Iterable[Any]) -> list[LiveLayer]:
    """Leave out models whose weights no function used, if some function used those of other models.

    Ops of a deleted model, or of none, may have scopes with the same names.
    """
    used: set[int] = set()
    for graph in graphs:
        variables = [known() for known in getattr(graph, "_weak_variables", ())]
        # A model has the distributed variable of all replicas.
        wholes = [getattr(variable, "_distributed_container", None) for variable in variables]
        used |= {id(variable) for variable in variables} | {id(whole()) for whole in wholes if whole}
    ran = [model for model in models if not model.weights or not used.isdisjoint(model.weights)]
    return ran if any(model.weights for model in ran) else models


def live_layers() -> list[LiveLayer]:
    """Describe the models in this process: layers that are in no other layer."""
    kinds = _kinds()
    if not kinds:
        return []
    # By type alone, as asking an object for its class may run its code.
    layers = [each for each in gc.get_objects() if type(each) in kinds]
    parts = {id(layer): _parts(layer) for layer in layers}
    inner = {id(part) for layer in layers for part in parts[id(layer)] if part is not layer}
    known: dict[int, LiveLayer] = {}
    return [_described(layer, "", parts, known) for layer in layers if id(layer) not in inner]


def layers_of_model(model: Any) -> LiveLayer:
    """Describe a model."""
    return _described(model, "", {}, {})


def _kinds() -> set[type]:
    """Return the classes of layers and modules in imported packages, and their subclasses."""
    bases = [("keras", "Layer"), ("tf_keras", "layers", "Layer"), ("tensorflow", "Module")]
    todo = [kind for module, *names in bases if (kind := _class(sys.modules.get(module), names)) is not None]
    kinds: set[type] = set()
    while todo:
        kind = todo.pop()
        if kind not in kinds:
            kinds.add(kind)
            todo += type.__subclasses__(kind)
    return kinds


def _class(module: Any, names: list[str]) -> type | None:
    for name in names:
        # Do not import modules: TensorFlow imports Keras on attribute access.
        module = vars(module).get(name) if module is not None else None
    return module if isinstance(module, type) else None


def _asked(question: Callable[[Any], Found], layer: Any, otherwise: Found) -> Found:
    """Return the result of a layer's own code, which may fail: unbuilt models raise."""
    try:
        return question(layer)
    except Exception:  # noqa: BLE001 - the code of any layer
        return otherwise


def _parts(layer: Any) -> list[Any]:
    return _asked(_inside, layer, [])


def _inside(layer: Any) -> list[Any]:
    if hasattr(layer, "_flatten_layers"):
        return list(layer._flatten_layers(recursive=False, include_self=False))  # noqa: SLF001
    inside = list(layer.submodules)
    deeper = {id(each) for part in inside for each in part.submodules}
    return [part for part in inside if id(part) not in deeper]


def _described(
    layer: Any, within: str, parts: dict[int, list[Any]], known: dict[int, LiveLayer]
) -> LiveLayer:
    # A layer may be in several others, or in itself.
    if id(layer) in known:
        return known[id(layer)]
    name = _asked(lambda one: str(one.name), layer, type(layer).__name__)
    path = f"{within}/{name}" if within else name
    described = known[id(layer)] = LiveLayer(name, type(layer).__name__, path, _asked(_weights, layer, {}))
    inside = parts[id(layer)] if id(layer) in parts else _parts(layer)
    described.parts = [_described(part, path, parts, known) for part in inside]
    return described


def _weights(layer: Any) -> dict[int, int]:
    weights = layer.weights if hasattr(layer, "weights") else layer.variables
    # Keras 3 wraps TensorFlow's variables.
    return {id(vars(each).get("_value", each)): _size(each) for each in weights}


def _size(weight: Any) -> int:
    count = 1
    for length in weight.shape:
        count *= int(length)
    dtype = weight.dtype
    # TensorFlow's types know their size; those of Keras on JAX are names, which NumPy resolves.
    return count * int(dtype.size if hasattr(dtype, "size") else np.dtype(dtype).itemsize)
