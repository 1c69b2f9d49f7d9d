"""Show a waiting user that this package or TensorFlow is still working."""

import contextlib
import sys
import threading
import time
from collections.abc import Iterator
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TextIO

QUIET_SECONDS = 2.0
"""How long users wait before they wonder."""

_TICK_SECONDS = 0.5


@dataclass
class Progress:
    """The text shown during a wait; the code that does the work may change it."""

    what: str


_UNSEEN: ContextVar[bool] = ContextVar("unseen", default=False)


@contextlib.contextmanager
def without_progress() -> Iterator[None]:
    """Show nothing within a block that is part of work with its own progress."""
    token = _UNSEEN.set(True)
    try:
        yield
    finally:
        _UNSEEN.reset(token)


@contextlib.contextmanager
def progress_after(what: str) -> Iterator[Progress]:
    """Show in a terminal or notebook what a noticeable wait is for, and how long it takes.

    The line is removed when the block ends, so it is not written to outputs that would keep it, such as log
    files. A thread updates it, so the block must release the GIL, as TensorFlow 2.15 to 2.21 does while it
    writes a profile.
    """
    progress = Progress(what)
    if _UNSEEN.get():
        yield progress
        return
    ended = threading.Event()
    speaker = threading.Thread(target=_say, args=(progress, ended), name="tfvis_nb patience", daemon=True)
    speaker.start()
    try:
        yield progress
    finally:
        ended.set()
        speaker.join()


def _say(progress: Progress, ended: threading.Event) -> None:
    began = time.time()
    if ended.wait(QUIET_SECONDS):
        return
    screen = _screen()
    if screen is None:
        return
    # Not tqdm.auto: in a notebook it makes widgets.
    from tqdm import tqdm

    with tqdm(desc=progress.what, bar_format="{desc}: {elapsed}", leave=False, file=screen) as line:
        line.start_t = began
        while not ended.wait(_TICK_SECONDS):
            line.set_description_str(progress.what)


def _screen() -> TextIO | None:
    """Return a stream where a line can be removed; None if nobody is watching."""
    # Notebooks keep blanked output, which for standard error is a red strip.
    if type(sys.stdout).__module__.partition(".")[0] == "ipykernel":
        return sys.stdout
    with contextlib.suppress(Exception):  # the program may have closed or replaced it
        return sys.stderr if sys.stderr.isatty() else None
    return None
