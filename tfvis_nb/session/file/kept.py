"""Traces that stay whatever the limit: those that were requested, opened or annotated."""

import json
import math
from collections.abc import Iterable
from typing import Any

from tfvis_nb.session.file.connection import Guarded
from tfvis_nb.session.file.rows import count, running_writers, text, validate_rows
from tfvis_nb.session.file.schema import add_kept, has_kept

MOST_NOTES = 16_000_000
"""Maximum characters of the annotations or views of a trace."""

Notes = tuple[list[Any], list[Any]]
"""Annotations as `tfvis_nb.core.annotations.to_json` writes them, and named views of the front end."""


def prepare_kept(connection: Guarded) -> bool:
    """Return whether traces can be listed as kept, which is made so unless others record.

    Part of a transaction.
    """
    return has_kept(connection) or (not running_writers(connection) and add_kept(connection))


def keep_trace(connection: Guarded, trace: int) -> None:
    """List a trace as kept; part of a transaction."""
    there = "SELECT id, '', '' FROM traces WHERE id = ?"
    connection.execute(f"INSERT OR IGNORE INTO kept(trace, annotations, views) {there}", (trace,))


def put_notes(connection: Guarded, trace: int, notes: Notes) -> bool:
    """Store the notes of a trace, which is kept then; False if there is no such trace.

    Part of a transaction.
    """
    keep_trace(connection, trace)
    written = tuple(json.dumps(each) if each else "" for each in notes)
    put = "UPDATE kept SET annotations = ?, views = ? WHERE trace = ?"
    return connection.execute(put, (*written, trace)).rowcount == 1


def read_notes(connection: Guarded, trace: int) -> Notes:
    """Return the notes of a trace; what is damaged is left out, because a note is not worth the trace."""
    if not has_kept(connection):
        return [], []
    query = "SELECT substr(annotations, 1, ?1), substr(views, 1, ?1) FROM kept WHERE trace = ?2"
    for row in validate_rows(connection.execute(query, (MOST_NOTES, trace)), text, text):
        annotations, views = map(_list_of, row)
        return annotations, views
    return [], []


def kept_traces(connection: Guarded) -> frozenset[int]:
    """Return the numbers of kept traces."""
    if not has_kept(connection):
        return frozenset()
    return frozenset(row[0] for row in validate_rows(connection.execute("SELECT trace FROM kept"), count))


def forget_traces(connection: Guarded, traces: Iterable[int]) -> None:
    """Delete traces; part of a transaction."""
    numbers = [(number,) for number in traces]
    connection.executemany("DELETE FROM traces WHERE id = ?", numbers)
    if has_kept(connection):
        connection.executemany("DELETE FROM kept WHERE trace = ?", numbers)


def _list_of(written: str) -> list[Any]:
    try:
        # NaN and infinity are not JSON, and no browser reads them.
        parsed = json.loads(written or "[]", parse_constant=lambda _: math.inf)
    except (ValueError, RecursionError):
        return []
    return parsed if isinstance(parsed, list) else []
