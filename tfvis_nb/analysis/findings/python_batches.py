"""Batches that a program takes from an iterator written in Python, such as a PyDataset or a DataLoader."""

import re
from collections.abc import Collection
from typing import Any

import numpy as np

from tfvis_nb.analysis.findings.finding import of_task
from tfvis_nb.analysis.findings.rule import Figures
from tfvis_nb.analysis.source.python_samples import called_line, mostly_at, sampled_figures, sampled_line
from tfvis_nb.core.python_rows import NEXT_BATCH
from tfvis_nb.core.trace import Trace
from tfvis_nb.events import NO_STEP

_SOURCE = re.compile(rf"{NEXT_BATCH}\((?P<source>.+)\)")
_FACT = re.compile(r"\b(workers|ready)=(\d+)")

_TF_DATA = f"{NEXT_BATCH}(tf.data)"
"""Its stages have events of their own."""

_LATER = "do less for each batch, or do it once and keep the result"
_WAYS = {
    "PyDataset": "Make batches in parallel: give the PyDataset {workers}, with use_multiprocessing=True if it"
    " computes in Python",
    "DataLoader": "Make batches in parallel: give the DataLoader {workers} (num_workers)",
    "Grain": "Make batches in parallel: give Grain {workers} (worker_count, or mp_prefetch)",
}
_AHEAD = "Make batches ahead of the steps: on a thread of its own, or in other processes if Python computes"


def python_batches(
    trace: Trace, task: str | None, *, outside: bool = False, steps: Collection[int] | None = None
) -> dict[str, Any] | None:
    """Return the waits for the iterator that takes most time as a stage; None if there is none.

    Without a task those of all count, with `outside` also those outside steps, and with `steps` only theirs.
    The table has the keys of `slowest_stage`, the number of ``workers``, and ``unready``, how often no batch
    was ready, None if unknown. With workers the line of the thread that waits is not the cause.
    """
    events = trace.events
    here = (events["op"] == NEXT_BATCH).to_numpy(bool) & (events["name"] != _TF_DATA).to_numpy(bool)
    if steps is not None:
        here &= events["step"].isin(steps).to_numpy()
    elif not outside:
        here &= (events["step"] != NO_STEP).to_numpy()
    rows = np.flatnonzero(here if task is None else here & of_task(trace, task))
    if not len(rows):
        return None
    names, took = events["name"].iloc[rows].astype(object), events["duration_ns"].iloc[rows]
    name = str(took.groupby(names).sum().idxmax())
    rows = rows[(names == name).to_numpy()]
    facts = [dict(_FACT.findall(text)) for text in events["detail"].iloc[rows].astype(object).fillna("")]
    workers = max((int(one.get("workers", 0)) for one in facts), default=0)
    ready = [int(one["ready"]) for one in facts if "ready" in one]
    start, duration = (events[each].to_numpy(np.int64)[rows] for each in ("start_ns", "duration_ns"))
    sampled = called_line(trace, rows, task or "")
    if sampled is None and not workers:
        sampled = sampled_line(trace, start, start + duration, task or "")
    return {
        "op": name,
        "count": len(rows),
        "self_ns": int(duration.sum()),
        "ops_ns": 0,
        "at_once": 1.0,
        "line": None,
        "python": sampled_figures(sampled),
        "workers": workers,
        "unready": ready.count(0) if ready else None,
    }


def source_of(stage: Figures | None) -> str:
    """Return what batches are taken from; empty if it is no iterator of Python.

    >>> source_of({"op": "NextBatch(PyDataset)"}), source_of({"op": "ParallelMap"})
    ('PyDataset', '')
    """
    match = _SOURCE.fullmatch(stage["op"]) if stage else None
    return match["source"] if match else ""


def queue_sentence(stage: Figures) -> str:
    """State how many workers an iterator has, and how often no batch was ready."""
    if not stage.get("workers"):
        return ""
    count = f"{stage['workers']:,} workers" if stage["workers"] > 1 else "one worker"
    sentence = f" {source_of(stage)} has {count}"
    if stage.get("unready") is not None:
        sentence += f"; no batch was ready at {stage['unready']:,} of {stage['count']:,} calls"
    return f"{sentence}."


def faster_batches(stage: Figures | None) -> str:
    """Advise how to get batches from an iterator of Python sooner; `stage` is None if it is not recorded."""
    more = "more workers" if stage and stage.get("workers") else "workers"
    return f"{_WAYS.get(source_of(stage), _AHEAD).format(workers=more)}, {_LATER}."


def batches_line(stage: Figures | None) -> str:
    """Name the line that makes batches for a headline, if it surely takes most of the wait."""
    return mostly_at(stage["python"]) if stage and source_of(stage) else ""
