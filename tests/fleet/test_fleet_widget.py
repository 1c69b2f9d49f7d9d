"""The dashboard of a fleet in Python: its content, timelines and page."""

import json
import shutil
import warnings
from pathlib import Path
from typing import Any

import anywidget
import ipywidgets
import pandas as pd
import pytest

import tfvis_nb as tv
from tests.anonymizing.survivors import page_part, page_text
from tests.cli.command import tfvis_nb_here
from tests.support.fleet_dataset import SLOW, SLOWER, STRAGGLER, fleet_dataset
from tests.support.planted_fleets import TASK, steps
from tests.support.texts import raises_id
from tests.wire_reader import read_container
from tfvis_nb.display.pages.page import PageTooLargeError
from tfvis_nb.fleet.dataset import TraceDataset
from tfvis_nb.fleet.widget import cells, tables
from tfvis_nb.fleet.widget.cells import Cells
from tfvis_nb.fleet.widget.fleet_widget import Fleet


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> TraceDataset:
    return fleet_dataset(tmp_path_factory.mktemp("fleet"))


def test_the_fleet_says_how_large_it_is(dataset: TraceDataset) -> None:
    assert repr(tv.show_fleet(dataset)) == "<Fleet fleet: 2 runs, 4 tasks, 24 steps>"
    assert repr(tv.show_fleet(dataset.path, title="mine")) == "<Fleet mine: 2 runs, 4 tasks, 24 steps>"


def test_the_front_end_gets_the_datasets_figures(dataset: TraceDataset) -> None:
    found = Cells(dataset.steps)
    header, columns = read_container(found.packed("fleet"))
    assert header["tasks"] == ["worker 0", "worker 1", "worker 2", "worker 3"]
    assert (header["runs"], columns["step"][10:14]) == (["day1", "day2"], [10, 11, 0, 1])
    assert columns["group"] == [1] * 12 + [2] * 12, "the steps of a run are compared"
    names = [metric["name"] for metric in header["metrics"]]
    assert names[0] == "duration_ns"
    assert {"input_ns", "communication_ns", "host_compute_ns", "transfers"} <= {*names}
    assert "device_compute_ns" not in names, "0 everywhere"
    assert all(metric["label"] and metric["definition"] for metric in header["metrics"])
    _, values = read_container(found.packed_values("input_ns"))
    table = dataset.steps
    row = table[(table["run"] == "day2") & (table["step"] == SLOW) & (table["task"] == TASK.format(1))]
    assert values["values"][24 + 12 + SLOW] == row["input_ns"].item()


def test_a_cell_opens_the_timeline_of_its_step_and_task_alone(dataset: TraceDataset) -> None:
    fleet = tv.show_fleet(dataset)
    shown = fleet.open_timeline("worker 1", SLOW, "day2")
    assert shown is fleet.timeline
    assert shown.trace.events["task"].unique().tolist() == [TASK.format(1)]
    assert shown.trace.events["duration_ns"].max() > 60_000_000
    other = fleet.open_timeline(TASK.format(2), 3, "day1")
    assert other.trace.events["duration_ns"].max() < 20_000_000
    assert fleet.timeline is other
    fleet.close()


def test_a_step_that_is_not_there_opens_nothing(dataset: TraceDataset) -> None:
    fleet = tv.show_fleet(dataset)
    with raises_id(ValueError, "nothing_selected"):
        fleet.open_timeline("worker 1", 99, "day2")
    assert fleet.timeline is None


def test_a_trace_that_was_read_for_a_closed_fleet_is_not_kept(dataset: TraceDataset) -> None:
    fleet = tv.show_fleet(dataset)
    fleet.close()
    assert fleet.open_timeline("worker 1", SLOW, "day2").comm is None


