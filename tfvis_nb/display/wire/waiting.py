"""Critical paths, slack and idle devices for the details panel.

``js/model/wire/waiting.ts`` reads it.
"""

from typing import NotRequired, TypedDict

import numpy as np
import pandas as pd

from tfvis_nb.analysis.critical_path.backtrack import WAITS
from tfvis_nb.analysis.critical_path.critical_path import FIGURES as PATHS
from tfvis_nb.analysis.findings.idle_causes import cause_names
from tfvis_nb.analysis.idle.idle_gaps import CAUSES
from tfvis_nb.analysis.idle.idle_gaps import FIGURES as GAPS
from tfvis_nb.core.format import without_unit
from tfvis_nb.core.row_numbers import number_rows
from tfvis_nb.core.trace import Trace
from tfvis_nb.display.wire.container import WireColumn
from tfvis_nb.display.wire.header import origin_ns
from tfvis_nb.display.wire.lane_times import length_column, optional_column, signed_column


class WaitingHeader(TypedDict):
    """Critical paths and idle devices, if there are any: kinds of pieces with their definitions."""

    path: NotRequired[list[tuple[str, str]]]
    path_runs: NotRequired[int]  # Kinds of a path with this index or higher are waits
    idle: NotRequired[list[tuple[str, str]]]
    idle_places: NotRequired[list[tuple[str, str]]]  # Task and device


def waiting(trace: Trace, rows: np.ndarray) -> tuple[WaitingHeader, dict[str, WireColumn]]:
    """Store the paths of all steps, the slack of events, and why devices were idle, for `rows` in wire order.

    Returns the entries of the details header, and the columns. Pieces of paths, and of idle
    time device by device, are ordered by time: ``..._gap`` is the time since the previous piece in ns,
    ``..._row`` the distance of its event's row from that of the previous piece. A missing event has row -1.
    """
    row = np.empty(len(rows), np.int64)
    row[rows] = np.arange(len(rows))
    path, gaps, spare = trace.critical_path, trace.idle_gaps, trace.slack
    header: WaitingHeader = {}
    columns: dict[str, WireColumn] = {}
    if not path.empty:
        columns |= _pieces("path", path, row, origin_ns(trace.events))
        used, codes = np.unique(path["category"].cat.codes.to_numpy(), return_inverse=True)
        names = [str(path["category"].cat.categories[number]) for number in used]
        header["path"] = [(name.replace("_", " "), without_unit(PATHS[name])) for name in names]
        header["path_runs"] = sum(name not in WAITS for name in names)
        columns["path_kind"] = WireColumn(codes.astype("u1"))
    if not gaps.empty:
        device, _ = number_rows(gaps["task"], gaps["device"])
        order = np.lexsort((gaps["start_ns"], device))
        gaps, device = gaps.take(order), device[order]
        first = gaps.drop_duplicates(["task", "device"])
        header["idle_places"] = list(zip(first["task"].astype(str), first["device"].astype(str), strict=True))
        causes = cause_names(trace)
        header["idle"] = [(causes[cause], without_unit(GAPS[cause])) for cause in CAUSES]
        columns |= _pieces(
            "idle", gaps.rename(columns={"cause_event": "event"}), row, origin_ns(trace.events)
        )
        columns["idle_place"] = WireColumn(np.unique(device, return_inverse=True)[1].astype("u2"))
        columns["idle_kind"] = WireColumn(gaps["cause"].cat.codes.to_numpy().astype("u1"))
    if not spare.empty:
        known = np.zeros(len(rows), bool)
        known[spare["event"]] = True
        values = np.zeros(len(rows), np.int64)
        values[spare["event"]] = spare["slack_ns"]
        columns["slack"] = optional_column(values[rows], known[rows])
    return header, columns


def _pieces(name: str, pieces: pd.DataFrame, row: np.ndarray, origin: int) -> dict[str, WireColumn]:
    start = pieces["start_ns"].to_numpy(np.int64) - origin
    length = pieces["duration_ns"].to_numpy(np.int64)
    before = np.append(0, (start + length)[:-1])
    event = pieces["event"].to_numpy(np.int64)
    wire_row = np.where(event >= 0, row[event], -1)
    return {
        f"{name}_gap": signed_column(start - before),
        f"{name}_length": length_column(length),
        f"{name}_row": signed_column(np.diff(wire_row, prepend=0)),
    }
