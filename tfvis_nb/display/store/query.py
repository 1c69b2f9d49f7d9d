"""The clauses of a search, which ``js/model/search/query.ts`` parses from the text of the search field."""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from tfvis_nb import texts

FIELDS = ("any", "name", "op", "lane", "kind", "is", "file")
"""Fields in which a text can be searched."""


class Text(NamedTuple):
    """A text to find in a field, or in ``any`` of them; in lower case."""

    field: str
    text: str


class Bound(NamedTuple):
    """A bound on the duration, in ns, or on the bytes."""

    of: str
    longer: bool
    inclusive: bool
    value: float


class Steps(NamedTuple):
    """The numbers of the first and the last step."""

    first: float
    last: float


class Lines(NamedTuple):
    """The numbers of the first and the last line of code."""

    first: float
    last: float


class Unread(NamedTuple):
    """A filter that cannot be parsed; nothing matches it."""

    word: str


Term = Text | Bound | Steps | Lines | Unread


class Clause(NamedTuple):
    """Terms of which at least one must match, or none of them."""

    terms: tuple[Term, ...]
    negated: bool


def read_clauses(sent: Any) -> tuple[Clause, ...]:
    """Return the clauses that an event must all match, as the front end sends them; ValueError otherwise."""
    try:
        return tuple(Clause(tuple(map(_term, each["terms"])), bool(each["negated"])) for each in sent)
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(texts.Text("unknown_question", kind="search")) from error


def _term(sent: Mapping[str, Any]) -> Term:
    kind = sent["type"]
    if kind == "text" and sent["field"] in FIELDS:
        return Text(sent["field"], str(sent["text"]))
    if kind == "bound" and sent["of"] in ("duration", "bytes"):
        return Bound(sent["of"], bool(sent["longer"]), bool(sent["inclusive"]), _number(sent["value"]))
    if kind in ("steps", "lines"):
        return (Steps if kind == "steps" else Lines)(_number(sent["first"]), _number(sent["last"]))
    if kind == "unread":
        return Unread(str(sent["word"]))
    raise ValueError(kind)


def _number(sent: Any) -> float:
    # JSON has no infinity, which is what a number of 400 digits is to the front end.
    return math.inf if sent is None else float(sent)


class Ranks(NamedTuple):
    """How well labels fit a search: events named exactly so come first, then those whose op fits.

    ``ranks`` in ``js/model/search/search.ts`` finds the same.
    """

    ops: list[str]
    names: list[str]

    @classmethod
    def of(cls, clauses: Sequence[Clause]) -> "Ranks":
        """Return the texts of a search for ops and for names."""
        terms = [term for terms, negated in clauses if not negated for term in terms]
        texts = {
            field: [each.text for each in terms if isinstance(each, Text) and each.field in ("any", field)]
            for field in ("op", "name")
        }
        return cls(texts["op"], texts["name"])

    def rank(self, ops: Iterable[str], op: np.ndarray, names: Iterable[str], name: np.ndarray) -> np.ndarray:
        """Return 0, 1 or 2 for each event, by its index in the distinct `ops` and `names`."""
        lower = [each.lower() for each in ops]
        of_op = [0 if each in self.ops else 2 - any(text in each for text in self.ops) for each in lower]
        of_name = [2 * (each.lower() not in self.names) for each in names] if self.names else None
        ranks: np.ndarray = np.array(of_op, "u1")[op]
        return ranks if of_name is None else np.minimum(ranks, np.array(of_name, "u1")[name])
