"""The folder for pages of ``tfvis-nb open``: private to this user; old pages are removed."""

import contextlib
import os
import stat
import tempfile
import time
from pathlib import Path

from tfvis_nb.core.plain_files import open_plain

KEPT_S = 3600
"""How long a page is kept: long after the browser has read it, so that it can be reloaded."""

_HEAD = 1 << 16
"""Bytes in which the page has its own names, behind its title."""

_MOST_STEM = 40
"""Letters have up to four bytes each; a file name has at most 255 bytes."""


def page_path(stem: str) -> Path:
    """Create an empty file for a page that only this user can read, and remove pages older than `KEPT_S`.

    It is in a folder that all calls of this user share; its name starts with `stem`.
    """
    folder = _folder()
    _remove_old(folder)
    handle, name = tempfile.mkstemp(prefix=f"{stem[:_MOST_STEM]}-", suffix=".html", dir=folder)
    os.close(handle)
    return Path(name)


def _folder() -> Path:
    """Return the shared folder, or a new one if someone else owns that name."""
    user = os.getuid() if hasattr(os, "getuid") else ""
    folder = Path(tempfile.gettempdir(), f"tfvis-nb-pages-{user}")
    with contextlib.suppress(FileExistsError):
        folder.mkdir(mode=0o700)
    return folder if _is_private(folder) else Path(tempfile.mkdtemp(prefix="tfvis-nb-"))


def _is_private(folder: Path) -> bool:
    # Anyone can create a folder or a link with this name in the shared temporary folder.
    status = folder.lstat()
    if not stat.S_ISDIR(status.st_mode):
        return False
    return not hasattr(os, "getuid") or (status.st_uid == os.getuid() and not status.st_mode & 0o077)


def _remove_old(folder: Path) -> None:
    before = time.time() - KEPT_S
    for page in folder.glob("*.html"):
        try:
            if page.lstat().st_mtime < before and _is_page(page):
                page.unlink()
        except OSError:
            # Another call removed it, or a browser on Windows has it open: the next call tries again.
            continue


def _is_page(path: Path) -> bool:
    """Return whether a file is a page of ours, because users may keep other files there."""
    with os.fdopen(open_plain(path), "rb") as file:
        return b"tfvis-root" in file.read(_HEAD)
