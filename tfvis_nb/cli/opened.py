"""Where the pages of ``tfvis-nb open`` lie: a folder of this user alone, from which old ones are removed."""

import contextlib
import os
import stat
import tempfile
import time
from pathlib import Path

KEPT_S = 3600
"""A browser has read a page long before; until then it can be loaded again."""

_MOST_STEM = 40
"""Letters of up to four bytes each; a name of a file has 255 bytes at most."""


def page_path(stem: str) -> Path:
    """Make an empty file for a page, readable by this user alone, and remove pages older than `KEPT_S`.

    It lies in the one folder that all calls of this user share; its name begins with `stem`.
    """
    folder = _folder()
    _remove_old(folder)
    handle, name = tempfile.mkstemp(prefix=f"{stem[:_MOST_STEM]}-", suffix=".html", dir=folder)
    os.close(handle)
    return Path(name)


def _folder() -> Path:
    """Return the shared folder, or a new one where somebody else holds its name."""
    user = os.getuid() if hasattr(os, "getuid") else ""
    folder = Path(tempfile.gettempdir(), f"tfvis-nb-pages-{user}")
    with contextlib.suppress(FileExistsError):
        folder.mkdir(mode=0o700)
    return folder if _is_private(folder) else Path(tempfile.mkdtemp(prefix="tfvis-nb-"))


def _is_private(folder: Path) -> bool:
    # Anybody can make a folder or a link of this name in a temporary folder that all users share.
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode):
        return False
    return not hasattr(os, "getuid") or (found.st_uid == os.getuid() and not found.st_mode & 0o077)


def _remove_old(folder: Path) -> None:
    before = time.time() - KEPT_S
    for page in folder.glob("*.html"):
        try:
            if page.lstat().st_mtime < before:
                page.unlink()
        except OSError:
            # Another call has removed it, or a browser on Windows holds it open: the next call tries again.
            continue
