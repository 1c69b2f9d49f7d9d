"""What went from where to where, against the same added up row by row."""

from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.real_traces import DATA, each, real_trace, step_stats_files
from tests.support.moved_rows import ROWS, Row, moves, trace_of
from tests.support.texts import raises_id
from tfvis_nb import Trace, events
from tfvis_nb.analysis import why_not
from tfvis_nb.analysis.communication.transfer_matrix import ENDS, End, transfer_matrix
from tfvis_nb.core.devices import task_of


def added_up(trace: Trace, between: End) -> dict[tuple[str, str, str], dict[str, Any]]:
    """Return the figures of each cell, counted one by one, and time moment by moment."""
    cells: dict[tuple[str, str, str], list[Row]] = {}
    for row in moves(trace):
        ends = [row[column] or "" for column in ("source", "destination")]
        source, destination = (task_of(end) if between == "task" else end for end in ends)
        cells.setdefault((row["kind"], source, destination), []).append(row)
    return {key: of_cell(rows) for key, rows in cells.items()}


def of_cell(rows: list[Row]) -> dict[str, Any]:
    sums: dict[str, Any] = {}
    for name in ("bytes", "transfer_ns"):
        known = [row[name] for row in rows if row[name] is not None]
        sums[name] = sum(known) if known else None
    moments: set[int] = set()
    waiting: set[int] = set()
    waits = [row["wait_ns"] for row in rows if row["wait_ns"] is not None]
    for row in rows:
        # The tensors of a channel move in turn; copies have their own times.
        if row["transfer_ns"]:
            moments.update(range(row["turn_ns"], row["turn_ns"] + row["transfer_ns"]))
        # A tensor waits after its start, a copy before it.
        waited = row["start_ns"] - (0 if row["kind"] == "transfer" else row["wait_ns"] or 0)
        waiting.update(range(waited, waited + (row["wait_ns"] or 0)))
    whole = all(row["bytes"] is not None and row["transfer_ns"] is not None for row in rows)
    sized = [row for row in rows if row["bytes"] is not None]
    largest = max(sized, key=lambda row: (row["bytes"], -row["event"]))["event"] if sized else None
    return {
        "count": len(rows),
        "with_size": len(sized),
        **sums,
        "wait_ns": len(waiting) if waits else None,
        "mean_wait_ns": sum(waits) / len(waits) if waits else None,
        "busy_ns": None if sums["transfer_ns"] is None else len(moments),
        "bandwidth": sums["bytes"] * 1e9 / len(moments) if whole and moments else None,
        "largest": largest,
    }


def by_route(table: pd.DataFrame) -> dict[tuple[str, str, str], dict[str, Any]]:
    rows: list[dict[Any, Any]] = table.to_dict("records")
    return {
        (str(row.pop("kind")), str(row.pop("source")), str(row.pop("destination"))): {
            name: None if pd.isna(value) else value for name, value in row.items()
        }
        for row in rows
    }


@given(ROWS, st.sampled_from(ENDS))
def test_every_cell(rows: list[Row], between: End) -> None:
    trace = trace_of(rows)
    table = transfer_matrix(trace, between)
    expected = added_up(trace, between)
    found = by_route(table)
    assert found.keys() == expected.keys()
    for key, cell in expected.items():
        for name in ("bandwidth", "mean_wait_ns"):
            expected_rate, said = cell.pop(name), found[key].pop(name)
            assert said == (None if expected_rate is None else pytest.approx(expected_rate))
        assert found[key] == cell
    assert bool(why_not(table)) == trace.transfers.empty


@given(ROWS)
def test_steps_add_up_to_the_whole(rows: list[Row]) -> None:
    trace = trace_of(rows)
    steps = trace.steps["step"].tolist()
    whole, parts = transfer_matrix(trace), [transfer_matrix(trace, steps=[step]) for step in steps]
    for name in ("count", "with_size", "bytes", "transfer_ns"):
        assert whole[name].sum() == sum(part[name].sum() for part in parts)


MOVING = [path for path in step_stats_files() if any(part in path.name for part in ("dist", "coll", "mixed"))]


@pytest.mark.parametrize("path", each(MOVING))
def test_real_transfers_add_up(path: Path) -> None:
    trace = real_trace(path)
    moved = trace.transfers
    for between in ENDS:
        table = transfer_matrix(trace, between)
        assert table["count"].sum() == len(moved)
        assert table["bytes"].sum() == moved["bytes"].sum()
        assert (table["busy_ns"] <= table["transfer_ns"]).all()
        network = table[table["kind"] == "transfer"]
        # The tensors of a channel come one after the other.
        assert (network["busy_ns"] == network["transfer_ns"]).all()
        assert bool(why_not(table)) == moved.empty
        longest = trace.steps["duration_ns"].sum() + moved["wait_ns"].fillna(0).max()
        for name in ("wait_ns", "busy_ns"):
            assert (table[name].dropna() <= longest).all()
    if len(moved):
        assert (transfer_matrix(trace)["busy_ns"].fillna(-1).diff().dropna() <= 0).all()


def test_a_parameter_server_and_its_workers() -> None:
    trace = real_trace(DATA / "gpu_tf221_dist.pb.xz")
    found = by_route(transfer_matrix(trace, "task"))
    ps, worker = "/job:ps/replica:0/task:0", "/job:worker/replica:0/task:1"
    fetched, sent = found["transfer", ps, worker], found["transfer", worker, ps]
    # Four weights of 1024 by 1024 floats come, and four gradients go back.
    assert fetched["bytes"] == sent["bytes"] == 4 * 4 * 1024**2
    assert fetched["count"] == sent["count"] == 4
    assert 1e8 < fetched["bandwidth"] < 1e11


def test_unknown_values_are_not_zero() -> None:
    columns = {"start_ns": [0, 5], "duration_ns": [10, 0], "kind": ["transfer", "memcpy"]}
    found = by_route(transfer_matrix(Trace(events.build(columns))))
    received, copied = found["transfer", "", ""], found["memcpy", "", ""]
    assert {received[name] for name in ("bytes", "wait_ns", "transfer_ns", "busy_ns", "bandwidth")} == {None}
    assert (copied["transfer_ns"], copied["busy_ns"], copied["bandwidth"]) == (0, 0, None)


def test_wrong_arguments() -> None:
    trace = Trace(events.build({"start_ns": [0], "duration_ns": [1], "kind": ["memcpy"]}))
    with raises_id(ValueError, "ends_not_one_of", choices="device, task"):
        transfer_matrix(trace, "lane")  # type: ignore[arg-type]
    with raises_id(ValueError, "no_step", step=7):
        transfer_matrix(trace, steps=[7])
    nothing = transfer_matrix(Trace(events.build({}, rows=0)))
    assert why_not(nothing).id == "no_transfers"
    assert nothing.dtypes.astype(str).to_dict() == transfer_matrix(trace).dtypes.astype(str).to_dict()
