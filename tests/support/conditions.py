"""Wait for conditions in other threads and processes."""

import time
from collections.abc import Callable


def wait_until(holds: Callable[[], object], seconds: float = 90.0) -> None:
    """Return as soon as a condition holds; fail if it does not within the time."""
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, f"not within {seconds:.0f} s"
        time.sleep(0.01)
