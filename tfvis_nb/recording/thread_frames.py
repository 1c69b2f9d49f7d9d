"""The Python frames of the threads of this process."""

import gc
import sys
from collections.abc import Iterator
from itertools import accumulate, chain, repeat, starmap, takewhile
from types import FrameType
from typing import Any


def frames_of_threads() -> list[FrameType]:
    """Return the frames on the stacks of all threads, even of those that keep running.

    Notes
    -----
    CPython 3.11 creates the object of a frame on demand, and may collect garbage meanwhile. A finaliser then
    lets other threads run, which may leave the very frame whose object is being created. The object then
    points into memory that other frames use, and accessing it crashes the process. So garbage collection is
    off here. CPython 3.12 only collects between bytecodes.

    A suspended generator does not know its caller: if its thread continued during the walk, all callers would
    be missing. So the walk executes no Python bytecode, because threads only switch between bytecodes.
    """
    collects = gc.isenabled()
    tops = chain.from_iterable(map(dict.values, starmap(sys._current_frames, [()])))  # noqa: SLF001
    # Each is the frame, getattr(frame, "f_back"), and so on, up to None.
    chains = map(chain, zip(tops, strict=False), repeat(repeat("f_back")))
    walks = map(takewhile, repeat(bool), map(accumulate, chains, repeat(getattr)))
    stacks: Iterator[list[Any]] = map(list, walks)
    gc.disable()
    try:
        found = list(stacks)
    finally:
        if collects:
            gc.enable()
    return [frame for stack in found for frame in stack]
