"""Check whether a file still has the code that ran, because loaded files may be edited."""

import gc
import linecache
import warnings
from collections.abc import Collection, Iterator
from functools import cache
from pathlib import Path
from types import CodeType, FunctionType
from typing import NamedTuple

import psutil

from tfvis_nb.recording.thread_frames import frames_of_threads

_Codes = dict[int, set[CodeType]]
"""Code by its lines."""


class FileText(NamedTuple):
    """The text of a file, empty if unavailable, and whether other code than this ran."""

    text: str
    edited: bool


def text_of(file: str, lines: Collection[int]) -> FileText:
    """Return the text of a file whose `lines` ran: as cached by Python, or the current one."""
    text = _remembered(file)
    if not _written_since_start(file) or _is_of(text, file, lines):
        return FileText(text, edited=False)
    linecache.checkcache(file)
    now = _remembered(file)
    return FileText(now, edited=not _is_of(now, file, lines))


def _remembered(file: str) -> str:
    return "".join(linecache.getlines(file))


@cache
def _process_start() -> float:
    # Linux counts from the boot time, which has a resolution of one second.
    started: float = psutil.Process().create_time()
    return started + 1


def _written_since_start(file: str) -> bool:
    """Whether a file was written or replaced since the start of this process."""
    try:
        status = Path(file).stat()
    except (OSError, ValueError):
        return False
    return max(status.st_mtime, status.st_ctime) >= _process_start()


def _is_of(text: str, file: str, lines: Collection[int]) -> bool:
    """Whether a text compiles to the loaded code of these lines."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compiled = set(_within(compile(text, file, "exec", dont_inherit=True)))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    loaded, written = _by_line(_loaded(file)), _by_line(compiled)
    # The top-level code of a module is gone after the import, so only the existence of the line can be
    # checked.
    return all(not compiled.isdisjoint(loaded[line]) if line in loaded else line in written for line in lines)


def _loaded(file: str) -> Iterator[CodeType]:
    """Yield the code of a file in functions and running frames."""
    for each in gc.get_objects():
        # Only by type, because accessing __class__ may run code of the object.
        if type(each) is FunctionType and each.__code__.co_filename == file:
            yield from _within(each.__code__)
    for frame in frames_of_threads():
        if frame.f_code.co_filename == file:
            yield frame.f_code


def _within(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _within(constant)


def _by_line(codes: Collection[CodeType] | Iterator[CodeType]) -> _Codes:
    by_line: _Codes = {}
    for code in codes:
        for _, _, line in code.co_lines():
            if line is not None:
                by_line.setdefault(line, set()).add(code)
    return by_line
