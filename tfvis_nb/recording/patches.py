"""Attributes of TensorFlow replaced while a recording is on, and put back after it."""

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

_LOCK = threading.RLock()


@dataclass(eq=False)
class _Layer:
    """One replacement, with the data to make it again around something else."""

    owner: Any
    name: str
    make: Callable[[Any], Any]
    original: Any
    replacement: Any


_layers: list[_Layer] = []
"""Those of all recordings: they overlap, and need not end in the reverse order of their starts."""


class Replacements:
    """The replacements of one recording."""

    def __init__(self) -> None:
        self._replaced: list[_Layer] = []

    def put(self, owner: Any, name: str, make: Callable[[Any], Any]) -> None:
        """Replace attribute `name` of a class or module by what `make` makes of it.

        `make` is called again when a replacement inside this one ends first.
        """
        with _LOCK:
            original = vars(owner)[name]
            layer = _Layer(owner, name, make, original, make(original))
            self._replaced.append(layer)
            _layers.append(layer)
            setattr(owner, name, layer.replacement)

    def undo(self) -> None:
        """Put everything back, even from inside the replacements of other recordings."""
        with _LOCK:
            while self._replaced:
                layer = self._replaced.pop()
                _layers.remove(layer)
                _relink(layer.owner, layer.name, layer.replacement, layer.original)


def _relink(owner: Any, name: str, old: Any, new: Any) -> None:
    """Put `new` in place of `old`: as the attribute itself, or in the replacements around it, made again.

    A wrapper of someone else's stays around ours, which only passes calls on by then.
    """
    if vars(owner)[name] is old:
        setattr(owner, name, new)
        return
    for layer in _layers:
        if layer.owner is owner and layer.name == name and layer.original is old:
            before = layer.replacement
            layer.original, layer.replacement = new, layer.make(new)
            _relink(owner, name, before, layer.replacement)
