"""The monitor in a notebook cell: the counts, traces and requests of a live session."""

from __future__ import annotations

import html
import json
import math
import threading
import time
import weakref
from pathlib import Path
from types import MappingProxyType
from typing import Any

import traitlets

from tfvis_nb.core.format import format_duration
from tfvis_nb.core.labels import printable
from tfvis_nb.core.markup import html_table
from tfvis_nb.core.options import only_known_options
from tfvis_nb.display import options as timeline_options
from tfvis_nb.display.bundles import bundle, bundle_path, widget_bundle
from tfvis_nb.display.comm_thread import is_of_one_user, may_send_from_threads, start_sending
from tfvis_nb.display.messages import (
    Annotations,
    Command,
    DownloadFormat,
    NamedViews,
    Replies,
    answer_messages,
    message,
)
from tfvis_nb.display.refusals import Refusal
from tfvis_nb.display.stored_output import StoredWidget
from tfvis_nb.session.commands import execute_command
from tfvis_nb.session.session import SavedSession
from tfvis_nb.session.snapshot import MonitorState, SessionWatch, SignatureRow
from tfvis_nb.texts import Text

LOOK_S = 1.0
"""How often to check whether the session has changed."""

BYTES_PER_S = 100_000
"""A long state is sent less often, because the connection may be slow."""

SEEN_S = 150.0
"""How long to push after the last sign of a view; browsers let hidden pages work once a minute."""

HEIGHT = 560

_NO_COMMAND: Command = MappingProxyType({})

_open: weakref.WeakSet[MonitorWidget] = weakref.WeakSet()


