"""Searches a trace as the search field of the front end does, in ``js/model/search/``."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tfvis_nb.analysis.critical_path.critical_path import path_events
from tfvis_nb.display.large.layout import Layout
from tfvis_nb.display.wire.categories import CATEGORIES

_FIELDS = ("name", "op", "lane", "kind", "is")
_UNITS = {"ns": 1, "us": 1e3, "µs": 1e3, "μs": 1e3, "ms": 1e6, "s": 1e9, "m": 60e9}
_BOUND = re.compile(r"([<>])(=?)(\d+(?:\.\d*)?|\.\d+)(ns|us|µs|μs|ms|s|m)")
_TASK = re.compile(r"^/job:([^/]+)(?:/replica:(\d+))?/task:(\d+)")
_CATEGORY_WORDS = {"h2d": "copy h2d", "d2h": "copy d2h", "d2d": "copy d2d", "transfer": "receive"}


@dataclass(frozen=True)
class Found:
    """What a search found."""

    events: np.ndarray  # Event ids in order
    # How many of the events before each place of the layout were found, one longer than the places
    hits: np.ndarray


def find(layout: Layout, text: str, step: int | None) -> Found:
    """Find the events, of one step or of all, that match all words of `text`.

    Words are parted by spaces; ``op:MatMul``, ``name:``, ``lane:`` or ``kind:`` look in one column, ``>5ms``
    is a bound, ``is:critical`` matches what is on the critical path of its step.
    """
    mask = np.full(len(layout.event), bool(text.split()), "?")
    events = layout.trace.events
    if step is not None:
        mask &= events["step"].to_numpy() == step
    for word in text.lower().split():
        bound = _BOUND.fullmatch(word)
        if bound:
            mask &= _lasts(events["duration_ns"].to_numpy(), bound)
            continue
        field, colon, rest = word.partition(":")
        if colon and field in _FIELDS:
            if rest:
                mask &= _holds(layout, field, rest)
        else:
            mask &= _holds(layout, "any", word)
    if not _says_something(text):
        mask[:] = False
    hits = np.zeros(len(mask) + 1, "i4")
    np.cumsum(mask[layout.event], out=hits[1:])
    return Found(np.flatnonzero(mask), hits)


def _says_something(text: str) -> bool:
    unfinished = {f"{field}:" for field in _FIELDS}
    return not unfinished.issuperset(text.lower().split())


def _lasts(duration: np.ndarray, bound: re.Match[str]) -> np.ndarray:
    sign, equal, value, unit = bound.groups()
    limit = float(value) * _UNITS[unit]
    holds: np.ndarray = duration > limit if sign == ">" else duration < limit
    return holds | (duration == limit) if equal else holds


def _holds(layout: Layout, field: str, text: str) -> np.ndarray:
    """Mark the events of which a field holds `text`, by event id."""
    found = np.zeros(len(layout.event), "?")
    if field in ("any", "name"):
        lower = pc.utf8_lower(layout.names)
        found |= _contains(lower, text)[layout.name]
    if field in ("any", "op"):
        found |= _among(layout.ops, text)[layout.op]
    if field in ("any", "lane"):
        found |= _among(_lane_words(layout), text)[layout.lanes.of_event]
    if field == "kind":
        found |= _among(layout.lanes.table["kind"], text)[layout.lanes.of_event]
        found |= _among((f"{word} {_CATEGORY_WORDS.get(word, word)}" for word in CATEGORIES), text)[
            layout.category
        ]
    if field == "is" and text in "critical":
        found |= path_events(layout.trace)
    if field == "any":
        tensors = pa.array(layout.trace.events["tensor"], pa.large_string(), from_pandas=True)
        if isinstance(tensors, pa.ChunkedArray):
            tensors = pa.concat_arrays(tensors.chunks)
        distinct = tensors.dictionary_encode()
        numbers = distinct.indices.fill_null(0).to_numpy(zero_copy_only=False)
        if len(distinct.dictionary) > 1:
            found |= _contains(pc.utf8_lower(distinct.dictionary), text)[numbers]
    return found


def _contains(texts: pa.Array, text: str) -> np.ndarray:
    marks: np.ndarray = pc.match_substring(texts, text).fill_null(False).to_numpy(zero_copy_only=False)
    return marks


def _among(texts: Iterable[str], text: str) -> np.ndarray:
    return np.fromiter((text in each.lower() for each in texts), "?")


def _lane_words(layout: Layout) -> list[str]:
    table = layout.lanes.table
    return [
        " ".join([task, device, lane, _task_label(task), _device_label(device), _lane_label(lane)])
        for task, device, lane in zip(table["task"], table["device"], table["lane"], strict=True)
    ]


def _task_label(task: str) -> str:
    match = _TASK.match(task)
    if not match:
        return task
    job, replica, number = match.groups()
    if job == "localhost":
        return ""
    return f"{job} {number}" if replica in (None, "0") else f"{job} {number} replica {replica}"


def _device_label(device: str) -> str:
    rest = _TASK.sub("", device)
    match = re.fullmatch(r"/?device:([^/]+)", rest)
    return match[1] if match else rest.removeprefix("/")


def _lane_label(lane: str) -> str:
    if lane.startswith("memcpy "):
        return f"copy {lane.removeprefix('memcpy ')}"
    if lane.startswith("stream:"):
        return f"stream {lane.removeprefix('stream:')}"
    return "receive" if lane == "recv" else lane
