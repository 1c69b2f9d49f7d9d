"""The manifest of a dataset: JSON files of its sources, written after all their parts.

A source has an entry in a file of its own until its parts share files with those of others: then the entries
of all of these are in one file, a pack. A crash may leave both. The pack counts if both are of the same
version of the source; otherwise the source was read again, and the pack's rows of it are no longer used. Of
two packs the one of the later `Pack.generation` counts.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from tfvis_nb.core.labels import natural
from tfvis_nb.core.output_path import whole
from tfvis_nb.core.plain_files import delete_plain, is_plain, read_plain
from tfvis_nb.fleet.dataset.layout import DETAILS, MANIFEST, key_of, part_folder, unwritable
from tfvis_nb.fleet.dataset.own_files import FOLDERS, MOST_BYTES, PACK, SLICES, Intent, begin, check_parts
from tfvis_nb.fleet.dataset.stored_parts import PackFile, StoredPart
from tfvis_nb.fleet.dataset.tables import TABLES
from tfvis_nb.texts import Text

OK, PROBLEM = "ok", "problem"
VERSION = 4
"""The version of parts. Those before 3 have no ``work_ns``, those before 4 no ``activity`` of events."""
STEPS_APART = 2
"""The first version in which no bar of ``levels`` stands for events of several steps."""

MOST_PACK_BYTES = 1 << 28
_IS_PACK = re.compile(rf"[0-9a-f]{{20}}{re.escape(PACK)}")

DAMAGED = (ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError, OSError)
"""Errors from reading a damaged entry."""


@dataclass(frozen=True)
class Entry:
    """The record of a source in a dataset.

    - `source`: Its path or URL; `found_by` is the folder or pattern in which it was found.
    - `size`, `modified`: Its bytes, and the time of its last change from the file system.
    - `status`: `OK` or `PROBLEM`.
    - `problem`: Why it is not in the dataset: an id with figures, and words; empty if it is.
    - `again`: Whether the problem may disappear without a change of the file, such as a read error.
    - `gone`: Whether it no longer existed at the last ingest of its folder or pattern.
    - `run`, `tasks`, `steps`: Its `tfvis_nb.fleet.dataset.identity.Identity`.
    - `parts`: Each of its parts by path; `version` is their `VERSION`.
    """

    source: str
    found_by: str
    size: int
    modified: str
    status: str = OK
    problem: Mapping[str, Any] = field(default_factory=dict)
    again: bool = False
    gone: bool = False
    run: str = ""
    tasks: Mapping[str, str] = field(default_factory=dict)
    steps: tuple[int, ...] = ()
    parts: Mapping[str, StoredPart] = field(default_factory=dict)
    version: int = 1

    @property
    def key(self) -> str:
        """The base name of its files."""
        return key_of(self.source)

    @property
    def reason(self) -> Text:
        """The words of its problem, with their id."""
        return Text.stored(self.problem["words"], self.problem["id"], dict(self.problem["figures"]))

    def rows(self, table: str) -> int:
        """Return its number of rows in a table."""
        return sum(part.rows for path, part in self.parts.items() if path.startswith(f"{table}/"))

    @property
    def files(self) -> dict[str, int]:
        """The paths of the files with its parts, and their sizes."""
        return dict(part.file(path) for path, part in self.parts.items())

    @property
    def is_packed(self) -> bool:
        """Whether its parts share files with those of other sources."""
        return any(part.pack is not None for part in self.parts.values())

    def is_like(self, other: Entry | None) -> bool:
        """Return whether another entry is of the same version of the source."""
        return other is not None and all(getattr(self, name) == getattr(other, name) for name in _VERSIONED)

    def to_json(self) -> dict[str, Any]:
        """Return its fields for a file of the manifest."""
        figures = 4 if self.is_packed else 3
        return vars(self) | {"parts": {path: part[:figures] for path, part in self.parts.items()}}


_VERSIONED = ("source", "size", "modified", "status", "run", "tasks", "steps", "version")


class Pack(NamedTuple):
    """Sources whose parts share files: the name of the files, the age, and each file by its folder."""

    name: str
    generation: int
    files: Mapping[str, PackFile]
    entries: Sequence[Entry]

    @property
    def paths(self) -> list[str]:
        """The paths of its files in the dataset, without the manifest's."""
        return [file.path for file in self.files.values()]


class Manifest(NamedTuple):
    """The manifest: entries by source, files that are none, and all single entries and packs behind them."""

    entries: list[Entry]
    damaged: list[Path]
    singles: list[Entry]
    packs: list[Pack]

    @property
    def named(self) -> set[str]:
        """The paths of all files that it names."""
        files = {path for entry in self.singles for path in entry.parts}
        return files.union(*(pack.paths for pack in self.packs))


