"""Descriptions of model layers that hold no references to them, also as text for files."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field


@dataclass(eq=False)
class LiveLayer:
    """A layer or a whole model.

    - `name`: Its name in the scope of its ops.
    - `kind`: Its class.
    - `path`: Its name in the outermost model that contains it, such as ``model/block/dense``.
    - `weights`: Bytes of each weight, by id, including those of nested layers.
    - `parts`: The layers directly in it.
    """

    name: str
    kind: str
    path: str
    weights: dict[int, int]
    parts: list["LiveLayer"] = field(default_factory=list)

    def inner(self) -> list["LiveLayer"]:
        """Return the nested layers, at any depth."""
        parts: dict[int, LiveLayer] = {}
        todo = [*self.parts]
        while todo:
            part = todo.pop()
            if id(part) not in parts:
                parts[id(part)] = part
                todo += part.parts
        return [*parts.values()]


def to_json(models: Sequence[LiveLayer]) -> str:
    """Write models as JSON: their layers, each after the layer that contains it.

    >>> dense = LiveLayer("dense", "Dense", "net/dense", {7: 64})
    >>> text = to_json([LiveLayer("net", "Net", "net", {7: 64}, [dense])])
    >>> [layer.path for layer in from_json(text)[0].inner()]
    ['net/dense']
    """
    rows: list[list[object]] = []
    weights: dict[int, int] = {}
    todo, seen = [(model, -1) for model in models], set()
    for layer, within in todo:
        if id(layer) in seen:
            continue
        seen.add(id(layer))
        sizes = {weights.setdefault(weight, len(weights)): size for weight, size in layer.weights.items()}
        todo += [(part, len(rows)) for part in layer.parts]
        rows.append([within, layer.name, layer.kind, layer.path, sizes])
    return json.dumps(rows)


def from_json(text: str) -> list[LiveLayer]:
    """Return the models that `to_json` wrote.

    AttributeError, OverflowError, TypeError, ValueError or RecursionError for any other text.
    """
    layers: list[LiveLayer] = []
    models: list[LiveLayer] = []
    for within, name, kind, path, sizes in json.loads(text):
        weights = {int(weight): int(size) for weight, size in sizes.items()}
        if not all(type(part) is str for part in (name, kind, path)) or not -1 <= within < len(layers):
            raise ValueError("not a layer")
        if any(not 0 <= size < 1 << 62 for size in weights.values()):
            raise ValueError("not the size of a weight")
        layers.append(LiveLayer(name, kind, path, weights))
        (models if within < 0 else layers[within].parts).append(layers[-1])
    return models
