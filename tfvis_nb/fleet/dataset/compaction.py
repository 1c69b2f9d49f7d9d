"""Let the parts of hundreds of sources share files: large fleets have millions of parts."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from tfvis_nb.core.labels import natural
from tfvis_nb.core.output_path import whole
from tfvis_nb.fleet.dataset import manifest
from tfvis_nb.fleet.dataset.layout import FORMAT, part_folder, unwritable
from tfvis_nb.fleet.dataset.manifest import OK, Entry, Pack, pack_paths
from tfvis_nb.fleet.dataset.own_files import Intent, begin, check_free, intents
from tfvis_nb.fleet.dataset.stored_parts import PLACES, PackFile, PartFile, StoredPart, footer_sum
from tfvis_nb.fleet.dataset.tables import SCHEMAS
from tfvis_nb.texts import text_of

PACKED_VERSION = 2
"""The version of a dataset whose sources share files, which earlier versions of tfvis_nb do not find."""
CONTENT = json.dumps({"format": "tfvis_nb dataset", "version": 1})

LEAST = 32
"""How many sources a dataset has at least before they share files."""
MOST, MOST_BYTES = 256, 1 << 26
"""How many sources share a file, and bytes of their parts; one with half as many is not written again."""
_ROW_GROUP = 1 << 13
"""Rows of a row group of tables with few rows for each source."""
_STATISTICS = ["run", "task", "key", "step", "kind", "start_ns", "duration_ns"]


def compact(folder: Path, client: Any) -> None:
    """Let sources share files; it may be ended at any time, and the next ingest goes on.

    The files of a pack are written first, then its entries, and only then the old files are removed.
    """
    read = manifest.read(folder)
    counting = [entry for entry in read.entries if entry.status == OK]
    singles = [one for one in counting if not one.is_packed and one.version == manifest.VERSION]
    if not read.packs and len(singles) < LEAST:
        return
    chosen = [*singles]
    for pack in read.packs:
        used = [entry for entry in counting if entry.files.keys() & {*pack.paths}]
        is_small = len(used) < MOST // 2 and sum(map(_bytes, used)) < MOST_BYTES // 2
        if len(used) < len(pack.entries) or (singles and is_small):
            chosen += used
    if chosen:
        with (folder / FORMAT).open("r+b") as file:
            # In place: the file is locked.
            file.write(CONTENT.replace('"version": 1', f'"version": {PACKED_VERSION}').encode())
        generation = max((pack.generation for pack in read.packs), default=0) + 1
        _run(list(_groups(chosen)), generation, folder, client)
    manifest.sweep(folder)


def _groups(entries: Sequence[Entry]) -> Iterator[list[Entry]]:
    """Divide sources, ordered by run, task and step, so that each group fits into a pack."""
    group: list[Entry] = []
    size = 0
    for entry in sorted(entries, key=_place):
        if group and (len(group) == MOST or size + _bytes(entry) > MOST_BYTES):
            yield group
            group, size = [], 0
        group.append(entry)
        size += _bytes(entry)
    if group:
        yield group


def _place(entry: Entry) -> tuple[Any, ...]:
    return natural(entry.run), [natural(task) for task in entry.tasks], entry.steps, entry.source


def _bytes(entry: Entry) -> int:
    """Return the size of a source's bars and details, which are about as large as its events."""
    return 2 * sum(part.size for path, part in entry.parts.items() if path.partition("/")[0] not in SCHEMAS)


def _run(groups: Sequence[list[Entry]], generation: int, folder: Path, client: Any) -> None:
    """Write packs with Dask; the next ingest writes those whose worker dies."""
    if client is not None:
        from distributed import wait

        futures = client.map(write_group, groups, generation=generation, folder=str(folder), pure=False)
        wait(futures)
        for error in (future.exception() for future in futures if future.status == "error"):
            if isinstance(error, OSError):
                raise error
        return
    from concurrent.futures import BrokenExecutor
    from contextlib import suppress

    import dask

    one = dask.delayed(write_group, pure=False)
    with suppress(BrokenExecutor):
        dask.compute(*(one(tuple(group), generation, str(folder)) for group in groups), traverse=False)


