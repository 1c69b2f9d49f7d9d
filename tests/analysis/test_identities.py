"""Identities that hold for all traces: parts add up to the whole, to the nanosecond."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from tests.real_traces import all_files, each, real_trace, step_stats_files, xspace_files
from tfvis_nb import Trace
from tfvis_nb.analysis import (
    bandwidth,
    communication_overlap,
    compare,
    compare_activities,
    launch_bound,
    launch_gaps,
    scheduling_efficiency,
    scope_tree,
    transfer_matrix,
    why_not,
)
from tfvis_nb.analysis.events.activity import ACTIVITIES
from tfvis_nb.analysis.events.step_devices import step_devices
from tfvis_nb.analysis.idle.launch_bound import PARTS as LAUNCH_PARTS
from tfvis_nb.analysis.idle.launch_gaps import PARTS as GAP_PARTS
from tfvis_nb.analysis.memory.memory_usage import WHERE, memory_peaks
from tfvis_nb.analysis.steps.breakdown import PARTS, activity_times
from tfvis_nb.analysis.steps.op_statistics import GROUPINGS, op_statistics
from tfvis_nb.analysis.steps.utilization import ran_on_device
from tfvis_nb.core.intervals import lengths, union
from tfvis_nb.events import NO_STEP

pytestmark = pytest.mark.slow

_OTHERS = (".json", ".json.xz", ".json.gz", ".pickle", ".pickle.xz", ".pickle.gz", ".tar.xz")
KEYS = ["step", "task", "device"]


def files() -> list[Path]:
    """Return all files with a trace."""
    others = [path for path in all_files() if path.name.endswith(_OTHERS)]
    return step_stats_files() + xspace_files() + others


@pytest.fixture(scope="module", params=each(files()))
def trace(request: pytest.FixtureRequest) -> Trace:
    """Return each trace; all checks of one run before the next is read."""
    path: Path = request.param
    return real_trace(path)


def covers(pieces: pd.DataFrame, keys: list[str], whole: pd.DataFrame) -> None:
    """Check that the pieces of each key follow each other without gaps, from the whole's start to its end."""
    pieces = pieces[pieces["duration_ns"] > 0].sort_values([*keys, "start_ns"])
    assert (pieces["duration_ns"].sum()) == whole["duration_ns"].sum()
    end = pieces["start_ns"] + pieces["duration_ns"]
    same = ~pieces[keys].ne(pieces[keys].shift()).any(axis=1)
    assert (pieces["start_ns"] == end.shift(fill_value=0))[same].all()
    ends = pieces.assign(end_ns=end).groupby(keys, observed=True)
    found = ends.agg(start_ns=("start_ns", "min"), end_ns=("end_ns", "max"))
    assert (found.index == whole.set_index(keys).index).all()
    assert found["start_ns"].tolist() == whole["start_ns"].tolist()
    assert found["end_ns"].tolist() == (whole["start_ns"] + whole["duration_ns"]).tolist()


def test_the_parts_of_a_step_are_the_step(trace: Trace) -> None:
    table = trace.breakdown
    steps = trace.steps[trace.steps["step"] >= 0].set_index("step")["duration_ns"]
    assert set(table["step"]) == set(steps.index)
    assert (table["step_ns"] == table["step"].map(steps)).all()
    assert (table[list(PARTS)].sum(axis=1) == table["step_ns"]).all()
    assert (table[list(PARTS)].fillna(0) >= 0).all(axis=None)
    whole = table[table["device"] == ""]
    assert not whole.duplicated(["step", "task"]).any()
    # A task is idle only where all its devices are.
    every = table.groupby(["step", "task"], observed=True)["idle_ns"].min()
    both = whole.set_index(["step", "task"])["idle_ns"]
    assert (both <= every).all() or both.isna().any()


def test_busy_and_idle_are_the_step(trace: Trace) -> None:
    table = trace.utilization
    known = table[table["busy_ns"].notna()]
    assert (known["busy_ns"] + known["idle_ns"] == known["step_ns"]).all()
    assert (known[["busy_ns", "idle_ns"]] >= 0).all(axis=None)
    assert known["utilization"].dropna().between(0, 1).all()
    # The mean parallelism over the time with any event: at least one.
    assert (known["parallelism"].dropna() >= 1).all()
    hta = table[table["hta_kernel_ns"].notna()]
    parts = hta["hta_idle_ns"] + hta["hta_compute_ns"] + hta["hta_non_compute_ns"]
    assert (parts == hta["hta_kernel_ns"]).all()
    assert (hta["hta_idle_ns"] <= hta["idle_ns"].fillna(hta["hta_idle_ns"])).all()


