"""Answers of a dataset's timeline equal those for the same events in memory."""

import json
import re
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

import tfvis_nb as tv
from tests.fleet.dataset.folders import bucket, record
from tests.fleet.timeline.datasets import InMemory, asked, bars, made_up_ranks
from tests.large_traces import decoded
from tests.support.clauses import clauses
from tests.support.examples import sample
from tests.support.page_options import page_options
from tests.support.texts import raises_id
from tests.wire_reader import read_container
from tfvis_nb import Trace, TraceDataset
from tfvis_nb import events as event_table
from tfvis_nb.fleet.dataset import levels
from tfvis_nb.fleet.timeline import dataset_store, in_range, source
from tfvis_nb.fleet.timeline.source import DatasetSource
from tfvis_nb.texts import Text, text_of

COUNT = 1500
JOB = {f"rank{rank}/step3.pb.xz": f"horovod_rank{rank % 2}_step3.pb.xz" for rank in range(3)} | {
    "rank3/step3.pb.xz": "gpu_tf221_mlp.pb.xz"
}


@pytest.fixture(scope="module")
def ranks(tmp_path_factory: pytest.TempPathFactory) -> TraceDataset:
    return made_up_ranks(tmp_path_factory.mktemp("ranks"), 3, COUNT)


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> TraceDataset:
    """Ranks recorded by TensorFlow."""
    folder = tmp_path_factory.mktemp("real")
    dataset = tv.open_traces(folder / "dataset")
    dataset.ingest(bucket(folder / "job", JOB), progress=False)
    return dataset


@pytest.fixture(scope="module", params=["ranks", "real"])
def both(request: pytest.FixtureRequest) -> tuple[DatasetSource, InMemory]:
    """A dataset's timeline, and its events in memory."""
    dataset = request.getfixturevalue(request.param)
    return DatasetSource(dataset, None, None, None), InMemory(dataset)


@pytest.mark.parametrize(
    "text",
    sample(
        [
            "op_3",
            "op:op1|matmul",
            "stream",
            "worker 1",
            "kind:kernel",
            "-kind:kernel dur:>30ns",
            "step:1",
            "bytes:>1kb",
            "scope_1 lane:stream:2",
            "allreduce",
            "kernel",
            "nothing of the kind",
            "name:",
        ],
        kept=["op_3", "-kind:kernel dur:>30ns", "step:1", "scope_1 lane:stream:2", "allreduce", "name:"],
    ),
)
def test_searches(both: tuple[DatasetSource, InMemory], text: str) -> None:
    fleet, memory = both
    found, (ids, marks) = asked(fleet, kind="search", clauses=clauses(text), step=None)
    wanted, (places, _) = asked(memory.windows, kind="search", clauses=clauses(text), step=None)
    numbers = memory.number[np.frombuffer(places, "u4")]
    assert np.frombuffer(ids, "u4").tolist() == sorted(numbers.tolist())
    for figure in ("count", "total", "busy", "span"):
        assert found[figure] == wanted[figure], figure
    assert [each["duration"] for each in found["longest"]] == [each["duration"] for each in wanted["longest"]]
    events = memory.trace.events.assign(number=memory.number).set_index("number")
    for each in found["longest"]:
        assert each["name"] == events["name"][each["event"]]
        assert each["op"] == events["op"][each["event"]]
        lane = fleet.places.lanes.iloc[each["lane"]]
        assert [lane["task"], lane["lane"]] == events.loc[each["event"], ["task", "lane"]].tolist()
    assert len(marks) == read_container(fleet.outline("x"))[0]["count"]


def test_a_step_is_searched_with_the_events_that_run_during_it(tmp_path: Path) -> None:
    columns = {
        "step": [-1, -1, 0, -1, -1, 1],
        "start_ns": [0, 5, 10, 18, 20, 30],
        "duration_ns": [10, 10, 10, 9, 5, 5],
        "kind": ["op"] * 6,
        "op": ["op"] * 6,
        "lane": ["ops"] * 6,
    }
    Trace(event_table.build(columns)).to_parquet(tmp_path / "run.parquet")
    dataset = tv.open_traces(tmp_path / "dataset")
    dataset.ingest(tmp_path / "run.parquet", progress=False)
    shown = DatasetSource(dataset, None, None, None)
    for step, found in ((0, [1, 2, 3]), (1, [5]), (-1, [0, 1, 3, 4])):
        _, (ids, _) = asked(shown, kind="search", clauses=clauses("op"), step=step)
        assert np.frombuffer(ids, "u4").tolist() == found
    chosen = DatasetSource(dataset, None, None, [0])
    assert asked(chosen, kind="search", clauses=clauses("op"), step=0)[0]["count"] == 1


