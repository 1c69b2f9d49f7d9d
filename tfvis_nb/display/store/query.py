"""Parse the text of the search field, like ``js/model/search/query.ts``."""

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

TEXT_FIELDS = ("name", "op", "lane", "kind", "is", "file")
"""Fields that can be searched separately, as in ``op:MatMul``."""

_NANOSECONDS = {"ns": 1, "us": 1e3, "µs": 1e3, "μs": 1e3, "ms": 1e6, "s": 1e9, "m": 60e9}
_BYTES = {
    "": 1.0,
    "b": 1.0,
    "k": 1e3,
    "kb": 1e3,
    "mb": 1e6,
    "g": 1e9,
    "gb": 1e9,
    "tb": 1e12,
    "m": 1e6,
    "kib": 2.0**10,
    "mib": 2.0**20,
    "gib": 2.0**30,
    "tib": 2.0**40,
}
_NUMBER = r"([0-9]+(?:\.[0-9]*)?|\.[0-9]+)"
_BOUND = re.compile(rf"([<>])(=?){_NUMBER}([a-zµμ]*)")
_RANGE = re.compile(r"([0-9]+)(?:-([0-9]+))?")
# "> 1 ms" is one bound and "a | b" one word, with any spacing; quoted text stays unchanged.
_SPACED = re.compile(
    r'"[^"]*"?|\s*(\|)\s*|([<>]=?)\s*(\.?[0-9][0-9.]*)\s*(ns|us|µs|μs|ms|s|m|[kmgt]i?b|b)(?![0-9a-z_])'
)
_WORD = re.compile(r'(?:[^\s"]|"[^"]*"?)+')
_ALTERNATIVE = re.compile(r'(?:[^|"]|"[^"]*"?)+')


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

    first: int
    last: int


class Lines(NamedTuple):
    """The numbers of the first and the last line of code."""

    first: int
    last: int


class Unread(NamedTuple):
    """A filter that cannot be parsed; nothing matches it."""

    word: str


Term = Text | Bound | Steps | Lines | Unread


class Clause(NamedTuple):
    """Terms of which at least one must match, or none of them."""

    terms: tuple[Term, ...]
    negated: bool


def parse_query(text: str) -> list[Clause]:
    """Return the clauses that an event must all match.

    `text` has words separated by spaces, ``"two words"``, ``op:MatMul``, ``name:``, ``lane:``, ``kind:`` or
    ``is:critical``, ``>5ms`` or ``dur:>5ms``, ``bytes:>1MB``, ``step:3`` or ``step:3-7``, ``file:model.py``,
    ``line:12`` or ``line:12-20``. ``a|b`` means either, ``-word`` means without. A filter without a text,
    ``op:``, is still being typed and has no effect.
    """
    spaced = _SPACED.sub(lambda match: "".join(filter(None, match.groups())) or match[0], text.lower())
    clauses = [_clause(word) for word in _WORD.findall(spaced)]
    return [clause for clause in clauses if clause.terms]


def _clause(word: str) -> Clause:
    negated = len(word) > 1 and word[0] == "-"
    terms: list[Term] = []
    field = ""
    for alternative in _ALTERNATIVE.findall(word[1:] if negated else word):
        named, colon, rest = alternative.partition(":")
        # "op:a|b" looks for both in the field; "stream:13" and other texts with a colon are not filters.
        if colon and named in (*TEXT_FIELDS, "step", "line", "dur", "bytes"):
            field, alternative = named, rest  # noqa: PLW2901 - what is left of it
        term = _term(field, alternative)
        if term is not None:
            terms.append(term)
    return Clause(tuple(terms), negated)


def _term(field: str, text: str) -> Term | None:
    plain = text.replace('"', "")
    if not plain:
        return None
    if field in TEXT_FIELDS:
        return Text(field, plain)
    if field in ("step", "line"):
        match = _RANGE.fullmatch(plain)
        if match is None:
            return Unread(f"{field}:{plain}")
        return (Steps if field == "step" else Lines)(int(match[1]), int(match[2] or match[1]))
    of = "bytes" if field == "bytes" else "duration"
    units = _BYTES if of == "bytes" else _NANOSECONDS
    bound = None if '"' in text else _BOUND.fullmatch(plain)
    if bound is not None and bound[4] in units:
        return Bound(of, bound[1] == ">", bool(bound[2]), float(bound[3]) * units[bound[4]])
    return Unread(f"{field}:{plain}") if field else Text("any", plain)


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
