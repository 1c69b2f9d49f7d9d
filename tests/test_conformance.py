"""Behaviour shared by Python and the front end: cases of tests/data/conformance, which js/model also runs."""

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from tests.large_traces import found_by, layout_of, range_statistics
from tfvis_nb import Trace, events
from tfvis_nb.analysis.events.bar_categories import categories
from tfvis_nb.analysis.events.row_packing import pack_rows
from tfvis_nb.core.format import (
    format_amount,
    format_bandwidth,
    format_bytes,
    format_duration,
    format_operations,
    format_percent,
    format_ratio,
)
from tfvis_nb.core.labels import device_location, lane_label, lane_name, matches_lane, task_label
from tfvis_nb.core.palette import CATEGORIES
from tfvis_nb.core.stacks import Frame, StackBuilder
from tfvis_nb.display.large.layout import Layout
from tfvis_nb.display.pictures.picture import APART, ticks
from tfvis_nb.writing.csv import rows_csv

FOLDER = Path(__file__).parent / "data" / "conformance"
ORIGIN = 1_700_000_000_000_000_000


def cases(name: str, part: str) -> list[Any]:
    found: list[Any] = json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))[part]
    return found


def made(file: str = "events") -> Trace:
    rows = cases(file, "events")
    texts = ("name", "op", "kind", "lane", "device", "tensor", "source", "destination", "detail")
    columns: dict[str, list[Any]] = {name: [row.get(name, "") for row in rows] for name in texts}
    columns["task"] = [row["device"].partition("/device:")[0] for row in rows]
    columns["start_ns"] = [ORIGIN + row["start"] for row in rows]
    columns["duration_ns"] = [row["duration"] for row in rows]
    columns["step"] = [row["step"] for row in rows]
    columns["bytes"] = [row.get("bytes") for row in rows]
    builder = StackBuilder()
    stacks = [builder.stack([Frame(*row["code"])]) if "code" in row else None for row in rows]
    nested = pa.table({"stack": pa.array(stacks, pa.int32())})
    return Trace(events.build(columns), nested=nested, stacks=builder.table())


@pytest.fixture(scope="module")
def layout() -> Layout:
    return layout_of(made())


FORMATS: dict[str, Callable[[Any], str]] = {
    "durations": format_duration,
    "bytes": format_bytes,
    "percents": format_percent,
    "rates": format_bandwidth,
    "operations": format_operations,
    "ratios": format_ratio,
    "counts": "{:,}".format,
    "amounts": lambda value: format_amount(math.nan if value[0] is None else value[0], value[1]),
}


@pytest.mark.parametrize("kind", FORMATS)
def test_numbers(kind: str) -> None:
    for value, text in cases("numbers", kind):
        assert FORMATS[kind](math.nan if value is None else value) == text, value


LABELS = {"tasks": task_label, "devices": device_location, "lanes": lane_name}


@pytest.mark.parametrize("kind", LABELS)
def test_names(kind: str) -> None:
    for name, label in cases("lanes", kind):
        assert LABELS[kind](name) == label, name


def test_lanes() -> None:
    for lane, label in cases("lanes", "labels"):
        assert lane_label(*lane) == label
    for lane, words, matches in cases("lanes", "matches"):
        assert matches_lane(lane, words.split()) is matches, words


def test_searches(layout: Layout) -> None:
    drawn = [CATEGORIES[number] for number in categories(layout.trace)]
    assert drawn == [event["category"] for event in cases("events", "events")]
    for text, ids in cases("events", "found"):
        assert found_by(layout, text)[0] == ids, text
    for text, total, busy, ids in cases("events", "longest"):
        _, found = found_by(layout, text)
        listed = [each["event"] for each in found["longest"]]
        assert (found["total"], found["busy"], listed) == (total, busy, ids), text


def test_ticks() -> None:
    assert cases("ticks", "apart") == [APART]
    for axis, expected in cases("ticks", "cases"):
        assert [list(tick) for tick in ticks(*axis)] == expected, axis


def test_rows() -> None:
    for bars, rows in cases("rows", "cases"):
        start, duration = np.array(bars, "i8").reshape(-1, 2).T
        assert pack_rows(start, duration, np.array([len(bars)])).tolist() == rows


@pytest.mark.parametrize("file", ["events", "many"])
def test_range_statistics(file: str) -> None:
    layout = layout_of(made(file))
    names = layout.lanes.table["lane"].tolist()
    for asked, expected in cases(file, "ranges"):
        lanes = asked["lanes"] and [place for place, name in enumerate(names) if name in asked["lanes"]]
        answer = range_statistics(layout, asked["start"], asked["end"], lanes, asked["step"], asked["by"])
        assert answer.pop("distinct") == len(answer["rows"])
        for row in answer["rows"]:
            row["category"] = CATEGORIES[row["category"]]
        assert answer == expected


def test_csv() -> None:
    assert rows_csv(made().events).encode() == (FOLDER / "events.csv").read_bytes()
