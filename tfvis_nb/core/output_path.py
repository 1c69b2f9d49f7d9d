"""Whether a file can be written, asked before the work whose result it is to hold."""

from __future__ import annotations

import tempfile
from pathlib import Path


def writable(path: str | Path) -> Path:
    """Return where to write, with ``~`` expanded; nothing is left behind or changed there.

    OSError names the file and the reason, FileNotFoundError a folder that does not exist.
    """
    path = Path(path).expanduser()
    folder = path.parent
    if not folder.is_dir():
        raise FileNotFoundError(f"cannot write {str(path)!r}: there is no folder {str(folder)!r}")
    if path.is_dir():
        raise IsADirectoryError(f"cannot write {str(path)!r}: it is a folder")
    try:
        # By trying: permissions alone do not tell of read-only and full disks.
        if path.is_file():
            path.open("ab").close()
        else:
            tempfile.TemporaryFile(dir=folder).close()
    except OSError as error:
        raise type(error)(f"cannot write {str(path)!r}: {(error.strerror or str(error)).lower()}") from None
    return path
