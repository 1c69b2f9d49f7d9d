"""Datasets of traces: whole jobs as Parquet tables, made by Dask and read by anything."""

from __future__ import annotations

from pathlib import Path

from tfvis_nb.dataset.dataset import TraceDataset
from tfvis_nb.dataset.ingest import Ingested

__all__ = ["Ingested", "TraceDataset", "open_traces"]


def open_traces(path: str | Path) -> TraceDataset:
    """Open a dataset of traces: Parquet tables of the events and figures of any number of trace files.

    Parameters
    ----------
    path
        The folder of a dataset; a new or empty one becomes a dataset by its first `TraceDataset.ingest`.

    Returns
    -------
    TraceDataset
        Its ``events`` are a Dask DataFrame, ``steps``, ``ops`` and the like pandas ones, and ``trace()``
        reads a run, task or step back as a `Trace`.

    Raises
    ------
    ValueError
        If the dataset was written by a later version.

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
    return TraceDataset(path)
