"""A fleet's outliers, stragglers, drift and slower ops: only planted ones are found."""

from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest

from tests.support.examples import sample
from tests.support.planted_fleets import TASK, ops, steps
from tests.support.texts import raises_id
from tfvis_nb.analysis import why_not
from tfvis_nb.fleet import fleet_drift, fleet_heat_map, fleet_outliers, fleet_stragglers, slower_ops
from tfvis_nb.fleet.analysis.own_time import medians_of_others

FLEET = steps(1, straggler=(17, 1.1), drift=0.1, slow=(40, 333))
"""64 ranks over five days: rank 17 is 10 % slower, all get 10 % slower, and two steps wait for input."""
NULL = range(100, 140)


def small(durations: list[list[int]], **more: list[list[int]]) -> pd.DataFrame:
    """A table of some tasks, each with its steps' durations and other columns."""
    cells = [(task, step) for task, row in enumerate(durations) for step in range(len(row))]
    columns = {"duration_ns": durations, **more}
    return pd.DataFrame(
        {
            "task": [TASK.format(task) for task, _ in cells],
            "step": [step for _, step in cells],
            "start_ns": [1000 * step for _, step in cells],
        }
        | {name: [values[task][step] for task, step in cells] for name, values in columns.items()}
    )


def test_the_heat_map_has_each_task_and_step_once() -> None:
    found = fleet_heat_map(FLEET.sample(frac=1, random_state=0))
    assert found.shape == (64, 500)
    assert found.index.tolist() == [TASK.format(task) for task in range(64)]
    assert [*found.columns] == [("1", step) for step in range(500)]
    row = FLEET[(FLEET["task"] == TASK.format(17)) & (FLEET["step"] == 333)]
    assert found.loc[TASK.format(17), ("1", 333)] == row["duration_ns"].item()


def test_a_fleet_without_steps_has_no_outliers() -> None:
    assert fleet_outliers(small([[10, 10]], ops=[[1, 1]]).head(0)).empty


def test_a_cell_without_a_step_or_a_known_figure_is_nan() -> None:
    table = small([[5, 6], [7, 8]])
    table["idle_ns"] = pd.array([1, None, 2, 3], "Int64")
    assert np.isnan(fleet_heat_map(table, "idle_ns").to_numpy()).tolist() == [[False, True], [False, False]]
    assert np.isnan(fleet_heat_map(table[:3]).to_numpy()).tolist() == [[False, False], [False, True]]


def test_runs_have_natural_order_without_outside_events() -> None:
    table = pd.DataFrame({"run": ["r10", "r9", "r9"], "step": [0, 0, -1], "duration_ns": [1, 2, 3]})
    assert [*fleet_heat_map(table).columns] == [("r9", 0), ("r10", 0)]


def test_planted_steps_are_the_first_outliers() -> None:
    found = fleet_outliers(FLEET)
    assert found["step"].tolist()[:2] == [333, 40]
    assert found["slow"].tolist()[:3] == [True, True, False]
    assert found["task"].tolist()[:2] == [TASK.format(333 % 64), TASK.format(40)]
    assert found["activity"].tolist()[:2] == ["input", "input"]
    assert found["activity_ns"].between(70e6, 80e6).tolist()[:2] == [True, True]
    assert found["tasks"].tolist()[:2] == [64, 64]


def test_first_steps_stand_behind_all_others() -> None:
    found = fleet_outliers(small([[90, 6, 5, 30]]))
    assert found["step"].tolist() == [3, 1, 2, 0]
    assert found["first"].tolist() == [False, False, False, True]


def test_steps_are_compared_within_runs_or_across_short_ones() -> None:
    durations = {"large": [900, 900, 900, 1000], "small": [10, 30, 10, 10], "a": [50], "b": [60, 70]}
    rows = [(run, at, ns) for run, all_ns in durations.items() for at, ns in enumerate(all_ns)]
    table = pd.DataFrame(rows, columns=["run", "step", "duration_ns"])
    found = fleet_outliers(table).set_index(["run", "step"])
    assert found["ratio"][("large", 3)] == 1000 / 900
    assert found["ratio"][("small", 1)] == 3
    assert found["ratio"][[("a", 0), ("b", 0), ("b", 1)]].round(3).tolist() == [0.833, 1, 1.167]
    assert found["slow"].sum() == 1
    assert found.index.tolist()[:3] == [("large", 3), ("small", 1), ("b", 1)]
    # One step of its kind is like none.
    alone = fleet_outliers(table[~table["run"].isin(["b"])]).set_index(["run", "step"])
    assert np.isnan(alone["ratio"][("a", 0)])
    assert not alone["slow"][("a", 0)]


