"""Texts in a picture: their sizes, how they are shortened, and their colour on a bar."""

FONT_SIZE, NAME_SIZE = 9.0, 8.0
"""Sizes of all texts, and of the names on bars, in CSS pixels."""
LETTER = 0.56
"""Mean width of a letter as a fraction of the font size, with a margin because fonts differ."""
NAME_ROOM = 26.0
"""Minimum width of a bar with a name, in CSS pixels."""


def cut(text: str, most: int) -> str:
    """Shorten a text to a number of characters.

    >>> cut("MatMul", 6), cut("MatMul", 4) == "Mat\N{HORIZONTAL ELLIPSIS}"
    ('MatMul', True)
    """
    return text if len(text) <= most else f"{text[: max(most - 1, 0)]}\u2026"


def readable(colour: str) -> str:
    """Return black or white, whichever is more readable on a colour.

    >>> readable("#ffee00"), readable("#202060")
    ('#000000', '#ffffff')
    """
    red, green, blue = (int(colour[at : at + 2], 16) for at in (1, 3, 5))
    return "#000000" if 0.299 * red + 0.587 * green + 0.114 * blue > 140 else "#ffffff"
