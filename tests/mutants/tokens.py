"""Damage to JSON and to the text of protobuf messages, token by token."""

import json
import random
import re
from functools import lru_cache
from typing import NamedTuple

from tests.mutants import extremes


class Language(NamedTuple):
    """The tokens of a language, and its numbers and words besides whole numbers."""

    token: re.Pattern[str]
    odd: tuple[str, ...]


JSON = Language(
    re.compile(r'"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*|\w+|[\[\]{}:,]|\s+|.', re.DOTALL),
    (
        *("1e400", "-1e400", "-0", "-0.0", "1e-400", "NaN", "Infinity", "-Infinity", "null", "true", "false"),
        *("1e19", "9.3e18", "1.5", "0.1e1", "1e99999999999", "01", "[]", "{}", "[[]]", '""', '"1"', '"0x1"'),
        *("1" + "0" * 400, "-1" + "0" * 5000, '"1e400"', "[1,2]", '{"id":{}}', "1E+2", '"\\ud800"'),
    ),
)
TEXT_PROTO = Language(
    re.compile(r'"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*|\w+|[{}<>\[\]:;,#]|\s+|.', re.DOTALL),
    (
        *("1e400", "-0", "nan", "inf", "true", "{}", "<>", "[]", '""', "'a'", '"a" "b"', "0x7f", "0777", "#"),
        *("1" + "0" * 400, "DT_FLOAT", "DT_NOTHING", '"\\377\\xff\\u0041"', "[a.b/c]", "\n" * 300, "-"),
    ),
)

_OPEN, _CLOSE = "[{<", "]}>"


@lru_cache(maxsize=64)
def _tokens(data: bytes, language: Language) -> tuple[str, ...]:
    return tuple(language.token.findall(data.decode("utf-8", "surrogateescape")))


def damaged(data: bytes, other: bytes, chance: random.Random, language: Language = JSON) -> bytes:
    """Damage one token, or the value that begins there; `other` is another text to take values from."""
    made = list(_tokens(data, language))
    places = [place for place, token in enumerate(made) if not token.isspace()]
    if not places:
        return other[:1000]
    at = chance.choice(places)
    token, until = made[at], _value_end(made, at)
    action = chance.randrange(12)
    if action < 6:
        made[at] = _replaced(token, chance, language)
    elif action == 6:
        del made[at : min(until + 1, len(made))]
    elif action == 7:
        made[at:at] = made[at : min(until + 1, len(made))][:2000] * chance.choice((1, 2, 20))
    elif action == 8:
        to = chance.choice(places)
        made[at], made[to] = made[to], made[at]
    elif action == 9:
        depth = chance.choice((1, 3, 200, 20_000))
        opened = token if token in _OPEN else chance.choice("[{")
        made[at] = opened * depth + (_CLOSE[_OPEN.index(opened)] * depth if chance.random() < 0.7 else "")
    elif action == 10:
        rest = _tokens(other, language)
        start = chance.randrange(len(rest) + 1)
        made[at:until] = rest[start : min(_value_end(list(rest[start : start + 2000]), 0), 2000) + start]
    elif chance.random() < 0.3:
        del made[at:]
    else:
        made[at] += chance.choice((",", ":", "\\", "\x00", "\ufeff", '"', "//", "\udcff"))
    return "".join(made).encode("utf-8", "surrogateescape" if "\ud800" not in made else "surrogatepass")


def _value_end(tokens: list[str], at: int) -> int:
    """Return where the value that begins at a token ends."""
    depth = 0
    for place in range(at, min(len(tokens), at + 20_000)):
        token = tokens[place]
        if len(token) == 1:
            depth += (token in _OPEN) - (token in _CLOSE)
        if depth <= 0:
            return place + 1
    return len(tokens)


def _replaced(token: str, chance: random.Random, language: Language) -> str:
    if chance.random() < 0.25:
        return chance.choice(language.odd)
    if token[:1] == '"':
        if chance.random() < 0.1:
            return token[:-1] + chance.choice(("\\ud83d", "\\udc00", "\\u0000", "\\x", "\\", "\x00")) + '"'
        return json.dumps(extremes.text(token[1:-1], chance), ensure_ascii=chance.random() < 0.5)
    if re.fullmatch(r"-?\d+(\.\d+)?", token):
        near = int(float(token)) if len(token) < 300 else 0
        made = extremes.number(near, chance)
        return f"{made}" if chance.random() < 0.8 else chance.choice((f"{made}.5", f"{made}e3", f'"{made}"'))
    return chance.choice(language.odd)


def reduced_json(data: bytes, most: int) -> bytes:
    """Return JSON whose long lists have `most` entries, spread evenly, and the first of every kind."""

    def less(value: object) -> object:
        if isinstance(value, dict):
            return {name: less(inner) for name, inner in value.items()}
        if isinstance(value, list) and len(value) > most:
            step = -(-len(value) // most)
            kinds: dict[object, int] = {}
            for place, entry in enumerate(value):
                key = (
                    (entry.get("ph"), entry.get("cat"), entry.get("pid")) if isinstance(entry, dict) else None
                )
                kinds.setdefault(str(key), place)
            named = [
                place
                for place, entry in enumerate(value)
                if isinstance(entry, dict) and entry.get("ph") == "M" and place < most
            ]
            keep = sorted({*range(0, len(value), step), *kinds.values(), *named})
            return [value[place] for place in keep]
        return value

    return json.dumps(less(json.loads(data))).encode()
