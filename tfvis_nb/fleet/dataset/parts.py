"""Write a source's parts of each table, then its entry in the manifest."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tfvis_nb import events as event_table
from tfvis_nb.core.errors import TraceFormatError
from tfvis_nb.core.output_path import whole
from tfvis_nb.core.progress import without_progress
from tfvis_nb.core.trace import Trace
from tfvis_nb.events import NO_STEP
from tfvis_nb.fleet.dataset import levels, manifest
from tfvis_nb.fleet.dataset.identity import Identity, identified
from tfvis_nb.fleet.dataset.layout import DETAILS, part_path, unwritable
from tfvis_nb.fleet.dataset.manifest import OK, PROBLEM, Entry, problem_of
from tfvis_nb.fleet.dataset.own_files import Intent, begin, check_free, intents
from tfvis_nb.fleet.dataset.sources import Source
from tfvis_nb.fleet.dataset.stored_parts import StoredPart, footer_sum, write_part
from tfvis_nb.fleet.dataset.tables import TABLES
from tfvis_nb.reading import read_with_hosts
from tfvis_nb.reading.sources.files import LARGE, named_like_trace
from tfvis_nb.reading.sources.public_urls import public_text
from tfvis_nb.reading.sources.remote import is_url
from tfvis_nb.texts import Text, text_of


class Reading(NamedTuple):
    """How sources are read: options of `tfvis_nb.read_trace`."""

    threadpool: bool = False
    max_unpacked_bytes: int | None = None
    storage_options: Mapping[str, Any] | None = None
    allow_http: bool = False

    def __repr__(self) -> str:
        # A cluster logs the arguments of a task that fails.
        return f"Reading(threadpool={self.threadpool}, allow_http={self.allow_http})"


def ingest_source(source: Source, folder: str, reading: Reading) -> Entry:
    """Read a source, write its parts and then its entry; return the entry.

    The content of a source never raises an error: its entry has the problem. OSError if the dataset cannot
    be written.
    """
    path, intent = Path(folder), None
    try:
        trace, identity = _read(source, reading)
        entry, intent = _written(source, path, trace, identity)
    except TraceFormatError as error:
        entry = failed(source, text_of(error), again=False)
    except Exception as error:
        # One damaged file must not end the ingest of all others.
        if text_of(error).id == "dataset_unwritable":
            raise
        entry = failed(source, _reason(error, source, reading), again=True)
    manifest.write(entry, path, intent)
    return entry


def failed(source: Source, reason: str, *, again: bool) -> Entry:
    """Return the entry of a source that is not in the dataset, with the reason."""
    _, found_by, size, modified, _ = source
    return Entry(
        source.name, found_by, size, modified, status=PROBLEM, problem=problem_of(reason), again=again
    )


def _reason(error: Exception, source: Source, reading: Reading) -> str:
    if isinstance(error, FileNotFoundError):
        return Text("source_is_dangling" if os.path.islink(source.url) else "source_vanished")  # noqa: PTH114 - a URL
    known = text_of(error)
    if known.id in ("dataset_part_in_the_way", "dataset_folder_in_the_way"):
        return known
    if not known.id:
        reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
        known = Text.stored(public_text(reason, reading.storage_options or {}), "", {})
    if isinstance(error, OSError):
        return Text("source_unreadable", reason=known if known.id else known.lower())
    return Text("source_failed", error=type(error).__name__, reason=known)


def _read(source: Source, reading: Reading) -> tuple[Trace, Identity]:
    path = Path(source.url)
    # Reading a named pipe may never end.
    if not is_url(source.url) and path.exists() and not (path.is_file() or path.is_dir()):
        raise TraceFormatError(Text("source_no_file"))
    name = source.name.rpartition("/")[2]
    if source.size >= LARGE and source.name != source.found_by and not named_like_trace(name):
        raise TraceFormatError(Text("large_files_left_out", files=name))
    with without_progress():
        trace, hosts = read_with_hosts(source.url, None, **reading._asdict())
    return identified(trace, source.names, hosts)


def _written(source: Source, folder: Path, trace: Trace, identity: Identity) -> tuple[Entry, Intent]:
    _, found_by, size, modified, _ = source
    run, tasks, steps = identity
    entry = Entry(source.name, found_by, size, modified, OK, run=run, tasks=tasks, steps=tuple(steps))
    spans = _spans(trace, identity)
    paths = [
        part_path(name, entry.key, identity.run, task, span)
        for name in (*TABLES, levels.FOLDER)
        for task, span in spans.items()
    ]
    paths.append(f"{DETAILS}/{entry.key}.parquet")
    own = {*manifest.parts_now(folder, entry.key)}
    own.update(*(intent.parts for intent in intents(folder) if intent.key == entry.key))
    for part in paths:
        check_free(folder, part, own)
    try:
        intent = begin(folder, entry.key, [*paths, *(own - {*paths})])
    except OSError as error:
        raise unwritable(folder, error) from None
    tables = _tables(trace, identity)
    parts = {part: _write(table, folder, part, intent) for part, table in zip(paths, tables, strict=True)}
    return Entry(**{**vars(entry), "parts": parts, "version": manifest.VERSION}), intent


def _spans(trace: Trace, identity: Identity) -> dict[str, list[int]]:
    """Return the numbers of the steps of each task."""
    numbers = np.array(identity.steps, np.int64)
    present = trace.events.loc[trace.events["step"] != NO_STEP, ["task", "step"]].drop_duplicates()
    return {
        task: numbers[present.loc[present["task"] == recorded, "step"].to_numpy()].tolist()
        for task, recorded in identity.tasks.items()
    }


def _tables(trace: Trace, identity: Identity) -> Iterator[pa.Table]:
    """Yield the rows of each part: those of a table that belong to one task."""
    numbers = np.array([*identity.steps, NO_STEP], np.int64)
    for make in TABLES.values():
        table = make(trace)
        if "step" in table.column_names:
            # Steps count from 0 in a trace; the last number is for events outside steps.
            step = pa.array(numbers[table["step"].to_numpy()].astype(np.int32))
            at = table.column_names.index("step")
            table = table.set_column(at, table.schema.field(at), step)
        for recorded in identity.tasks.values():
            yield table.filter(pc.equal(table["task"], recorded)).drop_columns("task")
    for recorded in identity.tasks.values():
        own = np.flatnonzero((trace.events["task"] == recorded).to_numpy())
        yield levels.level_table(trace, own, numbers[trace.events["step"].to_numpy()[own]])
    yield _details(trace)


def _details(trace: Trace) -> pa.Table:
    """Return data only needed for reading back, such as nested records, graphs and notes."""
    from tfvis_nb.writing.parquet import file_table

    table = file_table(trace)
    rest = table.drop_columns(list(event_table.COLUMNS))
    # A table needs a column to have rows.
    return rest.append_column("event", pa.array(np.arange(len(trace.events))))


def _write(table: pa.Table, folder: Path, part: str, intent: Intent) -> StoredPart:
    """Write a part."""
    path = folder / part
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with whole(path, intent.unfinished) as file:
            if levels.KEY in (table.schema.metadata or {}):
                levels.write(table, file)
            else:
                write_part(table, file, levels.ROW_GROUP)
        return StoredPart(table.num_rows, path.stat().st_size, footer_sum(path))
    except OSError as error:
        raise unwritable(folder, error) from None
