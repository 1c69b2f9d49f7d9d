"""The bars of a dataset's timeline are its events, each once, read from the row groups they are in."""

import json
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

import tfvis_nb as tv
from tests.fleet.dataset.folders import record
from tests.fleet.timeline.datasets import InMemory, bars, made_up_ranks, task_of
from tests.large_traces import decoded, made_up
from tests.support.texts import raises_id
from tfvis_nb import Trace, TraceDataset, events
from tfvis_nb.core.palette import CATEGORIES
from tfvis_nb.fleet.dataset import levels
from tfvis_nb.fleet.timeline import dataset_store
from tfvis_nb.fleet.timeline.source import DatasetSource

COUNT = 2500
SPAN = 40 * COUNT


@pytest.fixture(scope="module")
def ranks(tmp_path_factory: pytest.TempPathFactory) -> TraceDataset:
    """Three ranks, the second with two parts that overlap in time, in row groups of a few events."""
    return made_up_ranks(tmp_path_factory.mktemp("ranks"), 3, COUNT)


@pytest.fixture(scope="module")
def memory(ranks: TraceDataset) -> InMemory:
    return InMemory(ranks)


def real_lanes(source: DatasetSource) -> list[int]:
    places = source.places
    return list(range(len(places.lanes) - places.devices))


def overlapping(memory: InMemory, start: int, end: int) -> pd.DataFrame:
    """The events that overlap a range, the slow way, with their numbers in the dataset."""
    table = memory.trace.events
    begin = table["start_ns"] - int(table["start_ns"].iloc[0])
    stop = begin + table["duration_ns"]
    inside = (begin < end) & ((stop > start) | ((stop == begin) & (begin >= start)))
    rows = table[inside].assign(start=begin[inside], end=stop[inside], number=memory.number[inside])
    return rows.set_index("number").sort_index()


@pytest.mark.parametrize("seed", range(3))
def test_a_small_window_is_the_events_themselves(ranks: TraceDataset, memory: InMemory, seed: int) -> None:
    source = DatasetSource(ranks, None, None, None)
    random = np.random.default_rng(seed)
    for _ in range(6):
        start, end = sorted(random.integers(0, SPAN, 2).tolist())
        header, shown = bars(source, real_lanes(source), start, end, 1)
        assert header["bucket"] == 1
        wanted = overlapping(memory, start, end)
        shown = shown.set_index("event").sort_index()
        assert shown.index.tolist() == wanted.index.tolist()
        assert shown["start"].tolist() == wanted["start"].tolist()
        assert shown["end"].tolist() == wanted["end"].tolist()
        lanes = source.places.lanes.iloc[shown["lane"]]
        assert lanes["lane"].tolist() == wanted["lane"].tolist()
        assert lanes["task"].tolist() == wanted["task"].tolist()


@pytest.mark.parametrize("bucket", [1, 1024, 4096, 65_536])
def test_every_event_is_in_one_bar_and_no_bars_overlap(ranks: TraceDataset, bucket: int) -> None:
    source = DatasetSource(ranks, None, None, None)
    _, shown = bars(source, real_lanes(source), 0, 10 * SPAN, bucket)
    assert shown["count"].sum() == 4 * COUNT
    ordered = shown.sort_values(["lane", "row", "start", "end"])
    following = ordered.groupby(["lane", "row"])["start"].shift(-1).fillna(np.inf)
    assert (following >= ordered["end"]).all()
    assert bucket == 1 or len(shown) < 4 * COUNT


def test_bars_of_a_level_are_what_merging_the_events_gives(ranks: TraceDataset, memory: InMemory) -> None:
    source = DatasetSource(ranks, None, "worker 0", None)
    _, shown = bars(source, real_lanes(source), 0, 10 * SPAN, 4096)
    own = memory.trace.events[memory.trace.events["task"] == "/job:worker/replica:0/task:0"]
    assert shown["busy"].sum() == own["duration_ns"].sum()
    assert shown["count"].sum() == len(own)
    assert shown["duration"].max() == own["duration_ns"].max()


def test_lanes_of_devices_are_as_long_as_anything_runs(ranks: TraceDataset, memory: InMemory) -> None:
    source = DatasetSource(ranks, None, None, None)
    places = source.places
    first = len(places.lanes) - places.devices
    _, outline = decoded(source.outline("x"))
    for lane in range(first, len(places.lanes)):
        table = memory.trace.events
        kernels = table[(table["task"] == places.lanes["task"][lane]) & (table["kind"] == "kernel")]
        covered = np.zeros(10 * SPAN, bool)
        origin = int(table["start_ns"].iloc[0])
        for start, duration in zip(kernels["start_ns"] - origin, kernels["duration_ns"], strict=True):
            covered[start : start + duration] = True
        # The parts of one task overlap, and are counted each.
        if places.lanes["task"][lane].endswith(":1"):
            continue
        assert places.lanes["busy"][lane] == covered.sum()
        assert outline.loc[outline["lane"] == lane, "busy"].sum() == covered.sum()
        for bucket in (1, 64):
            _, fine = bars(source, [lane], 0, 10 * SPAN, bucket)
            assert fine["busy"].sum() == covered.sum()