def test_found_events_are_marked_in_a_window(ranks: TraceDataset) -> None:
    fleet, memory = DatasetSource(ranks, None, None, None), InMemory(ranks)
    _, shown = bars(fleet, [*range(9)], 0, 10**6, 1, "op_3")
    names = memory.trace.events.assign(number=memory.number).set_index("number")["name"]
    assert shown["lit"].astype(bool).tolist() == [("op_3" in names[event]) for event in shown["event"]]


@pytest.mark.parametrize("by", ["op", "name"])
@pytest.mark.parametrize("part", [(0.0, 1.0), (0.3, 0.4), (0.5, 0.5)])
@pytest.mark.parametrize("lanes", [None, [0, 2]])
def test_totals_of_a_range(
    both: tuple[DatasetSource, InMemory], by: str, part: tuple[float, float], lanes: list[int] | None
) -> None:
    fleet, memory = both
    start, end = (share * fleet.places.span for share in part)
    question = {"kind": "statistics", "start": start, "end": end, "step": None, "by": by, "lanes": lanes}
    found, _ = asked(fleet, **question)
    # Lanes are in one order in both.
    order = memory.layout.lanes.table
    assert order["lane"].tolist() == fleet.places.lanes["lane"][: len(order)].tolist()
    wanted, _ = asked(memory.windows, **question)
    for figure in ("count", "total", "busy", "distinct"):
        assert found[figure] == wanted[figure], figure
    of = {(row["label"], row["category"]): row for row in wanted["rows"]}
    # Of very many rows those with the most time are sent, and some take equally long.
    assert [row["busy"] for row in found["rows"]] == [row["busy"] for row in wanted["rows"]]
    durations = memory.trace.events["duration_ns"].to_numpy()[np.argsort(memory.number)]
    for row in found["rows"]:
        other = of.get((row["label"], row["category"]), row)
        assert {**row, "longest": 0} == {**other, "longest": 0}
        assert durations[row["longest"]] == row["max"]


def test_a_range_of_too_many_events_is_refused(ranks: TraceDataset, monkeypatch: pytest.MonkeyPatch) -> None:
    fleet = DatasetSource(ranks, None, None, None)
    monkeypatch.setattr(in_range, "MOST_COUNTED", COUNT)
    question = {"kind": "statistics", "step": None, "by": "op", "lanes": None, "start": 0}
    read = sum(part.groups_read for part in fleet.parts)
    with raises_id(ValueError, "range_too_large"):
        asked(fleet, **question, end=fleet.places.span)
    assert sum(part.groups_read for part in fleet.parts) == read
    assert asked(fleet, **question, end=100)[0]["count"] > 0


def test_only_so_many_ids_and_spans_are_kept(ranks: TraceDataset, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dataset_store, "MOST_IDS", 10)
    monkeypatch.setattr(dataset_store, "MOST_SPANS", 1)
    found, (ids, _) = asked(
        DatasetSource(ranks, None, None, None), kind="search", clauses=clauses("op"), step=None
    )
    assert len(ids) == 4 * 10
    assert found["count"] == 4 * COUNT
    assert found["busy"] is None


def test_all_about_one_event(real: TraceDataset) -> None:
    fleet, memory = DatasetSource(real, None, None, None), InMemory(real)
    event = int(memory.number[memory.trace.events["duration_ns"].argmax()])
    numbers, (drawn, details) = asked(fleet, kind="events", events=[event], hops=1, holders=[])
    at = numbers["events"].index(event)
    header, _ = read_container(drawn)
    row = memory.trace.events.iloc[memory.number.tolist().index(event)]
    lane = fleet.places.lanes.iloc[numbers["lanes"][at]]
    assert [lane["task"], lane["device"], lane["lane"]] == row[["task", "device", "lane"]].tolist()
    assert header["count"] == len(numbers["events"])
    assert read_container(details)[0]["count"] == header["count"]
    _, shown = bars(fleet, [numbers["lanes"][at]], 0, fleet.places.span + 1, 1)
    drawn_bar = shown.set_index("event").loc[event]
    assert drawn_bar["row"] == numbers["rows"][at]
    assert drawn_bar["op"] == numbers["ops"][at]
    assert drawn_bar["end"] - drawn_bar["start"] == row["duration_ns"]
    # The events around it are those of the same step read alone.
    alone = real.trace(task=str(row["task"]), steps=3)
    assert len(numbers["events"]) == len(numbers["degrees"]) <= len(alone.events)


