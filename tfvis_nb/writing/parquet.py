"""Write a `Trace` as a Parquet file; `tfvis_nb.reading.parquet` describes and reads the file."""

import base64
import json
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from tfvis_nb import events as event_table
from tfvis_nb.core import annotations, counters, metadata
from tfvis_nb.core.clock_bounds import to_json
from tfvis_nb.core.output_path import whole
from tfvis_nb.core.trace import Trace
from tfvis_nb.reading.parquet import KEY, NESTED, VERSION
from tfvis_nb.texts import notes_to_json

_NUMBERS = ("time_ns", "value")


def write_parquet(trace: Trace, path: Path) -> None:
    """Write `trace` as a Parquet file that `tfvis_nb.read_trace` turns back into an equal one."""
    import pyarrow.parquet as pq

    table = file_table(trace)
    with whole(path) as file:
        pq.write_table(table, file, compression="zstd")


def file_table(trace: Trace) -> pa.Table:
    """Return the content of such a file: event columns, nested columns, and metadata."""
    columns: dict[str, Any] = {}
    for name in event_table.COLUMNS:
        column = trace.events[name]
        if isinstance(column.dtype, pd.CategoricalDtype):
            codes = pa.array(column.cat.codes.to_numpy(), pa.int32(), mask=column.isna().to_numpy())
            categories = pa.array(column.cat.categories.tolist(), pa.string())
            columns[name] = pa.DictionaryArray.from_arrays(codes, categories)
        else:
            columns[name] = pa.array(column)
    if trace.nested is not None:
        columns |= {NESTED + name: trace.nested[name] for name in trace.nested.column_names}
    head = {
        "version": VERSION,
        "title": trace.title,
        **notes_to_json(trace.notes),
        "nested": trace.nested is not None,
        "categories": {
            name: trace.events[name].cat.categories.tolist()
            for name, dtype in event_table.COLUMNS.items()
            if dtype == "category"
        },
        "graphs": [[_packed(graph) for graph in step] for step in trace.graphs],
        "run_metadata": [_packed(step) for step in trace.run_metadata],
        "sources": [_packed(source) for source in trace.sources],
        "step_labels": list(trace.step_labels.items()),
        "clocks": to_json(trace.clock_bounds),
        "metadata": metadata.to_json(trace.metadata),
        "counters": _counters(trace.recorded_counters),
        "programs": {name: _packed(proto) for name, proto in trace.programs.items()},
        "annotations": annotations.to_json(trace.annotations),
        "stacks": None if trace.stacks is None else _packed(trace.stacks.to_json().encode()),
    }
    table = pa.table(columns)
    # The Arrow schema in the file restores dictionaries and integer widths.
    return table.replace_schema_metadata({**(table.schema.metadata or {}), KEY: json.dumps(head).encode()})


def _counters(table: pd.DataFrame) -> dict[str, Any] | None:
    """Return the packed columns of counters; texts are numbers into lists of their values."""
    if not len(table):
        return None
    texts = {name: table[name].cat.categories.tolist() for name in counters.SERIES}
    packed = {name: _packed(table[name].cat.codes.to_numpy(np.int32).tobytes()) for name in counters.SERIES}
    return {
        "texts": texts,
        **packed,
        **{name: _packed(table[name].to_numpy().tobytes()) for name in _NUMBERS},
    }


def _packed(data: bytes) -> str:
    return base64.b64encode(zlib.compress(data, 6)).decode("ascii")