def test_tabs_rank_the_planted_steps_first(dataset: TraceDataset) -> None:
    outliers, stragglers, drift, ops = tv.show_fleet(dataset).panels.tabs()
    names = [column["name"] for column in outliers["blocks"][0]["columns"]]
    first = dict(zip(names, outliers["blocks"][0]["rows"][0], strict=True))
    assert (first["run"], first["step"], first["task"], first["activity"]) == (
        "day2",
        SLOW,
        "worker 1",
        "Input",
    )
    assert outliers["blocks"][0]["zoom"][0] == {"events": [24 + 12 + SLOW]}
    (block,) = stragglers["blocks"]
    assert [row[:2] for row in block["rows"]][::2][:2] == [
        [f"worker {STRAGGLER}", "day1"],
        [f"worker {STRAGGLER}", "day2"],
    ]
    # The longest step of that run.
    assert block["zoom"][1] == {"events": [24 + 12 + SLOW]}
    assert [len(block["rows"]) for block in drift["blocks"]][::2] == [2, 4]
    assert ops["blocks"][0]["rows"][0][0] == SLOWER


def test_runs_whose_tasks_cannot_be_compared_are_named() -> None:
    alone = steps(1, tasks=1, count=9).assign(run="alone")
    compared, left_out = tables.straggler_blocks(Cells(pd.concat([steps(1, tasks=2, count=9), alone])))
    assert {row[1] for row in compared["rows"]} == {"1"}
    assert (left_out["rows"], left_out["cannot_say"]) == ([["alone"]], "")


def test_ops_are_compared_since_the_step_asked_for(dataset: TraceDataset) -> None:
    fleet = tv.show_fleet(dataset, since=("day1", 4))
    assert fleet.slower_ops(("day2", 0)).attrs["steps"] == (12, 12)
    assert "step 4 of day1" in fleet.panels.tabs()[3]["blocks"][0]["title"]
    fleet.panels._compare_since(12)
    assert "step 0 of day2" in fleet.panels.tabs()[3]["blocks"][0]["title"]


def test_the_middle_step_is_compared_unless_another_is_named() -> None:
    found = Cells(steps(1, tasks=2, count=9))
    assert (found.place(None), found.place(3), found.place(("1", 8))) == (4, 3, 8)
    with raises_id(ValueError, "no_step", step=9):
        found.place(9)
    for wrong in ("3", True, (1, 2, 3)):
        with raises_id(TypeError, "since_no_step"):
            found.place(wrong)


def test_a_number_that_several_runs_have_is_refused(dataset: TraceDataset) -> None:
    with raises_id(ValueError, "step_of_runs", step=SLOW, runs=2):
        tv.show_fleet(dataset, since=SLOW)


def test_a_dataset_without_steps_is_refused(tmp_path: Path) -> None:
    with raises_id(ValueError, "fleet_without_steps"):
        tv.show_fleet(tmp_path)
    with raises_id(FileNotFoundError, "dataset_nowhere"):
        tv.show_fleet(tmp_path / "nothing")
    ran = tfvis_nb_here("fleet", "nothing", "-o", "fleet.html", cwd=tmp_path)
    assert (ran.returncode, "there is no dataset yet" in ran.stderr) == (1, True)


def test_more_cells_than_a_browser_takes_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cells, "MOST_CELLS", 10)
    with raises_id(ValueError, "fleet_too_large", cells=18, most=10):
        Cells(steps(1, tasks=2, count=9))


def test_a_figure_that_does_not_exist_is_refused() -> None:
    with raises_id(ValueError, "no_fleet_metric", metric="x"):
        Cells(steps(1, tasks=2, count=9)).packed_values("x")


def test_tables_say_why_they_are_empty() -> None:
    found = Cells(steps(1, tasks=1, count=2, days=0))
    for blocks in tables.BLOCKS.values():
        assert blocks(found)[0]["cannot_say"], blocks


