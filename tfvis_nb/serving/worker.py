"""The process that reads and shows one file like a kernel: ``python -m tfvis_nb.serving.worker``.

It reads messages of its views from standard input and writes those of the widget to standard output. It ends
with its input, even while reading the file: when the server ends it or has gone.
"""

import contextlib
import json
import logging
import os
import queue
import sys
import threading
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

from tfvis_nb.core.memory_limit import limit_memory
from tfvis_nb.serving.frames import EVERY_VIEW, pack, read_frames, write_frame
from tfvis_nb.texts import Text, text_of

_CLOSING_S = 0.5
"""How long closing the widget may take, for example while it reads."""

_log = logging.getLogger("tfvis_nb")

Given = queue.SimpleQueue[tuple[int, dict[str, Any]]]


class _Pipe:
    """Sends the messages of the widget, from any thread."""

    def __init__(self, pipe: BinaryIO) -> None:
        self._pipe = pipe
        self.writing = threading.RLock()
        self._comm: str | None = None
        self._answered = threading.local()

    def begin(self, comm: str) -> None:
        """Start sending the messages of this comm; widgets also have others for their layout."""
        self._comm = comm

    def send(self, view: int, message: dict[str, Any], buffers: Any = ()) -> None:
        """Send a message to a view."""
        with self.writing:
            write_frame(self._pipe, view, pack(message, buffers or ()))

    @contextlib.contextmanager
    def answering(self, view: int) -> Iterator[None]:
        """Send replies made here to this view, and at the end that its message has been handled."""
        self._answered.view = view
        yield
        with self.writing:
            write_frame(self._pipe, view, b"")

    def publish(self, comm: str, kind: str, data: dict[str, Any] | None, buffers: Any) -> None:
        """Send a message of a comm: a change of the state to every view, a reply to the one that asked."""
        if kind != "comm_msg" or comm != self._comm or not data:
            return
        if data["method"] == "update":
            self.send(EVERY_VIEW, data, buffers)
        elif data["method"] == "custom":
            self.send(getattr(self._answered, "view", EVERY_VIEW), data, buffers)


def main() -> None:
    """Serve one view until standard input ends."""
    # Output of libraries must not get between the messages.
    pipe = _Pipe(os.fdopen(os.dup(1), "wb"))
    os.dup2(2, 1)
    logging.basicConfig(stream=sys.stderr, format="tfvis-nb: %(message)s")
    # Otherwise the server's terminal would show a progress line.
    sys.stderr = None
    given: Given = queue.SimpleQueue()
    shown: list[Any] = []
    threading.Thread(target=_receive, args=(given, shown), daemon=True).start()
    view, request = given.get()
    with contextlib.suppress(BrokenPipeError):
        try:
            with pipe.answering(view):
                widget = _opened(request, pipe)
                shown.append(widget)
        except BaseException as error:  # noqa: BLE001 - the user waits
            limit_memory(None)
            pipe.send(EVERY_VIEW, {"method": "refused", "sentence": _reason(error, request["most_bytes"])})
            os._exit(0)  # without waiting for the reading thread
        handle = partial(_handle, widget, pipe, request)
        long: Given = queue.SimpleQueue()
        threading.Thread(target=_work, args=(long, handle), daemon=True).start()
        while True:
            view, message = given.get()
            asked = _asked(widget, message)
            # Long requests have a thread of their own, so that commands do not wait for a trace.
            if asked is not None and asked.is_long:
                long.put((view, message))
            else:
                handle(view, message)


def _receive(given: Given, shown: list[Any]) -> None:
    try:
        for view, frame in read_frames(sys.stdin.buffer):
            given.put((view, json.loads(frame)))
        # A session that is not closed leaves files next to its own.
        closing = threading.Thread(target=lambda: [widget.close() for widget in shown], daemon=True)
        closing.start()
        closing.join(_CLOSING_S)
    finally:
        # Also without memory for a message: nothing would answer any more. 0 is for an end with a reason.
        os._exit(1)


def _work(given: Given, handle: Callable[[int, dict[str, Any]], None]) -> None:
    with contextlib.suppress(BrokenPipeError):
        while True:
            handle(*given.get())


def _opened(request: dict[str, Any], pipe: _Pipe) -> Any:
    """Read the file, and make its widget."""
    _send_comms_to(pipe)
    show = (_show_session if request["view"] == "monitor" else _show_trace)()
    if request["most_bytes"] is not None:
        # Libraries that run out of memory while loading end the process, so those of traces come first.
        from tfvis_nb.display.monitor import trace_files  # noqa: F401

        limit_memory(request["most_bytes"])
    return show(Path(request["path"]))


def _send_state(widget: Any, pipe: _Pipe, view: int, kind: str) -> None:
    from anywidget import AnyWidget
    from ipywidgets.widgets.widget import _remove_buffers

    # The view has the code, and its own layout.
    names = set(widget.keys) - set(AnyWidget.class_trait_names()) - {"_esm", "_css", "_anywidget_id"}
    with pipe.writing:  # no change comes between reading and sending
        pipe.begin(widget.comm.comm_id)
        state, paths, buffers = _remove_buffers(widget.get_state(names))
        pipe.send(view, {"method": "open", "view": kind, "state": state, "buffer_paths": paths}, buffers)


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


def _asked(widget: Any, message: dict[str, Any]) -> Any:
    from tfvis_nb.display.messages import message_in

    return message_in(type(widget), message.get("content"))


def _handle(widget: Any, pipe: _Pipe, request: dict[str, Any], view: int, message: dict[str, Any]) -> None:
    with pipe.answering(view):
        asked = _asked(widget, message)
        if message.get("method") == "open":
            _send_state(widget, pipe, view, request["view"])
        elif view == EVERY_VIEW and message.get("method") == "problem":  # of the server itself
            widget.session.problem = message["sentence"]
        elif not request["writable"] and asked is not None and asked.writes:
            own = {name: message["content"].get(name) for name in ("kind", "id")}
            refused = {**own, "error": Text("file_view_read_only")}
            pipe.send(view, {"method": "custom", "content": refused})
        else:
            _pass_on(widget, message)


def _pass_on(widget: Any, message: dict[str, Any]) -> None:
    try:
        widget.comm.handle_msg({"content": {"data": message}, "buffers": []})
    except BrokenPipeError:
        raise
    except BaseException:  # noqa: BLE001 - a thread that ends would answer nothing more
        # Such as a selection that the widget rejects; kernels do not reply to it either.
        _log.exception(Text("request_failed", request=f"the message {message.get('method')!r}"))


if __name__ == "__main__":
    main()