def problem_of(reason: str) -> dict[str, Any]:
    """Return a reason in the form stored in entries."""
    text = reason if isinstance(reason, Text) else Text.stored(reason, "", {})
    return {"words": str(text), "id": text.id, "figures": text.figures}


def write(entry: Entry, folder: Path, intent: Intent | None = None) -> None:
    """Write the entry of a source into a dataset, and delete the parts that only the entry before it names.

    `intent` names the parts that were written for it. OSError if the entry cannot be written.
    """
    path = folder / MANIFEST / f"{entry.key}.json"
    try:
        if os.path.lexists(path) and not is_plain(path):
            raise FileExistsError(Text("no_plain_file", name=path.name))
        intent = intent or begin(folder, entry.key, parts_now(folder, entry.key))
        with whole(path, intent.unfinished) as file:
            file.write_text(json.dumps(entry.to_json(), indent=1), encoding="utf-8")
        intent.end(kept=entry.parts)
    except OSError as error:
        raise unwritable(folder, error) from None


def remove(entry: Entry, folder: Path) -> None:
    """Remove the own parts of a source from a dataset, and then its own entry."""
    for part in entry.parts:
        delete_plain(folder, part)
    delete_plain(folder, f"{MANIFEST}/{entry.key}.json")


def write_pack(pack: Pack, folder: Path, intent: Intent | None = None) -> None:
    """Write the entries of a pack, whose files are there, or remove a pack without entries, and its files.

    OSError if it cannot be written.
    """
    path = folder / MANIFEST / f"{pack.name}{PACK}"
    document = {
        "generation": pack.generation,
        "files": {table: file[1:] for table, file in pack.files.items()},
        "sources": [entry.to_json() for entry in pack.entries],
    }
    try:
        intent = intent or begin(folder, pack.name, pack.paths)
        if pack.entries:
            with whole(path, intent.unfinished) as file:
                file.write_text(json.dumps(document, separators=(",", ":")), encoding="utf-8")
        else:
            delete_plain(folder, f"{MANIFEST}/{path.name}")
        intent.end(kept=pack.paths if pack.entries else ())
    except OSError as error:
        raise unwritable(folder, error) from None


def change(folder: Path, changed: Iterable[Entry], removed: Iterable[Entry] = ()) -> None:
    """Write entries whose parts stay as they are, and remove others with their parts."""
    new: dict[str, Entry | None] = {entry.key: entry for entry in changed}
    new |= {entry.key: None for entry in removed}
    if not new:
        return
    manifest = read(folder)
    for single in manifest.singles:
        entry = new.get(single.key)
        if single.key in new and entry is None:
            remove(single, folder)
        elif entry is not None and not entry.is_packed:
            write(entry, folder)
    for pack in manifest.packs:
        entries = [new.get(entry.key, entry) for entry in pack.entries]
        if any(one is not old for one, old in zip(entries, pack.entries, strict=True)):
            write_pack(pack._replace(entries=[entry for entry in entries if entry is not None]), folder)


def sweep(folder: Path) -> None:
    """Remove what an interrupted ingest left: entries that a pack replaces, and packs that others replace."""
    manifest = read(folder)
    packed = {entry.key: entry for entry in manifest.entries if entry.is_packed}
    for single in manifest.singles:
        if single.is_like(packed.get(single.key)):
            remove(single, folder)
    counting = {path for entry in packed.values() for path in entry.files}
    for pack in manifest.packs:
        if not counting.intersection(pack.paths):
            write_pack(pack._replace(entries=()), folder)
    for file in manifest.damaged:
        if _IS_PACK.fullmatch(file.name):
            files = {table: PackFile(path, 0, 0) for table, path in pack_paths(file.stem).items()}
            write_pack(Pack(file.stem, 0, files, ()), folder)


def parts_now(folder: Path, key: str) -> Iterable[str]:
    """Return the paths of the parts that the entry of a source names now."""
    entry = _read(folder / MANIFEST / f"{key}.json")
    return () if entry is None else entry.parts


