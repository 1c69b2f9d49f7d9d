"""The Python frames of the threads of this process."""

import concurrent.futures.thread
import gc
import sys
import threading
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from itertools import accumulate, chain, repeat, starmap, takewhile
from types import FrameType
from typing import Any

from tfvis_nb.texts import Text


def module_of(frame: FrameType) -> str:
    """Return the name of the module whose code a frame runs; empty if the program has replaced it."""
    name = frame.f_globals.get("__name__")
    return name if type(name) is str else ""


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
        stacks_of_threads = list(stacks)
    finally:
        if collects:
            gc.enable()
    return [frame for stack in stacks_of_threads for frame in stack]


def unfinished_work(earlier: Collection[threading.Thread]) -> list[str]:
    """Return a note on the threads that Python waits for and that started after the `earlier` ones."""
    tops = sys._current_frames()  # noqa: SLF001
    known = {id(thread) for thread in (*earlier, threading.current_thread())}
    with suppress(Exception):  # threads of the program may have code of their own
        going_on = [
            thread
            for thread in threading.enumerate()
            if id(thread) not in known and not thread.daemon and not _is_idle(tops.get(thread.ident or 0))
        ]
        return [Text("threads_unfinished", threads=len(going_on))] if going_on else []
    return []


def _is_idle(top: FrameType | None) -> bool:
    """Whether a thread waits for work in a pool, as threads of pools do until Python ends."""
    return top is None or top.f_code is concurrent.futures.thread._worker.__code__  # noqa: SLF001


@contextmanager
def pools_allowed() -> Iterator[None]:
    """Allow new work in pools, which Python refuses as soon as the main thread has ended.

    A main thread that ends meanwhile waits: Python calls the newest of these functions first.
    """
    pools: Any = concurrent.futures.thread
    done = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        with suppress(RuntimeError):  # the main thread has ended
            threading._register_atexit(done.wait)  # type: ignore[attr-defined] # noqa: SLF001
    refused, pools._shutdown = pools._shutdown, False  # noqa: SLF001
    try:
        yield
    finally:
        pools._shutdown = refused  # noqa: SLF001
        done.set()
