"""Reads what is typed into the search field, as ``js/model/search/query.ts`` does."""

import re
from typing import NamedTuple

FIELDS = ("name", "op", "lane", "kind", "is")
"""What a word can be looked for in alone, as in ``op:MatMul``."""

_NANOSECONDS = {"ns": 1, "us": 1e3, "µs": 1e3, "μs": 1e3, "ms": 1e6, "s": 1e9, "m": 60e9}
_UNIT = "(ns|us|µs|μs|ms|s|m)"
# "> 1 ms" is one bound, however it is spaced.
_SPACED = re.compile(rf"([<>]=?)\s*(\.?[0-9][0-9.]*)\s*{_UNIT}(?![0-9a-z_])")
_BOUND = re.compile(rf"([<>])(=?)([0-9]+(?:\.[0-9]*)?|\.[0-9]+){_UNIT}")


class Text(NamedTuple):
    """A text to be found in a field, or in ``any`` of them; in lower case."""

    field: str
    text: str


class Bound(NamedTuple):
    """A bound on the duration, in ns."""

    longer: bool
    inclusive: bool
    ns: float


def parse_query(text: str) -> list[Text | Bound]:
    """Return what all must hold of an event for it to be found.

    `text` has words parted by spaces, ``op:MatMul``, ``name:``, ``lane:``, ``kind:`` or ``is:critical``,
    bounds as ``>5ms``. A field without a text, ``op:``, is being typed and asks nothing.
    """
    words = _SPACED.sub(r"\1\2\3", text.lower()).split()
    terms = [_term(word) for word in words]
    return [term for term in terms if isinstance(term, Bound) or term.text]


def _term(word: str) -> Text | Bound:
    bound = _BOUND.fullmatch(word)
    if bound is not None:
        sign, equal, value, unit = bound.groups()
        return Bound(sign == ">", equal == "=", float(value) * _NANOSECONDS[unit])
    field, colon, rest = word.partition(":")
    # "stream:13" and other texts with a colon are no fields.
    return Text(field, rest) if colon and field in FIELDS else Text("any", word)
