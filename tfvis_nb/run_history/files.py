"""The files of the history: one per cell, in the user's data folder, readable only by their owner.

A file has a line for each run. It is replaced completely, under a lock on the folder, so neither a killed
kernel nor a full disk leaves half a file, and two kernels that run the same cell keep both runs. Without
locks, as on Windows, one of two simultaneous runs may be lost.
"""

import hashlib
import json
import os
import re
import time
from pathlib import Path

from tfvis_nb.core.folder_lock import locked_folder
from tfvis_nb.core.output_path import whole
from tfvis_nb.core.plain_files import is_plain, open_plain
from tfvis_nb.run_history.cell import Cell
from tfvis_nb.run_history.summary import LINE_START, Summary, from_line, to_line
from tfvis_nb.texts import Text

VARIABLE = "TFVIS_NB_HISTORY"
"""Environment variable: a folder for the history, or ``off``, ``no``, ``false`` or ``0`` to keep none."""

_OFF = ("off", "no", "false", "0")

MOST_RUNS = 50
"""How many runs of a cell are kept."""

MOST_BYTES = 16 << 20
"""Maximum total size of all files; those of the least recently run cells are removed first."""

_LARGEST_FILE = 2 << 20
"""Larger files were not written by this package."""

_SUFFIX = ".jsonl"
_OURS = re.compile(r"[0-9a-f]{32}\.jsonl|\.tfvis-nb-[0-9a-f]{32}")
"""Also matches files that a killed process left incomplete. Those that were moved aside stay."""


def history_folder() -> Path | None:
    """Return the folder of the history, which need not exist; None if the history is switched off.

    OSError if there is no home folder.
    """
    chosen = os.environ.get(VARIABLE, "")
    if chosen.lower() in _OFF:
        return None
    import platformdirs

    folder = Path(chosen or platformdirs.user_data_dir("tfvis-nb", appauthor=False)).expanduser()
    if not chosen and not folder.is_absolute():
        raise FileNotFoundError(Text("no_home_folder"))
    return folder.absolute() if chosen else folder / "history"


def keep(folder: Path, summary: Summary) -> tuple[list[Summary], Path | None]:
    """Add a run to those of its cell; return the earlier runs, and a damaged file that was moved aside.

    OSError if it cannot be saved; then the file is unchanged.
    """
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    path = folder / _name(summary)
    with locked_folder(folder):
        runs, is_whole = _read(path)
        aside = None if is_whole else path.with_name(f"{path.name}.damaged-{time.time_ns()}")
        if aside is not None:
            path.rename(aside)
        with whole(path) as beside:
            beside.chmod(0o600)
            lines = map(to_line, [*runs[1 - MOST_RUNS :], summary])
            beside.write_text("".join(lines), encoding="ascii")
        _remove_oldest(folder)
    return runs, aside


def read_all(folder: Path) -> list[Summary]:
    """Return all kept runs, ordered by time; damaged lines are left out.

    OSError if a file cannot be read.
    """
    runs: list[Summary] = []
    for path in folder.glob(f"*{_SUFFIX}"):
        runs += _read(path)[0]
    return sorted(runs, key=lambda run: run.time_ns)


def _name(cell: Cell) -> str:
    key = json.dumps([cell.notebook, cell.cell])
    return hashlib.sha256(key.encode("ascii")).hexdigest()[:32] + _SUFFIX


def _read(path: Path) -> tuple[list[Summary], bool]:
    """Return the runs in a file, and whether it contains nothing else."""
    try:
        if os.path.lexists(path) and not is_plain(path):
            return [], False
        opened = open_plain(path)
    except FileNotFoundError:
        return [], True
    with os.fdopen(opened, "rb") as file:
        data = file.read(_LARGEST_FILE + 1)
    if len(data) > _LARGEST_FILE:
        return [], False
    *lines, rest = data.split(b"\n")
    runs = [from_line(line) for line in lines]
    # A copied file may belong to another cell.
    own = [run for run in runs if run is not None and _name(run) == path.name]
    return own, not rest and len(own) == len(lines)


def _remove_oldest(folder: Path) -> None:
    files = [(path.lstat(), path) for path in folder.iterdir() if _is_own(path)]
    total = sum(status.st_size for status, _ in files)
    for _, path in sorted(files, key=lambda entry: entry[0].st_mtime_ns):
        if total <= MOST_BYTES:
            return
        total -= path.lstat().st_size
        path.unlink(missing_ok=True)


def _is_own(path: Path) -> bool:
    """Return whether a file was written here, by its name and its first line, which may be cut short."""
    if not _OURS.fullmatch(path.name):
        return False
    try:
        with os.fdopen(open_plain(path), "rb") as file:
            return file.read(len(LINE_START)) == LINE_START
    except OSError:
        return False
