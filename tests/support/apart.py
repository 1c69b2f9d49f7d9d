"""Work in a separate process that has already imported the package, because importing is slow."""

import multiprocessing
import re
import resource
import time
import traceback
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, NamedTuple

import ptars  # noqa: F401 - so that its memory does not count as a file's
import pyarrow.compute  # noqa: F401

import tfvis_nb as tv

_CONTEXT = multiprocessing.get_context("forkserver")


class Done(NamedTuple):
    """The result of a process, or the traceback of its error; its peak memory in bytes and its work.

    `cpu_s` is the processor time of the work, on which other processes have little influence.
    """

    result: Any
    raised: str
    peak: int
    cpu_s: float


def apart(work: Callable[..., Any], *given: Any, seconds: float = 60.0, data: int | None = None) -> Done:
    """Call a function of a module in a process of its own, which may allocate `data` bytes.

    Raises
    ------
    TimeoutError
        If it takes longer than this many seconds; the process is killed.
    """
    _CONTEXT.set_forkserver_preload([__name__])
    here, there = _CONTEXT.Pipe(duplex=False)
    process = _CONTEXT.Process(target=_call, args=(there, work, given, data), daemon=True)
    process.start()
    there.close()
    try:
        if not here.poll(seconds):
            raise TimeoutError(f"{work} takes longer than {seconds} s")
        return Done(*here.recv())
    except EOFError:
        process.join()
        return Done(None, f"the process ended with {process.exitcode}", 0, 0)
    finally:
        process.kill()
        process.join()
        here.close()


def _call(answer: Connection, work: Callable[..., Any], given: tuple[Any, ...], data: int | None) -> None:
    if data is not None:
        resource.setrlimit(resource.RLIMIT_DATA, (data, data))
    result, raised = None, ""
    before = time.process_time()
    try:
        result = work(*given)
    except BaseException:  # noqa: BLE001 - who waits is told
        raised = traceback.format_exc()
    taken = time.process_time() - before
    peak = re.search(r"VmHWM:\s*(\d+) kB", Path("/proc/self/status").read_text())
    assert peak
    answer.send((result, raised, int(peak[1]) * 1024, taken))


def refusal(source: Path | bytes) -> str:
    """Read a trace, and return the name and text of the error that refuses it."""
    try:
        tv.read_trace(source)
    except tv.TraceFormatError as error:
        return f"{type(error).__name__}: {error}"
    return "read"


def execute(code: str) -> None:
    """Run statements."""
    exec(code, {})
