"""The data that the monitor serves about a session: its state, traces, and files."""

import gzip
import hashlib
import json
import os
import threading
import time
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from tfvis_nb.core.temporary_folder import TemporaryFolder
from tfvis_nb.display.refusals import Refusal
from tfvis_nb.session.commands import execute_command
from tfvis_nb.session.session import SavedSession
from tfvis_nb.session.snapshot import SessionWatch
from tfvis_nb.texts import Text, text_of

_FRESH_S = 0.5
"""How long a state is reused, so that many viewers cost a job no more time than one."""

_KEPT_BYTES = 64_000_000
"""Maximum bytes of cached traces: others, or a reload, are likely to open the same ones again."""

_CLOSING_S = 0.5
"""How long `close` waits for a request that holds the session, such as one waiting for a lock on its file."""


@dataclass(frozen=True)
class StateResponse:
    """A state as JSON, and its version."""

    body: bytes
    tag: str

    @cached_property
    def compressed(self) -> bytes:
        """The same, compressed."""
        return gzip.compress(self.body, 1, mtime=0)


@dataclass(frozen=True)
class Opened:
    """A trace in the format of the timeline."""

    title: str
    drawn: bytes
    details: bytes


@dataclass(frozen=True)
class MadeFile:
    """A file in its own folder, which is removed when the file has been sent."""

    folder: TemporaryFolder
    path: Path


class MonitorService:
    """Serves data about a session; `refusal_of` turns exceptions into error responses.

    `state` and `execute_command` are for one thread, `opened` and `download` for a second, and `save` for a
    third. Then they wait for each other only while one reads the file. A session given as an object, not a
    path, is never closed.
    """

    def __init__(self, session: SavedSession | str | Path) -> None:
        self._own = not isinstance(session, SavedSession)
        self._session = session if isinstance(session, SavedSession) else SavedSession(session)
        self._watch = SessionWatch(self._session)
        self._state: StateResponse | None = None
        self._until = 0.0
        self._opened: OrderedDict[tuple[object, int], Opened] = OrderedDict()

    @property
    def name(self) -> str:
        """The name of the session file as text, whatever its bytes."""
        return os.fsencode(self._session.path.name).decode(errors="replace")

    def state(self) -> StateResponse:
        """Return the state, at most half a second old."""
        if self._state is None or time.monotonic() > self._until:
            changed = self._watch.changed()
            if changed is not None:
                body = json.dumps(changed, allow_nan=False).encode()
                # The time of reading alone does not make a new state.
                del changed["now_ms"]
                self._state = StateResponse(
                    body, f'"{hashlib.sha256(json.dumps(changed).encode()).hexdigest()[:32]}"'
                )
            self._until = time.monotonic() + _FRESH_S
        assert self._state is not None, "at first it has changed"
        return self._state

    def execute_command(self, command: Mapping[str, Any]) -> StateResponse:
        """Execute a command and return the state after it."""
        with self._there():
            execute_command(self._session, command)
        self._until = 0.0
        return self.state()

    def opened(self, number: int) -> Opened:
        """Return a trace for the timeline."""
        from tfvis_nb.display.monitor.trace_files import timeline_payload

        key = self._place_of(number)
        if key not in self._opened:
            try:
                with self._there():
                    self._opened[key] = Opened(*timeline_payload(self._session, number))
            except ValueError as error:
                raise Refusal(422, text_of(error)) from None
        self._opened.move_to_end(key)
        while len(self._opened) > 1 and self._kept_bytes() > _KEPT_BYTES:
            self._opened.popitem(last=False)
        return self._opened[key]

    def notes(self, number: int) -> dict[str, Any]:
        """Return the annotations and views of a trace."""
        from tfvis_nb.display.monitor.trace_files import stored_notes

        self._place_of(number)
        with self._there():
            return stored_notes(self._session, number)

    def annotate(self, number: int, notes: Mapping[str, Any]) -> None:
        """Store the annotations and views of a trace in the session."""
        from tfvis_nb.display.monitor.trace_files import store_notes

        self._place_of(number)
        with self._there():
            store_notes(self._session, number, notes.get("annotations"), notes.get("views"))

    def download(self, number: int, form: str) -> tuple[str, bytes]:
        """Return a trace as a file: its name and content."""
        from tfvis_nb.display.monitor.trace_files import export_trace
        from tfvis_nb.display.pages.page import PageTooLargeError

        self._place_of(number)
        try:
            with self._there():
                return export_trace(self._session, number, form)
        except PageTooLargeError:
            raise Refusal(422, Text("trace_too_large_for_page")) from None

    def save(self) -> tuple[str, MadeFile]:
        """Write a copy of the current session; return its suggested name, and its path."""
        from tfvis_nb.display.pages.page import file_stem

        path = self._session.path
        folder = TemporaryFolder()
        try:
            # A separate session object, so that nobody waits for the copy.
            with self._there(), SavedSession(path) as session:
                copy = session.save(folder.path / "copy.tfvis")
        except BaseException:
            folder.close()
            raise
        return f"{file_stem(path.stem)}.tfvis", MadeFile(folder, copy)

    def close(self) -> None:
        """Close the session if the service opened it, without waiting long for its readers."""
        if self._own:
            closing = threading.Thread(target=self._session.close, name="tfvis-nb-serve-close", daemon=True)
            closing.start()
            closing.join(_CLOSING_S)

    def _place_of(self, number: int) -> tuple[object, int]:
        """Return the identity of a trace, which also differs from traces of an earlier file."""
        with self._there(), self._session.connected() as connection:
            query = "SELECT start_ns, epoch_ns FROM traces WHERE id = ?"
            place = connection.execute(query, (number,)).fetchone()
        if place is None:
            raise Refusal(404, Text("trace_missing", number=number))
        return place, number

    @contextmanager
    def _there(self) -> Iterator[None]:
        """Explain that a missing file may still be created."""
        try:
            yield
        except FileNotFoundError:
            waiting = Text("no_file_yet", name=self.name)
            raise Refusal(404, waiting) from None

    def _kept_bytes(self) -> int:
        return sum(len(one.drawn) + len(one.details) for one in self._opened.values())
