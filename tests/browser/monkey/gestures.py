"""Gestures of a walk: action, position and keys."""

import string
from dataclasses import dataclass, fields

PLAIN = (
    *string.ascii_lowercase,
    *(f"Shift+{letter.upper()}" for letter in string.ascii_lowercase),
    *"0123456789/?,.[]+-=",
    *("ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown", "PageUp", "PageDown", "Home", "End"),
    *("Enter", "Space", "Escape", "Backspace", "Shift+Backspace", "Delete", "ContextMenu", "F2"),
)
KEYS = (*PLAIN, *("Tab", "Shift+Tab", "Control+c", "Control+z"))
MOVES = {*"wasd+-=", *(f"Shift+{letter}" for letter in "WASD")}
"""Keys whose moves of the view are one step back when they follow each other closely."""


@dataclass(frozen=True)
class Gesture:
    """One gesture: at an event, at a point of a control (fractions of its box), or by key."""

    do: str
    role: str = ""
    name: str = ""
    nth: int = 0
    event: int = -1
    x: float = 0.5
    y: float = 0.5
    x2: float = 0.5
    y2: float = 0.5
    keys: str = ""

    def __repr__(self) -> str:
        given = [(f.name, getattr(self, f.name)) for f in fields(self)[1:]]
        rest = [
            f"{name}={value!r}"
            for (name, value), f in zip(given, fields(self)[1:], strict=True)
            if value != f.default
        ]
        return f"Gesture({', '.join([repr(self.do), *rest])})"