def test_several_events_of_several_tasks(real: TraceDataset) -> None:
    fleet, memory = DatasetSource(real, None, None, None), InMemory(real)
    events = sorted(memory.number[:: len(memory.number) // 7][:6].tolist())
    numbers, (drawn, _) = asked(fleet, kind="events", events=events, hops=1, holders=[])
    assert sorted(numbers["events"]) == events
    assert read_container(drawn)[0]["count"] == 6
    with raises_id(ValueError, "no_such_events"):
        asked(fleet, kind="events", events=[len(memory.number)], hops=1, holders=[])


def test_questions_that_a_dataset_does_not_answer(real: TraceDataset) -> None:
    fleet = DatasetSource(real, None, None, None)
    for kind in ("memory", "counters", "code"):
        assert read_container(asked(fleet, kind=kind)[1][0])
    with raises_id(ValueError, "unknown_question"):
        asked(fleet, kind="weather")


def test_too_much_for_a_timeline(ranks: TraceDataset, monkeypatch: pytest.MonkeyPatch) -> None:
    with raises_id(ValueError, "nothing_selected"):
        DatasetSource(ranks, None, "worker 77", None)
    with monkeypatch.context() as patch, raises_id(ValueError, "dataset_lanes"):
        patch.setattr("tfvis_nb.fleet.timeline.places.MOST_LANES", 5)
        DatasetSource(ranks, None, None, None)
    with monkeypatch.context() as patch, raises_id(ValueError, "dataset_too_long"):
        patch.setattr(source, "LONGEST_NS", 5)
        DatasetSource(ranks, None, None, None)


def test_a_timeline_of_many_steps_names_options_for_fewer(tmp_path: Path) -> None:
    times = {"start_ns": range(0, 1000, 10), "duration_ns": [5] * 100, "kind": ["op"] * 100}
    trace = Trace(event_table.build({**times, "step": range(100)}))
    trace.to_parquet(tmp_path / "run_step7.parquet")
    dataset = tv.open_traces(tmp_path / "run_step7.parquet", tmp_path / "dataset")
    note = Text("dataset_shown_whole", tasks=1, steps=100, task="local", step=106)
    for options, notes in (({}, [note]), ({"tasks": note.figures["task"]}, []), ({"steps": range(99)}, [])):
        shown = dataset.show_timeline(**options)
        assert decoded(shown._drawn)[0]["notes"] == notes
    with raises_id(TypeError, "unknown_option", name="task") as error:
        dataset.show_timeline(task="local")  # type: ignore[call-arg]
    assert "'tasks'" in text_of(error.value).figures["hint"]
    with raises_id(ValueError, "nothing_selected", task="worker 9", kind="tasks", known="'local'"):
        dataset.show_timeline(tasks="worker 9")


@pytest.mark.parametrize("table", ["events", "levels"])
def test_a_damaged_part_is_named(tmp_path: Path, table: str) -> None:
    dataset = made_up_ranks(tmp_path, 1, 50)
    (path,) = (dataset.path / table).rglob("*.parquet")
    whole = path.read_bytes()
    for content in (b"PAR1", whole[:-40], b"\x55" * len(whole)):
        path.write_bytes(content)
        with raises_id(OSError, "dataset_part_damaged", path=str(path)):
            DatasetSource(dataset, None, None, None)
    # Its footer is whole.
    footer = len(whole) - 8 - int.from_bytes(whole[-8:-4], "little")
    path.write_bytes(whole[:4] + b"\x55" * (footer - 4) + whole[footer:])
    with raises_id(OSError, "dataset_part_damaged", path=str(path)):
        DatasetSource(dataset, None, None, None).rows({"events": [0]})
    path.unlink()
    with raises_id(OSError, "dataset_part_missing", path=str(path)):
        DatasetSource(dataset, None, None, None)


def with_forged(
    ranks: TraceDataset, folder: Path, of: tuple[str | int, ...], value: Any
) -> tuple[TraceDataset, Path]:
    """A dataset with another value in the description of its first part, and the path of this part."""
    shutil.copytree(ranks.path, folder / "dataset")
    path = min((folder / "dataset/levels").rglob("*.parquet"))
    table = pq.read_table(path, partitioning=None)
    described = json.loads(table.schema.metadata[levels.KEY])
    place = described
    for key in of[:-1]:
        place = place[key]
    place[of[-1]] = value
    levels.write(table.replace_schema_metadata({levels.KEY: json.dumps(described).encode()}), path)
    record(path, folder / "dataset")
    return tv.open_traces(folder / "dataset"), path


@pytest.mark.parametrize(
    ("of", "value"),
    [
        (("events",), 10**12),
        (("lanes", 0, "rows"), 10**12),
        (("lanes", 0, "rows"), -1),
        (("lanes", 0, "events"), 10**12),
        (("steps", 0, "events"), 10**12),
        (("event_groups",), [[0, 0, 0]] * 9),
        (("event_groups", 0, 0), 10**12),
        (("event_groups", 0, 0), 10**30),
        (("bar_groups", 0, 0), 1),
        (("bar_groups", 0, 5), -1),
        (("event_groups", 0, 2), 2**62),
        (("bar_groups",), []),
    ],
)
def test_no_forged_count_of_a_part_is_believed(
    ranks: TraceDataset, tmp_path: Path, of: tuple[str | int, ...], value: Any
) -> None:
    dataset, path = with_forged(ranks, tmp_path, of, value)
    with raises_id(OSError, "dataset_part_damaged", path=str(path)):
        DatasetSource(dataset, None, None, None)


@pytest.mark.parametrize("groups", ["bar_groups", "event_groups"])
@pytest.mark.parametrize(("bound", "wider"), [(-2, -1), (-1, 1)])
def test_a_row_group_with_wrong_bounds_is_not_drawn(
    ranks: TraceDataset, tmp_path: Path, groups: str, bound: int, wider: int
) -> None:
    (part, *_) = DatasetSource(ranks, None, None, None).parts
    value = part.described[groups][2][bound] + wider
    dataset, path = with_forged(ranks, tmp_path, (groups, 2, bound), value)
    if groups == "event_groups":
        path = Path(str(path).replace("/levels/", "/events/"))
    with raises_id(OSError, "dataset_part_damaged", path=str(path)):
        shown = DatasetSource(dataset, None, None, None)
        bars(shown, list(range(len(shown.places.lanes))), 0, 40 * COUNT, 1)


def test_a_reingested_part_replaces_the_old_one(tmp_path: Path) -> None:
    folder = bucket(tmp_path / "job", {"step1.pb": "local_mlp_step1.pb"})
    dataset = tv.open_traces(folder, tmp_path / "dataset")
    shown = dataset.show_timeline(selection=[3])
    drawn = shown.selection
    for event in range(2):
        # The same again, and then other events.
        bucket(folder, {"step1.pb": ("local_mlp_step1.pb", "run_meta.v1")[event]})
        assert dataset.ingest(folder, progress=False).read == 1
        with raises_id(OSError, "dataset_part_replaced"):
            _ = shown.selection
        with raises_id(OSError, "dataset_part_replaced"):
            shown._delivery.answer({"kind": "search", "clauses": clauses("MatMul"), "step": None})
    assert len(drawn) == 1


def test_an_anonymized_page_does_not_name_the_run(ranks: TraceDataset) -> None:
    shown = ranks.show_timeline()
    assert f"<title>{shown._title}</title>" in shown.to_html()
    assert shown._title not in re.findall("<title>(.*)</title>", shown.to_html(anonymize=True))
    assert "<title>mine</title>" in shown.to_html(title="mine", anonymize=True)


def test_a_page_opens_at_the_view_that_it_is_given(ranks: TraceDataset) -> None:
    trace = ranks.trace()
    start = int(trace.events["start_ns"].min())
    view = {"start_ns": start + 10, "end_ns": start + 5000, "group_by": "kind", "selection": [3]}
    shown = page_options(ranks.show_timeline().to_html(view=view))
    assert (shown["view"], shown["selection"]) == (
        page_options(trace.to_html(view=view))["view"],
        {"events": [3]},
    )
    assert (shown["view"]["start"], shown["view"]["end"], shown["group_by"]) == (10, 5000, "kind")
