"""Find the files of folders and patterns, in an order that does not depend on the disk."""

import errno
import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from fnmatch import fnmatchcase
from pathlib import Path, PurePath
from typing import Generic, NamedTuple, TypeVar

from tfvis_nb.core.errors import TraceFormatError
from tfvis_nb.core.labels import natural
from tfvis_nb.texts import Text

_TRACE_FILE = re.compile(
    r"(?:\.(?:pb|pbtxt|pickle|pkl|json|parquet|sqlite|trace|tar)|run_meta\.v\d+)(?:\.gz|\.xz)?$|tfevents"
)
_FORMAT = re.compile(
    r"\.(?:gz|xz|tar|tgz|txz|zip|pb|pbtxt|pickle|pkl|json|parquet|sqlite|trace|xplane)$", re.IGNORECASE
)
_PROFILES = ("plugins", "profile")
LARGE = 1 << 26
"""In bytes; larger files are only read if named like traces, because checkpoints are often next to traces."""

MOST_FILES = 10_000
_MOST_SEEN, _MOST_SEEN_OF_ALL = 200_000, 10_000_000
"""Maximum files to read from a folder, and to look at: ``/`` is endless, and naming it is a mistake."""

_SYSTEM = (Path("/proc"), Path("/sys"))


DATASET = "dataset.json", "manifest"
"""The file and the folder by which a dataset of traces is recognised."""

Name = TypeVar("Name", bound=PurePath)


class FileListing(NamedTuple, Generic[Name]):
    """The files of a folder or pattern, and remarks about the selection."""

    files: list[Name]
    notes: list[str]


def find(path: Path, *, every: bool = False) -> FileListing[Path] | None:
    """Return the files of a folder or pattern, ordered by the numbers in their names; None for a file.

    If a log folder has several profiles of TensorFlow or JAX, in ``plugins/profile/<time>``, only the newest
    is returned: one file for each host. `every` returns all of them, and also more files than fit into a
    trace, broken links, named pipes, large files, and folders that cannot be listed. FileNotFoundError if
    nothing matches a pattern, TraceFormatError if a folder has no files, too many, or is a dataset.
    """
    if path.is_dir():
        if (path / DATASET[0]).is_file() and (path / DATASET[1]).is_dir():
            raise TraceFormatError(Text("folder_is_dataset", path=str(path)))
        listing = _of_folder(path, every=every)
        if not listing.files:
            raise TraceFormatError(Text("folder_without_traces", path=path))
    elif any(letter in str(path) for letter in "*?[") and not os.path.lexists(path):
        listing = _of_pattern(path, every=every)
        if not listing.files:
            raise FileNotFoundError(errno.ENOENT, Text("pattern_without_files"), str(path))
    else:
        return None
    if not every:
        check_count(path, listing.files)
    return listing


def check_local_kind(path: Path) -> None:
    """Raise OSError if a path is a named pipe, a socket or a device: reading one may never end."""
    if path.exists() and not path.is_file() and not path.is_dir():
        raise OSError(errno.EINVAL, Text("source_no_file"), str(path))


def check_count(path: PurePath | str, files: Sequence[PurePath]) -> None:
    """Raise TraceFormatError if a folder or pattern has too many files."""
    if len(files) > MOST_FILES:
        raise TraceFormatError(Text("too_many_files", path=path, files=len(files)))


def _of_pattern(pattern: Path, *, every: bool) -> FileListing[Path]:
    """Return the files that match a pattern, and those of the folders that do."""
    matching = set(_matching(pattern))
    folders = (path for path in matching if path.is_dir() and not path.name.startswith("."))
    inside = [_of_folder(folder, every=every) for folder in sorted(folders, key=order)]
    others = [] if every else [path for path in matching if _is_something_else(path)]
    wanted = {file for file in matching if file.is_file() or (every and _is_something_else(file))}
    files = wanted.union(*(listing.files for listing in inside), closed_folders(pattern) if every else ())
    notes = [note for listing in inside for note in listing.notes]
    return FileListing(sorted(files, key=order), [*notes, *_left_out(others)])


def _left_out(others: Iterable[Path]) -> list[str]:
    """Return a note on what is named like a trace and is not a file."""
    named = [path for path in sorted(others, key=order) if named_like_trace(path.name)]
    return [Text("special_files_left_out", files=listed(named))] if named else []


def _of_folder(folder: Path, *, every: bool) -> FileListing[Path]:
    """Return possible traces of a folder."""
    below, closed = _below(folder, every=every)
    parts = folder.absolute().parts
    listing = choose(folder, below.files, lambda file: file.stat().st_size, parts, every=every)
    if every:
        return FileListing(listing.files + closed, listing.notes + below.notes)
    notes = [Text("folders_unreadable", folders=listed(closed))] if closed else []
    return FileListing(listing.files, [*listing.notes, *below.notes, *notes])