def write_group(group: Sequence[Entry], generation: int, folder: str) -> None:
    """Write the parts of sources into shared files, and then their entries as a pack.

    Sources with damaged parts stay as they are. OSError if the dataset cannot be written.
    """
    if not group:
        return
    path = Path(folder)
    identity = json.dumps([generation, [(entry.key, entry.size, entry.modified) for entry in group]])
    name = hashlib.sha256(identity.encode()).hexdigest()[:20]
    paths = pack_paths(name)
    own = {part for intent in intents(path) if intent.key == name for part in intent.parts}
    for part in paths.values():
        check_free(path, part, own)
    try:
        intent = begin(path, name, paths.values())
        parts: list[dict[str, StoredPart]] = [{} for _ in group]
        files = {}
        for table, file in paths.items():
            (path / table).mkdir(exist_ok=True)
            write = _write_table if table in SCHEMAS else _write_slices
            stored, files[table] = write(group, path, table, file, intent)
            for own_parts, more in zip(parts, stored, strict=True):
                own_parts.update(more)
    except OSError as error:
        known = text_of(error)
        if known.id.startswith("dataset_part_"):
            intent.end(kept=())
            damaged = Path(known.figures["path"]).relative_to(path).as_posix()
            write_group([entry for entry in group if damaged not in entry.files], generation, folder)
            return
        raise unwritable(path, error) from None
    entries = [
        Entry(**{**vars(entry), "parts": {part: moved[part] for part in entry.parts}})
        for entry, moved in zip(group, parts, strict=True)
    ]
    manifest.write_pack(Pack(name, generation, files, entries), path, intent)


_Written = tuple[list[dict[str, StoredPart]], PackFile]


def _write_table(group: Sequence[Entry], folder: Path, table: str, file: str, intent: Intent) -> _Written:
    """Write the rows of a table of all sources; those of events in the row groups that they have."""
    import pyarrow.parquet as pq

    fields = [pa.field(name, pa.string()) for name in PLACES]
    schema = pa.schema([*fields, *(field for field in SCHEMAS[table] if field.name not in PLACES)])
    places: list[dict[str, StoredPart]] = []
    first = 0
    rest: list[pa.Table] = []
    with whole(folder / file, intent.unfinished) as unfinished:
        with pq.ParquetWriter(
            unfinished,
            schema,
            compression="zstd",
            write_page_checksum=True,
            write_statistics=_STATISTICS,
        ) as writer:
            for entry in group:
                own = {}
                for task in entry.tasks:
                    start = part_folder(table, entry.run, task)
                    for path in (path for path in entry.parts if path.startswith(start)):
                        part = PartFile(folder, path, entry.parts[path])
                        for rows in _row_groups(part, table):
                            columns = [pa.repeat(text, len(rows)) for text in (entry.run, task, entry.key)]
                            columns += [rows[name] for name in schema.names[len(PLACES) :]]
                            made = pa.table(columns, schema=schema)
                            if table == "events":
                                writer.write_table(made)
                            else:
                                rest.append(made)
                        own[path] = StoredPart(entry.parts[path].rows, 0, 0, first)
                        first += entry.parts[path].rows
                places.append(own)
            if rest:
                writer.write_table(pa.concat_tables(rest), row_group_size=_ROW_GROUP)
        written = PackFile(file, unfinished.stat().st_size, footer_sum(unfinished))
    return [{path: part._replace(pack=written) for path, part in own.items()} for own in places], written


def _row_groups(part: PartFile, table: str) -> Iterator[pa.Table]:
    if table != "events":
        yield part.read()
        return
    for group in range(len(part.group_rows)):
        yield part.read_group(group, None, [])


def _write_slices(group: Sequence[Entry], folder: Path, table: str, file: str, intent: Intent) -> _Written:
    """Write the files of parts one after the other: only a timeline and `TraceDataset.trace` read them."""
    places: list[dict[str, StoredPart]] = []
    first = 0
    with whole(folder / file, intent.unfinished) as unfinished:
        with unfinished.open("wb") as target:
            for entry in group:
                own = {}
                for path in (path for path in entry.parts if path.startswith(f"{table}/")):
                    stored = entry.parts[path]
                    target.write(PartFile(folder, path, stored).content())
                    own[path] = stored._replace(first=first)
                    first += stored.size
                places.append(own)
        written = PackFile(file, unfinished.stat().st_size, 0)
    return [{path: part._replace(pack=written) for path, part in own.items()} for own in places], written
