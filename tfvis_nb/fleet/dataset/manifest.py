"""The manifest of a dataset: a small JSON file for each source, written after all its parts."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from tfvis_nb.core.labels import natural
from tfvis_nb.core.output_path import whole
from tfvis_nb.core.plain_files import delete_plain, is_plain, read_plain
from tfvis_nb.fleet.dataset.layout import DETAILS, MANIFEST, key_of, part_folder, unwritable
from tfvis_nb.fleet.dataset.own_files import MOST_BYTES, Intent, begin, check_parts
from tfvis_nb.fleet.dataset.stored_parts import StoredPart
from tfvis_nb.texts import Text

OK, PROBLEM = "ok", "problem"
VERSION = 4
"""The version of parts. Those before 3 have no ``work_ns``, those before 4 no ``activity`` of events."""
STEPS_APART = 2
"""The first version in which no bar of ``levels`` stands for events of several steps."""

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
        return sum(rows for path, (rows, *_) in self.parts.items() if path.startswith(f"{table}/"))


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
            file.write_text(json.dumps(asdict(entry), indent=1), encoding="utf-8")
        intent.end(kept=entry.parts)
    except OSError as error:
        raise unwritable(folder, error) from None


def remove(entry: Entry, folder: Path) -> None:
    """Remove the parts of a source from a dataset, and then its entry."""
    for part in entry.parts:
        delete_plain(folder, part)
    delete_plain(folder, f"{MANIFEST}/{entry.key}.json")


def parts_now(folder: Path, key: str) -> Iterable[str]:
    """Return the paths of the parts that the entry of a source names now."""
    entry = _read(folder / MANIFEST / f"{key}.json")
    return () if entry is None else entry.parts


def read(folder: Path) -> tuple[list[Entry], list[Path]]:
    """Return the entries of a dataset, ordered by source, and the files that are not entries."""
    by_file = {file: _read(file) for file in sorted((folder / MANIFEST).glob("*.json"))}
    entries = [entry for entry in by_file.values() if entry is not None]
    damaged = [file for file, entry in by_file.items() if entry is None]
    return sorted(entries, key=lambda entry: (natural(entry.source), entry.source)), damaged


def _read(file: Path) -> Entry | None:
    """Read an entry; None if it is missing, damaged or not an entry."""
    try:
        return _entry(json.loads(read_plain(file, MOST_BYTES).decode()), file.stem)
    except DAMAGED:
        return None


def _entry(document: Any, key: str) -> Entry:
    """Check the values of an entry, which may be damaged."""
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
    parts = {path: StoredPart(*map(int, figures)) for path, figures in entry.parts.items()}
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
