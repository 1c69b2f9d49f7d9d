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
from tfvis_nb.core.search_sorted import distinct_numbers
from tfvis_nb.core.trace import Trace
from tfvis_nb.dataset import levels, manifest
from tfvis_nb.dataset.identity import Identity, identified
from tfvis_nb.dataset.layout import DETAILS, part_path, unwritable
from tfvis_nb.dataset.manifest import OK, PROBLEM, Entry, problem_of
from tfvis_nb.dataset.sources import Source
from tfvis_nb.dataset.stored_parts import StoredPart, footer_sum
from tfvis_nb.dataset.tables import TABLES
from tfvis_nb.events import NO_STEP
from tfvis_nb.reading import read_with_hosts
from tfvis_nb.reading.sources.files import LARGE, named_like_trace
from tfvis_nb.reading.sources.remote import is_url
from tfvis_nb.texts import Text, text_of


class Reading(NamedTuple):
    """How sources are read: options of `tfvis_nb.read_trace`."""

    threadpool: bool = False
    max_unpacked_bytes: int | None = None
    storage_options: Mapping[str, Any] | None = None
    allow_http: bool = False


def ingest_source(source: Source, folder: str, reading: Reading) -> Entry:
    """Read a source, write its parts and then its entry; return the entry.

    The content of a source never raises an error: its entry has the problem. OSError if the dataset cannot
    be written.
    """
    path = Path(folder)
    try:
        entry = _written(source, path, reading)
    except TraceFormatError as error:
        entry = failed(source, text_of(error), again=False)
    except Exception as error:
        # One damaged file must not end the ingest of all others.
        if text_of(error).id == "dataset_unwritable":
            raise
        entry = failed(source, _reason(error, source.url), again=True)
    manifest.write(entry, path)
    return entry


def failed(source: Source, reason: str, *, again: bool) -> Entry:
    """Return the entry of a source that is not in the dataset, with the reason."""
    url, found_by, size, modified = source[:4]
    return Entry(url, found_by, size, modified, status=PROBLEM, problem=problem_of(reason), again=again)


def _reason(error: Exception, url: str) -> str:
    if isinstance(error, FileNotFoundError):
        return Text("source_is_dangling" if os.path.islink(url) else "source_vanished")  # noqa: PTH114 - a URL
    known = text_of(error)
    if isinstance(error, OSError):
        return Text("source_unreadable", reason=known if known.id else (error.strerror or str(error)).lower())
    return Text("source_failed", error=type(error).__name__, reason=known)


def _written(source: Source, folder: Path, reading: Reading) -> Entry:
    path = Path(source.url)
    # Reading a named pipe may never end.
    if not is_url(source.url) and path.exists() and not (path.is_file() or path.is_dir()):
        raise TraceFormatError(Text("source_no_file"))
    name = source.url.rpartition("/")[2]
    if source.size >= LARGE and source.url != source.found_by and not named_like_trace(name):
        raise TraceFormatError(Text("large_files_left_out", files=name))
    with without_progress():
        trace, hosts = read_with_hosts(source.url, None, **reading._asdict())
    trace, identity = identified(trace, source.names, hosts)
    url, found_by, size, modified = source[:4]
    entry = Entry(
        url, found_by, size, modified, OK, run=identity.run, tasks=identity.tasks, steps=tuple(identity.steps)
    )
    parts = {path: _write(table, folder, path) for path, table in _parts(trace, identity, entry.key)}
    return Entry(**{**vars(entry), "parts": parts, "version": manifest.VERSION})


def _parts(trace: Trace, identity: Identity, key: str) -> Iterator[tuple[str, pa.Table]]:
    """Yield the path and the rows of each part: those of a table that belong to one task."""
    numbers = np.array([*identity.steps, NO_STEP], np.int64)
    present = trace.events[["task", "step"]].drop_duplicates()
    for name, make in TABLES.items():
        table = make(trace)
        if "step" in table.column_names:
            # Steps count from 0 in a trace; the last number is for events outside steps.
            step = pa.array(numbers[table["step"].to_numpy()].astype(np.int32))
            at = table.column_names.index("step")
            table = table.set_column(at, table.schema.field(at), step)
        for task, recorded in identity.tasks.items():
            rows = table.filter(pc.equal(table["task"], recorded)).drop_columns("task")
            steps = present["step"][
                (present["task"] == recorded).to_numpy() & (present["step"] != NO_STEP).to_numpy()
            ]
            yield part_path(name, key, identity.run, task, numbers[steps].tolist()), rows
    for task, recorded in identity.tasks.items():
        own = np.flatnonzero((trace.events["task"] == recorded).to_numpy())
        step = numbers[trace.events["step"].to_numpy()[own]]
        present_steps = distinct_numbers(step[step != NO_STEP])
        path = part_path(levels.FOLDER, key, identity.run, task, present_steps.tolist())
        yield path, levels.level_table(trace, own, step)
    yield f"{DETAILS}/{key}.parquet", _details(trace)


def _details(trace: Trace) -> pa.Table:
    """Return data only needed for reading back, such as nested records, graphs and notes."""
    from tfvis_nb.writing.parquet import file_table

    table = file_table(trace)
    rest = table.drop_columns(list(event_table.COLUMNS))
    # A table needs a column to have rows.
    return rest.append_column("event", pa.array(np.arange(len(trace.events))))


def _write(table: pa.Table, folder: Path, part: str) -> StoredPart:
    """Write a part."""
    import pyarrow.parquet as pq

    path = folder / part
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with whole(path) as file:
            if levels.KEY in (table.schema.metadata or {}):
                levels.write(table, file)
            else:
                pq.write_table(table, file, compression="zstd", row_group_size=levels.ROW_GROUP)
        return StoredPart(table.num_rows, path.stat().st_size, footer_sum(path))
    except OSError as error:
        raise unwritable(folder, error) from None
