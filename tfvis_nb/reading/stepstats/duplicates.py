"""Find duplicate content in files with a recording written twice; it is kept, with a note."""

import zlib
from collections import Counter
from collections.abc import Sequence

from tfvis_nb.reading.protobuf.wire import Data


def repeated_spans(data: Data, spans: Sequence[tuple[int, int]]) -> list[int]:
    """Return the indexes in `spans` of repeated bytes; empty spans are skipped.

    >>> repeated_spans(b"abcabd", [(0, 2), (2, 2), (3, 5), (4, 6)])
    [2]
    """
    view = memoryview(data)
    lengths = Counter(end - start for start, end in spans)
    seen: set[tuple[int, int]] = set()
    again = []
    for index, (start, end) in enumerate(spans):
        # Few have the same length, so the bytes of others need not be compared.
        if start == end or lengths[end - start] == 1:
            continue
        key = (end - start, zlib.crc32(view[start:end]))
        if key in seen:
            again.append(index)
        seen.add(key)
    return again
