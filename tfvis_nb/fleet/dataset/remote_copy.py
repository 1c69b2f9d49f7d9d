"""Copies of a finished dataset at a URL: written by an upload, and read by way of a local folder.

Each file is copied whole. Files of the manifest go last, so that whoever reads a copy meanwhile finds the
files of all sources that it names. Only files that a manifest names are ever deleted.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path, PurePosixPath
from typing import Any

from tfvis_nb.core.output_path import whole
from tfvis_nb.core.plain_files import delete_plain
from tfvis_nb.fleet.dataset import manifest
from tfvis_nb.fleet.dataset.layout import FORMAT, MANIFEST
from tfvis_nb.fleet.dataset.manifest import Manifest
from tfvis_nb.fleet.dataset.own_files import PACK, check_free
from tfvis_nb.reading.sources.drivers import Opened, Remote, opened
from tfvis_nb.reading.sources.public_urls import public_url
from tfvis_nb.reading.sources.remote import driver_errors
from tfvis_nb.reading.sources.unpacking import Budget
from tfvis_nb.texts import Text


def is_dataset(url: str, remote: Remote) -> bool:
    """Return whether there is a dataset at a URL; OSError if its storage cannot be reached."""
    with driver_errors(url, remote):
        place = opened(url, remote, Budget())
        # A web server may answer to a query whatever its path is.
        if any(letter in place.path for letter in "*?["):
            return False
        return bool(place.system.exists(f"{place.path.rstrip('/')}/{FORMAT}"))


def upload(folder: Path, url: str, remote: Remote) -> int:
    """Copy a dataset to a URL; return the number of files that were copied.

    OSError if the storage cannot be written.
    """
    with driver_errors(url, remote), tempfile.TemporaryDirectory() as before:
        place = opened(url, remote, Budget())
        old = _fetch_manifest(place, Path(before))
        new = manifest.read(folder)
        there = _sizes(place)
        parts = _changed(new, old, there)
        names = [*parts, *_manifest_files(new), FORMAT]
        for name in names:
            place.system.makedirs(_at(place, name).rpartition("/")[0], exist_ok=True)
            place.system.put_file(str(folder / name), _at(place, name))
        _delete(
            {*_sized(old), *_manifest_files(old)} - {*_sized(new), *names},
            lambda name: place.system.rm_file(_at(place, name)) if name in there else None,
        )
        return len(names)


def download(folder: Path, url: str, remote: Remote, *, is_copy: bool) -> None:
    """Make a folder the copy of the dataset at a URL, without copying files again that it has.

    ValueError if the folder is a dataset of other sources, unless it is known to be an earlier copy.
    """
    with driver_errors(url, remote), tempfile.TemporaryDirectory() as after:
        place = opened(url, remote, Budget())
        new, old = _fetch_manifest(place, Path(after)), manifest.read(folder)
        if not is_copy and {entry.key for entry in old.entries} - {entry.key for entry in new.entries}:
            raise ValueError(Text("copy_over_dataset", path=str(folder), url=public_url(url)))
        here = {name: path.stat().st_size for name in _sized(old) if (path := folder / name).is_file()}
        for name in _changed(new, old, here):
            check_free(folder, name, old.named)
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            place.system.get_file(_at(place, name), str(folder / name))
        names = {*_manifest_files(new), FORMAT}
        gone = {*_sized(old), *_manifest_files(old)} - {*_sized(new), *names}
        (folder / MANIFEST).mkdir(parents=True, exist_ok=True)
        for name in names:
            with whole(folder / name) as file:
                shutil.copyfile(Path(after, name), file)
        _delete(gone, lambda name: delete_plain(folder, name))


def _fetch_manifest(place: Opened, folder: Path) -> Manifest:
    (folder / MANIFEST).mkdir()
    for name in [FORMAT, *_sizes(place)]:
        is_entry = PurePosixPath(name).parent.as_posix() == MANIFEST and name.endswith((".json", PACK))
        if (is_entry or name == FORMAT) and place.system.exists(_at(place, name)):
            place.system.get_file(_at(place, name), str(folder / name))
    return manifest.read(folder)


def _sizes(place: Opened) -> dict[str, int]:
    """Return the files at the place of a dataset, and their sizes."""
    root = place.path.rstrip("/") + "/"
    place.system.invalidate_cache()
    files = place.system.find(root, detail=True) if place.system.exists(root.rstrip("/")) else {}
    return {name.removeprefix(root): int(about["size"] or 0) for name, about in files.items()}


def _at(place: Opened, name: str) -> str:
    return f"{place.path.rstrip('/')}/{name}"


def _sized(read: Manifest) -> dict[str, Any]:
    """Return each file that a manifest names, and what is known of it."""
    known: dict[str, Any] = {}
    for entry in [*read.singles, *(entry for pack in read.packs for entry in pack.entries)]:
        known |= {part.file(path)[0]: part.pack or part for path, part in entry.parts.items()}
    return known


def _changed(new: Manifest, old: Manifest, there: dict[str, int]) -> list[str]:
    """Return the files of a manifest that are not there, as they are in it."""
    known, before = _sized(new), _sized(old)
    return sorted(
        name for name, file in known.items() if there.get(name) != file.size or before.get(name) != file
    )


def _manifest_files(read: Manifest) -> list[str]:
    singles = [f"{MANIFEST}/{entry.key}.json" for entry in read.singles]
    return sorted(singles + [f"{MANIFEST}/{pack.name}{PACK}" for pack in read.packs])


def _delete(names: Iterable[str], delete: Callable[[str], object]) -> None:
    for name in sorted(names):
        delete(name)
