"""The comparison of two timelines, from Python's side."""

import base64
import gzip
import html
import json
import re
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import tfvis_nb as tv
from tests.analysis.test_compared_steps import OPS, training
from tests.real_traces import DATA, real_trace
from tests.support.page_options import page_options
from tests.support.session_files import filled
from tests.support.texts import raises_id
from tfvis_nb import Trace, events
from tfvis_nb.analysis import compare
from tfvis_nb.analysis.steps.difference_text import difference_text
from tfvis_nb.core.labels import printable
from tfvis_nb.display.pages.page import PageTooLargeError
from tfvis_nb.display.shaping.side import compared
from tfvis_nb.display.tabs.blocks import LONGEST_TEXT
from tfvis_nb.display.tabs.comparison import PARTS
from tfvis_nb.texts import Text


@pytest.fixture(scope="module")
def two() -> tuple[Trace, Trace]:
    older, newer = (real_trace(DATA / f"gpu_tf{version}_mlp.pb.xz") for version in ("218", "221"))
    return older, newer


@pytest.fixture(scope="module")
def steps() -> Trace:
    return real_trace(DATA / "gpu_tf218_function.xplane.pb.xz")


def page_part(page: str, name: str) -> bytes:
    found = re.search(rf'id="tfvis-{name}">([^<]*)<', page)
    assert found
    return base64.b64decode(found[1])


def tables(shown: tv.Comparison) -> dict[str, dict[str, Any]]:
    blocks = [block for tab in shown.panels.tabs() for block in tab["blocks"]]
    return {block["title"]: block for block in blocks}


def heads(shown: tv.Comparison) -> list[str]:
    return [column["label"] for column in tables(shown)["Differences by op"]["columns"]]


def test_memory_has_one_scale_and_figures_one_order() -> None:
    small, large = (real_trace(DATA / name) for name in ("gpu_tf221_mlp.pb.xz", "gpu_tf221_mixed.pb.xz"))
    shown = tv.show_comparison(small, large)
    peaks = [each.memory.groupby("allocator", observed=True)["bytes"].max() for each in (small, large)]
    scale = shown.a._pair["memory"]
    assert scale == shown.b._pair["memory"]
    for allocator in set(peaks[0].index) | set(peaks[1].index):
        most = max(int(peak.get(allocator, 0)) for peak in peaks)
        assert most in [size for key, size in scale.items() if key.endswith(f"\t{allocator}")]
    orders = {
        tuple(
            column["label"] for column in block.get("columns", ()) if column["label"] in ("Change", "A", "B")
        )
        for tab in shown.panels.tabs()
        for block in tab["blocks"]
    }
    assert orders - {()} == {("Change", "A", "B")}


def test_both_share_a_link_and_an_extent(two: tuple[Trace, Trace]) -> None:
    shown, another = tv.show_comparison(*two), tv.show_comparison(*two)
    links = {part.get_state()["_link"] for part in (shown.a, shown.b, shown.panels)}
    assert len(links) == 1
    assert links != {another.a.get_state()["_link"]}
    pairs = [timeline.get_state()["_pair"] for timeline in (shown.a, shown.b)]
    assert [pair["side"] for pair in pairs] == [0, 1]
    spans = [int(trace.steps["duration_ns"].max()) for trace in two]
    assert {pair["extent"] for pair in pairs} == {max(spans)}
    assert tv.show_timeline(two[0]).get_state().get("_pair", {}) == {}


FILES_OF_ONE_NAME = {
    "equally deep": ("before/run/step.pb", "after/run/step.pb", "before/run/step.pb", "after/run/step.pb"),
    "one above the other": ("run/step.pb", "step.pb", "run/step.pb", "{folder}/step.pb"),
    "neighbours": ("all/a/step.pb", "all/b/step.pb", "a/step.pb", "b/step.pb"),
    "other names": ("a/old.pb", "b/new.pb", "old.pb", "new.pb"),
}


