"""Move traces in time, together with the allocation records nested in events."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tfvis_nb.core import metadata
from tfvis_nb.core.nested_lists import as_lists, exploded, numbers
from tfvis_nb.core.trace import Trace, replaced
from tfvis_nb.events import TIMES


def moved_later(trace: Trace, by_ns: int) -> Trace:
    """Return a trace with all times moved later by `by_ns`.

    >>> from tfvis_nb import Trace, events
    >>> trace = Trace(events.build({"start_ns": [5], "duration_ns": [3], "kind": ["op"]}))
    >>> moved_later(trace, 100).events["start_ns"].tolist()
    [105]
    """
    table, counters = trace.events, trace.recorded_counters
    return replaced(
        trace,
        table.assign(**{name: table[name] + by_ns for name in TIMES}),
        nested=records_moved(trace.nested, np.full(len(table), -by_ns)),
        metadata=metadata.moved(trace.metadata, by_ns),
        recorded_counters=counters.assign(time_ns=counters["time_ns"] + by_ns),
    )


def records_moved(nested: pa.Table | None, back_ns: np.ndarray) -> pa.Table | None:
    """Return nested columns with allocation records moved earlier by `back_ns` (int64, one value per event).

    Records are rounded down to whole microseconds, and are rounded down again.
    """
    if nested is None or "memory" not in nested.column_names or not np.any(back_ns):
        return nested
    memory = nested["memory"].combine_chunks()
    events, uses = exploded(memory)
    if not len(uses) or uses.type.get_field_index("records") < 0:
        return nested
    lists = pc.struct_field(uses, "records")
    owners, records = exploded(lists)
    micros = numbers(records, "micros") - -(-back_ns[events[owners]] // 1000)
    moved = _with_field(records, "micros", pa.array(micros))
    uses = _with_field(uses, "records", as_lists(lists, moved))
    index = nested.column_names.index("memory")
    return nested.set_column(index, "memory", as_lists(memory, uses))


def _with_field(structs: pa.StructArray, name: str, values: pa.Array) -> pa.StructArray:
    names = [field.name for field in structs.type]
    columns = [values if field == name else pc.struct_field(structs, field) for field in names]
    return pa.StructArray.from_arrays(columns, names)
