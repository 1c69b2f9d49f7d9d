"""Facts about a trace other than its events, such as its devices: a small table per subject.

To add a subject, add an entry to `SUBJECTS`: Parquet files, merged traces and parts of traces keep all
subjects.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

import pandas as pd

from tfvis_nb import events as event_table

Metadata = dict[str, pd.DataFrame]

DEVICES, PROFILES = "devices", "profiles"
OUT_OF_MEMORY, LIVE_AT_FAILURE = "out_of_memory", "live_at_failure"
TRACING_COST = "tracing_cost"
RUNS = "runs"
PREDICTION, PREDICTED_STEPS = "prediction", "predicted_steps"
UNDIVIDED = "undivided"
PYTHON_SAMPLES, THREAD_SAMPLES, GC_PAUSES = "python_samples", "thread_samples", "gc_pauses"
RETURNS = "session_returns"
DEVICE_MEMORY = "device_memory"
_SAMPLE = {
    "task": event_table.TEXT,
    "time_ns": "Int64",
    "file": event_table.TEXT,
    "line": "Int64",
    "function": event_table.TEXT,
}

SUBJECTS: dict[str, dict[str, Any]] = {
    DEVICES: {
        "task": event_table.TEXT,
        "device": event_table.TEXT,
        "vendor": event_table.TEXT,
        "model": event_table.TEXT,
        "compute_capability": event_table.TEXT,
        "cores": "Int64",
        "clock_hz": "Int64",
        "memory_bytes": "Int64",
        "memory_bandwidth": "Int64",
        "peak_flops": "Int64",
    },
    PROFILES: {
        "task": event_table.TEXT,
        "host_tracer_level": "Int64",
        "device_tracer_level": "Int64",
        "python_tracer_level": "Int64",
    },
    OUT_OF_MEMORY: {
        "time_ns": "Int64",
        "node": event_table.TEXT,
        "op": event_table.TEXT,
        "shape": event_table.TEXT,
        "dtype": event_table.TEXT,
        "device": event_table.TEXT,
        "allocator": event_table.TEXT,
        "requested_bytes": "Int64",
        "in_use_bytes": "Int64",
        "available_bytes": "Int64",
        "largest_free_bytes": "Int64",
        "file": event_table.TEXT,
        "line": "Int64",
        "function": event_table.TEXT,
        "text": event_table.TEXT,
    },
    LIVE_AT_FAILURE: {
        "node": event_table.TEXT,
        "op": event_table.TEXT,
        "file": event_table.TEXT,
        "line": "Int64",
        "device": event_table.TEXT,
        "allocator": event_table.TEXT,
        "address": "Int64",
        "bytes": "Int64",
        "requested_bytes": "Int64",
        "sharding": event_table.TEXT,
    },
    PREDICTION: {
        "subject": event_table.TEXT,
        "name": event_table.TEXT,
        "factor": "Float64",
        "how": event_table.TEXT,
    },
    PREDICTED_STEPS: {
        "step": "Int64",
        "recorded_ns": "Int64",
        "replayed_ns": "Int64",
        "predicted_ns": "Int64",
    },
    UNDIVIDED: {"recordings": "Int64"},
    PYTHON_SAMPLES: _SAMPLE,
    THREAD_SAMPLES: _SAMPLE | {"called": "Int64", "running": "Int64"},
    GC_PAUSES: {
        "task": event_table.TEXT,
        "time_ns": "Int64",
        "duration_ns": "Int64",
        "generation": "Int64",
    },
    RETURNS: {"task": event_table.TEXT, "time_ns": "Int64"},
    DEVICE_MEMORY: {
        "device": event_table.TEXT,
        "kind": event_table.TEXT,
        "stack": event_table.TEXT,
        "buffers": "Int64",
        "bytes": "Int64",
    },
    TRACING_COST: {
        "is_traced": "Int64",
        "run": "Int64",
        "step": "Int64",
        "duration_ns": "Int64",
        "runs": "Int64",
    },
    RUNS: {
        "code": event_table.TEXT,
        "time_ns": "Int64",
        "step_ns": "Int64",
        "loop_ns": "Int64",
    },
}
"""The columns of each subject; any value may be missing.