@pytest.mark.parametrize(("first", "second", "a", "b"), FILES_OF_ONE_NAME.values(), ids=FILES_OF_ONE_NAME)
def test_paths_distinguish_files_of_one_name(tmp_path: Path, first: str, second: str, a: str, b: str) -> None:
    paths = [tmp_path / first, tmp_path / second]
    for path in paths:
        path.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(DATA / "local_mlp_step1.pb", path)
    expected = [name.format(folder=tmp_path.name) for name in (a, b)]
    assert tv.show_comparison(str(paths[0]), paths[1]).title == " / ".join(expected)
    traces = [tv.read_trace(path) for path in paths]
    of_steps = tv.show_comparison(*traces, steps=(0, 0))
    assert of_steps.title == " / ".join(f"step 0 of {name}" for name in expected)
    assert [trace.title for trace in traces] == [path.name for path in paths]
    assert tv.show_comparison(*traces, titles=("old", "new")).title == "old / new"


def test_relative_paths_stay_short(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "run").mkdir()
    for folder in (tmp_path, tmp_path / "run"):
        shutil.copy(DATA / "local_mlp_step1.pb", folder / "x.pb")
    monkeypatch.chdir(tmp_path)
    assert tv.show_comparison("run/x.pb", "x.pb").title == "run/x.pb / x.pb"
    assert tv.show_comparison("x.pb", "x.pb").title == "x.pb / x.pb"


def test_start_times_distinguish_traces_of_one_title() -> None:
    noon = int(pd.Timestamp("2026-03-01 12:00", tz="UTC").value)
    columns = {"duration_ns": [5], "kind": ["op"]}
    traces = [
        Trace(events.build({"start_ns": [start], **columns}), title="2 session runs")
        for start in (noon, noon + 90 * 10**9, 7)
    ]
    first, second, unknown = traces
    assert tv.show_comparison(first, second).title == (
        "2 session runs (12:00:00 UTC) / 2 session runs (12:01:30 UTC)"
    )
    assert tv.show_comparison(first, unknown).title == "2 session runs / 2 session runs"
    dashboard = tv.show_dashboard(second, against=first)
    assert "12:01:30" in json.dumps(dashboard.panels.tabs())


def test_the_table_is_that_of_compare(two: tuple[Trace, Trace]) -> None:
    shown = tv.show_comparison(*two)
    assert [tab["title"] for tab in shown.panels.tabs()] == [name for name in PARTS if name != "Lines"]
    block = tables(shown)["Differences by op"]
    names = [column["name"] for column in block["columns"]]
    found = compare(*two)
    pd.testing.assert_frame_equal(found, shown.differences())
    found = found[found["side"] != "repeated"]
    assert block["total"] == len(found)
    first = dict(zip(names, block["rows"][0], strict=True))
    for name, column in {"op": "op", "kind": "kind", "step_change_ns": "self_difference_ns"}.items():
        assert first[name] == found[column].iloc[0]
    for row, zoom in zip(found.to_dict("records"), block["zoom"], strict=True):
        for side, longest in zip(zoom["sides"], (row["longest_a"], row["longest_b"]), strict=True):
            assert side == ([] if pd.isna(longest) else [longest])


def test_rows_with_a_shown_difference_come_first() -> None:
    before, after = training(1), training(2, longer=1.1)
    shown = tv.show_comparison([before], [after, training(3, longer=1.1)])
    assert shown._headline[0].id == "comparison_recordings_differ"
    assert heads(shown)[2] == "Difference"
    assert heads(shown)[-1] == "p"
    block = tables(shown)["Differences by op"]
    names = [column["name"] for column in block["columns"]]
    first, second = (dict(zip(names, row, strict=True)) for row in block["rows"][:2])
    found = shown.differences().set_index("op")
    ratio, low, high = (float(found[f"{name}_ratio"][OPS[0]]) for name in ("typical", "low", "high"))
    assert first["op"] == OPS[0]
    assert first["status"] == difference_text(ratio, low, high, shown=True)
    assert first["step_change_ns"] == found["typical_difference_ns"][OPS[0]]
    assert second["status"] == Text("no_clear_difference")
    assert first["p_value"] < 0.05 <= second["p_value"]
    assert found["shown"].sum() == 1
    assert len(shown.b.trace.events) == 2 * len(after.events)


