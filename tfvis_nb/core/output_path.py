"""Output files: checked before the work starts, and replaced only by complete files."""

import shutil
import tempfile
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tfvis_nb.texts import Text

UNFINISHED = ".tfvis-nb-"
"""Prefix of the names of files that are not complete, or never will be."""


def writable(path: str | Path) -> Path:
    """Return the path to write to, with ``~`` expanded; checking it leaves nothing behind.

    OSError names the file and the reason, FileNotFoundError a folder that does not exist.
    """
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

    Until then, and after a failure, the old file stays. Links keep their target. Anything but a plain file,
    and any file in a folder where no file can be created, is written in place. `unfinished` is the name of
    the new file, by default one that no other file has.
    """
    target = path.resolve()
    beside = _created_beside(target, unfinished or f"{UNFINISHED}{uuid.uuid4().hex}")
    if beside is None:
        yield path
        return
    try:
        yield beside
        if target.exists():
            shutil.copymode(target, beside)
        beside.replace(target)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise


def _created_beside(target: Path, name: str) -> Path | None:
    if target.exists() and not target.is_file():
        return None
    beside = target.with_name(name)
    try:
        beside.touch(exist_ok=False)
    except PermissionError:
        return None
    return beside