A device has its name in the source, such as ``/device:GPU:0``, bandwidth in bytes and peak in floating-point
operations a second; ``task`` is empty if the profile does not show it. A profile has the tracer levels of its
``ProfilerOptions``. A failed allocation that ended the recording has the requested size, the op and line that
requested it, and the sums of the allocator's blocks if known; otherwise, for an op on a CPU,
``available_bytes`` is the free memory of the machine. The buffers allocated at that time are the allocator's
blocks, with addresses, or those in TensorFlow's error, or the variables and eager tensors that the program
held; of JAX, the arrays that the program held, and those that XLA's error lists of the failed program. A
trace of predicted times has one row for each assumed change, and the times of the steps as recorded, as
replayed without a change, and as predicted. Recordings that nothing divides into steps are counted as
undivided. A sample of Python has the innermost line of the user's own code in the thread that recorded; no
line if none of the user's code ran, or if the line is unknown. All samples stand for the same time. A sample
of other threads has the line that one of them ran: ``called`` if TensorFlow or JAX called Python on it,
``running`` if it needed the interpreter, not in a call that may release the interpreter's lock. A pause of
Python's garbage collector has its start and generation; short ones are left out. A traced run of a session
returns to Python later than its last event, because it collects its trace. A device memory profile of JAX has
the buffers by device, kind and the lines of the user's code that made them, outermost first, one in a line of
``stack``. A trace of a cell has the runs of the same code that its history holds, including this one: a
digest of the code, their ends, and the times of their typical steps and loops.
"""

CODE = (PYTHON_SAMPLES, THREAD_SAMPLES, DEVICE_MEMORY)
"""Subjects that only describe code; traces without code lack them."""

DAMAGED = (AttributeError, KeyError, TypeError, ValueError, OverflowError)
"""Errors that `from_json` raises for anything but a result of `to_json`."""

MOST_ROWS = 100_000
"""No program has so many devices, functions or layers; a table with more rows is hostile."""


def table_of(subject: str, rows: Iterable[Mapping[str, Any]]) -> pd.DataFrame:
    """Make the table of a subject; values missing in a row are NA.

    Raises
    ------
    KeyError, TypeError, ValueError, OverflowError
        If there is no such subject, or a value does not have its column's type.

    >>> table_of("devices", [{"device": "/device:GPU:0", "cores": 132}])[["device", "cores"]]
              device  cores
    0  /device:GPU:0    132
    """
    listed = list(rows)
    if len(listed) > MOST_ROWS:
        raise ValueError(f"{len(listed):,} rows of {subject}")
    return pd.DataFrame(
        {
            name: pd.array([_checked(row.get(name), dtype) for row in listed], dtype=dtype)
            for name, dtype in SUBJECTS[subject].items()
        }
    )


def _checked(value: Any, dtype: Any) -> Any:
    if value is None or value is pd.NA:
        return pd.NA
    if not isinstance(value, str if dtype == event_table.TEXT else (int, float)):
        raise TypeError(f"{value!r} is not of type {dtype}")
    return value


def joined(all_of_them: Iterable[Metadata]) -> Metadata:
    """Merge the metadata of several traces, without repeated rows.

    All must be undivided for the result to be, and have runs for it to have any.
    """
    tables_of: dict[str, list[pd.DataFrame]] = {}
    listed = list(all_of_them)
    for one in listed:
        for subject, table in one.items():
            tables_of.setdefault(subject, []).append(table)
    for subject in (UNDIVIDED, RUNS):
        if len(tables_of.get(subject, ())) < len(listed):
            tables_of.pop(subject, None)
    whole = {
        subject: pd.concat(tables, ignore_index=True).drop_duplicates(ignore_index=True)
        for subject, tables in tables_of.items()
    }
    # Only samples of many recordings are more; every n-th row stands for all.
    return {
        subject: table.iloc[:: len(table) // MOST_ROWS + 1].reset_index(drop=True)
        for subject, table in whole.items()
    }


def moved(metadata: Metadata, by_ns: int) -> Metadata:
    """Return metadata with all times moved later by `by_ns`."""
    return {
        subject: table.assign(time_ns=table["time_ns"] + by_ns) if "time_ns" in table else table
        for subject, table in metadata.items()
    }


def portable(metadata: Metadata) -> Metadata:
    """Return the metadata that Chrome traces keep: a prediction, and whether nothing marks steps."""
    return {
        subject: metadata[subject]
        for subject in (PREDICTION, PREDICTED_STEPS, UNDIVIDED)
        if subject in metadata
    }


def to_json(metadata: Metadata) -> dict[str, list[dict[str, Any]]]:
    """Write metadata as JSON values."""
    return {
        subject: json.loads(table.to_json(orient="records", double_precision=15))
        for subject, table in metadata.items()
    }


def from_json(values: Any) -> Metadata:
    """Read the result of `to_json`; subjects of later versions are ignored.

    Raises
    ------
    Exception
        One of `DAMAGED` if it is anything else.
    """
    return {subject: table_of(subject, values[subject]) for subject in SUBJECTS if subject in values}
