"""Read the traces of a session, each with its run; damaged ones are left out with a note."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from tfvis_nb.cli.errors import Failure
from tfvis_nb.core.errors import EmptyTraceError, TraceFormatError
from tfvis_nb.core.temporary_folder import TemporaryFolder
from tfvis_nb.core.trace import Trace
from tfvis_nb.texts import Text

if TYPE_CHECKING:
    from tfvis_nb.session import SavedSession

SUFFIX = ".tfvis"
_SQLITE = b"SQLite format 3\0"

_OF_VALUES = (ValueError, TypeError, KeyError, OverflowError)
"""Errors from values that only a damaged file has."""

_NAMED = 3


def is_session(path: Path) -> bool:
    """Return whether a file is a session, judging by its name or its first bytes."""
    if not path.is_file():
        return False
    if path.suffix.lower() == SUFFIX:
        return True
    with path.open("rb") as file:
        return file.read(len(_SQLITE)) == _SQLITE


def session_traces(path: Path, *, keep_messages: bool) -> list[Trace]:
    """Read the traces of a session; TensorFlow's messages stay in memory only with `keep_messages`."""
    from tfvis_nb.session import open_session

    try:
        with open_session(path) as session:
            table = session.traces
            if not len(table):
                _check_whole(session, path)
                raise Failure(Text("session_without_traces", path=str(path)))
            return _readable(session, table, path, keep_messages=keep_messages)
    except TraceFormatError:
        raise
    except sqlite3.OperationalError as error:
        raise Failure(Text("session_unreadable", path=path, reason=error)) from None
    except sqlite3.DatabaseError as error:
        raise Failure(Text("session_found_damaged", path=path, reason=error)) from None
    except _OF_VALUES:
        raise Failure(Text("session_values_unknown", path=path)) from None


def tftracer_traces(path: Path) -> list[Trace]:
    """Read the traces of a tftracer session, with TensorFlow's messages; nothing if it is not one."""
    from tfvis_nb.compat.import_tftracer import converted, may_be_tftracers

    if not path.is_file() or not may_be_tftracers(path):
        return []
    with TemporaryFolder() as folder:
        try:
            notes = converted(path, folder.path / "converted.tfvis")
            traces = session_traces(folder.path / "converted.tfvis", keep_messages=True)
        except (TraceFormatError, Failure):
            return []  # read like any other file, which identifies its format
    traces[0].notes += notes
    return traces


def _check_whole(session: SavedSession, path: Path) -> None:
    """Check a session without traces: the traces may be damaged."""
    with session.connected() as connection:
        verdict = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
    if verdict != "ok":
        raise Failure(Text("session_found_damaged", path=path, reason=str(verdict).splitlines()[-1]))


def _readable(session: SavedSession, table: pd.DataFrame, path: Path, *, keep_messages: bool) -> list[Trace]:
    read: list[Trace] = []
    failed: dict[int, str] = {}
    for number, label, run, form in zip(
        table.index.tolist(), table["label"], table["run"], table["format"], strict=True
    ):
        try:
            trace = session.read(number)
        except EmptyTraceError:
            failed[number] = Text("trace_is_empty")
        except (*_OF_VALUES, sqlite3.DatabaseError) as error:
            failed[number] = str(error.args[0] if error.args else error)
        else:
            if form == "run_metadata" and run:
                # A signature may have several traces, which differ in the run.
                trace.step_labels = {0: f"{label}, run {run}"}
            if not keep_messages:
                trace.sources = trace.profiles = []
            read.append(trace)
    if not read:
        number, why = next(iter(failed.items()))
        raise Failure(Text("no_session_trace_readable", path=path, number=number, reason=why))
    for number in list(failed)[:_NAMED]:
        read[0].notes.append(
            Text("session_trace_left_out", number=number, session=path.name, reason=failed[number])
        )
    if len(failed) > _NAMED:
        read[0].notes.append(Text("session_traces_left_out", traces=len(failed) - _NAMED, session=path.name))
    return read
