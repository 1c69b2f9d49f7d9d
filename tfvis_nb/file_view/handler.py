"""The WebSocket of a view, for users who may read the server's files."""

import asyncio
import contextlib
import json
import stat
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

import psutil
from jupyter_core.utils import ensure_async
from jupyter_server.base.handlers import JupyterHandler
from jupyter_server.base.websocket import WebSocketMixin
from jupyter_server.utils import url_path_join
from tornado.ioloop import PeriodicCallback
from tornado.web import HTTPError
from tornado.websocket import WebSocketClosedError, WebSocketHandler
from traitlets import Integer
from traitlets.config import Configurable

from tfvis_nb.display.refusals import Refusal
from tfvis_nb.serving.frames import pack
from tfvis_nb.serving.process import WidgetProcess
from tfvis_nb.texts import Text

LARGEST_MESSAGE = 1_000_000
"""Maximum characters of a message from the view, such as a selection or a search."""

SESSION = ".tfvis"
"""Suffix of the files that are shown by the monitor."""

_LOOK_MS = 1000
_VIEW = 1


class TraceFiles(Configurable):
    """Limits of the processes that read trace files for the file browser."""

    most_bytes = Integer(
        psutil.virtual_memory().total // 2,
        min=0,
        help="Memory of all open files together, in bytes; half of the machine's unless given.",
    ).tag(config=True)
    most_seconds = Integer(
        300, min=1, help="How long one process may take to read a file, or to answer a question."
    ).tag(config=True)
    most_views = Integer(8, min=0, help="Files that may be open at a time.").tag(config=True)


def memory_left(most_bytes: int, most_views: int, taken: Sequence[int]) -> int:
    """Return the memory for another view, in bytes, so that all views together never exceed `most_bytes`.

    Each view that may still be opened keeps half of an equal share.

    >>> memory_left(1600, 8, []), memory_left(1600, 8, [900]), memory_left(1600, 8, [100] * 7)
    (900, 100, 900)
    """
    others = most_views - len(taken) - 1
    return max(most_bytes - sum(taken) - others * most_bytes // (2 * most_views), 0)


def add_handler(server: Any) -> None:
    """Add the handler of ``/tfvis-nb/file`` to a Jupyter server."""
    limits = TraceFiles(parent=server)
    address = url_path_join(server.web_app.settings["base_url"], "tfvis-nb", "file")
    server.web_app.add_handlers(".*$", [(address, FileHandler, {"limits": limits})])


class FileHandler(WebSocketMixin, WebSocketHandler, JupyterHandler):
    """Connects one view with a process that reads its file."""

    auth_resource = "contents"
    _views: ClassVar[set["FileHandler"]] = set()

    def initialize(self, limits: TraceFiles) -> None:
        """Store the configuration; tornado calls this for each request."""
        self._limits = limits
        self._process: WidgetProcess | None = None
        self.memory_bytes = 0
        self._clock: PeriodicCallback | None = None

    def set_default_headers(self) -> None:
        """Set none, because they are for pages."""

    async def get(self, *args: Any, **kwargs: Any) -> None:
        """Accept the connection of a user who may read files; tornado checks the origin."""
        if self.current_user is None or not await self._may("read"):
            raise HTTPError(403)
        self._writable = await self._may("write")
        await super().get(*args, **kwargs)

    async def _may(self, action: str) -> bool:
        allowed = self.authorizer.is_authorized(self, self.current_user, action, self.auth_resource)
        return bool(await ensure_async(allowed))

    def on_message(self, message: str | bytes) -> None:
        """Receive the path of the file, or pass a message to the process."""
        try:
            content = json.loads(message) if len(message) <= LARGEST_MESSAGE else None
        except (ValueError, RecursionError):
            content = None
        if not isinstance(content, dict):
            self.close(1008)
        elif self._process is not None:
            if not self._process.give(_VIEW, content):
                self._refuse(Text("file_view_too_much"))
        else:
            self._start(content.get("path"))

    def _start(self, name: object) -> None:
        if len(self._views) >= self._limits.most_views:
            self._refuse(Text("file_view_many", most=self._limits.most_views))
            return
        try:
            path = local_file(self.contents_manager, name if isinstance(name, str) else "")
        except Refusal as refusal:
            self._refuse(refusal.sentence)
            return
        taken = [view.memory_bytes for view in self._views]
        self.memory_bytes = memory_left(self._limits.most_bytes, self._limits.most_views, taken)
        self._views.add(self)
        request = {
            "path": str(path),
            "view": "monitor" if path.suffix == SESSION else "timeline",
            "most_bytes": self.memory_bytes,
            "writable": self._writable,
        }
        self._process = WidgetProcess(request, self._pass_on, self._lost)
        self._process.give(_VIEW, {"method": "open"})
        self._clock = PeriodicCallback(self._look, _LOOK_MS)
        self._clock.start()

    async def _pass_on(self, _: int, frame: bytes) -> None:
        try:
            if frame:
                await asyncio.ensure_future(self.write_message(frame, binary=True))
        except WebSocketClosedError:
            self._end()

    def _look(self) -> None:
        if self._process is not None and self._process.waiting_s > self._limits.most_seconds:
            self._refuse(Text("file_view_slow", most=self._limits.most_seconds))

    def _lost(self, has_said_why: bool) -> None:
        if has_said_why:
            self._end()
            self.close()
        else:
            self._refuse(Text("file_view_lost"))

    def _refuse(self, sentence: str) -> None:
        """Send the reason why there is no view, and close the connection."""
        with contextlib.suppress(WebSocketClosedError):
            self.write_message(pack({"method": "refused", "sentence": sentence}), binary=True)
        self._end()
        self.close()

    def on_close(self) -> None:
        """End the process when the view is closed."""
        super().on_close()
        self._end()

    def _end(self) -> None:
        self._views.discard(self)
        if self._clock is not None:
            self._clock.stop()
        if self._process is not None:
            self._process.kill()


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
