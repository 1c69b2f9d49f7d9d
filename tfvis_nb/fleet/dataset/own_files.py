"""The files of a dataset that are its own: those that an entry or an intent names.

An intent is a file in ``manifest/`` that is written before the files it names, and deleted when an entry
names those that stay. So a killed ingest leaves no file that is not named, and files that users or other
programs put into these folders are never taken for parts.
"""

from __future__ import annotations

import json
import os
import re
import uuid
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from tfvis_nb.core.output_path import UNFINISHED
from tfvis_nb.core.plain_files import delete_plain, is_folder, is_plain, read_plain
from tfvis_nb.fleet.dataset.layout import DETAILS, MANIFEST
from tfvis_nb.fleet.dataset.levels import FOLDER
from tfvis_nb.fleet.dataset.tables import TABLES
from tfvis_nb.texts import Text

FOLDERS = (*TABLES, FOLDER, DETAILS)
"""The folders of parts."""

MOST_BYTES = 1 << 26
"""The largest entry or intent that is read."""

PACK = ".pack"
"""The suffix of the entries of sources that share files, in one file."""
SLICES = ".parts"
"""The suffix of files that hold Parquet files, one after the other."""

_NAME = re.compile(r"([0-9a-f]{20})-([0-9a-f]{32})\.intent")
_START = '{"parts": ['
_PARQUET = b"PAR1"


class Intent(NamedTuple):
    """The files that a write of the source `key` may create or replace in a dataset, for `end` to delete.

    Files that are not complete are named after its `token`.
    """

    folder: Path
    key: str
    token: str
    parts: tuple[str, ...]

    @property
    def unfinished(self) -> str:
        """The name of files that are not complete."""
        return f"{UNFINISHED}{self.token}"

    @property
    def file(self) -> str:
        """The path of the intent in the dataset."""
        return f"{MANIFEST}/{self.key}-{self.token}.intent"

    @property
    def names(self) -> set[str]:
        """The paths, in the dataset, of all files that it names, including itself."""
        folders = {MANIFEST, *(path.rpartition("/")[0] for path in self.parts)}
        return {*self.parts, self.file, *(f"{folder}/{self.unfinished}" for folder in folders)}

    def end(self, kept: Collection[str]) -> None:
        """Delete the files it names except `kept`, and then the intent."""
        for name in self.names - {*kept, self.file}:
            delete_plain(self.folder, name)
        delete_plain(self.folder, self.file)


def begin(folder: Path, key: str, parts: Iterable[str]) -> Intent:
    """Write an intent; OSError if that is not possible."""
    intent = Intent(folder, key, uuid.uuid4().hex, tuple(parts))
    file = os.open(folder / intent.file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
    with os.fdopen(file, "w", encoding="utf-8") as opened:
        opened.write(json.dumps({"parts": list(intent.parts)}))
    return intent


def intents(folder: Path) -> Iterator[Intent]:
    """Yield the intents in a dataset; one that is cut short names nothing, because nothing was written."""
    for file in sorted((folder / MANIFEST).glob("*.intent")):
        name = _NAME.fullmatch(file.name)
        try:
            text = read_plain(file, MOST_BYTES).decode() if name else None
        except (OSError, UnicodeDecodeError):
            continue
        if name is None or text is None:
            continue
        key, token = name.groups()
        try:
            parts = json.loads(text)["parts"]
            check_parts(parts, key)
        except (ValueError, KeyError, TypeError, RecursionError):
            if not (text.startswith(_START) or _START.startswith(text)):
                continue
            parts = ()
        yield Intent(folder, key, token, tuple(parts))


def check_parts(parts: Any, key: str) -> None:
    """Raise TypeError or ValueError unless these are paths that `layout.part_path` makes for a source.

    A damaged entry or intent must not name a file outside the dataset, or one that is not a part.
    """
    if not isinstance(parts, (list, Mapping)) or not all(isinstance(path, str) for path in parts):
        raise TypeError("a part that is no path")
    for path in parts:
        between = path.split("/")[:-1]
        if any(name in ("", ".", "..") or "\\" in name or "\0" in name for name in between):
            raise ValueError("a part outside the dataset")
        if not between or not path.endswith((f"/{key}.parquet", f"/{key}{SLICES}")):
            raise ValueError("a part of another source")


def check_folders(folder: Path) -> None:
    """Raise NotADirectoryError if a link or a file is in the place of one of a dataset's folders."""
    for name in (MANIFEST, *FOLDERS):
        path = folder / name
        if os.path.lexists(path) and not is_folder(path):
            raise NotADirectoryError(Text("dataset_folder_in_the_way", path=str(path)))


def check_free(folder: Path, part: str, own: Collection[str]) -> None:
    """Raise an OSError if something else is in the place of a part, or of a folder on the way to it.

    Parts that an interrupted ingest of an earlier version left are named nowhere; they are Parquet files.
    """
    for parent in [*Path(part).parents][-2::-1]:
        path = folder / parent
        if os.path.lexists(path) and not is_folder(path):
            raise NotADirectoryError(Text("dataset_folder_in_the_way", path=str(path)))
    path = folder / part
    if not os.path.lexists(path) or (is_plain(path) and (part in own or _is_parquet(path))):
        return
    raise FileExistsError(Text("dataset_part_in_the_way", path=str(path)))


def others(folder: Path, own: Collection[str]) -> list[Path]:
    """Return the files and links in a dataset's folders that are not its own, in order.

    Files in ``manifest/`` named like entries are left out: `manifest.read` reports them.
    """
    named = {*own}.union(*(intent.names for intent in intents(folder)))
    foreign = []
    for name in (MANIFEST, *FOLDERS):
        if os.path.lexists(folder / name) and not is_folder(folder / name):
            foreign.append(folder / name)
            continue
        for parent, folders, files in os.walk(folder / name):
            links = [each for each in folders if not is_folder(Path(parent, each))]
            foreign += [Path(parent, each) for each in (*files, *links)]
    return sorted(
        path
        for path in foreign
        if not (is_plain(path) and path.relative_to(folder).as_posix() in named)
        and not (path.parent == folder / MANIFEST and path.suffix in (".json", PACK))
    )


def _is_parquet(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(len(_PARQUET)) == _PARQUET
