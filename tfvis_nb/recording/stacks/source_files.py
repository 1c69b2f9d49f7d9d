"""Source files: their names in a trace, whether they are the user's own, and their text."""

import gc
import linecache
import sys
import sysconfig
import warnings
from collections.abc import Collection, Iterator
from functools import cache
from pathlib import Path
from types import CodeType, FunctionType
from typing import NamedTuple

import psutil

from tfvis_nb.recording.thread_frames import frames_of_threads

_LARGEST = 1 << 20
"""Maximum number of kept characters of a file; larger files are generated."""

_PACKAGE = str(Path(__file__).parents[2])
_LIBRARIES = tuple(
    {
        str(Path(path))
        for name, path in sysconfig.get_paths().items()
        if name in ("stdlib", "platstdlib", "purelib", "platlib")
    }
)
_INSTALLED = ("site-packages", "dist-packages")
_TYPED = ("<stdin>", "<doctest ", "<console>", "<ipython-input-")
"""Prefixes of names of typed code, which is in no file."""


class SourceFiles:
    """The files of one recording, collected while the recorded code is still loaded."""

    def __init__(self) -> None:
        self._cells = _cell_numbers()
        # Profiles contain only the last part of the name under which a kernel compiled a cell.
        self._read = {f"Cell {Path(file).stem}": file for file in self._cells}
        self.own = cache(self._is_own)
        self.shown = cache(self._shown)

    def of_profile(self, name: str) -> str:
        """Return the file of this process for a file name in a profile."""
        return self._read.get(name, name)

    def _is_own(self, file: str) -> bool:
        """Whether a file is the user's own code: not installed, generated, or part of this package."""
        if file in self._cells or file.startswith(_TYPED):
            return True
        if file.startswith("<") or "__autograph_generated_file" in file or is_ours(file):
            return False
        path = Path(file)
        return not (
            any(part in _INSTALLED for part in path.parts)
            or any(file.startswith((f"{folder}/", f"{folder}\\")) for folder in _LIBRARIES)
            or any(path.relative_to(folder).parts[0] in _installed_in(str(folder)) for folder in path.parents)
        )

    def _shown(self, file: str) -> str:
        """Name a file for users: ``Cell [7]``, or its path relative to the current or an import folder."""
        if file in self._cells:
            return f"Cell [{self._cells[file]}]"
        path = Path(file)
        if not path.is_absolute():
            return file
        for folder in (str(Path.cwd()), *sorted(filter(None, sys.path), key=len, reverse=True)):
            if path.is_relative_to(folder):
                return path.relative_to(folder).as_posix()
        return file

    def text(self, file: str, lines: Collection[int]) -> tuple[str | None, bool]:
        """Return the whole text of a user's file, and whether other code than this ran.

        None if unavailable. `lines` are those that ran.
        """
        text, edited = text_of(file, lines)
        return text if text and len(text) <= _LARGEST else None, edited


@cache
def is_ours(file: str) -> bool:
    """Whether a file belongs to this package."""
    return file.startswith((f"{_PACKAGE}/", f"{_PACKAGE}\\"))


@cache
def is_magic(file: str) -> bool:
    """Whether a file contains the cell magics, whose callers are IPython and the outer cell."""
    return is_ours(file) and Path(file).parent.name == "magics"


@cache
def _installed_in(folder: str) -> frozenset[str]:
    """Return the packages and modules that pip installed into a folder, such as that of ``--target``."""
    lists = (record.read_text(errors="replace") for record in Path(folder).glob("*.dist-info/RECORD"))
    return frozenset(line.partition("/")[0].partition(",")[0] for text in lists for line in text.splitlines())


def _cell_numbers() -> dict[str, int]:
    """Return the number of each executed cell, by the name its code was compiled under."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return dict(getattr(getattr(shell, "compile", None), "_filename_map", {}))


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
