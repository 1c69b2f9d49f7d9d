"""The manifest of a dataset: a small JSON file for each source, written after all its parts."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from tfvis_nb.core.labels import natural
from tfvis_nb.core.output_path import whole
from tfvis_nb.dataset.layout import MANIFEST, key_of, part_folder
from tfvis_nb.texts import Text

OK, PROBLEM = "ok", "problem"

DAMAGED = (ValueError, TypeError, KeyError, AttributeError, RecursionError, OSError)
"""What reading a damaged entry raises."""


@dataclass(frozen=True)
class Entry:
    """What a dataset knows of a source.

    - `source`: Its path or URL; `found_by` the folder or pattern that it was found with.
    - `size`, `modified`: Bytes, and when it was changed last, as its file system says it.
    - `status`: `OK` or `PROBLEM`.
    - `problem`: Why it is not in the dataset: an id with figures, and words; empty if it is.
    - `again`: Whether a problem may be gone although the file is the same, as one of reading it.
    - `gone`: Whether it was no longer there when its folder or pattern was ingested last.
    - `run`, `tasks`, `steps`: Its `tfvis_nb.dataset.identity.Identity`.
    - `parts`: The path of each of its parts to rows and bytes.
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
    parts: Mapping[str, tuple[int, int]] = field(default_factory=dict)

    @property
    def key(self) -> str:
        """What its files are called."""
        return key_of(self.source)

    @property
    def reason(self) -> Text:
        """The words of its problem, with their id."""
        return Text.stored(self.problem["words"], self.problem["id"], dict(self.problem["figures"]))

    def rows(self, table: str) -> int:
        """Return how many rows of a table it has."""
        return sum(rows for path, (rows, _) in self.parts.items() if path.startswith(f"{table}/"))


def problem_of(reason: str) -> dict[str, Any]:
    """Return a reason as an entry keeps it."""
    text = reason if isinstance(reason, Text) else Text.stored(reason, "", {})
    return {"words": str(text), "id": text.id, "figures": text.figures}


def write(entry: Entry, folder: Path) -> None:
    """Write the entry of a source into a dataset."""
    with whole(_path(entry, folder)) as file:
        file.write_text(json.dumps(asdict(entry), indent=1), encoding="utf-8")


def remove(entry: Entry, folder: Path) -> None:
    """Remove the entry of a source from a dataset."""
    _path(entry, folder).unlink()


def _path(entry: Entry, folder: Path) -> Path:
    return folder / MANIFEST / f"{entry.key}.json"


def read(folder: Path) -> tuple[list[Entry], list[Path]]:
    """Return the entries of a dataset, in the order of their sources, and the files that are none."""
    entries, damaged = [], []
    for file in sorted((folder / MANIFEST).glob("*.json")):
        try:
            entry = _entry(json.loads(file.read_text(encoding="utf-8")), file.stem)
        except DAMAGED:
            damaged.append(file)
        else:
            entries.append(entry)
    return sorted(entries, key=lambda entry: (natural(entry.source), entry.source)), damaged


def _entry(found: Any, key: str) -> Entry:
    """Check the values of an entry, which may be damaged."""
    entry = Entry(**found)
    texts = (entry.source, entry.found_by, entry.modified, entry.run, *entry.tasks, *entry.tasks.values())
    if not all(isinstance(text, str) for text in (*texts, *entry.parts)):
        raise TypeError("a name that is no text")
    if entry.key != key:
        raise ValueError("the entry of another source")
    if entry.status not in (OK, PROBLEM) or bool(entry.problem) != (entry.status == PROBLEM):
        raise ValueError("a status that there is not")
    if not all(type(number) is int for number in (entry.size, *entry.steps)):
        raise TypeError("a number that is none")
    if not all(type(flag) is bool for flag in (entry.again, entry.gone)):
        raise TypeError("a flag that is none")
    parts = {path: (int(rows), int(size)) for path, (rows, size) in entry.parts.items()}
    # Nothing but what `layout.part_path` makes: a damaged entry must not lead out of the dataset.
    if any(".." in path.split("/") or path.startswith("/") or "\\" in path or "\0" in path for path in parts):
        raise ValueError("a part outside the dataset")
    folders = {path.rpartition("steps=")[0] for path in parts}
    if entry.status == OK and not {part_folder("events", entry.run, task) for task in entry.tasks} <= folders:
        raise ValueError("a task without events")
    if entry.problem:
        Text.stored(entry.problem["words"], entry.problem["id"], dict(entry.problem["figures"]))
    return Entry(**{**found, "steps": tuple(entry.steps), "parts": parts})


def settled(entries: Iterable[Entry]) -> Iterator[Entry]:
    """Yield the entries, with a problem where an earlier one has the same step of the same run and task.

    The earlier one is that whose source comes first in the order of names: the result does not depend
    on the order in which sources were read.
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
