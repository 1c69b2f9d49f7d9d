"""Files that results are written to: asked for before the work, and replaced only by a whole one."""

import shutil
import tempfile
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tfvis_nb.texts import Text


def writable(path: str | Path) -> Path:
    """Return where to write, with ``~`` expanded; nothing is left behind or changed there.

    OSError names the file and the reason, FileNotFoundError a folder that does not exist.
    """
    path = Path(path).expanduser()
    folder = path.parent
    if not folder.is_dir():
        raise FileNotFoundError(Text("no_folder_to_write_to", path=str(path), folder=str(folder)))
    if path.is_dir():
        raise IsADirectoryError(Text("folder_in_place_of_file", path=str(path)))
    try:
        # By trying: permissions alone do not reveal read-only or full disks.
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
def whole(path: Path) -> Iterator[Path]:
    """Yield a new file next to `path` to write to; it replaces `path` when it is complete.

    Until then, and if it fails, the old file stays. A link goes on leading where it led. Anything but a plain
    file, and a file in a folder that takes no new ones, is written in place.
    """
    target = path.resolve()
    beside = _created_beside(target)
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


def _created_beside(target: Path) -> Path | None:
    if target.exists() and not target.is_file():
        return None
    beside = target.with_name(f".tfvis-nb-{uuid.uuid4().hex}")
    try:
        beside.touch(exist_ok=False)
    except PermissionError:
        return None
    return beside
