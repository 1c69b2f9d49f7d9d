"""Searches as the front end sends them: it parses the text, and tests of js/model compare the same cases."""

import json
from functools import cache
from pathlib import Path
from typing import Any

_CASES = Path(__file__).parents[1] / "data" / "conformance" / "queries.json"


@cache
def _cases() -> dict[str, list[dict[str, Any]]]:
    return dict(json.loads(_CASES.read_text(encoding="utf-8"))["queries"])


def clauses(text: str) -> list[dict[str, Any]]:
    """The clauses of a text, which must be one of the cases."""
    return [_clause(described) for described in _cases()[text]]


def _clause(described: dict[str, Any]) -> dict[str, Any]:
    terms = described.get("not") or described.get("any") or [described]
    return {"terms": [*map(_term, terms)], "negated": "not" in described}


def _term(described: dict[str, Any]) -> dict[str, Any]:
    if "bound" in described:
        sign, of = described["bound"], described["of"]
        bound = {"of": of, "longer": sign[0] == ">", "inclusive": sign.endswith("=")}
        return {"type": "bound", **bound, "value": described["value"]}
    for kind in ("steps", "lines"):
        if kind in described:
            first, last = described[kind]
            return {"type": kind, "first": first, "last": last}
    if "unread" in described:
        return {"type": "unread", "word": described["unread"]}
    return {"type": "text", **described}
