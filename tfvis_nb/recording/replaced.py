"""Attributes of TensorFlow replaced while a recording is on, and put back after it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class Replacements:
    """What one recording put in the place of something else."""

    def __init__(self) -> None:
        self._replaced: list[tuple[Any, str, Any, Any]] = []

    def put(self, owner: Any, name: str, make: Callable[[Any], Any]) -> None:
        """Replace attribute `name` of a class or module by what `make` makes of it.

        Examples
        --------
        >>> from tfvis_nb.recording.replaced import Replacements
        >>> class Session:
        ...     def run(self):
        ...         return 1
        >>> replacements = Replacements()
        >>> replacements.put(Session, "run", lambda original: lambda self: original(self) + 1)
        >>> Session().run()
        2
        >>> replacements.undo()
        >>> Session().run()
        1
        """
        original = vars(owner)[name]
        replacement = make(original)
        self._replaced.append((owner, name, original, replacement))
        setattr(owner, name, replacement)

    def undo(self) -> None:
        """Put everything back that is still ours."""
        while self._replaced:
            owner, name, original, replacement = self._replaced.pop()
            # Whoever wrapped ours since keeps theirs: ours, inside it, only passes calls on by then.
            if vars(owner)[name] is replacement:
                setattr(owner, name, original)
