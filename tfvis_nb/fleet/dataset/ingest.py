"""Ingest sources into a dataset with Dask: one task per file; finished work is not repeated."""

from __future__ import annotations

import contextlib
import json
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import BrokenExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from tfvis_nb.core.errors import TraceFormatError
from tfvis_nb.core.folder_lock import try_lock
from tfvis_nb.core.output_path import UNFINISHED, whole
from tfvis_nb.core.plain_files import is_plain, read_plain
from tfvis_nb.fleet.dataset import manifest
from tfvis_nb.fleet.dataset.compaction import CONTENT, PACKED_VERSION, compact
from tfvis_nb.fleet.dataset.layout import FORMAT, MANIFEST, key_of, unwritable
from tfvis_nb.fleet.dataset.manifest import OK, Entry, settled
from tfvis_nb.fleet.dataset.own_files import check_folders, intents
from tfvis_nb.fleet.dataset.parts import Reading, failed, ingest_source
from tfvis_nb.fleet.dataset.sources import Source, each, find_sources, public_name
from tfvis_nb.reading.sources.drivers import Remote
from tfvis_nb.texts import Text

_MOST_BYTES = 1 << 12
ROUND = 1 << 12
"""How many sources are read before they share files: each of them has nine until then."""


class Ingested(NamedTuple):
    """The result of an ingest.

    - `read`: Sources that were read and are now in the dataset.
    - `unchanged`: Sources that were not read because they have not changed.
    - `problems`: Sources that are not in the dataset; `TraceDataset.problems` has the reasons.
    - `gone`: Sources of earlier ingests that no longer exist.
    """

    read: int
    unchanged: int
    problems: int
    gone: int


def ingest(
    folder: Path, sources: Any, client: Any, run: str | None, reading: Reading, progress: bool | None
) -> Ingested:
    """Read the new and changed files of `sources` into the dataset in `folder`."""
    given = each(sources)
    _check(folder)
    # Sources that are not there must not leave an empty dataset behind.
    first = None if (folder / FORMAT).is_file() else _found(given, {}, reading, run)
    prepare(folder)
    with _locked(folder):
        known = {entry.key: entry for entry in _swept(folder)}
        listed = _found(given, known, reading, run) if first is None else first
        here = {source.key: source for source in listed}
        # Earlier versions stored queries of URLs.
        old = [
            entry for key, entry in known.items() if key_of(public_name(entry.source)) in here.keys() - {key}
        ]
        manifest.change(folder, (), [known.pop(entry.key) for entry in old])
        new = [source for key, source in here.items() if not _is_current(known.get(key), source, known, run)]
        names = {*map(public_name, given)}
        lost = [entry for key, entry in known.items() if entry.found_by in names and key not in here]
        read_again = {source.key for source in new}
        back = [known[key] for key in here.keys() & known.keys() - read_again if known[key].gone]
        gone = [entry for entry in lost if entry.status == OK and not entry.gone]
        changed = [replace(entry, gone=not entry.gone) for entry in (*gone, *back)]
        manifest.change(folder, changed, [entry for entry in lost if entry.status != OK])
        with _bar(len(new), progress) as advance:
            for start in range(0, len(new) or 1, ROUND):
                run_all(new[start : start + ROUND], folder, client, reading, advance)
                entries = _settle(folder)
                compact(folder, client if client is not None else _ambient())
    done = [entry for entry in entries if entry.key in here]
    fresh = {source.key for source in new}
    return Ingested(
        read=sum(entry.status == OK and entry.key in fresh for entry in done),
        unchanged=sum(entry.status == OK and entry.key not in fresh for entry in done),
        problems=sum(entry.status != OK for entry in done),
        gone=len(lost),
    )


def prepare(folder: Path) -> None:
    """Initialise a folder as a dataset, unless it already is one.

    FileExistsError if it contains other files, another OSError if it cannot be written, ValueError if it is
    a dataset of another version.
    """
    _check(folder)
    check_folders(folder)
    file = folder / FORMAT
    try:
        if not file.is_file():
            folder.mkdir(parents=True, exist_ok=True)
            with whole(file) as new:
                new.write_text(CONTENT, encoding="utf-8")
        (folder / MANIFEST).mkdir(exist_ok=True)
        # A dataset may belong to somebody else.
        tempfile.TemporaryFile(dir=folder / MANIFEST).close()
    except OSError as error:
        raise unwritable(folder, error) from None
    check_version(folder)


def _check(folder: Path) -> None:
    if (folder / FORMAT).is_file():
        check_version(folder)
    elif folder.is_dir():
        # Another process may be working on it, or was interrupted.
        begun = (is_plain(one) and one.name.startswith((UNFINISHED, FORMAT)) for one in folder.iterdir())
        if not all(begun):
            raise FileExistsError(Text("dataset_not_one", path=str(folder)))
    else:
        there = next(one for one in (folder, *folder.parents) if one.exists())
        if not there.is_dir():
            raise NotADirectoryError(Text("dataset_is_file", path=str(there)))


def check_version(folder: Path) -> None:
    """Raise ValueError unless this version can read a dataset."""
    try:
        version = json.loads(read_plain((folder / FORMAT).resolve(), _MOST_BYTES))["version"]
    except (ValueError, KeyError, TypeError, RecursionError):
        version = None
    if type(version) is not int:
        raise ValueError(Text("dataset_damaged", path=str(folder / FORMAT), content=CONTENT))
    if not 1 <= version <= PACKED_VERSION:
        raise ValueError(Text("dataset_version", path=str(folder), version=version, known=PACKED_VERSION))


