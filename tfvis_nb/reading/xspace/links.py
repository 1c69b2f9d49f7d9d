"""The concatenated rows of one XSpace and their links: launches, and work handed to other threads."""

from collections.abc import Sequence

import numpy as np

from tfvis_nb.reading.xspace.rows import Rows, Sparse


class Links:
    """The marks of all rows of an XSpace, in the order of `parts`.

    `firsts` has the number of the first row of each part, and the total number of rows.
    """

    def __init__(self, parts: Sequence[Rows]) -> None:
        self._parts = parts
        self.firsts = np.concatenate([[0], np.cumsum([len(part) for part in parts])]).astype(np.int64)

    def mark(self, name: str) -> Sparse:
        """Return a mark of all rows."""
        rows, values = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
        for part, first in zip(self._parts, self.firsts.tolist(), strict=False):
            if name in part.marks:
                rows.append(part.marks[name].rows + first)
                values.append(part.marks[name].numbers)
        return Sparse(np.concatenate(rows), np.concatenate(values))

    def launches(self) -> tuple[np.ndarray, np.ndarray]:
        """Return pairs of launches on the host and their kernels or copies: two arrays of rows."""
        return matched(self.mark("launch"), self.mark("launched"))

    def taken_up(self) -> tuple[np.ndarray, np.ndarray]:
        """Return pairs of events and the events that took up their work: two arrays of rows."""
        return matched(self.mark("produced"), self.mark("consumed"))


def matched(sources: Sparse, targets: Sparse) -> tuple[np.ndarray, np.ndarray]:
    """Find the source with the same value for each target; the first one if there are several."""
    if not len(sources.rows) or not len(targets.rows):
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    order = np.argsort(sources.numbers, kind="stable")
    known = sources.numbers[order]
    index = np.minimum(np.searchsorted(known, targets.numbers), len(known) - 1)
    equal = known[index] == targets.numbers
    return sources.rows[order[index[equal]]], targets.rows[equal]
