"""What JAX holds in memory: its arrays, and the memory of its devices."""

import contextlib
import math
from collections.abc import Sequence
from typing import Any

import psutil

from tfvis_nb.recording.allocation_errors import MOST_BUFFERS
from tfvis_nb.recording.stacks.source_files import SourceFiles


def live_in_jax(program: Sequence[dict[str, Any]], *, source: bool) -> list[dict[str, Any]]:
    """Return rows of `LIVE_AT_FAILURE`: the largest arrays, and the buffers of the failed `program`.

    The latter are those that XLA's error lists. Without `source` no row has a line.
    """
    import jax

    sized, files = [], SourceFiles()
    for row in program:
        file = row.get("file")
        own = source and file and files.own(file)
        row.update({"file": files.shown(file)} if own else {"file": None, "line": None})
    for array in jax.live_arrays():
        with contextlib.suppress(Exception):  # an array may be deleted at any time
            sized.append((_bytes(array), array))
    largest = sorted(sized, key=lambda one: -one[0])[:MOST_BUFFERS]
    rows = [*program]
    for size, array in largest:
        row = {"node": f"{array.dtype} {list(array.shape)}", "bytes": size}
        with contextlib.suppress(Exception):  # classes of any release of JAX
            row["sharding"] = _sharding(array.sharding)
        if source:
            with contextlib.suppress(Exception):
                row |= _line(array, files)
        rows.append(row)
    return rows


def device_memory() -> dict[str, Any]:
    """Return the memory of the fullest device, by columns of `OUT_OF_MEMORY`; of CPUs, the free memory."""
    import jax

    devices, found = jax.local_devices(), []
    if all(device.platform == "cpu" for device in devices):
        return {"available_bytes": psutil.virtual_memory().available}
    for device in devices:
        with contextlib.suppress(Exception):  # not every backend has statistics
            stats = device.memory_stats() or {}
            used = int(stats["bytes_in_use"])
            memory: dict[str, Any] = {"device": str(device), "in_use_bytes": used}
            if "bytes_limit" in stats:
                memory["available_bytes"] = max(int(stats["bytes_limit"]) - used, 0)
            # Allocators that do not count their blocks say 0.
            if stats.get("largest_free_block_bytes"):
                memory["largest_free_bytes"] = int(stats["largest_free_block_bytes"])
            found.append(memory)
    return max(found, key=lambda one: int(one["in_use_bytes"]), default={})


def _bytes(array: Any) -> int:
    """Return the bytes of an array in this process, on all of its devices."""
    sharding = array.sharding
    each: int = math.prod(sharding.shard_shape(array.shape)) * array.dtype.itemsize
    return each * len(sharding.addressable_devices)


def _sharding(sharding: Any) -> str:
    """Format a sharding, such as ``PartitionSpec('x',) on 8 devices``."""
    devices = sorted(sharding.device_set, key=lambda device: device.id)
    if len(devices) == 1:
        return str(devices[0])
    return f"{getattr(sharding, 'spec', type(sharding).__name__)} on {len(devices)} devices"


def _line(array: Any, files: SourceFiles) -> dict[str, Any]:
    """Return the innermost line of the user's own code that made an array."""
    for frame in array.traceback.frames:
        if files.own(frame.file_name):
            return {"file": files.shown(frame.file_name), "line": int(frame.line_num)}
    return {}