def test_communication_is_exposed_or_hidden(trace: Trace) -> None:
    table = communication_overlap(trace)
    both = table["communication_ns"] + table["computation_ns"] - table["hidden_ns"]
    assert (table["exposed_ns"] + table["hidden_ns"] == table["communication_ns"]).all()
    # As in Kineto's distributed view: the rest of the step is neither.
    assert (both + table["idle_ns"] == table["step_ns"]).all()
    assert (table["hidden_ns"] <= table[["communication_ns", "computation_ns"]].min(axis=1)).all()
    assert (table["idle_ns"] >= 0).all()


def test_an_efficiency_is_a_share_where_nothing_else_takes_time(trace: Trace) -> None:
    table = scheduling_efficiency(trace)
    assert (table["makespan_ns"] >= table["cost_min_ns"]).all()
    assert table.loc[table["bounded"], "efficiency"].between(0, 1).all()
    assert (table.loc[~table["bounded"], "efficiency"] < 0).all()
    assert table["possible_speedup"].between(0, 1).all()


def test_each_moment_of_a_step_is_of_one_activity(trace: Trace) -> None:
    times = activity_times(trace)
    found = times.groupby([*KEYS, "activity"], observed=True)["duration_ns"].sum()
    table = trace.breakdown.set_index(KEYS)
    for activity in ACTIVITIES[1:]:
        part = table[f"{activity}_ns"].dropna()
        own = found[found.index.get_level_values("activity") == activity].droplevel("activity")
        assert own.reindex(part.index, fill_value=0).tolist() == part.tolist()
    steps = trace.steps.set_index("step").loc[table.index.get_level_values("step")]
    whole = table.index.to_frame(index=False).assign(
        start_ns=steps["start_ns"].to_numpy(), duration_ns=steps["duration_ns"].to_numpy()
    )
    covers(times, KEYS, whole[whole["duration_ns"] > 0])


def test_waiting_for_launches_is_part_of_the_step(trace: Trace) -> None:
    table, gaps = launch_bound(trace).set_index(KEYS), launch_gaps(trace)
    assert why_not(launch_bound(trace)) == why_not(gaps)
    assert (table[list(LAUNCH_PARTS)].sum(axis=1) == table["step_ns"]).all()
    assert (table[list(LAUNCH_PARTS)] >= 0).all(axis=None)
    assert (gaps[list(GAP_PARTS)].sum(axis=1) == gaps["duration_ns"]).all()
    busy = trace.utilization.set_index(KEYS)["busy_ns"].reindex(table.index)
    assert table["busy_ns"].tolist() == busy.tolist()
    inside = table["step_ns"] - table["busy_ns"] - table["before_ns"] - table["after_ns"]
    assert gaps.groupby(KEYS, observed=True)["duration_ns"].sum().to_dict() == inside[inside > 0].to_dict()


def test_causes_of_gaps_are_the_idle_time(trace: Trace) -> None:
    table = trace.idle_gaps
    assert (table["duration_ns"] > 0).all()
    idle = trace.utilization.set_index(KEYS)["idle_ns"].dropna().astype("int64")
    own = table.groupby(KEYS, observed=True)["duration_ns"].sum()
    assert own.to_dict() == idle.reindex(own.index).to_dict()
    # A CPU beside an accelerator has no gaps.
    of_gpu = idle.index.get_level_values("device").astype(str).str.contains(":GPU:")
    assert set(idle[of_gpu & (idle > 0)].index) <= set(own.index)
    here = step_devices(trace)
    if here is not None:
        ran = ran_on_device(trace, here)
        numbers = here.table.reset_index(names="place")
        place = table[KEYS].merge(numbers, how="left", on=KEYS)["place"].to_numpy(np.int64)
        begin, end = table["start_ns"], table["start_ns"] + table["duration_ns"]
        either = union(
            *(
                np.append(*pair)
                for pair in ((here.device_row[ran], place), (here.start[ran], begin), (here.end[ran], end))
            )
        )
        covered = lengths(either, len(numbers), 2)[:, 1]
        assert (covered == here.last - here.first)[np.unique(place)].all()
    gaps = table.groupby("gap").agg(start_ns=("start_ns", "min"), duration_ns=("gap_ns", "first"))
    covers(table, ["gap"], gaps.reset_index())


