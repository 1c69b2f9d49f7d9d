"""Output files: checked before the work starts, and replaced only by complete files."""

import re
import shutil
import tempfile
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from io import FileIO
from pathlib import Path

from tfvis_nb.texts import Text

UNFINISHED = ".tfvis-nb-"
"""Prefix of the names of files that are not complete, or never will be."""

# As text, and as a `Path`, which keeps one slash; a drive of Windows has one letter.
_URL = re.compile(r"[a-z][a-z0-9+.-]+:/", re.IGNORECASE)


def check_local(path: str | Path) -> None:
    """Raise FileNotFoundError if a path is a URL: files are only written to local paths."""
    if _URL.match(str(path)):
        raise FileNotFoundError(Text("only_local_paths", path=str(path)))


def writable(path: str | Path) -> Path:
    """Return the path to write to, with ``~`` expanded; checking it leaves nothing behind.

    OSError names the file and the reason, FileNotFoundError a folder that does not exist.
    """
    check_local(path)
    path = Path(path).expanduser()
    folder = path.parent
    if not folder.is_dir():
        raise FileNotFoundError(Text("no_folder_to_write_to", path=str(path), folder=str(folder)))
    if path.is_dir():
        raise IsADirectoryError(Text("folder_in_place_of_file", path=str(path)))
    try:
        # Try it: permissions alone do not reveal read-only or full disks.
        if path.is_file():
            path.open("ab").close()
        else:
            tempfile.TemporaryFile(dir=folder).close()
    except OSError as error:
        raise type(error)(
            Text("cannot_write", path=str(path), reason=(error.strerror or str(error)).lower())
        ) from None
    return path


@contextmanager
def whole(path: Path, unfinished: str | None = None) -> Iterator[Path]:
    """Yield a new file next to `path`; it replaces `path` when it is complete.

    Until then, and after a failure, the old file stays. Links keep their target. A pipe or a device is
    written in place. `unfinished` is the name of the new file, by default one that no other file has.
    """
    target = path.resolve()
    if target.exists() and not target.is_file():
        yield path
        return
    beside = target.with_name(unfinished or f"{UNFINISHED}{uuid.uuid4().hex}")
    try:
        beside.touch(exist_ok=False)
    except PermissionError:
        with _elsewhere(path) as new:
            yield new
        return
    try:
        yield beside
        if target.exists():
            shutil.copymode(target, beside)
        beside.replace(target)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise


@contextmanager
def _elsewhere(path: Path) -> Iterator[Path]:
    """Yield a new temporary file, whose content then replaces that of a file in a read-only folder."""
    with tempfile.TemporaryDirectory(prefix="tfvis-nb-") as folder:
        new = Path(folder, path.name)
        yield new
        content = new.read_bytes()
    # Without a buffer, which would keep what cannot be written.
    with path.open("r+b", buffering=0) as file:
        old = file.read()
        try:
            _put(content, file)
        except BaseException:
            # The old content has its space on the disk already.
            _put(old, file)
            raise


def _put(content: bytes, file: FileIO) -> None:
    file.seek(0)
    rest = memoryview(content)
    while rest:
        rest = rest[file.write(rest) :]
    file.truncate()