def choose(
    folder: Name,
    files: Iterable[Name],
    size: Callable[[Name], int],
    parts: tuple[str, ...],
    *,
    every: bool = False,
) -> FileListing[Name]:
    """Choose possible traces: files of moderate `size` in the folder, in subfolders those named like one.

    `parts` is the path of the folder itself. If there are several profiles, the newest is chosen; `every`
    chooses all of them, and large files.
    """
    chosen: list[Name] = []
    large: list[Name] = []
    runs: dict[Name, list[Name]] = {}
    for file in sorted(files, key=order):
        inside = file.relative_to(folder).parts
        named = named_like_trace(file.name)
        if (*parts, *inside)[-4:-2] == _PROFILES:
            runs.setdefault(file.parent, []).append(file)
        elif named or (len(inside) == 1 and (every or size(file) < LARGE)):
            chosen.append(file)
        elif len(inside) == 1:
            large.append(file)
    newest, notes = (
        ([file for files in runs.values() for file in _of_run(files)], []) if every else _newest(runs)
    )
    if large:
        notes.append(Text("large_files_left_out", files=listed(large)))
    return FileListing(sorted([*chosen, *newest], key=order), notes)


def _of_run(files: list[Name]) -> list[Name]:
    return _hosts(files) or files


def named_like_trace(name: str) -> bool:
    """Return whether a file is named like a trace."""
    return _TRACE_FILE.search(name) is not None


def _below(folder: Path, *, every: bool) -> tuple[FileListing[Path], list[Path]]:
    """Return the files below a folder, except hidden ones, and the folders that may not be listed.

    Kernel interfaces to processes and devices look like files, but reading them may never end: a note names
    those that are left out. PermissionError if the folder itself cannot be listed, unless `every` file is
    wanted.
    """
    files: list[Path] = []
    others: list[Path] = []
    seen, most = 0, _MOST_SEEN_OF_ALL if every else _MOST_SEEN
    system = _devices(_SYSTEM) - _devices([Path("/")])
    if _devices([folder]) & system:
        raise TraceFormatError(Text("system_folder", folder=folder))
    left_out: list[str] = []
    failed: list[OSError] = []
    for parent, folders, names in os.walk(folder, onerror=failed.append):
        seen += len(folders) + len(names)
        if seen > most:
            raise TraceFormatError(Text("folder_too_large", folder=folder, most=most))
        shown = [name for name in folders if not name.startswith(".")]
        folders[:] = [name for name in shown if not _devices([Path(parent, name)]) & system]
        left_out += [str(Path(parent, name)) for name in shown if name not in folders]
        here = [Path(parent, name) for name in names if not name.startswith(".")]
        files += filter(_is_file, here)
        others += filter(_is_something_else, here)
    closed = [Path(error.filename) for error in failed if isinstance(error, PermissionError)]
    if folder in closed and not every:
        raise failed[0]
    notes = [Text("system_folders_left_out", folders=", ".join(sorted(left_out)[:8]))] if left_out else []
    if every:
        return FileListing(files + others, [*notes]), closed
    return FileListing(files, [*notes, *_left_out(others)]), closed


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:
        return False  # no permission to read it


def _is_something_else(path: Path) -> bool:
    """Return whether a path is a broken link, a named pipe, a socket or a device."""
    return not os.path.isfile(path) and not os.path.isdir(path)  # noqa: PTH112, PTH113 - without errors


def _devices(folders: Iterable[Path]) -> set[int]:
    """Return the file systems of some folders."""
    devices = set()
    for folder in folders:
        with suppress(OSError):
            devices.add(folder.stat().st_dev)
    return devices


def _newest(runs: dict[Name, list[Name]]) -> tuple[list[Name], list[str]]:
    """Choose the files of the newest profile, with a remark on others; `runs` are folders with files."""
    hosts = {run: chosen for run, files in runs.items() if (chosen := _hosts(files))}
    if not hosts:
        return [file for files in runs.values() for file in files], []
    # The folders are named after the time of their creation.
    *older, newest = sorted(hosts, key=lambda run: (natural(run.name), str(run)))
    notes: list[str] = []
    if older:
        left_out = listed(older[::-1])
        notes.append(Text("newest_profile_read", profiles=len(hosts), newest=newest.name, others=left_out))
    if beside := [file for file in runs[newest] if file not in hosts[newest]]:
        notes.append(Text("profile_files_left_out", files=listed(beside)))
    return hosts[newest], notes


def _hosts(files: list[Name]) -> list[Name]:
    # Until TensorFlow 2.3 a profile only had the file of the trace viewer.
    return [file for file in files if ".xplane.pb" in file.name] or [
        file for file in files if file.name.endswith((".trace.json.gz", ".trace.json", ".trace"))
    ]


def listed(paths: Sequence[str | PurePath]) -> str:
    """List the first few files, with limited length."""
    more = f" and {len(paths) - 8} more" if len(paths) > 8 else ""
    return ", ".join(str(path).rpartition("/")[2][:80] for path in paths[:8]) + more


def _matching(pattern: Path) -> Iterator[Path]:
    """Yield the matches of a pattern, absolute or relative."""
    fixed = Path(pattern.anchor) if pattern.is_absolute() else Path()
    yield from fixed.glob(str(pattern.relative_to(fixed)) if pattern.is_absolute() else str(pattern))


def order(file: PurePath) -> list[tuple[int, int, str]]:
    """Return the sort key of a file, in which numbers are compared as numbers."""
    return natural(str(file))


def stem(name: str) -> str:
    """Return the name of a file without the suffixes of its format.

    >>> stem("step3.pb.xz"), stem("host.xplane.pb"), stem("run_meta.v1"), stem(".pb")
    ('step3', 'host', 'run_meta.v1', '.pb')
    """
    while (shorter := _FORMAT.sub("", name)) not in (name, ""):
        name = shorter
    return name


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
