"""A limit on the memory of this process."""

import contextlib
from pathlib import Path


def limit_memory(most_bytes: int | None) -> None:
    """Limit the memory that this process allocates from now on; None lifts the limit.

    It has no effect where the system has no such limit.
    """
    try:
        import resource
    except ImportError:  # only on Unix
        return
    # Not RLIMIT_AS: allocators and thread pools reserve far more addresses than they use. Memory of loaded
    # libraries does not count: OpenBLAS alone reserves a gigabyte.
    _, most = resource.getrlimit(resource.RLIMIT_DATA)
    with contextlib.suppress(ValueError):  # there already is a lower limit
        wanted = most if most_bytes is None else _data_bytes() + most_bytes
        resource.setrlimit(resource.RLIMIT_DATA, (wanted, most))


def _data_bytes() -> int:
    """Return the current size that counts for RLIMIT_DATA; 0 if unknown."""
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
    except OSError:
        return 0
    return next((1024 * int(line.split()[1]) for line in lines if line.startswith("VmData:")), 0)