def _found(given: Sequence[str], known: dict[str, Entry], reading: Reading, run: str | None) -> list[Source]:
    """Return the files of all sources, each once; a source with earlier files may have none now."""
    remote = Remote(reading.storage_options or {}, reading.allow_http)
    before = {entry.found_by for entry in known.values()}
    by_name: dict[str, Source] = {}
    for one in given:
        try:
            for source in find_sources(one, remote, run):
                if by_name.setdefault(source.key, source).url != source.url:
                    raise ValueError(Text("links_to_one_source", source=source.name))
        except (FileNotFoundError, TraceFormatError):
            if public_name(one) not in before:
                raise
    return list(by_name.values())


def _is_current(entry: Entry | None, source: Source, known: dict[str, Entry], run: str | None) -> bool:
    """Return whether a source need not be read."""
    if entry is None or (entry.size, entry.modified) != (source.size, source.modified):
        return False
    if entry.status == OK:
        return entry.version == manifest.VERSION and (run is None or entry.run == source.names.run)
    if not entry.again:
        return True
    # The source whose step it repeats may have changed or been renamed since.
    other = known.get(key_of(str(entry.problem["figures"].get("other", ""))))
    return (
        entry.problem["id"] == "step_of_other_source" and other is not None and other.run == source.names.run
    )


def _swept(folder: Path) -> list[Entry]:
    """Return the entries whose parts all exist; remove the others, and what interrupted ingests left."""
    manifest.sweep(folder)
    entries = manifest.read(folder).entries
    sizes = {path: size for entry in entries for path, size in entry.files.items()}
    wrong = {path for path, size in sizes.items() if _size(folder / path) != size}
    lacking = [entry for entry in entries if not wrong.isdisjoint(entry.files)]
    manifest.change(folder, (), lacking)
    kept = [entry for entry in entries if wrong.isdisjoint(entry.files)]
    _end_all(folder)
    return kept


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return -1


def _end_all(folder: Path) -> None:
    """End the intents that no running ingest has, except for the files that the manifest names."""
    parts = manifest.read(folder).named
    for intent in [*intents(folder)]:
        intent.end(parts)


def _settle(folder: Path) -> list[Entry]:
    """Drop the sources that repeat steps of others, and what failed attempts left."""
    before = manifest.read(folder).entries
    after = list(settled(before))
    for old, new in zip(before, after, strict=True):
        if new is not old:
            manifest.write(new, folder)
    _end_all(folder)
    return after


@contextlib.contextmanager
def _bar(count: int, progress: bool | None) -> Iterator[Callable[[], Any]]:
    """Show the number of finished sources, by default only to a person."""
    from tqdm import tqdm

    hidden = None if progress is None else not progress
    with tqdm(
        total=count, desc="ingesting", unit="trace", leave=False, disable=hidden if count else True
    ) as bar:
        yield bar.update


@contextlib.contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Lock a dataset against other ingests; BlockingIOError if one is running."""
    with (folder / FORMAT).open("rb") as file:
        if try_lock(file.fileno()) is False:
            raise BlockingIOError(Text("dataset_busy", path=str(folder)))
        yield


def run_all(
    sources: Sequence[Source], folder: Path, client: Any, reading: Reading, advance: Callable[[], Any]
) -> None:
    """Ingest sources; a source whose worker dies repeatedly gets an entry with that problem.

    `advance` is called after each.
    """
    client = _ambient() if client is None else client
    if client is None:
        _local(sources, folder, reading, advance)
    else:
        _distributed(sources, folder, client, reading, advance)


def _ambient() -> Any:
    """Return the program's current Dask client."""
    if "distributed" not in sys.modules:
        return None
    from distributed import default_client

    try:
        return default_client()
    except ValueError:
        return None


def _local(sources: Sequence[Source], folder: Path, reading: Reading, advance: Callable[[], Any]) -> None:
    """Use the configured Dask scheduler: threads, unless the user chose another."""
    if not sources:
        return
    import dask
    from dask.callbacks import Callback

    done: set[str] = set()

    def finished(_key: Any, entry: manifest.Entry, *_: Any) -> None:
        done.add(entry.source)
        advance()

    one = dask.delayed(ingest_source, pure=False)
    try:
        with Callback(posttask=finished):
            dask.compute(*(one(source, str(folder), reading) for source in sources), traverse=False)
    except BrokenExecutor as error:
        # A process of the scheduler died, and Dask does not report which source it worked on.
        left = [source for source in sources if source.name not in done]
        if len(left) == 1:
            manifest.write(failed(left[0], Text("worker_lost", reason=str(error)), again=True), folder)
            advance()
            return
        middle = len(left) // 2
        for half in (left[:middle], left[middle:]):
            _local(half, folder, reading, advance)


def _distributed(
    sources: Sequence[Source], folder: Path, client: Any, reading: Reading, advance: Callable[[], Any]
) -> None:
    from distributed import as_completed

    futures = client.map(ingest_source, sources, folder=str(folder), reading=reading, pure=False)
    of_future = {future.key: source for future, source in zip(futures, sources, strict=True)}
    for future in as_completed(futures):
        if future.status != "finished":
            reason = Text("worker_lost", reason=str(future.exception()))
            manifest.write(failed(of_future[future.key], reason, again=True), folder)
        advance()
