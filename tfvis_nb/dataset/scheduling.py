"""The tasks of an ingest: one for each source, on Dask's local scheduler or on a cluster."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from concurrent.futures import BrokenExecutor
from pathlib import Path
from typing import Any

from tfvis_nb.dataset import manifest
from tfvis_nb.dataset.parts import Reading, failed, ingest_source
from tfvis_nb.dataset.sources import Source
from tfvis_nb.texts import Text


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
        left = [source for source in sources if source.url not in done]
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
