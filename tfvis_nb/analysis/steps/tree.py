"""Trees of scopes or frames, and sums over them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

_MOST_PARTS = 32


class Tree(NamedTuple):
    """Scopes or frames, each after its parent; the first is the root and has no name."""

    part: list[str]
    parent: np.ndarray
    depth: np.ndarray

    @classmethod
    def of_names(cls, names: Sequence[str]) -> tuple[Tree, np.ndarray]:
        """Make the tree of the scopes in names; also return the index of each name."""
        row_of: dict[tuple[int, str], int] = {}
        part, parent, depth = [""], [0], [0]
        nodes = np.zeros(len(names), np.int64)
        for number, text in enumerate(names):
            row = 0
            # A name may be anything, even ten thousand slashes.
            for one in text.split("/", _MOST_PARTS - 1) if text else ():
                below = row_of.setdefault((row, one), len(part))
                if below == len(part):
                    part.append(one)
                    parent.append(row)
                    depth.append(depth[row] + 1)
                row = below
            nodes[number] = row
        return cls(part, np.array(parent, np.int64), np.array(depth, np.int64)), nodes

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
