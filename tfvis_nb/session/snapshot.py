"""A bounded summary of a session for viewers that poll it, cheap to read again."""

import heapq
import math
import os
import sqlite3
import time
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TypedDict

import numpy as np

from tfvis_nb.analysis.steps.difference import difference
from tfvis_nb.core.errors import TraceFormatError
from tfvis_nb.session.file import rows as stored_rows
from tfvis_nb.session.file.columns import OF_TRACED_RUN, selected
from tfvis_nb.session.file.counters import Counts, ledger_content, ledger_path
from tfvis_nb.session.file.rows import count, count_or_none, trace_format, validate_rows, whole
from tfvis_nb.session.file.schema import EVERY
from tfvis_nb.session.session import SavedSession
from tfvis_nb.session.tables import (
    counts_by_writer,
    process_numbers,
    processes_by_signature,
    signature_rows,
    summed,
    writer_rows,
)
from tfvis_nb.texts import Text

MOST_SIGNATURES = 1000
MOST_TRACES = 1000
MOST_PROCESSES = 100
MOST_NAMES = 50
LONGEST_NAME = 200
LONGEST_OPTIONS = 2000

_NS_OF_MS = 1e6


class ProcessRow(TypedDict):
    """A process that records into a session, or recorded."""

    process: int
    host: str
    pid: int
    start_ms: float
    end_ms: float | None  # None while it runs


class _Signature(TypedDict):
    """The columns of a signature that never change."""

    signature: int
    kind: str  # "session", "step", or Keras's "train", "test" or "predict"
    label: str
    fetches: list[str]
    targets: list[str]
    feeds: list[str]
    options: str
    more: int  # Names left out of the three lists


class SignatureRow(_Signature):
    """A signature with the counts of its runs."""

    runs: int
    failed: int
    traced: int
    traced_ns: int
    # Of the untraced runs, or of the traced ones if all were; the mean is None before the first run.
    mean_ns: float | None
    longest_ns: int
    total_ns: int
    # How many times the untraced runs before them the listed traces took, and its 95 % interval, each None
    # if unknown; None without such traces.
    tracing_ratio: list[float | None] | None
    first_ms: float | None
    last_ms: float | None
    processes: int
    traces: int
    requested: int
    rule: str  # Overrides the rule for all; "" without one


class TraceRow(TypedDict):
    """A stored trace."""

    trace: int
    signature: int
    label: str
    process: int
    run: int  # Which run of the signature in its process, from 1
    start_ms: float
    duration_ns: int
    tracing_ns: int | None  # To start and collect the trace, on top of the run; None if unknown
    untraced_ns: int | None  # Median of the earlier untraced runs of its signature; None without any
    untraced_runs: int
    batch: int | None  # Of its epoch, from 0; None for a session run
    format: str
    bytes: int


class _Totals(TypedDict):
    signatures: list[SignatureRow]
    # Of all signatures; those with the most time are listed.
    signatures_total: int
    runs_total: int
    total_ns: int


class MonitorState(_Totals):
    """Contents of a session's file at one time: epoch milliseconds (_ms), durations in nanoseconds (_ns)."""

    path: str
    name: str
    now_ms: float
    rule: str  # For all signatures: "", "all", "every 1000" or "slower 3"
    requested: int
    problem: str  # An error in the file, or the reason why its recording ended
    waiting: str  # Why there is nothing to read yet
    processes: list[ProcessRow]
    traces: list[TraceRow]  # The newest
    traces_total: int
    keep: int | None  # Traces made by rules that the last job keeps of each signature; None for all
    controllable: bool  # Whether the file can be written


def session_state(session: SavedSession) -> MonitorState:
    """Return the current counts, traces and requests of a session, as JSON values."""
    state = SessionWatch(session).changed()
    assert state is not None, "at first everything is new"
    return state