def test_drift_is_within_runs_that_last_several_days() -> None:
    small = steps(1, tasks=1, count=8, days=2).assign(run="small")
    large = small.assign(run="large", duration_ns=small["duration_ns"] * 10)
    blocks = tables.drift_blocks(Cells(pd.concat([small, large], ignore_index=True)))
    names = [column["name"] for column in blocks[0]["columns"]]
    assert names[:2] == ["period", "run"]
    typical: dict[str, list[Any]] = {
        run: [row[names.index("typical")] for row in blocks[0]["rows"] if row[1] == run]
        for run in ("small", "large")
    }
    assert len(typical["small"]) > 1
    assert typical["large"] == pytest.approx([10 * value for value in typical["small"]], abs=10)
    assert [row[1] for row in blocks[2]["rows"]] == ["small", "large"]


def test_drift_of_runs_within_a_day_says_that_it_is_over_all() -> None:
    early = steps(1, tasks=1, count=8).assign(run="early", start_ns=range(8))
    late = early.assign(run="late", start_ns=early["start_ns"] + 3 * 86_400 * 10**9)
    blocks = tables.drift_blocks(Cells(pd.concat([early, late], ignore_index=True)))
    assert [block["definition"].endswith(", over all runs.") for block in blocks] == [True] * 3
    within = tables.drift_blocks(Cells(steps(1, tasks=1, count=8, days=2)))
    assert not any("runs" in block["definition"] for block in within)


def test_a_column_without_values_says_why() -> None:
    for block in tables.drift_blocks(Cells(steps(1, tasks=1, count=2, days=2))):
        (absent,) = block["absent"]
        assert absent == f"Difference ({tables._NO_DIFFERENCE['difference']})"


def test_a_notebook_without_scripts_shows_the_longest_steps(dataset: TraceDataset) -> None:
    fleet = tv.show_fleet(dataset)
    data, _ = fleet._repr_mimebundle_()
    text = data["text/html"]
    assert "<Fleet" not in text
    assert "2 runs, 4 tasks, 24 steps" in text
    assert "<td>90.0 ms</td><td>4.23</td>" in text
    fleet.close()


def test_a_page_has_as_many_timelines_as_asked_for(dataset: TraceDataset) -> None:
    fleet = tv.show_fleet(dataset)
    for count in (0, 2):
        page = fleet.to_html(timelines=count)
        assert [f'id="tfvis-drawn-{at}"' in page for at in range(3)] == [at < count for at in range(3)]
    for wrong in ("x", -1, True):
        with raises_id(ValueError, "timelines_no_count"):
            fleet.to_html(timelines=wrong)  # type: ignore[arg-type]
    with raises_id(PageTooLargeError, "fleet_page_too_large"):
        fleet.to_html(max_bytes=1000)


def test_an_anonymized_page_has_the_same_figures(dataset: TraceDataset) -> None:
    fleet = tv.show_fleet(dataset, since=("day2", 0))
    mine, shared = fleet.to_html(), fleet.to_html(anonymize=True, title="Ours")
    assert "<title>Ours</title>" in shared
    tabs = [json.loads(page_part(page, "tabs"))["tabs"] for page in (mine, shared)]
    numbers = [
        [
            [[cell for cell in row if isinstance(cell, (int, float))] for row in block["rows"]]
            for tab in found
            for block in tab["blocks"]
        ]
        for found in tabs
    ]
    assert numbers[0] == numbers[1]
    assert sum(map(len, numbers[0])) > 20
    drift = next(tab for tab in tabs[1] if tab["title"] == tables.DRIFT)
    assert [row[0] for row in drift["blocks"][0]["rows"]] == ["1970-01-01", "1970-01-02"]
    text = page_text(shared)
    assert "day2" not in text
    assert "day2" in page_text(mine)


def test_the_command_writes_the_page(dataset: TraceDataset, tmp_path: Path) -> None:
    ran = tfvis_nb_here(
        *("fleet", dataset.path, "-o", "fleet.html", "--run", "day2", "--since", "3", "--timelines", "1"),
        "--anonymize",
        cwd=tmp_path,
    )
    assert (ran.returncode, ran.stdout) == (0, "fleet.html\n"), ran.stderr
    page = (tmp_path / "fleet.html").read_text("utf-8")
    assert 'id="tfvis-drawn-0"' in page
    assert 'id="tfvis-drawn-1"' not in page
    assert "day2" not in page_text(page)