def test_runs_of_other_tasks_are_not_compared() -> None:
    jobs = {"a": ("w0",), "b": ("w0",), "c": ("w0",), "cluster": ("w0", "w1")}
    rows = [(run, task, 0, 900 if run == "cluster" else 10) for run, tasks in jobs.items() for task in tasks]
    table = pd.DataFrame(rows, columns=["run", "task", "step", "duration_ns"])
    found = fleet_outliers(table).set_index("run")
    assert found["ratio"].drop("cluster").tolist() == [1, 1, 1]
    assert np.isnan(found["ratio"]["cluster"])
    assert (found["task"]["cluster"], found["slow"]["cluster"]) == ("", False)


def test_runs_of_other_work_are_not_compared() -> None:
    ran = {"a1": (100, 10, 50), "b1": (700, 10, 5000), "a2": (110, 10, 90), "c1": (105, 30, 400)}
    ran |= {"b2": (720, 10, 5000), "a3": (130, 11, 50), "b3": (690, 12, 5000)}
    rows = [(run, 0, *figures) for run, figures in ran.items()]
    table = pd.DataFrame(rows, columns=["run", "step", "ops", "kernels", "duration_ns"])
    found = fleet_outliers(table).set_index("run")
    assert found["ratio"].drop("c1").to_dict() == {"a2": 1.8, "b1": 1, "b2": 1, "b3": 1, "a1": 1, "a3": 1}
    assert np.isnan(found["ratio"]["c1"])


def test_a_waiting_parameter_server_is_not_late() -> None:
    table = small([[10, 10, 30, 10], [12, 12, 40, 12]], idle_ns=[[0, 0, 0, 0], [11, 11, 39, 11]])
    table["task"] = table["task"].replace({TASK.format(1): "/job:ps/replica:0/task:0"})
    assert fleet_outliers(table)["task"][0] == TASK.format(0)


def test_small_parts_of_a_step_are_not_named() -> None:
    waits, host = [[9, 9, 100, 9], [9, 9, 99, 9]], [[1, 1, 1, 1], [1, 1, 3, 1]]
    durations = (np.array(waits) + host).tolist()
    found = fleet_outliers(small(durations, communication_ns=waits, host_compute_ns=host)).loc[0]
    assert (found["step"], found["task"], found["activity"], found["activity_ns"]) == (
        2,
        "",
        "communication",
        90,
    )
    little = fleet_outliers(small([[10, 10, 90, 10]], host_compute_ns=[[1, 1, 3, 1]])).loc[0]
    assert (little["task"], little["activity"]) == (TASK.format(0), "")
    assert np.isnan(little["activity_ns"])


def test_an_outlier_has_the_work_of_its_devices() -> None:
    work, busy = [[5, 8, 20, 5]], [[9, 9, 29, 9]]
    found = fleet_outliers(small([[9, 9, 30, 9]], work_ns=work, device_busy_ns=busy))
    assert found["work_ratio"].tolist()[0] == 4, "the lower median, of kernels alone"
    assert fleet_outliers(small([[9, 9, 30, 9]]))["work_ratio"].isna().all()


def test_outliers_need_three_steps() -> None:
    assert why_not(fleet_outliers(small([[5, 6]]))).id == "too_few_fleet_steps"


def test_the_planted_straggler_is_found_alone() -> None:
    found = fleet_stragglers(FLEET)
    assert found["task"][0] == TASK.format(17)
    assert found["straggler"].tolist() == [True] + [False] * 63
    assert found["low_ratio"][0] < 1.1 * 35 / 40 + 5 / 40 < found["high_ratio"][0]
    assert found["last"].sum() == 500
    assert found["sole_wait_ns"][0] > 3 * found["sole_wait_ns"][1:].max()


def test_the_time_that_only_the_last_one_worked_is_added_up() -> None:
    found = fleet_stragglers(
        small([[90, 90], [90, 90], [90, 90]], communication_ns=[[80, 70], [50, 80], [70, 90]])
    )
    assert found[["task", "last", "sole_wait_ns", "lateness_max_ns"]].to_numpy().tolist() == [
        [TASK.format(1), 1, 20, 30],
        [TASK.format(0), 1, 10, 20],
        [TASK.format(2), 0, 0, 10],
    ]
    assert found["share"].tolist()[:2] == [20 / 180, 10 / 180]


