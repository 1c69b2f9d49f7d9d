"""Find the sources of a dataset in paths, folders, patterns and URLs: each file with its size and names."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

from tfvis_nb.fleet.dataset.identity import Named, named
from tfvis_nb.fleet.dataset.layout import FORMAT, brief_name, key_of
from tfvis_nb.reading.sources.drivers import Remote
from tfvis_nb.reading.sources.files import find
from tfvis_nb.reading.sources.public_urls import public_url
from tfvis_nb.reading.sources.remote import is_url, listed
from tfvis_nb.texts import Text


class Source(NamedTuple):
    """A file to ingest: location, pattern that found it, size and time, and the names in its path.

    `url` may have secrets, which is why a cluster's logs and the dataset only get `name`.
    """

    url: str
    found_by: str
    size: int
    modified: str
    names: Named

    @property
    def name(self) -> str:
        """The location without secrets, by which the dataset knows the source."""
        return public_name(self.url)

    @property
    def key(self) -> str:
        """The base name of its files."""
        return key_of(self.name)

    def __repr__(self) -> str:
        return f"Source({self.name!r})"


def each(sources: Any) -> list[str]:
    """Return sources as a list of absolute paths and URLs.

    Raises
    ------
    TypeError
        If one is neither a path nor a URL.
    """
    if isinstance(sources, (str, os.PathLike)):
        sources = [sources]
    sequence = (
        [*sources]
        if isinstance(sources, Iterable) and not isinstance(sources, (bytes, Mapping))
        else [sources]
    )
    for one in sequence:
        if (
            not isinstance(one, (str, os.PathLike))
            or not isinstance(os.fspath(one), str)
            or not os.fspath(one)
        ):
            raise TypeError(Text("source_of_dataset", type=type(one).__name__ if one else "nothing"))
    texts = [os.fspath(one) for one in sequence]
    return [one if is_url(one) else os.path.abspath(Path(one).expanduser()) for one in texts]  # noqa: PTH100


def public_name(source: str) -> str:
    """Return a path, or a URL without its secrets."""
    return public_url(source) if is_url(source) else source


def find_sources(given: str, remote: Remote, run: str | None) -> Iterator[Source]:
    """Yield the files of a path, folder, pattern or URL; `run` is their run unless None.

    All profiles of a log folder are included, not only the newest.

    Raises
    ------
    OSError
        If it does not exist or cannot be listed.
    TraceFormatError
        If it is a folder without traces.
    """
    given_run = None if run is None else brief_name(run)
    for url, size, modified, parts, root in _remote(given, remote) if is_url(given) else _local(Path(given)):
        names = named(parts, root)
        if given_run is not None:
            names = names._replace(run=given_run, folders=given_run)
        yield Source(url, public_name(given), size, modified, names)


def is_pattern(source: str) -> bool:
    """Return whether a source is a URL or a pattern instead of a plain path."""
    return is_url(source) or (any(letter in source for letter in "*?[") and not os.path.lexists(source))


def brief_source(source: str) -> str:
    """Return a source without the folders that lead to it.

    >>> brief_source("/mnt/jobs/logs/**/*.pb"), brief_source("s3://bucket/logs"), brief_source("/logs/a.pb")
    ('logs/**/*.pb', 'logs', 'a.pb')
    """
    parts = [part for part in public_name(source).rpartition("://")[2].split("/") if part]
    wild = (at for at, part in enumerate(parts) if any(letter in part for letter in "*?["))
    return "/".join(parts[max(next(wild, len(parts)) - 1, 0) :])


_File = tuple[str, int, str, tuple[str, ...], int]


def _local(path: Path) -> Iterator[_File]:
    listing = find(path, every=True)
    files = [path] if listing is None else listing.files
    root = _fixed(path.parts) if listing is not None and not path.is_dir() else path.parts
    if listing is None:
        root = path.parts[:-1]
    for file in files:
        try:
            about = file.stat()
        except OSError:
            if listing is None:
                raise
            # Reading it reports the reason.
            yield str(file), 0, "", file.parts[1:], len(root) - 1
            continue
        yield str(file), about.st_size, str(about.st_mtime_ns), file.parts[1:], len(root) - 1


def _remote(url: str, remote: Remote) -> Iterator[_File]:
    listing = listed(url, remote)
    path = PurePosixPath(listing.path).parts
    root = _fixed(path) if listing.is_pattern else path if listing.several else path[:-1]
    if any(PurePosixPath(file.path).parts[len(root) :] == (FORMAT,) for file in listing.files):
        raise ValueError(Text("dataset_at_url", url=public_url(url), traces="s3://bucket/logs"))
    for file in listing.files:
        parts = PurePosixPath(public_url(file.path)).parts
        yield file.url, file.size, file.modified, parts, min(len(root), len(parts) - 1)


def _fixed(parts: tuple[str, ...]) -> tuple[str, ...]:
    """Return the parts of a pattern before the first wildcard."""
    free = next(at for at, part in enumerate(parts) if any(letter in part for letter in "*?["))
    return parts[:free]