def test_tables_state_times_of_the_typical_steps_in_the_headline() -> None:
    shown = tv.show_comparison(training(1), training(2, longer=1.1))
    step_time = shown.differences().attrs["step_time"]
    block = tables(shown)["Summary"]
    assert [row[0] for row in block["rows"]][:1] == ["Typical step"]
    assert block["rows"][0][2:4] == [round(step_time.a), round(step_time.b)]
    for title in ("By activity", "Differences by op", "Differences by node"):
        block = tables(shown)[title]
        names = [column["name"] for column in block["columns"]]
        assert "Change per step" in [column["label"] for column in block["columns"]]
        rows = [dict(zip(names, row, strict=True)) for row in block["rows"]]
        known = [row for row in rows if row["step_a_ns"] is not None]
        assert known
        for row in known:
            assert row["step_change_ns"] == pytest.approx(row["step_b_ns"] - row["step_a_ns"])
            assert row["step_a_ns"] <= step_time.a * 1.001
            if row["step_a_ns"]:
                assert row["step_ratio"] == pytest.approx(row["step_b_ns"] / row["step_a_ns"])


def test_a_single_step_is_compared_with_the_mean_of_several() -> None:
    columns: dict[str, list[Any]] = {
        "start_ns": [0, 100, 200],
        "duration_ns": [10, 20, 60],
        "kind": ["op"] * 3,
        "op": ["Add"] * 3,
    }
    several = Trace(events.build({**columns, "step": [0, 1, 2]}))
    single = Trace(events.build({**{name: values[:1] for name, values in columns.items()}, "step": [0]}))
    block = tables(tv.show_comparison(single, several))["Differences by op"]
    row = dict(zip([column["name"] for column in block["columns"]], block["rows"][0], strict=True))
    assert [row[f"step_{name}"] for name in ("change_ns", "a_ns", "b_ns", "ratio")] == [20, 10, 30, 3]


def test_a_session_is_compared_by_all_its_traces(tmp_path: Path) -> None:
    filled(tmp_path / "run.tfvis", traces=2)
    with tv.open_session(tmp_path / "run.tfvis") as session:
        shown = tv.show_comparison(session, session)
    assert shown.differences().attrs["steps"] == (2, 2)
    assert not shown.differences().attrs["step_time"].shown


def test_steps_of_one_trace_begin_at_the_left(steps: Trace) -> None:
    # Those of the table are NumPy's.
    numbers = steps.steps.loc[steps.steps["step"] >= 0, "step"].to_numpy()[:2]
    shown = tv.show_comparison(steps, steps=(numbers[0], numbers[1]))
    duration = steps.steps.set_index("step")["duration_ns"]
    for timeline, number in zip((shown.a, shown.b), numbers, strict=True):
        assert timeline.trace.events["start_ns"].iloc[0] == steps.steps.set_index("step")["start_ns"][number]
        assert set(timeline.trace.events["step"]) == {number}
        assert f"step {number}" in timeline._title
    whole = tables(shown)["Summary"]
    assert [row[1:4] for row in whole["rows"] if row[0] == "Duration"] == [
        [duration[numbers[1]] - duration[numbers[0]], duration[numbers[0]], duration[numbers[1]]]
    ]
    gpu = steps.utilization[steps.utilization["device"] == "/device:GPU:0"].set_index("step")["busy_ns"]
    assert [row[2:4] for row in whole["rows"] if row[0] == "Device busy"] == [gpu[numbers].tolist()]
    activities = tables(shown)["By activity"]
    place = [column["name"] for column in activities["columns"]].index("step_change_ns")
    assert sum(row[place] for row in activities["rows"]) == duration[numbers[1]] - duration[numbers[0]]


def test_events_outside_steps_lengthen_none_and_are_noted() -> None:
    columns = {"start_ns": [0, 10, 14, 17, 30], "duration_ns": [5, 10, 2, 9, 10], "step": [0, 1, -1, -1, 2]}
    shown = tv.show_comparison(Trace(events.build({**columns, "kind": ["op"] * 5})), steps=(1, 2))
    whole = tables(shown)["Summary"]
    for timeline, side, length in zip((shown.a, shown.b), shown._sides, whole["rows"][0][2:4], strict=True):
        assert timeline.trace.steps["duration_ns"].tolist() == [side.span_ns] == [length]
    assert shown.a.trace.events["start_ns"].tolist() == [10, 14]
    assert shown.a.trace.notes == [Text("loose_events_shown", events=1)]
    assert shown.b.trace.notes == []


