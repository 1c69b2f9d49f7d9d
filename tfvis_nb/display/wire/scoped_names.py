"""Event names on the wire: each scope once, each name as its scope and its last part."""

import numpy as np
import pandas as pd
import pyarrow as pa

from tfvis_nb.display.wire.container import WireColumn
from tfvis_nb.display.wire.string_table import number_texts, stored_texts

_MOST_PARTS = 16


def scoped_names(names: pd.Series | pa.Array) -> dict[str, WireColumn]:
    """Number the distinct names and split them at their slashes.

    ``a/b/c`` and ``a/b/d`` share the part before the last slash, which takes a third of the compressed bytes
    of whole names. All numbers are in order of first appearance. Columns: ``name`` is for each row the number
    of its name; ``name_scope`` and ``name_part`` are for each name its scope, counted from 1, 0 without one,
    and the part after it; ``scope_parent`` and ``scope_part`` the same for each scope, whose parent always
    has a smaller number.
    """
    (numbers,), distinct = number_texts([names])
    parts: dict[str, int] = {}
    scopes: dict[str, int] = {}
    scope_rows: list[tuple[int, int]] = []

    def scope_number(scope: str, left: int) -> int:
        if scope in scopes:
            return scopes[scope]
        # A name may be anything, even ten thousand slashes, so deeper parts stay in one piece.
        parent, slash, part = scope.rpartition("/") if left else ("", "", scope)
        above = scope_number(parent, left - 1) if slash else 0
        scope_rows.append((above, parts.setdefault(part, len(parts))))
        scopes[scope] = len(scope_rows)
        return len(scope_rows)

    name_rows = np.zeros((len(distinct), 2), "u4")
    for number, name in enumerate(distinct.to_pylist()):
        scope, slash, part = name.rpartition("/")
        above = scope_number(scope, _MOST_PARTS) if slash else 0
        name_rows[number] = above, parts.setdefault(part, len(parts))
    above_and_part = np.array(scope_rows, "u4").reshape(-1, 2)
    texts = stored_texts(parts)
    return {
        "name": WireColumn(numbers, "delta-shuffle"),
        "name_scope": WireColumn(name_rows[:, 0], "delta-shuffle"),
        "name_part": WireColumn(name_rows[:, 1]),
        "scope_parent": WireColumn(above_and_part[:, 0], "delta-shuffle"),
        "scope_part": WireColumn(above_and_part[:, 1]),
        "parts_bytes": texts["strings_bytes"],
        "parts_offsets": texts["strings_offsets"],
    }
