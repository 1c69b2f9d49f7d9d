"""The path of a file browser's file on the server's disk, if it may be opened."""

import stat
from pathlib import Path
from typing import Any

from tfvis_nb.display.refusals import Refusal
from tfvis_nb.texts import Text


def local_file(contents: Any, name: str) -> Path:
    """Return the real path of a file in the root folder of a server.

    Parameters
    ----------
    contents
        The contents manager of a Jupyter server.
    name
        A path in the file browser: relative to the root folder, with forward slashes.

    Raises
    ------
    Refusal
        If the server keeps its files elsewhere, no regular file is there, it is hidden and the server shows
        no hidden files, or it lies outside the root folder, perhaps through a link. The message is the same
        in all of these cases.
    """
    from jupyter_core.paths import is_hidden
    from tornado.web import HTTPError

    if not _has_files(contents):
        raise Refusal(501, Text("file_view_elsewhere"))
    missing = Refusal(404, Text("file_view_missing", name=name))
    root = Path(contents.root_dir).resolve()
    try:
        given = Path(contents._get_os_path(name))  # noqa: SLF001 - as extensions of jupyter_server do
        path = given.resolve(strict=True)
        is_file = stat.S_ISREG(path.stat().st_mode)
    except (OSError, ValueError, RuntimeError, HTTPError):  # links in a circle are a RuntimeError until 3.12
        raise missing from None
    if not is_file or not path.is_relative_to(root):
        raise missing
    if not contents.allow_hidden and (
        is_hidden(str(given), contents.root_dir) or is_hidden(str(path), str(root))
    ):
        raise missing
    return path


def _has_files(contents: Any) -> bool:
    """Whether a contents manager keeps files in a local folder."""
    from jupyter_server.services.contents.fileio import FileManagerMixin

    return isinstance(contents, FileManagerMixin)