def test_a_single_step_keeps_its_path_gaps_and_memory(steps: Trace) -> None:
    numbers = [step for step in steps.steps["step"].tolist() if step >= 0][:2]
    shown = tv.show_comparison(steps, steps=(numbers[0], numbers[1]))
    times = steps.steps.set_index("step")
    for timeline, number in zip((shown.a, shown.b), numbers, strict=True):
        part = timeline.trace
        for whole, own in ((steps.critical_path, part.critical_path), (steps.idle_gaps, part.idle_gaps)):
            in_step = whole[whole["step"] == number]
            assert len(in_step)
            for column in ("start_ns", "duration_ns"):
                assert in_step[column].tolist() == own[column].tolist()
        start, end = times["start_ns"][number], times["end_ns"][number]
        level = steps.memory[(steps.memory["time_ns"] >= start) & (steps.memory["time_ns"] <= end)]
        assert len(level)
        peaks = (table.groupby("allocator", observed=True)["bytes"].max() for table in (level, part.memory))
        assert next(peaks).to_dict() == next(peaks).to_dict()


def test_rows_lead_to_events_of_the_steps(steps: Trace) -> None:
    numbers = [step for step in steps.steps["step"].tolist() if step >= 0][:2]
    shown = tv.show_comparison(steps, steps=(numbers[0], numbers[1]))
    block = tables(shown)["Differences by node"]
    name, kind = (
        place for place, column in enumerate(block["columns"]) if column["name"] in ("name", "kind")
    )
    seen = 0
    for row, zoom in zip(block["rows"], block["zoom"], strict=True):
        for timeline, found in zip((shown.a, shown.b), zoom["sides"], strict=True):
            for event in found:
                recorded = timeline.trace.events.loc[event]
                assert (printable(recorded["name"], LONGEST_TEXT), recorded["kind"]) == (row[name], row[kind])
                start = recorded["start_ns"] - timeline.trace.events["start_ns"].iloc[0]
                assert zoom["start"] <= start <= zoom["end"]
                seen += 1
    assert seen > 20


def test_a_step_has_what_happens_while_it_lasts() -> None:
    columns = {
        "start_ns": [0, 5, 10, 12, 30, 40],
        "duration_ns": [8, 30, 20, 1, 5, 5],
        "kind": ["op"] * 6,
        "step": [0, -1, 1, -1, 1, -1],
        "name": list("abcdef"),
        "detail": ["a = A()", "b = B()", "c = C(a)", "d = D()", "e = E(c)", "f = F()"],
    }
    trace = Trace(events.build(columns), title="run", step_labels={1: "train 9"})
    side = compared(trace, 1)
    assert side.shown.events["name"].tolist() == ["c", "d", "e"]
    assert side.shown.steps[["step", "label"]].to_dict("list") == {"step": [1], "label": ["train 9"]}
    assert side.shown.edges.to_dict("list") == {"source": [0], "target": [2], "kind": ["data"]}
    assert side.ids.tolist() == [2, 3, 4]
    assert side.shown_ids(np.array([4, 0, 2])).tolist() == [2, -1, 0]
    assert (side.title, side.span_ns) == ("step 1 (train 9) of run", 25)
    assert compared(trace, None).shown is trace
    assert compared(trace, None, "mine").title == "mine"
    with raises_id(ValueError, "no_such_step", step=2, there=Text("steps_there", first=0, last=1)):
        compared(trace, 2)
    with raises_id(ValueError, "no_such_step", step=-1):
        compared(trace, -1)


