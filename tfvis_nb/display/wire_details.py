"""The second byte string the front end gets: what the details panel shows of an event.

``js/model/details.ts`` reads it, after the first picture is drawn.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from tfvis_nb._trace import Trace
from tfvis_nb.display.container import Column, pack
from tfvis_nb.display.data_types import DATA_TYPES
from tfvis_nb.display.nested import NestedRows, nested_rows, shape_texts
from tfvis_nb.display.texts import number_texts
from tfvis_nb.display.wire import VERSION, origin_ns

EDGE_KINDS = ("data", "control", "transfer", "launch")

_NONE = 65535


def details(trace: Trace) -> bytes:
    """Write what the timeline's details panel shows of a trace.

    Parameters
    ----------
    trace
        Any trace, also one without events, nested records or edges.

    Returns
    -------
    bytes
        A compressed container (see `tfvis_nb.display.container`).

    Examples
    --------
    >>> from tfvis_nb import events
    >>> from tfvis_nb._trace import Trace
    >>> from tfvis_nb.display.wire_details import details
    >>> table = events.build({"start_ns": [1000], "duration_ns": [20], "name": ["a"], "kind": ["op"]})
    >>> details(Trace(table))[:2].hex()
    '1f8b'
    """
    events = trace.events
    origin = origin_ns(events)
    columns: dict[str, Column] = {}
    for name in ("scheduled", "compute_start", "compute_end"):
        columns[name] = _optional(events[f"{name}_ns"], origin)
    columns["bytes"] = _optional(events["bytes"])
    if events["thread"].notna().any():
        columns["thread"] = _optional(events["thread"])
    devices, columns["source"], columns["destination"] = _devices(events)
    columns |= _edges(trace)

    outputs = nested_rows(trace, "outputs")
    allocators, memory = _memory(trace)
    shapes = shape_texts(outputs.fields["shape"]) if "shape" in outputs.fields else outputs.texts("shape")
    (tensor, detail, shape), strings = number_texts([events["tensor"], events["detail"], shapes])
    columns["tensor"] = Column(tensor, "delta-shuffle")
    columns["detail"] = Column(detail, "delta-shuffle")
    columns |= _outputs(outputs) | {"output_shape": Column(shape)} | memory | strings
    header = {
        "version": VERSION,
        "count": len(events),
        "devices": devices,
        "allocators": allocators,
        "dtypes": {str(number): name for number, name in DATA_TYPES.items()},
    }
    return pack(header, columns)


def _optional(values: pd.Series, origin: int = 0) -> Column:
    """Store nanoseconds from `origin`, bytes or numbers, NaN where there are none."""
    known = values.notna().to_numpy()
    # Epoch nanoseconds do not fit a float, so the origin is taken off while they are whole numbers.
    whole = values.to_numpy("i8", na_value=origin) - origin
    return Column(np.where(known, whole.astype("f8"), np.nan))


def _devices(events: pd.DataFrame) -> tuple[list[str], Column, Column]:
    texts = [events[name].cat for name in ("source", "destination")]
    devices = sorted({str(value) for text in texts for value in text.categories} - {""})
    if len(devices) >= _NONE:
        raise ValueError(f"{len(devices)} devices; a timeline can show {_NONE - 1}")
    place = {device: position for position, device in enumerate(devices)}
    columns = []
    for text in texts:
        numbers = np.array([place.get(str(value), _NONE) for value in text.categories] + [_NONE], "u2")
        columns.append(Column(numbers[text.codes.to_numpy()]))
    return devices, columns[0], columns[1]


def _edges(trace: Trace) -> dict[str, Column]:
    """Store each event's incoming edges: those of event i are rows edge_offsets[i] to edge_offsets[i + 1]."""
    edges = trace.edges
    source, target = (edges[name].to_numpy("i8") for name in ("source", "target"))
    kinds = np.array([EDGE_KINDS.index(kind) for kind in edges["kind"].cat.categories], "u1")
    order = np.lexsort((source, target))
    counts = np.bincount(target, minlength=len(trace.events))
    offsets = np.concatenate([[0], np.cumsum(counts)]).astype("u4")
    return {
        "edge_offsets": Column(offsets, "delta-shuffle"),
        "edge_source": Column(source[order].astype("u4"), "delta-shuffle"),
        "edge_kind": Column(kinds[edges["kind"].cat.codes.to_numpy()[order]]),
    }


def _outputs(rows: NestedRows) -> dict[str, Column]:
    return {
        "output_offsets": Column(rows.offsets, "delta-shuffle"),
        "output_slot": Column(_narrow(rows.whole("slot"))),
        "output_dtype": Column(_narrow(rows.whole("dtype"))),
        "output_bytes": Column(rows.whole("requested_bytes").astype("f8")),
    }


def _memory(trace: Trace) -> tuple[list[str], dict[str, Column]]:
    rows = nested_rows(trace, "memory")
    names = rows.texts("allocator").dictionary_encode()
    columns = {
        "memory_offsets": Column(rows.offsets, "delta-shuffle"),
        "memory_allocator": Column(names.indices.to_numpy(zero_copy_only=False).astype("u2")),
    }
    for stored in ("total", "peak", "live"):
        columns[f"memory_{stored}"] = Column(rows.whole(f"{stored}_bytes").astype("f8"))
    for name in ("temp_bytes", "persistent_bytes"):
        if trace.nested is not None and name in trace.nested.column_names:
            values = trace.nested[name].to_pandas().to_numpy("f8", na_value=np.nan)
            if not np.isnan(values).all():
                columns[name] = Column(values)
    return names.dictionary.to_pylist(), columns


def _narrow(numbers: np.ndarray) -> np.ndarray:
    """Store small numbers in as few bytes as the largest needs."""
    largest = int(numbers.max()) if len(numbers) else 0
    return numbers.astype("u1" if largest < 2**8 else "u2" if largest < 2**16 else "u4")