@pytest.mark.parametrize(
    ("words", "code"),
    [(("--run", "day2"), 2), (("--since", "3"), 1), (("--since", "3", "--run", "day9"), 1)],
)
def test_the_command_refuses_steps_that_it_cannot_find(
    dataset: TraceDataset, tmp_path: Path, words: tuple[str, ...], code: int
) -> None:
    ran = tfvis_nb_here("fleet", dataset.path, "-o", "fleet.html", *words, cwd=tmp_path)
    assert ran.returncode == code
    assert not (tmp_path / "fleet.html").exists()
    assert ran.stderr.startswith("tfvis-nb: ")


def test_the_command_names_unreadable_sources(dataset: TraceDataset, tmp_path: Path) -> None:
    damaged = shutil.copytree(dataset.path, tmp_path / "damaged")
    part = next(damaged.glob("ops/**/*.parquet"))
    part.write_bytes(b"PAR1")
    for source, named in (("nothing/*.pb", "nothing/*.pb"), (damaged, part)):
        ran = tfvis_nb_here("fleet", source, "-o", "fleet.html", cwd=tmp_path)
        assert ran.returncode == 1
        assert str(named) in ran.stderr
        assert "fleet.html" not in ran.stderr


def test_a_page_leaves_out_timelines_that_cannot_be_read(
    dataset: TraceDataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    damaged = tv.open_traces(shutil.copytree(dataset.path, tmp_path / "damaged"))
    shutil.rmtree(damaged.path / "events")
    fleet = tv.show_fleet(damaged)
    with pytest.warns(UserWarning, match="has no timeline") as warned:
        page = fleet.to_html(timelines=1)
    text = warned[0].message.args[0]  # type: ignore[union-attr]
    assert text.id == "fleet_timeline_left_out"
    assert str(damaged.path / "events") in text.figures["reason"]
    assert 'id="tfvis-drawn-0"' not in page
    to_html = Fleet.to_html

    def with_another(*args: Any, **options: Any) -> Any:
        warnings.warn("of another library", DeprecationWarning, stacklevel=1)
        return to_html(*args, **options)

    monkeypatch.setattr(Fleet, "to_html", with_another)
    with pytest.warns(DeprecationWarning, match="of another library") as warned:
        ran = tfvis_nb_here("fleet", damaged.path, "-o", "fleet.html", "--timelines", "1", cwd=tmp_path)
    assert (ran.returncode, ran.stdout) == (0, "fleet.html\n")
    assert ran.stderr == f"tfvis-nb: {text}\n"
    assert [str(one.message) for one in warned if "another" in str(one.message)] == ["of another library"]


def test_a_step_without_a_late_task_shows_the_longest_one() -> None:
    found = Cells(pd.DataFrame({"run": "1", "task": ["a", "b"], "step": 0, "duration_ns": [5, 6]}))
    assert (found.task("1", 0, ""), found.task("1", 0, "a")) == ("b", "a")


def test_cells_are_packed_task_after_task_exactly() -> None:
    table = steps(1, tasks=12, count=20)
    _, columns = read_container(Cells(table).packed_values("device_compute_ns"))
    number = table["task"].astype(str).str.extract(r"(\d+)$")[0].astype(int)
    expected = table.assign(number=number).sort_values(["number", "step"])["device_compute_ns"]
    assert columns["values"] == expected.tolist()


def test_fleets_show_users_only_documented_names(dataset: TraceDataset) -> None:
    fleet = tv.show_fleet(dataset)
    parts = {"map", "panels", "timeline", "open_timeline", "slower_ops", "to_html"}
    tables = {"height", "tab", "tabs", "titles"}
    for widget, names in ((fleet, parts), (fleet.map, {"height"}), (fleet.panels, tables)):
        found = {name for name in dir(widget) if not name.startswith("_")}
        assert found - {*dir(ipywidgets.VBox)} - {*dir(anywidget.AnyWidget)} == names