def test_tasks_of_other_jobs_and_steps_of_one_task_do_not_count() -> None:
    table = small([[50, 60, 70], [20, 30, 40], [90, 90, 90]])
    table["task"] = table["task"].replace({TASK.format(2): "/job:ps/replica:0/task:0"})
    found = fleet_stragglers(table[:-4])
    assert found[["task", "steps", "last"]].to_numpy().tolist() == [
        [TASK.format(0), 2, 2],
        [TASK.format(1), 2, 0],
    ]
    assert why_not(fleet_stragglers(small([[5, 6]]))).id == "one_task"


def test_hosts_of_a_profile_are_compared_but_no_parameter_server() -> None:
    table = small([[50, 60], [20, 70], [90, 90], [80, 80], [95, 95]])
    hosts = ["gpu0", "gpu1", "ps0", "chief", "train-ps-1"]
    table["task"] = [f"/job:{hosts[int(task[-1])]}/replica:0/task:0" for task in table["task"]]
    found = fleet_stragglers(table).set_index("task")["last"]
    expected = {"gpu0": 1, "gpu1": 1, "train-ps-1": 2, "ps0": 0}
    assert dict(found) == {f"/job:{host}/replica:0/task:0": last for host, last in expected.items()}


def test_tasks_of_unrelated_runs_are_not_one() -> None:
    run = FLEET[FLEET["step"] < 60]
    found = fleet_stragglers(
        pd.concat(
            [
                run,
                run.assign(
                    run="2",
                    task=run["task"].cat.rename_categories(
                        {TASK.format(17): TASK.format(3), TASK.format(3): TASK.format(17)}
                    ),
                ),
            ]
        )
    )
    assert len(found) == 2 * 64
    assert found[found["straggler"]][["run", "task", "steps"]].to_numpy().tolist() == [
        ["1", TASK.format(17), 60],
        ["2", TASK.format(3), 60],
    ]


def test_the_median_of_the_others_is_numpys() -> None:
    rng = np.random.default_rng(3)
    for tasks in range(1, 8):
        values = rng.integers(0, 6, (tasks, 20)).astype(float)
        values[rng.random(values.shape) < 0.2] = np.nan
        found = medians_of_others(values)
        for task in range(tasks):
            others = np.delete(values, task, axis=0)
            for step in range(20):
                known = others[:, step][~np.isnan(others[:, step])]
                expected = np.median(known) if len(known) and not np.isnan(values[task, step]) else np.nan
                assert found[task, step] == pytest.approx(expected, nan_ok=True)


def test_planted_drift_is_shown_day_by_day() -> None:
    found = fleet_drift(FLEET)
    assert len(found) == 6
    assert found["steps"].sum() == 500
    assert found["ratio"][1:].is_monotonic_increasing
    assert found["shown"].tolist()[2:] == [True] * 4
    assert found["ratio"].iloc[-1] == pytest.approx(1.075, abs=0.01)


def test_drift_by_metric_names_the_activity() -> None:
    found = fleet_drift(FLEET, by="metric").set_index("metric")
    assert found.index[0] == "device_compute_ns"
    assert found["shown"][["device_compute_ns", "duration_ns", "input_ns"]].tolist() == [True, True, False]


def test_drift_by_task_finds_the_one_that_drifts() -> None:
    table = steps(4, tasks=4, count=60)
    later = (table["task"] == TASK.format(2)) & (table["step"] >= 30)
    table.loc[later, "input_ns"] *= 2
    found = fleet_drift(table, "input_ns", by="task")
    assert found["task"][0] == TASK.format(2)
    assert found["shown"].tolist() == [True, False, False, False]


@pytest.mark.parametrize(("apart", "unit"), [(86_400, "D"), (3600, "h"), (60, "m"), (1, "s")])
def test_periods_are_as_long_as_the_steps_allow(apart: int, unit: str) -> None:
    table = small([[5, 6, 5, 6]]).assign(start_ns=[0, 1, apart * 10**9, apart * 10**9 + 1])
    found = fleet_drift(table)
    assert found["period"].tolist() == [pd.Timestamp(0), pd.Timestamp(apart, unit="s")], unit
    assert found["steps"].tolist() == [2, 2]


def test_one_second_is_no_drift() -> None:
    assert why_not(fleet_drift(small([[5, 6, 7]]))).id == "one_period"


