"""The tracer levels of a profile, and the data they leave out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from tfvis_nb.core.metadata import PROFILES, table_of
from tfvis_nb.reading.protobuf import wire
from tfvis_nb.reading.xspace.planes import Plane
from tfvis_nb.reading.xspace.stats import Stats
from tfvis_nb.texts import Text

_NAME = "profile_options"
_BYTES_VALUE, _VERSION = 6, 5
"""Numbers of fields of a stat, and of ``ProfileOptions``."""
_LEVELS = {2: "host_tracer_level", 3: "device_tracer_level", 4: "python_tracer_level"}
_OPS = 2
"""The lowest level that records host ops, which is the default."""


def profile_options(planes: Sequence[Plane]) -> pd.DataFrame:
    """Return the levels in a profile: a table of `tfvis_nb.core.metadata`, empty if unknown."""
    of_planes = (_levels(plane) for plane in planes if plane.name == "Task Environment")
    return table_of(PROFILES, [{"task": "", **levels} for levels in of_planes if levels])


def left_out(profiles: pd.DataFrame) -> list[Text]:
    """Return notes on the data that the levels of a profile leave out."""
    notes = []
    for host, device in profiles[["host_tracer_level", "device_tracer_level"]].to_numpy().tolist():
        if host < _OPS:
            notes.append(Text("host_tracer_low", level=host))
        if device == 0:
            notes.append(Text("device_tracer_off"))
    return notes


def _levels(plane: Plane) -> dict[str, Any]:
    """Decode the levels; a level of 0 is not written. Empty if they are damaged or missing."""
    stats = Stats(plane.own_list(), plane.stats)
    names = plane.stats.texts
    rows = np.flatnonzero(stats.key == names.index(_NAME)) if _NAME in names else np.zeros(0, np.int64)
    if not len(rows):
        return {}
    try:
        data = _field(plane.own_stats[int(rows[0])].as_py(), _BYTES_VALUE)
        numbers = {
            part.number: data[part.start] for part in wire.fields(data) if part.wire_type == wire.VARINT
        }
    except wire.DamageError:
        return {}
    return {name: numbers.get(field, 0) for field, name in _LEVELS.items()} if numbers.get(_VERSION) else {}


def _field(message: bytes, number: int) -> bytes:
    """Return the bytes of one field of a message, empty if missing."""
    parts = [part for part in wire.fields(message) if (part.number, part.wire_type) == (number, wire.LENGTH)]
    return message[parts[-1].start : parts[-1].end] if parts else b""
