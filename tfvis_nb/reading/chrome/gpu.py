"""Shared by readers of GPU trace events: copies by name, launches by correlation."""

from collections.abc import Sequence

import numpy as np

from tfvis_nb.reading.stepstats import label_grammar


def copies(texts: Sequence[str], details: Sequence[str]) -> list[label_grammar.Copy]:
    """Parse copies by name, such as ``MemcpyH2D`` or ``Memcpy HtoD (Pinned -> Device)``, and details."""
    known: dict[tuple[str, str], label_grammar.Copy] = {}
    made = []
    for name, detail in zip(texts, details, strict=True):
        key = (name, detail)
        if key not in known:
            known[key] = label_grammar.parse_copy(name.replace("Memcpy ", "Memcpy"), "", detail)
        made.append(known[key])
    return made


def ends(copy: label_grammar.Copy, device: str, host: str) -> tuple[str, str]:
    """Return source and destination of a copy: the GPU, another GPU, the host, or unknown."""
    device_of = {"H": host, "D": device, "": ""}
    peer = copy.lane == "memcpy P2P" and copy.peer >= 0
    return device_of[copy.origin], f"/device:GPU:{copy.peer}" if peer else device_of[copy.target]


def launches(
    correlation: np.ndarray, known: np.ndarray, launching: np.ndarray, launched: np.ndarray
) -> np.ndarray:
    """Find the launch of each row: int64 row numbers, -1 for rows without a known launch.

    `known` marks rows with a `correlation`; `launching` and `launched` are the rows on the host and on the
    GPU.
    """
    launch = np.full(len(correlation), -1, np.int64)
    hosts = np.flatnonzero(launching & known)
    rows = np.flatnonzero(launched & known)
    if len(hosts) and len(rows):
        hosts = hosts[np.argsort(correlation[hosts], kind="stable")]
        index = np.minimum(np.searchsorted(correlation[hosts], correlation[rows]), len(hosts) - 1)
        same = correlation[hosts[index]] == correlation[rows]
        launch[rows[same]] = hosts[index[same]]
    return launch


def enclosing(
    start: np.ndarray, end: np.ndarray, thread: np.ndarray, around: np.ndarray, wanted: np.ndarray
) -> np.ndarray:
    """Find for each row of `wanted` the innermost row of `around` open on its thread at its start.

    All are int64 or masks over the same rows; the result is row numbers, -1 if none is open.
    """
    outer = np.full(len(start), -1, np.int64)
    rows = np.flatnonzero(around | wanted)
    rows = rows[np.lexsort((wanted[rows], -end[rows], start[rows], thread[rows]))]
    open_rows: list[tuple[int, int]] = []
    current = -1
    for row, on, begin, finish, asks, holds in zip(
        rows.tolist(),
        thread[rows].tolist(),
        start[rows].tolist(),
        end[rows].tolist(),
        wanted[rows].tolist(),
        around[rows].tolist(),
        strict=True,
    ):
        if on != current:
            current, open_rows = on, []
        while open_rows and open_rows[-1][1] <= begin:
            open_rows.pop()
        if asks and open_rows:
            outer[row] = open_rows[-1][0]
        if holds:
            open_rows.append((row, finish))
    return outer
