"""Find the execution of a node that another event depends on: the latest one before it."""

import numpy as np


class Executions:
    """Executions of nodes, to look up by time and key, such as a node of one step on one device.

    `time` is when the result of each execution was ready, `start` when it started (ns).
    """

    def __init__(self, key: np.ndarray, time: np.ndarray, start: np.ndarray, event: np.ndarray) -> None:
        self._key = key
        self._time = time
        self._start = start
        self._event = event
        self._distinct, self._first, self._counts = np.unique(key, return_index=True, return_counts=True)

    def latest(self, key: np.ndarray, time: np.ndarray) -> np.ndarray:
        """Return the last execution of each `key` that was ready at `time`, as an event id, else -1."""
        known = len(self._key)
        keys = np.concatenate([self._key, key])
        is_query = np.arange(len(keys)) >= known
        # One sort puts each query right after its candidates.
        order = np.lexsort((is_query, np.concatenate([self._time, time]), keys))
        last = (
            np.maximum.accumulate(np.where(is_query[order], -1, np.arange(len(order))))
            if len(order)
            else order
        )
        answer = order[np.maximum(last, 0)]
        right = (last >= 0) & (keys[answer] == keys[order])
        latest = np.full(len(keys), -1)
        latest[order] = np.where(right, np.append(self._event, -1)[np.minimum(answer, known)], -1)
        return latest[known:]

    def only(self, key: np.ndarray, start: np.ndarray | None = None) -> np.ndarray:
        """Return the single execution of each `key`; -1 if it ran several times or never.

        With `start`, it must also have started by then.
        """
        if not len(self._distinct):
            return np.full(len(key), -1)
        index = np.minimum(np.searchsorted(self._distinct, key), len(self._distinct) - 1)
        unique = (self._distinct[index] == key) & (self._counts[index] == 1)
        if start is not None:
            unique &= self._start[self._first[index]] <= start
        return np.where(unique, self._event[self._first[index]], -1)

    def paired(self, key: np.ndarray, group: np.ndarray, start: np.ndarray) -> np.ndarray:
        """Return the k-th execution of `key` for the k-th member of a group; -1 unless their numbers match.

        All members of a group look up the same key; `start` orders them.
        """
        if not len(self._key) or not len(key):
            return np.full(len(key), -1)
        by_start = np.lexsort((self._start, self._key))
        order = np.lexsort((start, group))
        _, first, size = np.unique(group[order], return_index=True, return_counts=True)
        rank = np.empty(len(key), np.int64)
        rank[order] = np.arange(len(key)) - np.repeat(first, size)
        members = np.empty(len(key), np.int64)
        members[order] = np.repeat(size, size)
        index = np.minimum(np.searchsorted(self._distinct, key), len(self._distinct) - 1)
        same = (self._distinct[index] == key) & (self._counts[index] == members)
        begin = np.cumsum(self._counts) - self._counts
        chosen = np.where(same, begin[index] + rank, 0)
        return np.where(same, self._event[by_start[chosen]], -1)

    def has(self, key: np.ndarray) -> np.ndarray:
        """Return a mask of the keys that have executions."""
        return np.isin(key, self._distinct)

    def find(self, key: np.ndarray, time: np.ndarray, start: np.ndarray | None = None) -> np.ndarray:
        """Return `latest`, or else `only`, because times of one step may be coarse or skewed."""
        latest = self.latest(key, time)
        return np.where(latest >= 0, latest, self.only(key, start))
