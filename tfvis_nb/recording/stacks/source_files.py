"""Files of code: their names in a trace, which are the user's own, and their text."""

import sys
import sysconfig
from collections.abc import Collection
from functools import cache
from pathlib import Path

from tfvis_nb.recording.stacks.edited import text_of

_LARGEST = 1 << 20
"""Characters of a file's text that are kept; larger files are generated ones."""

_PACKAGE = str(Path(__file__).parents[2])
_LIBRARIES = tuple(
    {
        str(Path(path))
        for name, path in sysconfig.get_paths().items()
        if name in ("stdlib", "platstdlib", "purelib", "platlib")
    }
)
_INSTALLED = ("site-packages", "dist-packages")
_TYPED = ("<stdin>", "<doctest ", "<console>")
"""How the names of code begin that was typed and is in no file."""


class SourceFiles:
    """The files of one recording, asked for while the code that was recorded is still loaded."""

    def __init__(self) -> None:
        self._cells = _cell_numbers()
        # Profiles are read with the last part of the name under which a kernel compiled a cell.
        self._read = {f"Cell {Path(file).stem}": file for file in self._cells}
        self.own = cache(self._is_own)
        self.shown = cache(self._shown)

    def of_profile(self, name: str) -> str:
        """Return the file of this process that a profile was read to name so."""
        return self._read.get(name, name)

    def _is_own(self, file: str) -> bool:
        """Whether a file is the user's own code: neither installed nor generated, nor of this package."""
        if file in self._cells or file.startswith(_TYPED):
            return True
        if file.startswith("<") or "__autograph_generated_file" in file or is_ours(file):
            return False
        path = Path(file)
        return not (
            any(part in _INSTALLED for part in path.parts)
            or any(file.startswith((f"{folder}/", f"{folder}\\")) for folder in _LIBRARIES)
        )

    def _shown(self, file: str) -> str:
        """Name a file as users know it: ``Cell [7]``, or its path below the current or an import folder."""
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
        """Return the whole text of a file of the user's own, and whether other code than this ran.

        None if it is not available. `lines` are those that ran.
        """
        text, edited = text_of(file, lines)
        return text if text and len(text) <= _LARGEST else None, edited


@cache
def is_ours(file: str) -> bool:
    """Whether a file is one of this package's."""
    return file.startswith((f"{_PACKAGE}/", f"{_PACKAGE}\\"))


@cache
def is_magic(file: str) -> bool:
    """Whether a file is that of the cell magics: their callers are IPython and the cell around."""
    return is_ours(file) and Path(file).parent.name == "magics"


def _cell_numbers() -> dict[str, int]:
    """Return the number of each cell that has run, by the name its code was compiled under."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return dict(getattr(getattr(shell, "compile", None), "_filename_map", {}))