class MonitorWidget(StoredWidget):
    """A live session: its signatures with their counts, its traces, and requests for more.

    Created by `monitor`, which describes it, or by `SavedSession.monitor`.

    Parameters
    ----------
    session
        The session to show; its file need not exist yet.
    height
        In CSS pixels, 160 to 4000.

    Raises
    ------
    ValueError
        If the height is out of range.
    FileNotFoundError
        If this is a checkout of the source whose front end is not built.
    """

    if bundle_path("monitor.js").is_file():
        # A path rather than its text, so that anywidget can watch it (ANYWIDGET_HMR) and reload the view.
        _esm = widget_bundle("monitor.js")

    height = timeline_options.Height(HEIGHT).tag(sync=True)
    _state = traitlets.Unicode("").tag(sync=True, echo_update=False)
    _opened = traitlets.List(traitlets.Int()).tag(sync=True)
    """The traces that are shown as timelines, for views of a cell that runs again."""

    @only_known_options
    def __init__(self, session: SavedSession, *, height: int = HEIGHT) -> None:
        # First the state for `close`, which is also called for a widget that could not be made.
        self.session = session
        self._looking = threading.RLock()
        self._closing = threading.Event()
        if not hasattr(type(self), "_esm"):
            bundle("monitor.js")
        timeline_options.validate_option("height", height)
        self._watch = SessionWatch(session)
        self._switching = threading.Lock()
        self._pusher: threading.Thread | None = None
        self._until = -math.inf
        super().__init__(height=height, _state=self._read() or "")
        answer_messages(self, self._converted)
        _open.add(self)

    def close(self) -> None:
        """Remove the monitor from the notebook and stop reading the file; a job keeps recording."""
        self._closing.set()
        _open.discard(self)
        super().close()
        with self._looking:
            # This includes a TraceSession, whose `close` would end the recording.
            SavedSession.close(self.session)

    def _read(self) -> str | None:
        state = self._watch.changed()
        return None if state is None else json.dumps(state, allow_nan=False)

    def _look(self) -> None:
        """Push the state if it has changed."""
        with self._looking:
            # A closed widget has no viewers, and must not open the file again.
            state = None if self._closing.is_set() else self._read()
            if state is not None:
                self._state = state

    def _push_until(self, until: float) -> None:
        """Check the session repeatedly until a time of ``time.monotonic``, where threads may send."""
        with self._switching:
            self._until = until
            if self._pusher is None and may_send_from_threads(self.comm) and not self._closing.is_set():
                self._pusher = start_sending(self._push, "tfvis-nb monitor")

    @property
    def _pause_s(self) -> float:
        return max(LOOK_S, len(self._state) / BYTES_PER_S)

    def _push(self) -> None:
        while not self._closing.wait(self._pause_s):
            with self._switching:
                if time.monotonic() > self._until:
                    self._pusher = None
                    return
            self._look()

    def _converted(self, error: BaseException) -> BaseException:
        if isinstance(error, FileNotFoundError):
            return Refusal(404, Text("no_file_yet", name=self.session.path.name))
        return error

    @message()
    def _on_watch(self) -> Replies:
        """Keep looking at the session: a view is alive."""
        # While a cell runs, a view can only report if messages arrive on a separate thread. In that case,
        # silence means that the page was closed, and a Jupyter server would store everything sent to it.
        apart = threading.current_thread() is not threading.main_thread()
        self._look()
        self._push_until(time.monotonic() + SEEN_S if apart else math.inf)
        pushes = self._pusher is not None and self._pusher.is_alive()
        return [({} if pushes else {"again_s": self._pause_s}, [])]

    @message(writes=True)
    def _on_command(self, command: Command = _NO_COMMAND) -> Replies:
        """Execute a command."""
        execute_command(self.session, command)
        self._look()
        return [({}, [])]

    # Files of traces are imported late, because they need most of the package.

    @message(is_long=True)
    def _on_open(self, trace: int) -> Replies:
        """Send all that a timeline draws of a trace, and its details; the reply has its title."""
        from tfvis_nb.display.monitor.trace_files import timeline_payload

        title, *parts = timeline_payload(self.session, trace)
        return [({"title": title}, parts)]

    @message()
    def _on_notes(self, trace: int) -> Replies:
        """Reply with the annotations and views of a trace."""
        from tfvis_nb.display.monitor.trace_files import stored_notes

        return [(stored_notes(self.session, trace), [])]

    @message(writes=True)
    def _on_annotate(self, trace: int, annotations: Annotations, views: NamedViews) -> Replies:
        """Store annotations and views of a trace."""
        from tfvis_nb.display.monitor.trace_files import store_notes

        store_notes(self.session, trace, annotations, views)
        return [({}, [])]

    @message(is_long=True)
    def _on_download(self, trace: int, format: DownloadFormat) -> Replies:  # noqa: A002
        """Make a file of a trace; the reply has its name."""
        from tfvis_nb.display.monitor.trace_files import export_trace

        name, data = export_trace(self.session, trace, format)
        return [({"name": name}, [data])]

    @message(is_long=True)
    def _on_save(self) -> Replies:
        """Make a copy of the session; the reply has its name."""
        from tfvis_nb.display.monitor.trace_files import export_session

        name, data = export_session(self.session)
        return [({"name": name}, [data])]

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {monitor_line(json.loads(self._state))}>"

    def _repr_mimebundle_(self, **kwargs: Any) -> Any:
        self._look()
        bundled: Any = super()._repr_mimebundle_(**kwargs)
        self._push_until(math.inf)
        data, metadata = bundled if isinstance(bundled, tuple) else (bundled, {})
        return {**data, "text/html": self._store(lambda: monitor_html(json.loads(self._state)))}, metadata


