"""Read the counter lines of a plane, such as samples of a GPU, as the table of counters."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from tfvis_nb.core import counters
from tfvis_nb.events import LATEST_NS
from tfvis_nb.reading.xspace.epoch import EARLIEST_NS
from tfvis_nb.reading.xspace.events import Events

LINE = "_counters_"
"""The name of such a line. Its events are named after their counters and have the value as a stat."""


def counter_values(events: Events, device: str) -> tuple[pd.DataFrame, int]:
    """Return the counters in the events of such lines, and the number of events without a usable value."""
    stats = events.stats.values(events.plane.stats.texts)
    numbers = np.flatnonzero(stats.code < 0)
    owner, first = np.unique(stats.owner[numbers], return_index=True)
    stat = numbers[first]
    unsigned = stats.integer[stat].view(np.uint64).astype(np.float64)
    whole = np.where(stats.unsigned[stat], unsigned, stats.integer[stat])
    value = np.where(stats.real[stat] != 0, stats.real[stat], whole)
    usable = np.isfinite(value) & (np.abs(events.start[owner].astype(np.float64)) <= LATEST_NS)
    rows = owner[usable]
    plane = events.plane
    names = [shown or name for shown, name in zip(plane.shown, plane.events.texts, strict=True)]
    used, code = np.unique(events.meta[rows], return_inverse=True)
    called = [names[number] for number in used.tolist()]
    of_counter = {"counter": called, "unit": [counters.unit_of(name) for name in called]}
    table = counters.build(
        {
            "device": [device] * len(rows),
            **{name: pd.Categorical(np.array(texts, object)[code]) for name, texts in of_counter.items()},
            "time_ns": events.start[rows],
            "value": value[usable],
        }
    )
    return table, len(events) - len(rows)


def recorded_counters(tables: Sequence[pd.DataFrame], began: int) -> pd.DataFrame:
    """Concatenate tables of counters; times of a profile that started at `began` become epoch times."""
    table = counters.joined(tables)
    if not len(table) or int(table["time_ns"].min()) > EARLIEST_NS:
        return table
    return table.assign(time_ns=table["time_ns"] + began)
