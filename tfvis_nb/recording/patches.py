"""Replace attributes of TensorFlow during a recording, and restore them afterwards."""

import os
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

_LOCK = threading.RLock()


@dataclass(eq=False)
class _Layer:
    """One replacement, with the data to wrap another original."""

    owner: Any
    name: str
    make: Callable[[Any], Any]
    original: Any
    replacement: Any


_layers: list[_Layer] = []
"""The replacements of all recordings, which may overlap and end in any order."""


class Replacements:
    """The replacements of one recording."""

    def __init__(self) -> None:
        self._replaced: list[_Layer] = []

    def put(self, owner: Any, name: str, make: Callable[[Any], Any]) -> None:
        """Replace attribute `name` of a class or module by the result of `make`.

        `make` is called again if a replacement inside this one ends first.
        """
        with _LOCK:
            original = vars(owner)[name]
            layer = _Layer(owner, name, make, original, make(original))
            self._replaced.append(layer)
            _layers.append(layer)
            setattr(owner, name, layer.replacement)

    def undo(self) -> None:
        """Restore everything, even from inside the replacements of other recordings."""
        with _LOCK:
            while self._replaced:
                layer = self._replaced.pop()
                _layers.remove(layer)
                _relink(layer.owner, layer.name, layer.replacement, layer.original)


def _relink(owner: Any, name: str, old: Any, new: Any) -> None:
    """Replace `old` by `new`: as the attribute itself, or in the replacements around it, which are rebuilt.

    If someone else wrapped ours, their wrapper stays, and ours then only passes calls on.
    """
    if vars(owner)[name] is old:
        setattr(owner, name, new)
        return
    for layer in _layers:
        if layer.owner is owner and layer.name == name and layer.original is old:
            before = layer.replacement
            layer.original, layer.replacement = new, layer.make(new)
            _relink(owner, name, before, layer.replacement)


def _forked() -> None:
    """Make a new lock in a child process: a thread of its parent may hold the old one."""
    global _LOCK  # noqa: PLW0603
    _LOCK = threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)
