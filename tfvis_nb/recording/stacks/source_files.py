"""Source files: their names in a trace, whether they are the user's own, and their text."""

import sys
import sysconfig
from collections.abc import Collection
from functools import cache
from pathlib import Path

from tfvis_nb.recording.stacks.edited import text_of

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
