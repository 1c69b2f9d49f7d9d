"""Texts in a picture: their sizes, how they are shortened, and their colour on a bar."""

from itertools import accumulate
from unicodedata import east_asian_width

FONT_SIZE, NAME_SIZE = 9.0, 8.0
"""Sizes of all texts, and of the names on bars, in CSS pixels."""
BOLD = 1.2
"""How much wider bold letters are."""
_LETTER, _CAPITAL, _WIDE = 0.56, 0.72, 1.0
"""Widths of letters as fractions of the font size, with a margin because fonts differ."""
NAME_ROOM = 26.0
"""Minimum width of a bar with a name, in CSS pixels."""


def width_of(text: str, size: float) -> float:
    """Estimate the width of a text of a font size, both in CSS pixels.

    >>> width_of("MatMul", 10) > width_of("matrix", 10)
    True
    """
    return size * sum(map(_share, text))


def cut(text: str, room: float, size: float) -> str:
    """Shorten a text to a width, in CSS pixels.

    >>> cut("matrix", 60, 10), cut("matrix", 28, 10) == "mat\N{HORIZONTAL ELLIPSIS}"
    ('matrix', True)
    """
    if width_of(text, size) <= room:
        return text
    widths = accumulate(map(_share, text), initial=_LETTER)
    return f"{text[: max(sum(width * size <= room for width in widths) - 1, 0)]}\u2026"


def lines_of(text: str, room: float, size: float) -> list[str]:
    """Break a text at spaces into lines of a width, in CSS pixels.

    >>> lines_of("low bars: several events", 90, 9)
    ['low bars: several', 'events']
    """
    lines = [""]
    for word in text.split(" "):
        longer = f"{lines[-1]} {word}".lstrip()
        if lines[-1] and width_of(longer, size) > room:
            lines.append(word)
        else:
            lines[-1] = longer
    return [cut(line, room, size) for line in lines]


def cut_middle(text: str, room: float, size: float) -> str:
    """Shorten a text to a width, in CSS pixels, keeping its end as well as its start.

    >>> cut_middle("copy H2D", 60, 9), cut_middle("copy H2D", 34, 9) == "cop\N{HORIZONTAL ELLIPSIS}2D"
    ('copy H2D', True)
    """
    if width_of(text, size) <= room:
        return text
    end = cut(text[::-1], room / 2, size)[-2::-1]
    return cut(text, room - width_of(end, size), size) + end


def _share(letter: str) -> float:
    if letter in "MWmw@%" or east_asian_width(letter) in "WF":
        return _WIDE
    return _CAPITAL if letter.isupper() else _LETTER


def readable(colour: str) -> str:
    """Return black or white, whichever is more readable on a colour.

    >>> readable("#ffee00"), readable("#202060")
    ('#000000', '#ffffff')
    """
    red, green, blue = (int(colour[at : at + 2], 16) for at in (1, 3, 5))
    return "#000000" if 0.299 * red + 0.587 * green + 0.114 * blue > 140 else "#ffffff"
