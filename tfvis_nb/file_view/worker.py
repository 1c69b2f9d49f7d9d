"""The process that reads and shows one file like a kernel: ``python -m tfvis_nb.file_view.worker``.

It reads messages of the view from standard input and writes those of the widget to standard output. It ends
with its input, even while reading the file: when the view is closed or the server has gone.
"""

import contextlib
import json
import logging
import os
import queue
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO

from tfvis_nb.file_view.frames import pack, read_frames, write_frame
from tfvis_nb.texts import Text, text_of

SESSION = ".tfvis"
"""Suffix of the files that are shown by the monitor."""

_log = logging.getLogger("tfvis_nb")


class _Pipe:
    """Sends the messages of the widget, from any thread."""

    def __init__(self, pipe: BinaryIO) -> None:
        self._pipe = pipe
        self._writing = threading.Lock()
        self._comm: str | None = None

    def begin(self, comm: str) -> None:
        """Start sending the messages of this comm; widgets also have others for their layout."""
        self._comm = comm

    def send(self, message: dict[str, Any], buffers: Any = ()) -> None:
        """Send a message to the view."""
        with self._writing:
            write_frame(self._pipe, pack(message, buffers or ()))

    def handled(self) -> None:
        """Report that a message of the view has been handled."""
        with self._writing:
            write_frame(self._pipe, b"")

    def publish(self, comm: str, kind: str, data: dict[str, Any] | None, buffers: Any) -> None:
        """Send a message of a comm."""
        if kind == "comm_msg" and comm == self._comm and data and data["method"] in ("update", "custom"):
            self.send(data, buffers)


def main() -> None:
    """Serve one view until standard input ends."""
    # Output of libraries must not get between the messages.
    pipe = _Pipe(os.fdopen(os.dup(1), "wb"))
    os.dup2(2, 1)
    logging.basicConfig(stream=sys.stderr, format="tfvis-nb file view: %(message)s")
    # Otherwise the server's terminal would show a progress line.
    sys.stderr = None
    given: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()
    threading.Thread(target=_receive, args=(given,), daemon=True).start()
    request = given.get()
    with contextlib.suppress(BrokenPipeError):
        try:
            widget = _opened(request, pipe)
        except BaseException as error:  # noqa: BLE001 - the user waits
            _limit(None)
            pipe.send({"method": "refused", "sentence": _reason(error, request["most_bytes"])})
            os._exit(0)  # without waiting for the reading thread
        pipe.handled()
        while True:
            _handle(widget, given.get(), pipe, writable=request["writable"])
            pipe.handled()


def _receive(given: "queue.SimpleQueue[dict[str, Any]]") -> None:
    try:
        for frame in read_frames(sys.stdin.buffer):
            given.put(json.loads(frame))
    finally:
        # Also without memory for a message: nothing would answer any more. 0 is for an end with a reason.
        os._exit(1)


def _opened(request: dict[str, Any], pipe: _Pipe) -> Any:
    """Read the file, and send its widget."""
    from anywidget import AnyWidget
    from ipywidgets.widgets.widget import _remove_buffers

    _send_comms_to(pipe)
    show = (_show_session if request["path"].endswith(SESSION) else _show_trace)()
    # Only now, because libraries that run out of memory while loading end the process.
    _limit(request["most_bytes"])
    widget = show(Path(request["path"]))
    # The view has the code, and its own layout.
    names = set(widget.keys) - set(AnyWidget.class_trait_names()) - {"_esm", "_css", "_anywidget_id"}
    pipe.begin(widget.comm.comm_id)
    state, paths, buffers = _remove_buffers(widget.get_state(names))
    view = "monitor" if request["path"].endswith(SESSION) else "timeline"
    pipe.send({"method": "open", "view": view, "state": state, "buffer_paths": paths}, buffers)
    return widget


def _limit(most_bytes: int | None) -> None:
    """Limit the memory of this process, or lift the limit to be able to report that it was reached."""
    try:
        import resource
    except ImportError:  # only on Unix
        return
    # Not RLIMIT_AS: allocators and thread pools reserve far more addresses than they use. Memory of loaded
    # libraries does not count: OpenBLAS alone reserves a gigabyte.
    _, most = resource.getrlimit(resource.RLIMIT_DATA)
    with contextlib.suppress(ValueError):  # there already is a lower limit
        wanted = most if most_bytes is None else _data_bytes() + most_bytes
        resource.setrlimit(resource.RLIMIT_DATA, (wanted, most))


def _data_bytes() -> int:
    """Return the current size that counts for RLIMIT_DATA; 0 if unknown."""
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
    except OSError:
        return 0
    return next((1024 * int(line.split()[1]) for line in lines if line.startswith("VmData:")), 0)


def _send_comms_to(pipe: _Pipe) -> None:
    """Make widgets communicate over a pipe instead of with a kernel's front end."""
    import comm
    from comm.base_comm import BaseComm

    class PipeComm(BaseComm):
        def publish_msg(
            self, msg_type: str, data: Any = None, metadata: Any = None, buffers: Any = None, **_: Any
        ) -> None:
            del metadata
            pipe.publish(self.comm_id, msg_type, data, buffers)

    comm.create_comm = PipeComm


def _show_session() -> Callable[[Path], Any]:
    from tfvis_nb.display.monitor.monitor_widget import MonitorWidget
    from tfvis_nb.session.session import SavedSession

    return lambda path: MonitorWidget(SavedSession(path))


def _show_trace() -> Callable[[Path], Any]:
    from tfvis_nb.display.timeline.timeline_widget import TimelineWidget
    from tfvis_nb.reading import collect, read_trace  # noqa: F401 - `collect` loads the readers

    def show(path: Path) -> Any:
        # Errors show the name that the user knows.
        os.chdir(path.parent)
        # Opened here, because a name may look like a pattern or URL, and a link may have replaced the file.
        with open(path.name, "rb", opener=_open_no_link) as file:
            return TimelineWidget(read_trace(file))

    return show


def _open_no_link(name: str, flags: int) -> int:
    return os.open(name, flags | getattr(os, "O_NOFOLLOW", 0))


def _reason(error: BaseException, most_bytes: int) -> str:
    from tfvis_nb.core.format import format_file_size
    from tfvis_nb.display.refusals import refusal_of

    has_no_thread = isinstance(error, RuntimeError) and "can't start new thread" in str(error)
    if isinstance(error, MemoryError) or has_no_thread or text_of(error).id == "no_memory":
        return Text("file_view_memory", most=format_file_size(most_bytes))
    return refusal_of(error, "opening a file").sentence


def _handle(widget: Any, message: dict[str, Any], pipe: _Pipe, *, writable: bool) -> None:
    content = message.get("content")
    content = content if isinstance(content, dict) else {}
    if not writable and (kind := content.get("kind")) in ("command", "annotate"):
        refused = {"kind": kind, "id": content.get("id"), "error": Text("file_view_read_only")}
        pipe.send({"method": "custom", "content": refused})
        return
    try:
        widget.comm.handle_msg({"content": {"data": message}, "buffers": []})
    except BrokenPipeError:
        raise
    except Exception:  # noqa: BLE001
        # Such as a selection that the widget rejects; kernels do not reply to it either.
        _log.exception(Text("request_failed", request=f"the message {message.get('method')!r}"))


if __name__ == "__main__":
    main()
