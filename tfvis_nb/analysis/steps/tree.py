"""Trees of scopes or frames, and sums over them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tfvis_nb.core.row_numbers import number_rows

_MOST_PARTS = 32


class Tree(NamedTuple):
    """Scopes or frames, each after its parent; the first is the root and has no name."""

    part: list[str]
    parent: np.ndarray
    depth: np.ndarray

    @classmethod
    def of_names(cls, names: pa.Array) -> tuple[Tree, np.ndarray]:
        """Make the tree of the scopes in names; also return the index of each name."""
        # A name may be anything, even ten thousand slashes.
        split = pc.split_pattern(names, "/", max_splits=_MOST_PARTS - 1)
        length = np.where(pc.equal(names, ""), 0, pc.list_value_length(split))
        start = np.asarray(split.offsets)[:-1]
        texts = pc.list_flatten(split).dictionary_encode()
        code = np.asarray(texts.indices).astype(np.int64)
        node = np.zeros(len(names), np.int64)
        # The text, the parent, the depth and the first name of each scope, level by level.
        levels = [np.zeros((4, 1), np.int64)]
        rows = 1
        for level in range(length.max(initial=0)):
            there = np.flatnonzero(length > level)
            own = code[start[there] + level]
            number, first = number_rows(node[there], own)
            depth = np.full(len(first), level + 1)
            levels.append(np.stack([own[first], node[there[first]], depth, there[first]]))
            node[there] = rows + number
            rows += len(first)
        text, parent, depth, first_name = np.concatenate(levels, axis=1)
        order = np.lexsort((depth, first_name))
        order = np.append(0, order[order > 0])
        row = np.empty(rows, np.int64)
        row[order] = np.arange(rows)
        labels = texts.dictionary.take(pa.array(text[order[1:]])).to_pylist()
        return cls(["", *labels], row[parent[order]], depth[order]), row[node]

    def names(self) -> list[str]:
        """Return the whole name of each scope."""
        names = [""]
        for part, above in zip(self.part[1:], self.parent[1:].tolist(), strict=True):
            names.append(f"{names[above]}/{part}" if above else part)
        return names

    def added_up(self, amounts: np.ndarray) -> np.ndarray:
        """Add the amounts of nested scopes to each scope."""
        within = amounts.copy()
        for level in range(int(self.depth.max()), 0, -1):
            there = np.flatnonzero(self.depth == level)
            for row in within:
                np.add.at(row, self.parent[there], row[there])
        return within

    def preorder(self, first: np.ndarray, second: np.ndarray) -> np.ndarray:
        """Return the scopes in tree order; among siblings, the larger comes first."""
        count = len(self.part)
        size = self.added_up(np.ones((1, count), np.int64))[0]
        below = np.lexsort((-second[1:], -first[1:], self.parent[1:])) + 1
        before = np.cumsum(size[below]) - size[below]
        # The count starts again from 0 for each parent.
        again = np.append(True, np.diff(self.parent[below]) > 0)[: len(below)]
        offset = np.zeros(count, np.int64)
        offset[below] = before - np.maximum.accumulate(np.where(again, before, 0))
        row = np.zeros(count, np.int64)
        for level in range(1, int(self.depth.max()) + 1):
            there = np.flatnonzero(self.depth == level)
            row[there] = row[self.parent[there]] + 1 + offset[there]
        order = np.empty(count, np.int64)
        order[row] = np.arange(count)
        return order
