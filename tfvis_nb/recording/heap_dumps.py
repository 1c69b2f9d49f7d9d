"""Heap dumps that GPU allocators write to a file when they run out of memory."""

import contextlib
import os
from typing import Any

from tfvis_nb.core.temporary_folder import TemporaryFolder
from tfvis_nb.recording.allocation_errors import MOST_BUFFERS

_VARIABLE = "TF_BFC_MEMORY_DUMP"
"""TensorFlow reads it when an allocation fails, and appends the name of the allocator and the time in us."""

_STEM = "heap"


class HeapDumps:
    """Makes TensorFlow write its dumps to a private folder, unless the program itself wants them."""

    def __init__(self) -> None:
        self._folder: TemporaryFolder | None = None

    def install(self) -> None:
        """Start writing dumps."""
        if _VARIABLE not in os.environ:
            self._folder = TemporaryFolder()
            os.environ[_VARIABLE] = str(self._folder.path / _STEM)

    def remove(self) -> None:
        """Stop writing dumps; existing ones remain."""
        if self._folder is not None and os.environ.get(_VARIABLE) == str(self._folder.path / _STEM):
            del os.environ[_VARIABLE]

    def close(self) -> None:
        """Delete all dumps."""
        if self._folder is not None:
            self._folder.close()

    def last(self, allocator: str | None) -> tuple[dict[str, int], list[dict[str, Any]]]:
        """Return the last dump of an allocator, or of any allocator if None; empty if there is none.

        The result has values of `OUT_OF_MEMORY`, and the largest buffers as rows of `LIVE_AT_FAILURE`.
        """
        with contextlib.suppress(Exception):  # any TensorFlow release may write other content
            paths = self._folder.path.glob(f"{_STEM}_*") if self._folder is not None else ()
            dumps = {
                int(path.suffix[1:]): path
                for path in paths
                if allocator in (None, path.stem.removeprefix(f"{_STEM}_"))
            }
            if dumps:
                return _read(max(dumps), dumps[max(dumps)].read_bytes())
        return {}, []


def _read(time_us: int, data: bytes) -> tuple[dict[str, int], list[dict[str, Any]]]:
    from tensorflow.core.protobuf.bfc_memory_map_pb2 import MemoryDump

    dump = MemoryDump.FromString(data)
    free = [chunk.size for chunk in dump.chunk if not chunk.in_use]
    used = sorted((chunk for chunk in dump.chunk if chunk.in_use), key=lambda chunk: -chunk.size)
    live = [
        {
            "allocator": dump.allocator_name,
            "address": chunk.address,
            "bytes": chunk.size,
            "requested_bytes": chunk.requested_size,
        }
        for chunk in used[:MOST_BUFFERS]
    ]
    heap = {
        "time_ns": time_us * 1000,
        "in_use_bytes": sum(chunk.size for chunk in used),
        "available_bytes": sum(free),
        "largest_free_bytes": max(free, default=0),
    }
    return heap, live