def test_only_lanes_that_are_asked_for_come(ranks: TraceDataset) -> None:
    source = DatasetSource(ranks, None, None, None)
    for bucket in (1, 4096):
        _, shown = bars(source, [1, 4], 0, 10 * SPAN, bucket)
        assert set(shown["lane"]) == {1, 4}
    assert len(bars(source, [], 0, 10 * SPAN, 1)[1]) == 0


def test_a_window_reads_the_row_groups_that_overlap_it(ranks: TraceDataset) -> None:
    source = DatasetSource(ranks, None, "worker 2", None)
    (part,) = source.parts
    every = part.event_group_count
    before = part.groups_read
    bars(source, real_lanes(source), SPAN // 2, SPAN // 2 + 50, 1)
    # Long events reach from the groups before into the window.
    wanted = len(part.event_groups(source.places.origin + SPAN // 2, source.places.origin + SPAN // 2 + 50))
    assert 0 < part.groups_read - before == wanted < every
    again = part.groups_read
    bars(source, real_lanes(source), SPAN // 2, SPAN // 2 + 50, 1)
    assert part.groups_read == again


def test_an_answer_reads_no_more_rows_than_its_limit(
    ranks: TraceDataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = DatasetSource(ranks, None, None, None)
    monkeypatch.setattr(dataset_store, "MOST_READ", 6 * COUNT // 10)
    before = sum(part.groups_read for part in source.parts)
    _, shown = bars(source, real_lanes(source), 0, 10 * SPAN, 1)
    read = sum(part.groups_read for part in source.parts) - before
    assert shown["count"].sum() == 4 * COUNT
    assert 64 * read <= 6 * COUNT // 10 + 64 * len(source.parts)


def test_an_answer_has_no_more_bars_than_its_limit(
    ranks: TraceDataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = DatasetSource(ranks, None, None, None)
    monkeypatch.setattr(dataset_store, "MOST_BARS", 500)
    header, shown = bars(source, real_lanes(source), 0, 10 * SPAN, 1)
    assert len(shown) <= 500
    assert header["bucket"] > 1
    assert shown["count"].sum() == 4 * COUNT


def test_steps_and_tasks_are_chosen(ranks: TraceDataset, memory: InMemory) -> None:
    source = DatasetSource(ranks, None, ["worker 1", "worker 2"], 1)
    own = memory.trace.events.query("step == 1 and task == '/job:worker/replica:0/task:1'")
    assert source.tasks == 1
    assert source.events == len(own) == COUNT
    header, _ = decoded(source.outline("x"))
    assert [step["step"] for step in header["steps"]] == [1]
    assert header["total"] == COUNT


def test_a_timeline_opens_after_a_step_that_compiles(tmp_path: Path) -> None:
    columns = {
        "start_ns": [0, 900, 1000, 1100],
        "duration_ns": [900, 100, 100, 100],
        "step": range(4),
        "kind": ["op"] * 4,
    }
    Trace(events.build(columns)).to_parquet(tmp_path / "rank0.parquet")
    dataset = tv.open_traces(tmp_path / "dataset")
    dataset.ingest(tmp_path / "rank0.parquet", progress=False)
    header, _ = decoded(DatasetSource(dataset, None, None, None).outline("x"))
    assert header["opens"] == [900, 1200]


@pytest.fixture(scope="module")
def interleaved(tmp_path_factory: pytest.TempPathFactory) -> TraceDataset:
    """Two ranks with five steps in one file each, whose ends run into the starts of the next ones."""
    folder = tmp_path_factory.mktemp("interleaved")
    random = np.random.default_rng(7)
    for rank in range(2):
        table = made_up(COUNT, 3, rank, longest=6000).events
        begin = table["start_ns"] - int(table["start_ns"].iloc[0]) + random.integers(0, 8000, COUNT)
        table["step"] = np.minimum(begin // (SPAN // 5), 4).astype("i4")
        table["task"] = pd.Categorical([task_of(rank)] * COUNT)
        table["device"] = pd.Categorical([f"{task_of(rank)}/device:GPU:0"] * COUNT)
        file = folder / "job" / f"rank{rank}" / "trace.parquet"
        file.parent.mkdir(parents=True)
        Trace(table).to_parquet(file)
    dataset = tv.open_traces(folder / "dataset")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(levels, "ROW_GROUP", 256)
        patch.setattr(levels, "LEVEL_ROW_GROUP", 64)
        dataset.ingest(folder / "job", progress=False)
    return dataset


@pytest.mark.parametrize("steps", [[2], [4], [1, 2], [0, 3]])
def test_chosen_steps_have_their_events_and_no_others(interleaved: TraceDataset, steps: list[int]) -> None:
    source, every = DatasetSource(interleaved, None, None, steps), InMemory(interleaved)
    table = every.trace.events.assign(number=every.number)
    own = table[table["step"].isin(steps)]
    header, outline = decoded(source.outline("x"))
    assert header["total"] == source.events == len(own)
    places, origin = source.places, int(own["start_ns"].min())
    for bucket in (1, 1024, 4096, 65_536):
        _, shown = bars(source, real_lanes(source), 0, 10 * SPAN, bucket)
        for lane in real_lanes(source):
            task, name = places.lanes.loc[lane, ["task", "lane"]]
            wanted = own[(own["task"] == task) & (own["lane"] == name)]
            here = shown[shown["lane"] == lane]
            assert here["count"].sum() == len(wanted) == header["lanes"][lane]["events"]
            assert here["busy"].sum() == wanted["duration_ns"].sum()
            assert here["start"].min() == wanted["start_ns"].min() - origin
            assert here["end"].max() == (wanted["start_ns"] + wanted["duration_ns"]).max() - origin
            assert bucket > 1 or sorted(here["event"]) == sorted(wanted["number"])
            assert bucket == 1 or len(here) < len(wanted)
            if len(steps) > 1:
                counts = here.groupby("step")["count"].sum()
                assert counts.tolist() == wanted.groupby("step").size().tolist()
    for lane in range(len(places.lanes) - places.devices, len(places.lanes)):
        kernels = own[(own["task"] == places.lanes["task"][lane]) & (own["kind"] == "kernel")]
        covered = np.zeros(2 * SPAN, bool)
        for start, duration in zip(kernels["start_ns"] - origin, kernels["duration_ns"], strict=True):
            covered[start : start + duration] = True
        here = outline[outline["lane"] == lane].sort_values("start")
        assert (here["start"].to_numpy()[1:] >= here["end"].to_numpy()[:-1]).all()
        assert here["end"].max() == (kernels["start_ns"] + kernels["duration_ns"]).max() - origin
        assert header["lanes"][lane]["events"] == len(kernels)
        fine = bars(source, [lane], 0, 10 * SPAN, 1)[1]
        assert fine["busy"].sum() == covered.sum()
        # Of steps that overlap, merged bars show about how long anything ran.
        overlap = steps == [1, 2]
        assert here["busy"].sum() == pytest.approx(covered.sum(), rel=0.1 if overlap else 0)
        assert header["lanes"][lane]["busy"] == covered.sum() or overlap


def test_parts_without_activities_draw_those_of_kinds(ranks: TraceDataset, tmp_path: Path) -> None:
    copy = shutil.copytree(ranks.path, tmp_path / "dataset")
    for file in (copy / "manifest").iterdir():
        file.write_text(json.dumps(json.loads(file.read_text()) | {"version": 3}))
    for part in (copy / "events").rglob("*.parquet"):
        table = pq.read_table(part, partitioning=None).drop_columns("activity")
        pq.write_table(table, part, row_group_size=256)
        record(part, copy)
    older = tv.open_traces(copy)
    assert older.events["activity"].isna().all().compute()
    new = ranks.events["activity"].compute()
    assert set(new) == {"launch", "device_compute"}
    shown = [
        [CATEGORIES[number] for number in bars(source, real_lanes(source), 0, 500, 1)[1]["category"]]
        for source in (DatasetSource(one, None, None, None) for one in (ranks, older))
    ]
    assert {"op launch", "kernel device_compute"} == set(shown[0])
    assert [name.replace("op launch", "op host_compute") for name in shown[0]] == shown[1]


def test_parts_of_older_versions_are_shown_and_remade(interleaved: TraceDataset, tmp_path: Path) -> None:
    shutil.copytree(interleaved.path, tmp_path / "dataset")
    for file in (tmp_path / "dataset/manifest").iterdir():
        entry = json.loads(file.read_text())
        del entry["version"]
        file.write_text(json.dumps(entry))
    dataset = tv.open_traces(tmp_path / "dataset")
    assert dataset.show_timeline()._delivery.events == 2 * COUNT
    with raises_id(ValueError, "dataset_older", path=str(dataset.path)):
        dataset.show_timeline(steps=2)
    assert dataset.ingest(interleaved.path.parent / "job", progress=False).read == 2
    assert len(dataset.show_timeline(steps=2).dataset.sources) == 2
