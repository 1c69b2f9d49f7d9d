"""Tells the user who waits for TensorFlow that it is still at work."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterator

QUIET_SECONDS = 2.0
"""How long a user waits without wondering."""

_TICK_SECONDS = 0.5


@contextlib.contextmanager
def said_if_long(what: str) -> Iterator[None]:
    """Show on standard error what is being waited for, and for how long, once the block takes its time.

    The line goes when the block ends. It is kept up by a thread, so the block must let others run,
    as TensorFlow 2.15 to 2.21 does while it writes a profile.

    Parameters
    ----------
    what
        What is under way.

    Examples
    --------
    >>> from tfvis_nb.recording.patience import said_if_long
    >>> with said_if_long("writing"):
    ...     pass
    """
    ended = threading.Event()
    speaker = threading.Thread(target=_say, args=(what, ended), name="tfvis_nb patience", daemon=True)
    speaker.start()
    try:
        yield
    finally:
        ended.set()
        speaker.join()


def _say(what: str, ended: threading.Event) -> None:
    began = time.time()
    if ended.wait(QUIET_SECONDS):
        return
    # Not tqdm.auto: in a notebook it makes widgets.
    from tqdm import tqdm

    with tqdm(desc=what, bar_format="{desc}: {elapsed}", leave=False) as line:
        line.start_t = began
        while not ended.wait(_TICK_SECONDS):
            line.refresh()