def test_a_critical_path_covers_its_step(trace: Trace) -> None:
    path = trace.critical_path
    steps = trace.steps[(trace.steps["step"] >= 0) & (trace.steps["duration_ns"] > 0)]
    covers(path, ["step"], steps if len(path) else steps[:0])
    if len(trace.slack):
        assert (trace.slack["slack_ns"] >= 0).all()


def test_waiting_and_moving_is_the_whole_transfer(trace: Trace) -> None:
    table = trace.transfers
    received = table[(table["kind"] == "transfer") & table["wait_ns"].notna()]
    assert (received["wait_ns"] + received["transfer_ns"] == received["duration_ns"]).all()
    copied = table[table["kind"] == "memcpy"]
    assert (copied["transfer_ns"] == copied["duration_ns"]).all()
    assert (table[["wait_ns", "transfer_ns"]].fillna(0) >= 0).all(axis=None)
    matrix = transfer_matrix(trace)
    for figure, whole in (("count", len(table)), ("bytes", table["bytes"].sum())):
        assert matrix[figure].sum() == whole
    assert matrix["transfer_ns"].sum() == table["transfer_ns"].sum()
    moving = table[table["transfer_ns"].fillna(0) > 0]
    rates = bandwidth(trace)
    assert (rates["bandwidth"] * rates["duration_ns"]).sum() / 1e9 == pytest.approx(moving["bytes"].sum())


def test_live_buffers_at_a_peak_add_up_to_it(trace: Trace) -> None:
    peaks = memory_peaks(trace)
    highest = trace.memory.groupby(list(WHERE), observed=True)["bytes"].max()
    assert peaks.set_index(list(WHERE))["peak_bytes"].to_dict() == highest.to_dict()
    recorded = peaks[(peaks["step"] >= 0) & peaks["alive_bytes"].notna()]
    assert (recorded["alive_bytes"] == recorded["peak_bytes"]).all()


def test_statistics_of_ops_hold_every_event_once(trace: Trace) -> None:
    for by in GROUPINGS:
        table = op_statistics(trace, by)
        assert table["count"].sum() == len(trace.events)
        assert table["total_ns"].sum() == trace.events["duration_ns"].sum()
        assert (table["self_ns"].fillna(0) <= table["total_ns"]).all()
        sums = table.groupby("side", observed=True)["share"].sum(min_count=1).dropna()
        assert np.allclose(sums[sums != 0], 1)
    tree = scope_tree(trace)
    for name in ("device", "host", "network"):
        within = tree[tree["parent"] >= 0].groupby("parent")[f"{name}_ns"].sum()
        parts = tree[f"{name}_own_ns"].add(within, fill_value=0)
        assert (parts == tree[f"{name}_ns"]).all()


def test_differences_of_steps_add_up(trace: Trace) -> None:
    steps = trace.steps[trace.steps["step"] >= 0].sort_values("duration_ns")["step"].tolist()
    if len(steps) < 2:
        return
    shortest, longest = steps[0], steps[-1]
    total = trace.events.groupby("step")["duration_ns"].sum()
    table = compare(trace, trace, steps=(shortest, longest))
    assert table["difference_ns"].sum() == total[longest] - total[shortest]
    activities = compare_activities(trace, trace, (shortest, longest))
    sums = activities.groupby("task")["difference_ns"].agg(lambda column: column.sum(skipna=False)).dropna()
    tasks = trace.breakdown[trace.breakdown["device"] == ""].astype({"task": str})
    whole = tasks.pivot_table(index="task", columns="step", values="step_ns")
    both = whole[[shortest, longest]].fillna(0)
    expected = both[longest] - both[shortest]
    assert sums.to_dict() == expected.reindex(sums.index).to_dict()


def test_findings_lose_a_part_of_the_time(trace: Trace) -> None:
    table = trace.findings
    total = int(trace.steps.loc[trace.steps["step"] >= 0, "duration_ns"].sum())
    # Shares are without a first step that takes much longer, and time outside steps is no share of theirs.
    within = table[table["share"].notna()]
    assert within["share"].between(0, 1).all()
    assert (within["lost_ns"] <= total).all()
    assert set(table["kind"]) - set(within["kind"]) <= {"outside steps", "first step"}
    table = table[table["step"] != NO_STEP]
    shown = trace.steps.set_index("step").loc[table["step"]]
    assert (table["start_ns"].to_numpy() < table["end_ns"].to_numpy()).all()
    assert (table["start_ns"].to_numpy() < shown["end_ns"].to_numpy()).all()
    assert (table["end_ns"].to_numpy() > shown["start_ns"].to_numpy()).all()
