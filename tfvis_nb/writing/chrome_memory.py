"""Counters of Chrome traces: allocated memory by allocator, from records of allocations and frees.

Allocators without records have the estimates of ``trace.memory``, under a name of their own.
"""

from typing import Any

import numpy as np

from tfvis_nb.analysis.memory.memory_usage import curve_numbers
from tfvis_nb.core.nested_lists import categories, exploded, numbers
from tfvis_nb.core.trace import Trace
from tfvis_nb.writing.chrome_rows import ChromeRows


def memory_counters(trace: Trace, rows: ChromeRows) -> list[dict[str, Any]]:
    """Make a counter for each device and allocator: the bytes allocated by its ops and not yet freed.

    Each step counts from 0, because memory allocated before a step is not in its records.
    """
    return _recorded(trace, rows) + _estimated(trace, rows)


def _recorded(trace: Trace, rows: ChromeRows) -> list[dict[str, Any]]:
    if trace.nested is None or "memory" not in trace.nested.column_names or not len(trace.events):
        return []
    event_of_use, uses = exploded(trace.nested["memory"].combine_chunks())
    use_of_record, flat = exploded(uses.field("records"))
    if not len(flat):
        return []
    allocators = categories(uses, "allocator")
    names = allocators.categories.tolist()
    allocator = allocators.codes[use_of_record]
    event = event_of_use[use_of_record]
    micros, size = (numbers(flat, name) for name in ("micros", "bytes"))
    step = trace.events["step"].to_numpy()[event]
    pid = rows.pid[event]
    # If buffers are freed and allocated in the same microsecond, frees come first, to avoid a false peak.
    order = np.lexsort((size, micros, step, allocator, pid))
    keys = np.stack([pid, allocator, step])[:, order]
    begins = np.concatenate([[True], (np.diff(keys) != 0).any(axis=0)])
    total = np.cumsum(size[order])
    before = np.concatenate([[0], total[:-1]])[begins]
    level = total - before[np.cumsum(begins) - 1]
    last_of_time = np.concatenate([begins[1:] | (np.diff(micros[order]) != 0), [True]])
    return [
        _counter(f"{names[which]} allocated", process, time, bytes_)
        for process, which, time, bytes_ in zip(
            keys[0][last_of_time].tolist(),
            keys[1][last_of_time].tolist(),
            micros[order][last_of_time].tolist(),
            level[last_of_time].tolist(),
            strict=True,
        )
    ]


def _estimated(trace: Trace, rows: ChromeRows) -> list[dict[str, Any]]:
    """Make the counters of allocators without records, in the process of the first op that used each."""
    curve, buffers = trace.memory, trace.lifetimes
    curve, buffers = curve[curve["estimated"]], buffers[buffers["estimated"] & (buffers["event"] >= 0)]
    numbers, first = np.unique(curve_numbers(buffers), return_index=True)
    process = dict(zip(numbers.tolist(), rows.pid[buffers["event"].to_numpy()[first]].tolist(), strict=True))
    table = curve.assign(curve=curve_numbers(curve))
    return [
        _counter(f"{allocator} estimated", process[number], time // 1000, bytes_)
        for number, allocator, time, bytes_ in table[["curve", "allocator", "time_ns", "bytes"]].itertuples(
            index=False, name=None
        )
        if number in process
    ]


def _counter(name: str, process: int, micros: int, bytes_: int) -> dict[str, Any]:
    return {
        "ph": "C",
        "cat": "memory",
        "name": name,
        "pid": process,
        "tid": 0,
        "ts": micros,
        "args": {"bytes": bytes_},
    }
