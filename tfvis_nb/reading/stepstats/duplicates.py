"""What a file holds twice, as one does that a recording was written into again: it is kept, and noted."""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from tfvis_nb.reading.stepstats.wire_check import Data

if TYPE_CHECKING:
    from tfvis_nb.reading.xspace.planes import Plane


def doubled(data: Data, spans: Sequence[tuple[int, int]]) -> list[int]:
    """Return the indexes in `spans` of those whose bytes an earlier one has too; empty ones are passed over.

    >>> doubled(b"abcabd", [(0, 2), (2, 2), (3, 5), (4, 6)])
    [2]
    """
    view = memoryview(data)
    lengths = Counter(end - start for start, end in spans)
    seen: set[tuple[int, int]] = set()
    again = []
    for place, (start, end) in enumerate(spans):
        # Few are equally long: of the others the bytes need not be looked at.
        if start == end or lengths[end - start] == 1:
            continue
        key = (end - start, zlib.crc32(view[start:end]))
        if key in seen:
            again.append(place)
        seen.add(key)
    return again


def doubled_planes(data: Data, planes: Sequence[Plane]) -> list[str]:
    """Return a note where planes of an XSpace that hold lines have the same name."""
    filled = [plane for plane in planes if plane.lines]
    count = Counter(plane.name for plane in filled)
    names = [name for name, times in count.items() if times > 1]
    if not names:
        return []
    lines = [(plane.name, line) for plane in filled if count[plane.name] > 1 for line in plane.lines]
    same = sorted({lines[place][0] for place in doubled(data, [line for _, line in lines])})
    again = f"; these hold the same rows again: {_listed(same)}" if same else ""
    said = "several planes have the same name and were kept, as where several profiles are in one file"
    return [f"{said}: {_listed(names)}{again}"]


def _listed(names: list[str]) -> str:
    return ", ".join(name[:80] for name in names[:8])
