"""The Python frames that the threads of this process are in."""

import gc
import sys
import traceback
from types import FrameType


def frames_of_threads() -> list[FrameType]:
    """Return the frames on the stacks of all threads, even of those that keep running.

    Notes
    -----
    CPython 3.11 makes the object of a frame when it is asked for, and may collect garbage while it does.
    A finaliser then lets the other threads go on, which may leave the very frame whose object is being made:
    the object points into memory that other frames use by now, and looking at it ends the process. So no
    garbage is collected here. CPython 3.12 collects between bytecodes only.
    """
    collects = gc.isenabled()
    gc.disable()
    try:
        tops = sys._current_frames().values()  # noqa: SLF001 - the only way to the stacks of all threads
        return [frame for top in tops for frame, _ in traceback.walk_stack(top)]
    finally:
        if collects:
            gc.enable()
