"""Datasets of traces: whole jobs as Parquet tables, written with Dask and readable by any program."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tfvis_nb.core.options import only_known_options
from tfvis_nb.fleet.dataset import remote_copy
from tfvis_nb.fleet.dataset.dataset import TraceDataset
from tfvis_nb.fleet.dataset.ingest import Ingested, prepare
from tfvis_nb.fleet.dataset.layout import FORMAT, key_of
from tfvis_nb.fleet.dataset.sources import each, is_pattern, public_name
from tfvis_nb.reading.sources.drivers import Remote
from tfvis_nb.reading.sources.remote import is_url

__all__ = ["Ingested", "TraceDataset", "open_traces"]


@only_known_options
def open_traces(
    source: str | Path,
    dataset: str | Path | None = None,
    client: Any = None,
    *,
    storage_options: Mapping[str, Any] | None = None,
    allow_http: bool = False,
) -> TraceDataset:
    """Open a dataset of traces: Parquet tables of the events and figures of any number of trace files.

    Parameters
    ----------
    source
        The folder of a dataset, which need not exist yet: `TraceDataset.ingest` fills it. Or the URL to which
        `TraceDataset.upload` has copied one. Or a folder, pattern or URL of traces, whose new and changed
        files are ingested immediately.
    dataset
        The dataset folder for the traces of `source`, or for the copy of an uploaded one; None for one in the
        user's cache folder, which later calls with the same source reuse.
    client
        A ``dask.distributed`` client for the ingest, as in `TraceDataset.ingest`.
    storage_options, allow_http
        As in `tfvis_nb.read_trace`, for URLs. They are not stored.

    Returns
    -------
    TraceDataset
        ``events`` is a Dask DataFrame; ``steps``, ``ops`` and others are pandas DataFrames. ``trace()`` reads
        a run, task or step as a `Trace`.

    Raises
    ------
    ValueError
        If a later version wrote the dataset, or `dataset` is a URL.
    OSError, TraceFormatError, ImportError
        Errors of `TraceDataset.ingest`, if traces are ingested.

    Examples
    --------
    >>> import tempfile
    >>> import tfvis_nb as tv
    >>> from tfvis_nb import events
    >>> table = events.build({"start_ns": [0, 9], "duration_ns": [5, 3], "kind": ["op"] * 2})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = tv.Trace(table).to_parquet(f"{folder}/run_a_step7.parquet")
    ...     dataset = tv.open_traces(f"{folder}/dataset")
    ...     done = dataset.ingest(f"{folder}/*.parquet")
    ...     steps, total = dataset.steps, int(dataset.events["duration_ns"].sum().compute())
    ...     again = dataset.trace(run="run_a", steps=7)
    >>> steps[["run", "step", "step_ns", "ops"]].values.tolist(), total, len(again.events)
    ([['run_a', 7, 12, 2]], 8, 2)
    """
    if dataset is None and _is_dataset(source):
        return TraceDataset(source)
    opened = TraceDataset(_cached(source) if dataset is None else dataset)
    if is_url(source):
        remote = Remote(storage_options or {}, allow_http)
        if remote_copy.is_dataset(str(source), remote):
            prepare(opened.path)
            remote_copy.download(opened.path, str(source), remote, is_copy=dataset is None)
            return TraceDataset(opened.path)
    opened.ingest(source, client, storage_options=storage_options, allow_http=allow_http)
    return opened


def _is_dataset(source: str | Path) -> bool:
    """Return whether a path is that of a dataset, or of a new one."""
    (path,) = each(source)
    if is_pattern(path):
        return False
    folder = Path(path)
    return not os.path.lexists(path) or (
        folder.is_dir() and ((folder / FORMAT).is_file() or not any(folder.iterdir()))
    )


def _cached(source: str | Path) -> Path:
    from platformdirs import user_cache_path

    (path,) = each(source)
    return user_cache_path("tfvis-nb", appauthor=False) / "datasets" / key_of(public_name(path))
