"""Requests for traces as rows of a session's file, and the signature that a user means by one."""

from __future__ import annotations

from pathlib import Path

from tfvis_nb.core.options import near, some_of
from tfvis_nb.session import tables
from tfvis_nb.session.file.connection import Guarded
from tfvis_nb.session.file.schema import EVERY
from tfvis_nb.texts import Text


def signature_id(connection: Guarded, path: Path, signature: int | str | None) -> int:
    """Return the number of a signature in the session file at `path`; `EVERY` for None.

    Parameters
    ----------
    connection
        The open file.
    path
        Where it is, for error messages and the counters next to it.
    signature
        A number, a label, or a kind if only one signature has it.

    Raises
    ------
    ValueError
        If there is no such signature, or several have the label.
    """
    if signature is None:
        return EVERY
    known = [row[:3] for row in tables.signature_rows(connection)]
    if isinstance(signature, str):
        numbers = [number for number, _, label in known if label == signature]
        # Labels of Keras batches include their model, which users with one model need not type.
        numbers = numbers or [number for number, kind, _ in known if kind == signature]
        if len(numbers) > 1:
            raise ValueError(Text("signature_ambiguous", signature=signature, numbers=numbers))
        # Most signatures of a job are initialisers, which ran once.
        took = tables.total_times(tables.counts_by_writer(connection, path))
        labels = [label for *_, label in sorted(known, key=lambda row: -took.get(row[0], 0))]
        hint = near(signature, labels) or some_of(labels)
    else:
        numbers = [number for number, *_ in known if number == signature]
        hint = ""
    if not numbers:
        raise ValueError(Text("no_such_signature", signature=signature, path=str(path), hint=hint))
    return int(numbers[0])


def request_trace(connection: Guarded, signature: int) -> None:
    """Request one trace of each running process that has run a signature, or of the first that will."""
    running = "SELECT id FROM writers WHERE ended_ns IS NULL"
    if signature != EVERY:
        running += " AND id IN (SELECT writer FROM counts WHERE signature = :number)"
    writers = [row[0] for row in connection.execute(running, {"number": signature})]
    for writer in writers or [None]:
        connection.execute("INSERT INTO requests(signature, writer) VALUES (?, ?)", (signature, writer))
