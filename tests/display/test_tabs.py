"""The content of a dashboard's tabs: JSON, with a unit and a definition for each metric."""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from tests.hostile_names import hostile_trace
from tests.real_traces import DATA, SAMPLES, real_trace
from tests.real_traces import each as each_of
from tfvis_nb import Trace, events
from tfvis_nb.analysis import late_tasks
from tfvis_nb.analysis.events.lane_order import order_lanes
from tfvis_nb.analysis.findings.idle_causes import cause_names
from tfvis_nb.analysis.findings.rule import capital
from tfvis_nb.core.format import format_percent
from tfvis_nb.core.palette import COLOURS
from tfvis_nb.display.tabs import COMPARISON, TABS, parts, tab, why_none
from tfvis_nb.display.tabs.blocks import LONGEST_TEXT, MOST_ROWS, ColumnUnit, TableColumn, key, table
from tfvis_nb.display.tabs.wording import named
from tfvis_nb.display.tabs.zoom_targets import MOST_SELECTED, ZoomTargets

PARTS = [title for titles in TABS.values() for title in titles]


@pytest.fixture(scope="module")
def trace() -> Trace:
    return real_trace(DATA / "local_mlp_step1.pb")


def in_json(value: Any) -> Any:
    """Through JSON, which has no infinite or undefined numbers, and no types of NumPy."""
    return json.loads(json.dumps(value, allow_nan=False))