def read(folder: Path) -> Manifest:
    """Return the manifest of a dataset, with entries ordered by source."""
    by_file = {file: _read(file) for file in sorted((folder / MANIFEST).glob("*.json"))}
    singles = [entry for entry in by_file.values() if entry is not None]
    by_pack = {file: _read_pack(file) for file in sorted((folder / MANIFEST).glob(f"*{PACK}"))}
    packs = [pack for pack in by_pack.values() if pack is not None]
    counting: dict[str, Entry] = {}
    for pack in sorted(packs, key=lambda pack: (pack.generation, pack.name)):
        counting |= {entry.key: entry for entry in pack.entries}
    counting |= {one.key: one for one in singles if not one.is_like(counting.get(one.key))}
    entries = sorted(counting.values(), key=lambda entry: (natural(entry.source), entry.source))
    damaged = [file for file, read in (by_file | by_pack).items() if read is None]
    return Manifest(entries, damaged, singles, packs)


def pack_paths(name: str) -> dict[str, str]:
    """Return the paths of the files of a pack by their folders."""
    return {table: f"{table}/{name}{'.parquet' if table in TABLES else SLICES}" for table in FOLDERS}


def _read_pack(file: Path) -> Pack | None:
    """Read a pack; None if it is damaged."""
    try:
        if not _IS_PACK.fullmatch(file.name):
            raise ValueError("no name of a pack")
        document = json.loads(read_plain(file, MOST_PACK_BYTES).decode())
        paths = pack_paths(file.stem)
        files = {table: PackFile(path, *map(int, document["files"][table])) for table, path in paths.items()}
        entries = [_entry(one, key_of(one["source"]), files) for one in document["sources"]]
        if not all(entry.status == OK for entry in entries):
            raise ValueError("a source that is not in the dataset")
        return Pack(file.stem, int(document["generation"]), files, entries)
    except DAMAGED:
        return None


def _read(file: Path) -> Entry | None:
    """Read an entry; None if it is missing, damaged or not an entry."""
    try:
        return _entry(json.loads(read_plain(file, MOST_BYTES).decode()), file.stem)
    except DAMAGED:
        return None


def _entry(document: Any, key: str, files: Mapping[str, PackFile] | None = None) -> Entry:
    """Check the values of an entry, which may be damaged; `files` are those of its pack."""
    entry = Entry(**document)
    texts = (entry.source, entry.found_by, entry.modified, entry.run, *entry.tasks, *entry.tasks.values())
    if not all(isinstance(text, str) for text in texts):
        raise TypeError("a name that is no text")
    if entry.key != key:
        raise ValueError("the entry of another source")
    if entry.status not in (OK, PROBLEM) or bool(entry.problem) != (entry.status == PROBLEM):
        raise ValueError("a status that there is not")
    if not all(type(number) is int for number in (entry.size, entry.version, *entry.steps)):
        raise TypeError("a number that is none")
    if not all(type(flag) is bool for flag in (entry.again, entry.gone)):
        raise TypeError("a flag that is none")
    check_parts(entry.parts, key)
    parts, written = {}, dict[str, Any](entry.parts)
    for path, figures in written.items():
        rows, size, footer = map(int, figures[:3])
        parts[path] = StoredPart(rows, size, footer)
        if files is not None:
            parts[path] = StoredPart(rows, size, footer, int(figures[3]), files[path.partition("/")[0]])
    folders = {path.rpartition("steps=")[0] for path in parts}
    if entry.status == OK and not {part_folder("events", entry.run, task) for task in entry.tasks} <= folders:
        raise ValueError("a task without events")
    if entry.status == OK and f"{DETAILS}/{key}.parquet" not in parts:
        raise ValueError("a source without details")
    if entry.problem:
        Text.stored(entry.problem["words"], entry.problem["id"], dict(entry.problem["figures"]))
    return Entry(**{**document, "steps": tuple(entry.steps), "parts": parts})


def settled(entries: Iterable[Entry]) -> Iterator[Entry]:
    """Yield the entries, with a problem if an earlier one has the same step of the same run and task.

    The earlier one is the one whose source comes first by name, so the result does not depend on the reading
    order.
    """
    taken: dict[tuple[str, str], dict[int, Entry]] = {}
    for entry in entries:
        other = next(
            (
                taken[entry.run, task][step]
                for task in (entry.tasks if entry.status == OK else ())
                for step in entry.steps
                if step in taken.get((entry.run, task), {})
            ),
            None,
        )
        if other is not None:
            yield Entry(
                **{
                    **vars(entry),
                    "status": PROBLEM,
                    "problem": problem_of(Text("step_of_other_source", other=other.source, run=entry.run)),
                    "again": True,
                    "parts": {},
                }
            )
            continue
        if entry.status == OK:
            for task in entry.tasks:
                taken.setdefault((entry.run, task), {}).update(dict.fromkeys(entry.steps, entry))
        yield entry
