"""Generated traces for merging, and a slow reader of their wire format."""

from typing import Any

import numpy as np
import pandas as pd

from tests.support.clauses import clauses
from tests.wire_reader import read_container, signed
from tfvis_nb import Trace, events
from tfvis_nb.analysis.events.lane_order import order_lanes
from tfvis_nb.display.large.layout import Layout, lay_out
from tfvis_nb.display.large.level_of_detail import Entries
from tfvis_nb.display.large.trace_store import TraceStore
from tfvis_nb.display.store.answers import Answers


def made_up(count: int, lanes: int, seed: int, longest: int = 3000) -> Trace:
    """Events of very different lengths that overlap within their lanes, some without length."""
    random = np.random.default_rng(seed)
    duration = np.where(
        random.random(count) < 0.95, random.integers(0, 40, count), random.integers(0, longest, count)
    )
    lane = random.integers(0, lanes, count)
    table = events.build(
        {
            "start_ns": 1_700_000_000_000_000_000 + random.integers(0, 40 * count, count),
            "duration_ns": duration,
            "name": [f"scope_{number % 7}/op_{number % 31}" for number in range(count)],
            "op": [f"Op{number % 5}" for number in range(count)],
            "kind": np.where(lane == 0, "kernel", "op"),
            "lane": [f"stream:{number}" for number in lane],
            "step": random.integers(0, 3, count),
            "detail": ["x = Op(y)"] * count,
        }
    )
    return Trace(events.order(table)[0], title="made up")


def layout_of(trace: Trace) -> Layout:
    return lay_out(trace, order_lanes(trace.events))


def answers_of(layout: Layout) -> Answers[Entries]:
    return Answers(TraceStore(layout))


def range_statistics(
    layout: Layout, start: float, end: float, lanes: list[int] | None, step: int | None, by: str
) -> dict[str, Any]:
    """The answer about a range, without counters."""
    question = {"kind": "statistics", "start": start, "end": end, "lanes": lanes, "step": step, "by": by}
    answer, _ = answers_of(layout).answer(question)
    del answer["counters"]
    return answer


def found_by(layout: Layout, text: str) -> tuple[list[int], dict[str, Any]]:
    """The events that a search finds, and the answer about them."""
    answer, (ids, _) = answers_of(layout).answer({"kind": "search", "clauses": clauses(text), "step": None})
    return np.frombuffer(ids, "u4").tolist(), answer


def decoded(data: bytes) -> tuple[dict[str, Any], pd.DataFrame]:
    """The header and the entries of a container, as the front end decodes them."""
    header, columns = read_container(data)
    slots = header["slots"]
    gaps = signed(header, columns, "gap")
    rows = []
    at = 0
    for lane, row, entries, first, unit in zip(
        *(slots[key] for key in ("lane", "row", "entries", "first", "unit")), strict=True
    ):
        reached = 0
        for entry in range(at, at + entries):
            begin = reached + gaps[entry]
            reached = begin + int(columns["extent"][entry])
            rows.append((lane, row, first + begin * unit, first + reached * unit))
        at += entries
    table = pd.DataFrame(rows, columns=["lane", "row", "start", "end"])
    assert len(table) == header["count"]
    exact = header["exact"]
    extent = (table["end"] - table["start"]).tolist()
    table["busy"] = extent if exact else [int(value) for value in columns["busy"]]
    table["count"] = 1 if exact else columns["count"]
    table["event"] = columns["event"]
    table["begin"] = table["start"] + (0 if exact else np.array(columns["after"], "i8"))
    table["duration"] = extent if exact else [int(value) for value in columns["duration"]]
    for name in ("op", "category", "step", "wait", "tail", "changed", "lit"):
        if name in columns:
            table[name] = columns[name]
    return header, table