def tables(found: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [block for block in found["blocks"] if block["kind"] == "table"]


def column(block: dict[str, Any], name: str) -> list[Any]:
    at = [each["name"] for each in block["columns"]].index(name)
    return [row[at] for row in block["rows"]]


@pytest.mark.parametrize("name", [*PARTS, COMPARISON])
def test_every_figure_has_a_unit_and_a_definition(trace: Trace, name: str) -> None:
    for block in tables(in_json(tab(trace, name, against=trace))):
        labels = [each["label"] for each in block["columns"]]
        assert len(set(labels)) == len(labels) > 0
        for each in block["columns"]:
            assert each["unit"] in get_args(ColumnUnit)
            assert each["label"]
            assert each["definition"].endswith(".")
        for row in block["rows"]:
            for cell, each in zip(row, block["columns"], strict=True):
                kinds = (str,) if each["unit"] in ("text", "name") else (int, float)
                assert cell is None or isinstance(cell, kinds), each["name"]
                if each["unit"] == "share" and cell is not None:
                    assert 0 <= float(cell) <= 1
        assert len(block["zoom"]) == len(block["rows"]) <= min(block["total"], MOST_ROWS)


@pytest.mark.parametrize("file", ["gpu_tf221_dist.pb.xz", "gpu_tf221_two_logical.pb.xz"])
def test_a_cause_selects_what_ends_its_gaps(file: str) -> None:
    trace = real_trace(DATA / file)
    causes = tables(tab(trace, "Gaps"))[0]
    assert causes["rows"]
    places, gaps, drawn = ZoomTargets(trace), trace.idle_gaps, order_lanes(trace.events).table
    for cause, device, zoom in zip(
        column(causes, "cause"), column(causes, "device"), causes["zoom"], strict=True
    ):
        of = [capital(cause_names(trace)[str(each)]) == cause for each in gaps["cause"]]
        of = np.array(of) & (named(gaps)["device"] == device).to_numpy()
        longest = gaps[of].nlargest(1, "duration_ns").iloc[0]
        assert zoom["end"] - zoom["start"] == longest["duration_ns"]
        assert zoom["start"] + places.origin in gaps.loc[of, "start_ns"].tolist()
        assert {drawn["device"].iloc[at] for at in zoom["lanes"]} == {longest["device"]}
        # A gap ends where the next event of its device starts, or with the step.
        parts = gaps[of].merge(gaps.groupby("gap")["start_ns"].min().rename("start"), on="gap")
        own = trace.events[trace.events["device"] == longest["device"]]
        ends = set(parts["start"] + parts["gap_ns"]) & set(own["start_ns"])
        events = zoom.get("events", [])
        assert len(events) == min(len(ends), MOST_SELECTED)
        assert zoom.get("of", 0) == len(ends)
        assert set(trace.events["start_ns"].iloc[events]) <= ends
        assert set(trace.events["device"].iloc[events]) <= {longest["device"]}


def test_long_lists_of_ops_are_cut() -> None:
    # Only names have the room that figures leave; a text would put its end out of sight.
    found = tab(real_trace(DATA / "gpu_tf221_mlp.pb.xz"), "Gaps")
    assert [block["title"] for block in tables(found)][-1] == "Longest gaps"
    units = {each["name"]: each["unit"] for each in tables(found)[1]["columns"]}
    assert units["ops"] == "name"


@pytest.mark.parametrize("name", PARTS)
def test_parts_without_contents_are_left_out(name: str) -> None:
    nothing = Trace(events.build({"start_ns": [], "duration_ns": []}))
    assert (name in [title for _, title in parts(nothing)]) is (name == "Overview")
    for block in in_json(tab(nothing, name))["blocks"]:
        assert block["cannot_say"]
        assert not block.get("rows")
        assert not block.get("item")


@pytest.mark.parametrize("file", each_of(SAMPLES))
def test_tabs_are_those_with_contents(file: Path) -> None:
    trace = real_trace(file)
    there = parts(trace)
    assert len({tab for tab, _ in there}) <= 7
    for name in PARTS:
        blocks = tab(trace, name)["blocks"]
        has_contents = any(not block.get("cannot_say") for block in blocks)
        assert (name in [title for _, title in there]) is has_contents, (name, why_none(trace, name))


@pytest.mark.parametrize(
    "file", ["local_mlp_step1.pb", "cpu_tf221_keras_fit.xplane.pb.xz", "gpu_tf218_mlp.pb.xz"]
)
def test_parts_show_only_blocks_with_contents(file: str) -> None:
    trace = real_trace(DATA / file)
    for _, name in parts(trace):
        assert [block["title"] for block in tab(trace, name)["blocks"] if block.get("cannot_say")] == []


def test_tab_of_a_control_alone_gives_reasons() -> None:
    control, costs = tab(hostile_trace(), "What if")["blocks"]
    assert (control["kind"], costs["cannot_say"].id) == ("what_if", "no_activity_saves")


def test_a_reason_is_given_once() -> None:
    trace = Trace(events.build({"start_ns": [0], "duration_ns": [9], "kind": ["op"], "op": ["a"]}))
    blocks = tab(trace, "Memory")["blocks"]
    reasons = [block["cannot_say"] for block in blocks]
    assert len(set(reasons)) == len(reasons)
    assert "Peaks" in blocks[0]["title"]


@pytest.mark.parametrize("name", PARTS)
def test_names_are_texts_and_nothing_more(name: str) -> None:
    found = tab(hostile_trace(), name)
    for block in tables(in_json(found)):
        texts = [cell for row in block["rows"] for cell in row if isinstance(cell, str)]
        assert all(text.isprintable() for text in texts)


def test_rows_are_where_the_timeline_has_them(trace: Trace) -> None:
    origin = int(trace.events["start_ns"].iloc[0])
    by_op = next(block for block in tables(tab(trace, "Ops")) if block["title"] == "By op type")
    for op, zoom in zip(column(by_op, "op"), by_op["zoom"], strict=True):
        (event,) = zoom["events"]
        shown = trace.events.loc[event]
        assert shown["op"] == op
        start = int(shown["start_ns"]) - origin
        assert zoom["start"] <= start <= start + int(shown["duration_ns"]) <= zoom["end"]
    steps = tables(tab(real_trace(DATA / "gpu_tf218_function.xplane.pb.xz"), "Steps"))[0]
    for zoom, start, took in zip(
        steps["zoom"], column(steps, "start_ns"), column(steps, "duration_ns"), strict=True
    ):
        assert (zoom["start"], zoom["end"] - zoom["start"]) == (start, took)


def test_rows_of_device_time_select_their_kernels(data: Path) -> None:
    trace = real_trace(data / "gpu_tf218_function.xplane.pb.xz")
    by_op = next(block for block in tables(tab(trace, "Ops")) if block["title"] == "By op type")
    on_device = {"kernel", "memcpy", "memset"}
    for op, kind, count, zoom in zip(
        column(by_op, "op"), column(by_op, "kind"), column(by_op, "count"), by_op["zoom"], strict=True
    ):
        events = trace.events.loc[zoom["events"]]
        assert set(events["op"]) == {op}
        assert set(events["kind"]) == {kind}
        assert len(events) == (min(count, 200) if kind in on_device else 1)
    trace = real_trace(data / "gpu_tf221_mlp.pb.xz")
    layers = next(block for block in tables(tab(trace, "Layers")) if block["title"] == "By layer and phase")
    ran = [
        (time, trace.events.loc[zoom["events"]])
        for time, zoom in zip(column(layers, "device_ns"), layers["zoom"], strict=True)
        if time
    ]
    assert ran
    for time, events in ran:
        assert set(events["kind"]) <= on_device
        assert len(events) == 200 or events["duration_ns"].sum() == time


def test_histograms_name_the_events_of_their_rows(data: Path) -> None:
    trace = real_trace(data / "gpu_tf218_function.xplane.pb.xz")
    for block in tables(in_json(tab(trace, "Ops")))[:2]:
        assert len(block["histograms"]) == len(block["rows"])
        key = block["columns"][0]["name"]
        for label, count, kind, found in zip(
            column(block, key),
            column(block, "count"),
            column(block, "kind"),
            block["histograms"],
            strict=True,
        ):
            assert sum(found["counts"]) == count
            assert [len(listed) for listed in found["events"]] == found["counts"]
            rows = trace.events.loc[[event for listed in found["events"] for event in listed]]
            assert set(rows["kind"].astype(str)) == {kind}
            assert len(label) == LONGEST_TEXT or set(rows[key].astype(str)) == {label}


def test_histograms_of_many_events_name_the_longest() -> None:
    durations = np.arange(1, 50_001)
    columns = {"start_ns": durations * 10, "duration_ns": durations, "kind": ["op"] * 50_000}
    block = tables(in_json(tab(Trace(events.build({**columns, "op": ["a"] * 50_000})), "Ops")))[0]
    (found,) = block["histograms"]
    assert sum(found["counts"]) == 50_000
    assert found["events"][-1][0] == 49_999
    assert sum(map(len, found["events"])) < 20_000


def test_the_parts_of_a_step_add_up_to_it(trace: Trace) -> None:
    found = tables(tab(trace, "Breakdown"))
    whole = next(block for block in found if block["title"] == "Total over steps")
    assert sum(column(whole, "share")) == pytest.approx(1)
    assert sum(column(whole, "total_ns")) == trace.steps["duration_ns"].sum()
    # Of one step the totals say all; of several each row has its parts.
    assert "Step by step" not in [block["title"] for block in found]
    found = tables(tab(real_trace(DATA / "gpu_tf218_function.xplane.pb.xz"), "Breakdown"))
    steps = next(block for block in found if block["title"] == "Step by step")
    parts = [each["name"] for each in steps["columns"] if each["name"] not in ("step", "step_ns")]
    for row, whole_ns in enumerate(column(steps, "step_ns")):
        assert sum(column(steps, part)[row] for part in parts) == whole_ns


def test_each_task_has_totals_of_its_own(data: Path) -> None:
    trace = real_trace(data / "gpu_tf221_dist.pb.xz")
    whole = next(block for block in tables(tab(trace, "Breakdown")) if block["title"] == "Total over steps")
    tasks = column(whole, "task")
    assert sorted(set(tasks)) == ["ps 0", "worker 0", "worker 1"]
    for task in set(tasks):
        own = [share for share, other in zip(column(whole, "share"), tasks, strict=True) if other == task]
        assert sum(own) == pytest.approx(1)
    share = dict(zip(zip(tasks, column(whole, "part"), strict=True), column(whole, "share"), strict=True))
    found = trace.findings.set_index("id").loc["communication"]
    assert share["worker 1", "Communication"] == found["share"]


def test_received_tensors_have_no_bar_of_self_time(data: Path) -> None:
    trace = real_trace(data / "gpu_tf221_dist.pb.xz")
    by_op, *_ = tables(tab(trace, "Ops"))
    colours = dict(zip(column(by_op, "op"), by_op["colours"], strict=True))
    assert by_op["columns"][by_op["bar"]]["name"] == "self_ns"
    assert colours.pop("RecvTensor") == ""
    assert all(colour in COLOURS for colour in colours.values())


def test_charts_are_whole_items() -> None:
    trace = real_trace(DATA / "gpu_tf218_function.xplane.pb.xz")
    charts = [block for block in tab(trace, "Breakdown")["blocks"] if block["kind"] == "chart"]
    for chart in charts:
        item = chart["item"]
        (root,) = item["doc"]["roots"]
        assert item["root_id"] == root["id"]
        assert chart["title"]
        assert not chart["cannot_say"]
    parts, _ = charts
    assert {"label": "launch", "colour": COLOURS["launch"], "name": "launch"} in parts["legend"]
    assert "eval" not in json.dumps(charts)


def test_unknown_values_are_no_numbers() -> None:
    rows = pd.DataFrame(
        {
            "bytes": pd.array([1, None, 3], dtype="Int64"),
            "rate": [0.5, np.nan, np.inf],
            "op": pd.Categorical(["a", None, "b"]),
        }
    )
    columns = [
        TableColumn("bytes", "Size", "bytes", "Its size."),
        TableColumn("rate", "Rate", "ratio", "How fast."),
    ]
    made = in_json(table("Sizes", rows, [key("op", "Op"), *columns], light="op"))
    assert made["rows"] == [["a", 1, 0.5], [None, None, None], ["b", 3, None]]
    assert made["light"] == 0


def test_memory_that_no_op_asked_for_is_named() -> None:
    columns = {"start_ns": [1000], "duration_ns": [900], "kind": ["op"], "op": [""]}
    records = [{"micros": 1, "bytes": 256}]
    nested = pa.table({"memory": [[{"allocator": "gpu_host_bfc", "records": records}]]})
    found = tables(tab(Trace(events.build(columns), nested=nested), "Memory"))
    by_op = next(block for block in found if block["title"] == "Peak memory by op")
    assert column(by_op, "op") == ["(no op)"]


def test_a_long_table_says_how_much_of_it_is_shown() -> None:
    rows = pd.DataFrame({"step": range(1000)})
    made = table("Steps", rows, [key("step", "Step", "step")], order="longest")
    assert (len(made["rows"]), made["total"]) == (MOST_ROWS, 1000)
    assert made["note"] == "The 200 longest of 1,000 rows."


def test_a_column_without_definition_is_refused() -> None:
    with pytest.raises(ValueError, match="'length'"):
        table("Steps", pd.DataFrame({"length": [1]}), [TableColumn("length", "Length", "ns", "")])


def test_parts_of_other_names_are_refused(trace: Trace) -> None:
    for name in ("breakdown", COMPARISON):
        with pytest.raises(KeyError):
            tab(trace, name)


def test_two_traces_are_compared() -> None:
    def first_op(duration_ns: int) -> Trace:
        columns = {"start_ns": [0], "duration_ns": [duration_ns], "kind": ["op"], "op": ["MatMul"]}
        return Trace(events.build({**columns, "device": ["/device:CPU:0"]}), title=f"{duration_ns} ns")

    whole, activities, ops = tables(in_json(tab(first_op(70), COMPARISON, against=first_op(50))))
    assert (column(whole, "difference"), column(whole, "a"), column(whole, "b")) == ([20], [50], [70])
    for block in (whole, activities, ops):
        labels = [each["label"] for each in block["columns"]]
        assert labels.index("A, against: 50 ns") + 1 == labels.index("B, this: 70 ns")
    assert column(activities, "activity") == ["Host compute"]
    assert column(activities, "step_change_ns") == [20]
    assert "A is 50 ns, B is 70 ns" in activities["definition"]
    assert column(ops, "change") == ["longer"]
    assert ops["zoom"][0]["events"] == [0]


def changes_of(trace: Trace, base: Trace, name: str) -> dict[str, list[Any]]:
    """Return the differences from a base in each table of a part, by title."""
    blocks = tables(in_json(tab(trace, name, against=base)))
    return {
        block["title"]: column(block, "against")
        for block in blocks
        if "against" in [each["name"] for each in block["columns"]]
    }


def test_tables_have_differences_from_a_base() -> None:
    trace, base = (real_trace(DATA / f"gpu_tf{version}_mlp.pb.xz") for version in (221, 218))
    found = {name: changes_of(trace, base, name) for name in PARTS}
    assert {name: list(titles) for name, titles in found.items() if titles} == {
        "Breakdown": ["Total over steps"],
        "Gaps": ["Idle time by cause"],
        "Critical path": ["Critical path by activity", "By op type on the path", "Spare time by op type"],
        "Ops": ["By op type", "By node", "By name scope"],
        "Layers": ["By layer and phase"],
        "Kernels": ["By kernel"],
        "Transfers": ["Transfers by route"],
        "Memory": ["Peaks", "Peak memory by op", "Peak memory by layer"],
        "What if": ["Steps without an activity"],
    }
    # A single step of each claims nothing.
    texts = {text for titles in found.values() for texts in titles.values() for text in texts}
    assert not any(re.search("longer|shorter|clear", text) for text in texts)
    assert set(found["Memory"]["Peaks"]) == {"no change", "<0.1 %"}


def test_a_trace_has_no_clear_differences_from_itself() -> None:
    trace = real_trace(DATA / "cpu_tf221_keras_fit.xplane.pb.xz")
    found = {name: changes_of(trace, trace, name) for name in PARTS}
    assert {"Breakdown", "Gaps", "Ops", "Input"} <= {name for name, titles in found.items() if titles}
    costs = tables(tab(trace, "What if"))[0]
    shares = [f"{100 * share:.1f} % in the base" for share in column(costs, "saved_share")]
    assert found.pop("What if") == {costs["title"]: shares}
    settings = {title: found["Input"].pop(title) for title in [*found["Input"]][1:]}
    for name, titles in {**found, "settings": settings}.items():
        for texts in titles.values():
            of_steps = {"no clear difference", "in too few steps"}
            # A function that is never called, or a stage that sets nothing, has none.
            assert {*texts} - {""} <= ({"no change"} if name in ("Memory", "settings") else of_steps)


def test_every_kind_of_figure_has_its_difference() -> None:
    new, old = (real_trace(DATA / f"gpu_tf{version}_dist.pb.xz") for version in (221, 218))
    late = late_tasks(old).set_index(["task", "kind"])["share"]
    rows = late_tasks(new)[["task", "kind"]].itertuples(index=False, name=None)
    block = tables(tab(new, "Steps", against=old))[-1]
    assert column(block, "against") == [f"{format_percent(late[row])} in the base" for row in rows]
    jax = real_trace(DATA / "cpu_jax.xplane.pb")
    assert {"By instruction of compiled programs"} == {*changes_of(jax, jax, "Kernels")}
    assert {"Memory of compiled programs"} == {*changes_of(jax, jax, "Memory")}
    assert "Functions" in changes_of(jax, jax, "Ops")


def test_idle_causes_and_paths_of_longer_steps_are_longer() -> None:
    def run(wait_ns: int, task: str) -> Trace:
        """Return steps in which a GPU waits for input and then computes."""
        noise = np.arange(8) * 10
        lengths = np.stack([wait_ns + noise, 2_000 + noise], axis=1).ravel()
        starts = np.cumsum([0, *lengths[:-1]])
        step = np.repeat(np.arange(8), 2)
        columns: dict[str, Any] = {"start_ns": starts, "duration_ns": lengths, "step": step}
        columns |= {
            "kind": ["op", "kernel"] * 8,
            "op": ["IteratorGetNext", "MatMul"] * 8,
            "task": [task] * 16,
        }
        columns |= {"device": ["/device:CPU:0", "/device:GPU:0"] * 8, "lane": ["ops", "stream"] * 8}
        return Trace(events.build(columns))

    trace, base = run(9_000, "here"), run(3_000, "there")
    (idle,) = changes_of(trace, base, "Gaps")["Idle time by cause"]
    assert idle.startswith("2.98 times as long (")
    changes = changes_of(trace, base, "Critical path")
    texts = changes["Critical path by activity"]
    assert {text.partition(" (")[0] for text in texts} == {"2.98 times as long", "no clear difference"}
    assert changes["By op type on the path"] == texts


def test_steps_that_differ_have_a_clear_difference() -> None:
    def steps(compute_ns: int) -> Trace:
        length = [9_000, compute_ns, 11_000, compute_ns + 100] * 4
        columns = {"duration_ns": length, "start_ns": np.cumsum([0, *length[:-1]]), "kind": ["op"] * 16}
        columns |= {"op": ["Add", "MatMul"] * 8, "step": np.repeat(np.arange(8), 2), "lane": ["ops"] * 16}
        return Trace(events.build({**columns, "device": ["/device:CPU:0"] * 16}))

    (block, *_) = tables(in_json(tab(steps(60_000), "Ops", against=steps(40_000))))
    changes = dict(zip(column(block, "op"), column(block, "against"), strict=True))
    assert changes["MatMul"].startswith("50 % longer (")
    assert changes["Add"] == "no clear difference"


def test_an_event_without_length_gets_room_around_it() -> None:
    zero = Trace(events.build({"start_ns": [7], "duration_ns": [0], "kind": ["op"]}))
    (zoom,) = ZoomTargets(zero).of_events(np.array([0]))
    assert zoom is not None
    assert zoom["start"] < 0 < zoom["end"]


def test_every_tab_of_a_folder_of_modules_is_listed() -> None:
    folder = Path(tab.__code__.co_filename).parent
    modules = {path.stem for path in folder.glob("*.py")} - {
        "__init__",
        "against",
        "blocks",
        "compare",
        "comparison",
        "zoom_targets",
        "wording",
    }
    assert {name.lower().replace(" ", "_") for name in PARTS} == modules


def test_producing_stages_are_indented_below_consumers() -> None:
    trace = real_trace(DATA / "cpu_tf221_keras_fit.xplane.pb.xz")
    picture, times, budgets, settings = in_json(tab(trace, "Input"))["blocks"]
    stages = trace.input_pipeline
    assert [name.count("· ") for name in column(times, "stage")] == stages["depth"].tolist()
    for name in ("self_ns", "wait_ns", "calls"):
        assert column(times, name) == stages[name].tolist()
    assert all(
        target["events"] == [row] for target, row in zip(times["zoom"], stages["longest"], strict=True)
    )
    boxes = pd.DataFrame(picture["stages"])
    for name, given in {"self_ns": "self_ns", "depth": "depth", "is_bottleneck": "bottleneck"}.items():
        assert boxes[name].tolist() == stages[given].tolist()
    assert boxes["consumer"].dropna().tolist() == stages["consumer"].dropna().tolist()
    # Boxes of stages that wait for others have another colour than those of stages that work.
    others = ~stages["bottleneck"]
    assert (boxes["colour"] == "idle").tolist() == (stages["awaits"] & others).tolist()
    assert (boxes["colour"] == "input").tolist() == (~others).tolist()
    assert boxes["empty"].tolist()[1] == stages["empty"].tolist()[1]
    assert boxes.loc[stages["empty"].isna(), "empty"].isna().all()
    assert (column(budgets, "stage"), column(budgets, "cpu_budget")) == (["Root"], [2])
    assert column(settings, "stage") == ["Prefetch", "ParallelMap", "Prefetch"]
    assert column(settings, "parallelism") == [None, 2, None]
    assert column(settings, "autotune") == ["AUTOTUNE", "AUTOTUNE", "program"]
    assert [block["absent"] for block in (times, budgets, settings)] == [[], [], ["Memory"]]


def test_missing_figures_of_input_pipelines_are_named() -> None:
    trace = real_trace(DATA / "tf2_host.trace.json")
    picture, times, settings = in_json(tab(trace, "Input"))["blocks"]
    assert {stage["empty"] for stage in picture["stages"]} == {None}
    assert times["absent"] == ["Empty"]
    assert settings["absent"] == ["Buffered", "Memory", "Interleave depth"]
    assert why_none(real_trace(DATA / "local_mlp_step1.pb"), "Input")


def test_functions_have_tables_where_a_profile_has_any(trace: Trace) -> None:
    assert "Functions" not in {block["title"] for block in tables(tab(trace, "Ops"))}
    building = "tf.function-graph_building"
    columns = {
        "start_ns": [0, 1, 50, 80],
        "duration_ns": [20, 9, 30, 4],
        "kind": ["host"] * 4,
        "lane": ["python"] * 4,
        "name": ["f", building, building, "f"],
        "op": ["f", building, building, "f"],
        "detail": ["tf_function_call=traced-nonXla tracing_count=2", "", "", "tf_function_call=eager"],
    }
    *_, counted = tables(in_json(tab(Trace(events.build(columns)), "Ops")))
    assert column(counted, "name") == ["f", "outside calls"]
    assert (column(counted, "calls"), column(counted, "retraces")) == ([2, 0], [1, 0])
    assert [place["events"] for place in counted["zoom"]] == [[1], [2]]
    assert "compilations" not in {each["name"] for each in counted["columns"]}
