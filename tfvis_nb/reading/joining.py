"""Several traces -> one, their steps numbered one after the other."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from tfvis_nb import events as event_table
from tfvis_nb._trace import Trace


def joined(traces: Sequence[Trace], title: str) -> Trace:
    """Lay traces behind one another: the steps of each are numbered on from those of the one before.

    Examples
    --------
    >>> from tfvis_nb import Trace, events
    >>> from tfvis_nb.reading.joining import joined
    >>> one = Trace(events.build({"start_ns": [5], "duration_ns": [1], "kind": ["op"]}))
    >>> joined([one, one], "both").events["step"].tolist()
    [0, 1]
    """
    import pyarrow as pa

    if len(traces) == 1:
        (one,) = traces
        return Trace(
            one.events,
            nested=one.nested,
            graphs=one.graphs,
            notes=one.notes,
            sources=one.sources,
            title=title,
        )
    counts = [
        len(trace.graphs) or int(trace.events["step"].max()) + 1 if len(trace.events) else 0
        for trace in traces
    ]
    firsts = np.concatenate([[0], np.cumsum(counts)])
    columns = {name: _column(name, traces, firsts) for name in event_table.COLUMNS}
    table, before = event_table.order(event_table.build(columns))
    nested = None
    if all(trace.nested is not None for trace in traces):
        nested = (
            pa.concat_tables([trace.nested for trace in traces])
            .unify_dictionaries()
            .combine_chunks()
            .take(before)
        )
    graphs = [step for trace, count in zip(traces, counts, strict=True) for step in _steps(trace, count)]
    return Trace(
        table,
        nested=nested,
        graphs=graphs if any(graphs) else (),
        notes=list(dict.fromkeys(note for trace in traces for note in trace.notes)),
        sources=[source for trace in traces for source in trace.sources],
        title=title,
    )


def _steps(trace: Trace, count: int) -> list[list[bytes]]:
    return trace.graphs or [[] for _ in range(count)]


def _column(name: str, traces: Sequence[Trace], firsts: np.ndarray) -> pd.Series | pd.Categorical:
    columns = [trace.events[name] for trace in traces]
    if name == "step":
        columns = [column + int(first) for column, first in zip(columns, firsts, strict=False)]
    if event_table.COLUMNS[name] == "category":
        return pd.api.types.union_categoricals(columns)
    return pd.concat(columns, ignore_index=True)