def test_the_planted_op_is_slower_since_its_step() -> None:
    found = slower_ops(ops(2, slower=(7, 300, 1.05)), since=300)
    assert found["op"][0] == "Op7"
    assert found["shown"].tolist() == [True] + [False] * 39
    assert found["low_ratio"][0] < 1.05 < found["high_ratio"][0]
    assert found.attrs["steps"] == (300, 200)
    assert found["low_ns"][0] <= found["difference_ns"][0] <= found["high_ns"][0]


def test_a_task_with_only_earlier_steps_speeds_up_no_op() -> None:
    table = ops(2, tasks=4, count=60, kinds=5, slower=(3, 30, 1.5))
    fewer = table[(table["task"] != TASK.format(0)) | (table["step"] < 30)]
    assert slower_ops(fewer, since=30)["shown"].tolist() == [True] + [False] * 4


def test_ops_added_up_over_tasks_are_compared_alike() -> None:
    table = ops(2, tasks=4, count=20, kinds=3, slower=(1, 10, 1.5))
    table = table[(table["task"] != TASK.format(0)) | (table["step"] < 10)]
    keys = ["run", "step", "op", "kind"]
    added = table.groupby(keys, as_index=False)["self_ns"].sum()
    tasks = table.groupby(["run", "step"])["task"].nunique().rename("tasks")
    added = added.merge(tasks, on=["run", "step"])
    pd.testing.assert_frame_equal(slower_ops(added, since=10), slower_ops(table, since=10))


def test_repeated_rows_and_unknown_self_times_add_nothing() -> None:
    table = ops(2, tasks=1, count=20, kinds=3)
    more = table.assign(side="repeated", self_ns=10**9)
    unknown = table.assign(side="GPU", self_ns=pd.array([None] * len(table), "Int64"))
    both = pd.concat([table.assign(side="GPU"), more, unknown])
    pd.testing.assert_frame_equal(slower_ops(both, since=10), slower_ops(table, since=10))


def test_a_step_of_several_runs_is_named_with_its_run() -> None:
    table = ops(2, tasks=1, count=20, kinds=3)
    table["run"] = ["r9" if step < 10 else "r10" for step in table["step"]]
    table["step"] %= 10
    assert slower_ops(table, since=("r10", 0)).attrs["steps"] == (10, 10)
    with raises_id(ValueError, "step_of_runs", step=3, runs=2):
        slower_ops(table, since=3)
    with raises_id(ValueError, "no_step", step=10):
        slower_ops(table, since=10)
    table.loc[table["run"] == "r10", "step"] += 10
    assert slower_ops(table, since=10).attrs["steps"] == (10, 10)


def test_no_step_is_before_the_first_one() -> None:
    table = ops(2, tasks=1, count=4, kinds=2)
    assert why_not(slower_ops(table, since=0)).id == "no_steps_before"
    assert why_not(slower_ops(table, since=4)).id == "no_steps_since"
    assert slower_ops(table[table["step"] != 2], since=2).attrs["steps"] == (2, 1)


def test_mistakes_are_named() -> None:
    table = ops(2, 1, 4, 2)
    wrong: list[tuple[Callable[[], object], type[Exception], str]] = [
        (lambda: fleet_heat_map(FLEET, "duration"), ValueError, "no_fleet_metric"),
        (lambda: fleet_heat_map(FLEET.drop(columns="step")), TypeError, "no_fleet_table"),
        (lambda: fleet_drift(FLEET, by="day"), ValueError, "no_drift_by"),  # type: ignore[arg-type]
        (lambda: slower_ops(table.assign(run=["a", "b"] * 4), 1), ValueError, "step_of_runs"),
    ]
    for call, error, text in wrong:
        with raises_id(error, text):
            call()


@pytest.mark.parametrize("correlation", sample([0, 0.5], kept=[0.5]))
def test_chance_alone_is_reported_in_five_percent_at_most(correlation: float) -> None:
    """Any task, day or step reported counts; the binomial bound of 40 fleets at 5 % is 5."""
    fleets = [steps(seed, tasks=16, count=120, correlation=correlation) for seed in NULL]
    assert sum(fleet_stragglers(fleet)["straggler"].any() for fleet in fleets) <= 5
    assert sum(fleet_drift(fleet)["shown"].any() for fleet in fleets) <= 5
    assert not any(fleet_outliers(fleet)["slow"].any() for fleet in fleets)


def test_ops_that_vary_by_chance_are_not_reported() -> None:
    found = [slower_ops(ops(seed, tasks=2, count=60, kinds=20), since=30)["shown"].any() for seed in NULL]
    assert sum(found) <= 5
