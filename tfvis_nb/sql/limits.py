"""Limits of queries that commands and assistants send."""

import json
from typing import Any

SECONDS, ROWS, CELL_BYTES = 30, 10_000, 64 << 10
"""Limits on the time of a query, the rows of its result, and the bytes of a value."""


def cell(value: Any, most_bytes: int = CELL_BYTES) -> Any:
    """Return a value for JSON; a long value is cut and becomes text.

    >>> cell([1, float("nan")]), cell("abcdef", 3)
    ([1, None], 'abc\u2026')
    """
    text = value if isinstance(value, str) else json.dumps(value, default=str)
    # A node's name may hold half a surrogate pair.
    data = text.encode("utf-8", "backslashreplace")
    if len(data) > most_bytes:
        return data[:most_bytes].decode("utf-8", "ignore") + "\u2026"
    return data.decode() if isinstance(value, str) else json.loads(text, parse_constant=lambda _: None)
