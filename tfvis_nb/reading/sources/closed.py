"""Folders that a pattern leads into but that cannot be listed: globbing skips them silently."""

import os
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from pathlib import Path


def closed_folders(pattern: Path) -> list[Path]:
    """Return the folders that a pattern looks into but that may not be listed."""
    parts = pattern.parts
    first = next(at for at, part in enumerate(parts) if any(letter in part for letter in "*?["))
    return [*_closed(Path(*parts[:first]), parts[first:-1])]


def _closed(folder: Path, below: Sequence[str]) -> Iterator[Path]:
    """Yield those at or below a folder; `below` are the parts of the pattern that name folders in it."""
    try:
        with os.scandir(folder) as entries:
            names = [entry.name for entry in entries if entry.is_dir(follow_symlinks=False)]
    except PermissionError:
        yield folder
        return
    except OSError:
        return
    if not below:
        return
    is_any = below[0] == "**"
    for name in sorted(names):
        if not name.startswith(".") and (is_any or fnmatchcase(name, below[0])):
            yield from _closed(folder / name, below if is_any else below[1:])