@only_known_options
def monitor(path: str | Path, *, height: int | None = None) -> MonitorWidget:
    """Show a live session, in a notebook as the last expression of a cell.

    It lists the job's runs, with live counts and times, and the stored traces, which you can open in place,
    download or delete. You can also request traces. The job may run in this notebook, in another one or in a
    script on this machine, and the file need not exist yet.

    Parameters
    ----------
    path
        The file of a `tfvis_nb.TraceSession`, which need not exist yet.
    height
        In CSS pixels, 160 to 4000, by default 560; also an attribute that can be set later.

    Returns
    -------
    MonitorWidget
        With the `SavedSession` as ``session``. If this notebook already has a monitor of the file, that one.

    Raises
    ------
    TypeError, ValueError
        If an option is unknown or has an invalid value.

    Examples
    --------
    >>> import tfvis_nb as tv
    >>> shown = tv.monitor("no-such-run.tfvis")
    >>> shown
    <MonitorWidget there is no file no-such-run.tfvis yet; it appears when the job starts to record>
    >>> shown.close()
    """
    session = SavedSession(path)
    for shown in _reusable():
        if shown.session.path == session.path:
            return _with_height(shown, height)
    return monitor_of(session, height=height)


def monitor_of(session: SavedSession, *, height: int | None = None) -> MonitorWidget:
    """Return the monitor of a session, reusing an existing one when a cell runs again."""
    for shown in _reusable():
        if shown.session is session:
            return _with_height(shown, height)
    return _with_height(MonitorWidget(session), height)


def _reusable() -> list[MonitorWidget]:
    return [shown for shown in _open if is_of_one_user(shown.comm)]


def _with_height(shown: MonitorWidget, height: int | None) -> MonitorWidget:
    if height is not None:
        shown.height = timeline_options.validate_option("height", height)
    return shown


_HEADS = ("run", "kind", "runs", "failed", "mean", "total", "traces", "traced")
_MOST_ROWS = 20
_MOST_LETTERS = 60


def monitor_line(state: MonitorState) -> str:
    """Describe the content of a session in one line."""
    name = printable(" ".join(state["name"].split()), 80)
    if state["waiting"] and not state["problem"]:
        return printable(state["waiting"], 300)
    if state["problem"] and not state["signatures"]:
        return f"{name}: {printable(state['problem'], 300)}"
    running = sum(process["end_ms"] is None for process in state["processes"])
    counts = (
        _count(state["signatures_total"], "signature"),
        _count(state["runs_total"], "run"),
        _count(state["traces_total"], "trace"),
        f"{_count(running, 'process', 'es')} running" if running else "nothing running",
    )
    return f"{name}: {', '.join(counts)}"


def monitor_html(state: MonitorState) -> str:
    """Tabulate the counts of a session's state as plain HTML that sites keep when they sanitize notebooks."""
    parts = [f"<p><b>{html.escape(monitor_line(state))}</b></p>"]
    if state["problem"] and state["signatures"]:
        parts.append(f"<p>{html.escape(printable(state['problem'], 300))}</p>")
    if state["rule"]:
        parts.append(f"<p>traced: {html.escape(printable(state['rule'], _MOST_LETTERS))}</p>")
    longest = sorted(state["signatures"], key=lambda signature: -signature["total_ns"])
    if longest:
        parts.append(html_table(_HEADS, map(_row, longest[:_MOST_ROWS]), right=range(2, 7)))
        left_out = state["signatures_total"] - len(longest[:_MOST_ROWS])
        parts += [f"<p><i>{left_out:,} more</i></p>"] if left_out > 0 else []
    return "\n".join(parts)


def _row(signature: SignatureRow) -> tuple[str, ...]:
    mean = signature["mean_ns"]
    requested = [signature["rule"], f"{signature['requested']} requested" if signature["requested"] else ""]
    return (
        _text(signature["label"]),
        _text(signature["kind"]),
        f"{signature['runs']:,}",
        f"{signature['failed']:,}",
        "" if mean is None else format_duration(mean),
        format_duration(signature["total_ns"]),
        f"{signature['traces']:,}",
        _text(", ".join(filter(None, requested))),
    )


def _text(text: str) -> str:
    return printable(text, _MOST_LETTERS)


def _count(number: int, noun: str, plural: str = "s") -> str:
    return f"{number:,} {noun}{'' if number == 1 else plural}"