@pytest.mark.slow
def test_the_page_holds_both(two: tuple[Trace, Trace], tmp_path: Path) -> None:
    shown = tv.show_comparison(*two, titles=("old", "new"), group_by="kind")
    shown.b.color_by = "op"
    shown.a.selection = [3]
    path = shown.to_html(tmp_path / "page.html")
    page = path.read_text(encoding="utf-8")
    assert "<title>old / new</title>" in page
    assert "default-src 'none'" in page
    assert not re.search(r'(?:src|href)="http', page)
    tabs = json.loads(gzip.decompress(page_part(page, "tabs")))["tabs"]
    assert [tab["title"] for tab in tabs] == [name for name in PARTS if name != "Lines"]
    for number, timeline in enumerate((shown.a, shown.b)):
        assert page_part(page, f"drawn-{number}") == timeline._drawn
        assert page_part(page, f"details-{number}")
    options = page_options(page)
    assert [side["group_by"] for side in options["sides"]] == ["kind", "kind"]
    assert [side["color_by"] for side in options["sides"]] == ["kind", "op"]
    assert options["sides"][0]["selection"] == {"events": [3]}
    assert options["extent"] == shown.a._pair["extent"]
    assert shown.to_html(title="A & B").count("<title>A &amp; B</title>") == 1
    assert shown.a._exported("html")[1] == shown.to_html()
    with pytest.raises(PageTooLargeError):
        shown.to_html(max_bytes=1000)
    with raises_id(TypeError, "unknown_option"):
        shown.to_html(time_range=(0, 1))  # type: ignore[call-overload]


def test_a_trace_and_a_step_of_another(two: tuple[Trace, Trace], steps: Trace) -> None:
    number = int(steps.steps["step"].max())
    shown = tv.show_comparison(two[0], steps, steps=(None, number))
    assert shown.a.trace is two[0]
    assert "Change per step" not in heads(shown)
    assert "Change per step" in heads(tv.show_comparison(two[0], steps))


def test_a_comparison_in_a_notebook(two: tuple[Trace, Trace]) -> None:
    shown = tv.show_comparison(*two)
    data, _ = shown._repr_mimebundle_()
    assert "application/vnd.jupyter.widget-view+json" in data
    assert data["text/html"].count("<img") == 2
    assert all(len(timeline.get_state()["_details"]) for timeline in (shown.a, shown.b))
    assert repr(shown).startswith("<Comparison A \u00b7 gpu_tf218_mlp.pb.xz: ")
    assert shown.headline
    for text in (repr(shown), html.unescape(data["text/html"]), html.unescape(shown.to_html())):
        assert shown.headline in text
    shown.panels._start()
    assert shown.panels._worker is not None
    shown.panels._worker.join(60)
    assert json.loads(shown.panels.get_state()["_tab_1"])["title"] == "Ops"
    shown.close()
    assert shown.a.comm is None


def test_empty_traces_can_be_compared() -> None:
    nothing = Trace(events.build({}, rows=0))
    shown = tv.show_comparison(nothing, nothing)
    assert tables(shown)["Differences by op"]["cannot_say"].id == "no_events_in_both"
    one = Trace(events.build({"start_ns": [5], "duration_ns": [3], "kind": ["op"], "op": ["Add"]}))
    block = tables(tv.show_comparison(nothing, one))["Differences by op"]
    assert block["zoom"][0]["sides"] == [[], [0]]


@pytest.mark.parametrize(
    ("arguments", "error", "key"),
    [
        ({}, ValueError, "nothing_to_compare"),
        ({"steps": 7}, TypeError, "steps_no_pair"),
        ({"steps": (0, "1")}, TypeError, "step_no_number"),
        ({"steps": (0, True)}, TypeError, "step_no_number"),
        ({"steps": (0, 99)}, ValueError, "no_such_step"),
        ({"steps": (0, 0), "titles": "old"}, TypeError, "titles_no_pair"),
        ({"steps": (0, 0), "titles": (1, 2)}, TypeError, "title_no_text"),
        ({"steps": (0, 0), "heigth": 300}, TypeError, "unknown_option"),
        ({"steps": (0, 0), "height": 3}, ValueError, "height_out_of_range"),
    ],
)
def test_wrong_arguments(
    two: tuple[Trace, Trace], arguments: dict[str, Any], error: type[Exception], key: str
) -> None:
    with raises_id(error, key):
        tv.show_comparison(two[0], **arguments)


def test_files_are_read() -> None:
    path = DATA / "gpu_tf221_mlp.pb.xz"
    shown = tv.show_comparison(path, str(path))
    assert set(shown.differences()["change"]) == {"same"}