class SessionWatch:
    """Reads the state of a session repeatedly, at little cost if nothing has changed.

    Its file need not exist yet, and may be deleted and created again.
    """

    def __init__(self, session: SavedSession) -> None:
        self._session = session
        self._connection: sqlite3.Connection | None = None
        self._times_opened = 0
        self._mark: object = None
        self._was_there = False
        self._signatures: dict[int, _Signature] = {}
        self._traces: list[TraceRow] = []
        self._newest: tuple[int, int] = (0, 0)
        self._ratios: dict[int, list[float | None]] = {}

    def changed(self) -> MonitorState | None:
        """Return the `session_state`, or None if nothing has changed since the last call."""
        try:
            with self._session.connected() as connection:
                if connection is not self._connection:
                    self._begin(connection)
                mark = self._mark_of(connection)
                return self._read(connection, mark) if mark != self._mark else None
        except FileNotFoundError:
            return self._nothing(waiting=self._waiting(), problem=self._stopped())
        except (sqlite3.Error, OSError, TraceFormatError) as error:
            if self._is_empty():
                return self._nothing(waiting=self._waiting())
            return self._nothing(problem=Text("file_unreadable_now", reason=error))

    def _begin(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._times_opened += 1
        self._was_there = True
        self._signatures = {}
        self._traces = []
        self._newest = (0, 0)

    def _mark_of(self, connection: sqlite3.Connection) -> object:
        """Return a value that differs after each change and takes only microseconds to compute."""
        running = stored_rows.running_writers(connection)
        counts = tuple(zlib.crc32(ledger_content(ledger_path(self._session.path, each))) for each in running)
        # Changes by other connections, and by this one.
        version = connection.execute("PRAGMA data_version").fetchone()[0]
        ended = tuple(self._session.ended.items())
        return self._times_opened, version, connection.total_changes, counts, ended, self._stopped()

    def _read(self, connection: sqlite3.Connection, mark: object) -> MonitorState:
        self._read_signatures(connection)
        self._read_traces(connection)
        stored = stored_rows.rules_by_signature(connection)
        rules = {
            number: f"{kind} {value:.15g}" if value else str(kind) for number, (kind, value) in stored.items()
        }
        requested = stored_rows.numbers_by_signature(connection, "requests")
        kept = stored_rows.numbers_by_signature(connection, "traces")
        counted = self._counted(connection, rules, requested, kept)
        state: MonitorState = {
            **_empty(self._session.path),
            "rule": rules.get(EVERY, ""),
            "requested": int(requested.get(EVERY, 0)),
            "problem": self._stopped(),
            "processes": _processes(connection, self._session.ended),
            **counted,
            "traces": self._traces,
            "traces_total": sum(kept.values()),
            "keep": self._limit(connection),
            "controllable": _writable(self._session.path),
        }
        self._mark = mark
        return state

    def _read_signatures(self, connection: sqlite3.Connection) -> None:
        """Add new signatures; known ones never change and are never removed."""
        for number, kind, label, fetches, targets, feeds, options in signature_rows(
            connection, max(self._signatures, default=0)
        ):
            names = [each.split("\n") if each else [] for each in (fetches, targets, feeds)]
            listed = [[_cut(one) for one in each[:MOST_NAMES]] for each in names]
            self._signatures[number] = {
                "signature": number,
                "kind": _cut(kind),
                "label": _cut(label),
                "fetches": listed[0],
                "targets": listed[1],
                "feeds": listed[2],
                "options": _cut(options, LONGEST_OPTIONS),
                "more": sum(max(len(each) - MOST_NAMES, 0) for each in names),
            }

    def _read_traces(self, connection: sqlite3.Connection) -> None:
        """Read the newest traces if they changed, which their numbers show because these are never reused."""
        newest = connection.execute("SELECT count(*), ifnull(max(id), 0) FROM traces").fetchone()
        if newest == self._newest:
            return
        of_tracing = selected(connection, OF_TRACED_RUN)
        query = (
            "SELECT id, signature, writer, run, start_ns, duration_ns, format, length(data),"  # noqa: S608 - constants
            f" {of_tracing} FROM traces ORDER BY id DESC LIMIT ?"
        )
        process = process_numbers(connection)
        checks = (count, whole, whole, whole, count, count, trace_format, whole, *OF_TRACED_RUN.values())
        rows = validate_rows(connection.execute(query, (MOST_TRACES,)), *checks)
        self._traces = [
            {
                "trace": number,
                "signature": int(signature),
                "label": self._signatures[signature]["label"] if signature in self._signatures else "",
                "process": process.get(writer, writer),
                "run": int(run),
                "start_ms": int(start_ns) / _NS_OF_MS,
                "duration_ns": int(duration_ns),
                "format": _cut(form),
                "bytes": int(size),
                "tracing_ns": tracing_ns,
                "untraced_ns": untraced_ns,
                "untraced_runs": untraced_runs,
                "batch": batch,
            }
            for number, signature, writer, run, start_ns, duration_ns, form, size, *cost in rows
            for tracing_ns, untraced_ns, untraced_runs, batch in [cost]
        ]
        self._newest = newest
        times: dict[int, list[tuple[int, int]]] = {}
        for each in self._traces:
            if each["untraced_ns"]:
                times.setdefault(each["signature"], []).append((each["untraced_ns"], each["duration_ns"]))
        self._ratios = {number: _ratio(*zip(*pairs, strict=True)) for number, pairs in times.items()}

    def _counted(
        self,
        connection: sqlite3.Connection,
        rules: Mapping[int, str],
        requested: Mapping[int, int],
        kept: Mapping[int, int],
    ) -> _Totals:
        """Return the signatures with their counts, ordered by number, and the totals."""
        counted = counts_by_writer(connection, self._session.path)
        processes = processes_by_signature(connection, counted)
        totals = {
            number: Counts(
                *map(int, summed(counts[number] for counts in counted.values() if number in counts))
            )
            for number in self._signatures
        }
        most = heapq.nlargest(MOST_SIGNATURES, totals, key=lambda number: totals[number].total_ns)
        listed: list[SignatureRow] = [
            {
                **self._signatures[number],
                "runs": total.runs,
                "failed": total.failed,
                "traced": total.traced,
                "mean_ns": total.mean_ns,
                "traced_ns": total.traced_ns,
                "total_ns": total.total_ns,
                "longest_ns": total.longest_ns,
                "first_ms": total.first_ns / _NS_OF_MS if total.first_ns else None,
                "last_ms": total.last_ns / _NS_OF_MS if total.last_ns else None,
                "processes": processes.get(number, 0),
                "traces": int(kept.get(number, 0)),
                "requested": int(requested.get(number, 0)),
                "rule": rules.get(number, ""),
                "tracing_ratio": self._ratios.get(number),
            }
            for number, total in ((number, totals[number]) for number in sorted(most))
        ]
        return {
            "signatures": listed,
            "signatures_total": len(totals),
            "runs_total": sum(total.runs for total in totals.values()),
            "total_ns": sum(total.total_ns for total in totals.values()),
        }

    def _limit(self, connection: sqlite3.Connection) -> int | None:
        """Return how many traces of a signature the last process keeps besides chosen ones; None for all."""
        query = f"SELECT {selected(connection, ['keep'])} FROM writers ORDER BY id DESC LIMIT 1"  # noqa: S608
        return next((row[0] for row in validate_rows(connection.execute(query), count_or_none)), None)

    def _stopped(self) -> str:
        """Why the recording has stopped on its own, if this process records."""
        return str(getattr(self._session, "problem", ""))

    def _nothing(self, *, waiting: str = "", problem: str = "") -> MonitorState | None:
        mark = waiting, problem
        if mark == self._mark:
            return None
        self._connection = None
        self._mark = mark
        return {**_empty(self._session.path), "waiting": waiting, "problem": problem}

    def _waiting(self) -> str:
        name = self._session.path.name
        if self._was_there:
            return Text("file_deleted", name=name)
        return Text("no_file_yet", name=name)

    def _is_empty(self) -> bool:
        """Whether the file is just being created."""
        try:
            return self._session.path.stat().st_size == 0
        except OSError:
            return True


def _ratio(untraced: Sequence[int], traced: Sequence[int]) -> list[float | None]:
    """Return the ratio of traced to untraced run times, and its 95 % interval; None if unknown."""
    ratio = difference(np.array(untraced), np.array(traced))[:3]
    return [each if math.isfinite(each) else None for each in ratio]


def _empty(path: Path) -> MonitorState:
    return {
        "path": str(path),
        "name": path.name,
        "now_ms": time.time_ns() / _NS_OF_MS,
        "rule": "",
        "requested": 0,
        "problem": "",
        "waiting": "",
        "processes": [],
        "signatures": [],
        "signatures_total": 0,
        "runs_total": 0,
        "total_ns": 0,
        "traces": [],
        "traces_total": 0,
        "keep": None,
        "controllable": False,
    }


def _processes(connection: sqlite3.Connection, ended: Mapping[int, int]) -> list[ProcessRow]:
    newest = f"WHERE ended_ns IS NULL OR id > (SELECT max(id) FROM writers) - {MOST_PROCESSES}"  # noqa: S608
    process = process_numbers(connection)
    processes: dict[int, ProcessRow] = {}
    for writer, host, pid, started_ns, ended_ns in writer_rows(connection, newest):
        number = process.get(writer, writer)  # it may have begun since
        end_ns = ended.get(writer) if ended_ns is None else ended_ns
        end_ms = None if end_ns is None else int(end_ns) / _NS_OF_MS
        if number not in processes:
            processes[number] = {
                "process": number,
                "host": _cut(host),
                "pid": int(pid),
                "start_ms": int(started_ns) / _NS_OF_MS,
                "end_ms": end_ms,
            }
        elif processes[number]["end_ms"] is not None:
            processes[number]["end_ms"] = end_ms
    return list(processes.values())


def _cut(text: object, most: int = LONGEST_NAME) -> str:
    text = str(text)
    return text if len(text) <= most else f"{text[: most - 1]}\N{HORIZONTAL ELLIPSIS}"


def _writable(path: Path) -> bool:
    """Whether this user can request traces: SQLite also needs two companion files."""
    effective = os.access in os.supports_effective_ids
    return all(os.access(each, os.W_OK, effective_ids=effective) for each in (path, path.parent))
