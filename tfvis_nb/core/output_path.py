"""Whether a file can be written, asked before the work whose result it is to hold."""

import tempfile
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
        # By trying: permissions alone do not tell of read-only and full disks.
        if path.is_file():
            path.open("ab").close()
        else:
            tempfile.TemporaryFile(dir=folder).close()
    except OSError as error:
        raise type(error)(
            Text("cannot_write", path=str(path), reason=(error.strerror or str(error)).lower())
        ) from None
    return path
