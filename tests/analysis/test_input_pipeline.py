"""The stages of tf.data pipelines, compared with the events of the profile one by one."""

from collections import Counter
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest

from tests.real_traces import real_trace
from tests.support import xspace_oracle
from tfvis_nb import Trace, events
from tfvis_nb.analysis import input_pipeline, why_not
from tfvis_nb.core.nested_columns import ITERATOR

KERAS = "cpu_tf221_keras_fit.xplane.pb.xz"
TF215 = "cpu_tf215_input.xplane.pb.xz"


def of_calls(
    *calls: tuple[str, int, int, str, str], iterators: list[tuple[int | None, int | None]] | None = None
) -> pd.DataFrame:
    """Return the stages of calls in the order of their start, and of their iterators and those above them."""
    names, starts, durations, lanes, details = zip(*calls, strict=True)
    columns = {"name": names, "start_ns": starts, "duration_ns": durations, "lane": lanes, "detail": details}
    columns["kind"] = ("host",) * len(calls)
    order = sorted(range(len(calls)), key=lambda at: (starts[at], -durations[at]))
    table = events.build({name: [values[at] for at in order] for name, values in columns.items()})
    numbers = [[iterators[at][part] for at in order] for part in (0, 1)] if iterators else []
    nested = pa.table(dict(zip(ITERATOR, (pa.array(one, pa.int64()) for one in numbers), strict=False)))
    return input_pipeline(Trace(table, nested=nested if iterators else None))


@pytest.mark.tensorflow
def test_calls_and_times_are_those_of_the_profile(data: Path) -> None:
    table = real_trace(data / KERAS).input_pipeline
    rows = xspace_oracle.read(xspace_oracle.load(data / KERAS), threadpool=True)
    count: Counter[str] = Counter()
    total: Counter[str] = Counter()
    for row in rows:
        if row["_name"].startswith("Iterator::"):
            stages = [part.partition("[")[0] for part in row["_name"].split("::")[1:]]
            count["::".join(stages)] += 1
            total["::".join(stages)] += row["duration_ns"]
    assert dict(zip(table["stage"], table["calls"], strict=True)) == count
    assert dict(zip(table["stage"], table["total_ns"], strict=True)) == total


def test_what_autotune_chose(data: Path) -> None:
    table = real_trace(data / KERAS).input_pipeline.set_index("stage")
    root = table.loc["Root"]
    assert (root["algorithm"], root["cpu_budget"], root["ram_budget_bytes"]) == ("DEFAULT", 2, 11_282 * 10**6)
    assert root["ram_usage_bytes"] == 2_715 * 10**6
    mapped = table.loc["Root::Prefetch::ParallelMapV2"]
    assert (mapped["parallelism"], mapped["autotune"], mapped["deterministic"]) == (2, True, True)
    assert mapped["dataset"] == "ParallelMapDatasetV2:24"
    assert table.loc["Root::Prefetch", "buffer_limit"] == 1
    assert table.loc["Root", ["parallelism", "buffer_limit", "empty", "deterministic"]].isna().all()
    assert table["awaits"].to_dict() == {
        stage: stage.endswith(("Prefetch", "ParallelMapV2")) for stage in table.index
    }


def test_what_autotune_chose_in_a_profile_of_tensorflow_2_15(data: Path) -> None:
    table = real_trace(data / TF215).input_pipeline.set_index("dataset")
    root = table.loc["RootDataset:0"]
    assert (root["cpu_budget"], root["ram_budget_bytes"], root["ram_usage_bytes"], root["algorithm"]) == (
        *(2, 6_552 * 10**6, 12_049 * 10**6),
        "DEFAULT",
    )
    ready = table.loc["ready"]
    assert (ready["autotune"], ready["buffer_limit"], ready["buffered_mean"]) == (True, 4, 0.875)
    assert (ready["buffered_bytes"], ready["interleave_depth"], ready["empty"]) == (5 * 10**6, 0, 3)
    for name in ("decode", "read"):
        stage = table.loc[name]
        assert (stage["autotune"], stage["parallelism"], stage["deterministic"]) == (True, 2, True)
    # Whole MB are recorded, so it is unknown for small elements.
    assert (table["buffered_mean"]["mixed"], table["buffered_bytes"].isna()["mixed"]) == (7, True)
    assert table["bottleneck"]["decode"]


@pytest.mark.tensorflow
@pytest.mark.parametrize("name", [KERAS, TF215])
def test_consumers_follow_the_numbers_in_the_profile(data: Path, name: str) -> None:
    stage_of: dict[int, tuple[str, str]] = {}
    pairs = set()
    for plane in xspace_oracle.load(data / name).planes:
        for event in (one for line in plane.lines for one in line.events):
            called = plane.event_metadata[event.metadata_id].name
            if called.startswith("Iterator::"):
                stats = {plane.stat_metadata[one.metadata_id].name: one for one in event.stats}
                dataset = stats["name"].str_value or plane.stat_metadata[stats["name"].ref_value].name
                own = stats["id"].uint64_value | stats["id"].int64_value
                stage_of[own] = (called.rpartition("::")[2].partition("[")[0], dataset)
                if above := stats.get("parent_id"):
                    pairs.add((own, above.uint64_value | above.int64_value))
    expected = {(stage_of[own], stage_of.get(above)) for own, above in pairs}
    rows: list[dict[Any, Any]] = real_trace(data / name).input_pipeline.to_dict("records")
    found = [(row["stage"].rpartition("::")[2], row["dataset"]) for row in rows]
    assert expected == {
        (found[at], found[row["consumer"]]) for at, row in enumerate(rows) if not pd.isna(row["consumer"])
    }
    assert [row["depth"] == 0 for row in rows] == [pd.isna(row["consumer"]) for row in rows]


def test_profiles_of_older_releases_say_less(data: Path) -> None:
    table = real_trace(data / "tf2_host.trace.json").input_pipeline.set_index("stage")
    assert table.loc["Model::ParallelMap", "parallelism"] == 4
    assert (table["dataset"] == "").all()
    assert table["cpu_budget"].isna().all()


def test_the_last_value_that_was_read_counts() -> None:
    table = of_calls(
        ("Iterator::ParallelMap", 0, 9, "a", "parallelism=2"),
        ("Iterator::ParallelMap", 10, 9, "a", "parallelism=4"),
        ("Iterator::ParallelMap", 20, 9, "a", "parallelism=unavailable"),
    )
    assert table["parallelism"].tolist() == [4]


def test_stages_stand_below_what_takes_their_elements(data: Path) -> None:
    table = real_trace(data / KERAS).input_pipeline
    for row, (consumer, depth) in enumerate(zip(table["consumer"], table["depth"], strict=True)):
        assert (depth == 0) if row == 0 else (consumer < row and depth == table["depth"][consumer] + 1)


def test_inputs_with_equal_names_stand_below_their_own_consumers() -> None:
    calls = [
        ("Iterator::Root", 0, 90, "a", "name=Zip:9"),
        ("Iterator::Root::Zip", 1, 80, "a", "name=Zip:9"),
        ("Iterator::Root::Zip[0]::Map", 2, 9, "a", "name=Map:1"),
        ("Iterator::Root::Zip[0]::Map::Range", 3, 5, "a", "name=Range:4"),
        ("Iterator::Root::Zip[1]::Map", 20, 9, "a", "name=Map:2"),
        ("Iterator::Root::Zip[1]::Map::Range", 21, 5, "a", "name=Range:3"),
    ]
    numbers: list[tuple[int | None, int | None]] = [(1, None), (2, 1), (3, 2), (4, 3), (5, 2), (6, 5)]
    table = of_calls(*calls, iterators=numbers)
    assert table["dataset"].tolist() == ["Zip:9", "Zip:9", "Map:1", "Range:4", "Map:2", "Range:3"]
    assert table["consumer"].fillna(-1).tolist() == [-1, 0, 1, 2, 1, 4]
    # Without numbers, the names only show that both are below a Map.
    assert of_calls(*calls)["consumer"].fillna(-1).tolist() == [-1, 0, 1, 2, 2, 1]
    # Stages that are above one another are all there.
    turned = of_calls(*calls, iterators=[(1, 4), (2, 1), (3, 2), (4, 3), (5, 2), (6, 5)])
    assert sorted(turned["dataset"]) == sorted(table["dataset"])


def test_a_consumer_waits_while_it_is_called_itself() -> None:
    prefetch = "Iterator::Root::Prefetch"
    table = of_calls(
        ("Iterator::Root", 10, 30, "a", ""),
        (prefetch, 12, 25, "a", ""),
        # Of these, 8 ns lie in the call of the prefetch, and the later ones keep nobody waiting.
        (f"{prefetch}::Map", 0, 20, "b", ""),
        (f"{prefetch}::Map", 50, 20, "b", ""),
        (f"{prefetch}::Map::Range", 51, 5, "b", ""),
    ).set_index("stage")
    assert table["wait_ns"].tolist() == [30, 25, 8, 5]


def test_self_time_is_without_other_stages_on_the_same_thread() -> None:
    table = of_calls(
        ("Iterator::Root", 0, 100, "a", ""),
        ("Iterator::Root::Prefetch", 10, 80, "a", "buffer_limit=2 buffered_elements=0"),
        ("Iterator::Root::Prefetch::Map", 0, 50, "b", ""),
        # Ops that a stage runs are its own work.
        ("decode", 5, 20, "b", ""),
        ("Iterator::Root::Prefetch::Map::Range", 30, 10, "b", ""),
        ("Iterator::Root::Prefetch", 110, 10, "a", "buffer_limit=3 buffered_elements=2"),
    ).set_index("stage")
    assert table["self_ns"].to_dict() == {
        "Root": 20,
        "Root::Prefetch": 90,
        "Root::Prefetch::Map": 40,
        "Root::Prefetch::Map::Range": 10,
    }
    prefetch = table.loc["Root::Prefetch"]
    assert (prefetch["calls"], prefetch["empty"], prefetch["buffered_mean"]) == (2, 1, 1.0)
    assert (prefetch["buffer_limit"], prefetch["per_second"]) == (3, pytest.approx(2e9 / 110))
    assert table.loc[["Root"], "per_second"].isna().all()


def test_a_buffer_whose_elements_are_not_said_is_empty() -> None:
    """TensorFlow does not record buffers without elements, and none before 2.8."""
    calls = [("Iterator::Root", 0, 9, "a", ""), ("Iterator::Root::Prefetch", 1, 8, "a", "buffer_limit=2")]
    assert of_calls(*calls)["empty"].isna().all()
    calls += [("Iterator::Root::Prefetch", 20, 1, "a", "buffer_limit=2 buffered_elements=2")]
    table = of_calls(*calls).set_index("stage")
    assert (table["empty"]["Root::Prefetch"], table["buffered_mean"]["Root::Prefetch"]) == (1, 1.0)
    assert table["empty"].isna()["Root"]


def test_an_unfinished_element_is_not_in_the_buffer() -> None:
    """MapAndBatch counts the batch that it is filling."""
    called, made, taken = "Iterator::Root::MapAndBatch", "MapAndBatchProduce", "MapAndBatchConsume"
    calls = [
        (called, 100, 50, "a", "buffered_elements=1"),
        (made, 90, 40, "b", "element_id=7"),
        (taken, 140, 5, "a", "element_id=7"),
        # Made before it was requested.
        (called, 200, 9, "a", "buffered_elements=1"),
        (made, 150, 20, "b", "element_id=8"),
        (taken, 201, 5, "a", "element_id=8"),
        # Of another thread, and numbers of two pipelines.
        (called, 300, 9, "a", "buffered_elements=1"),
        *((made, 300, 5, "b", f"element_id={number}") for number in (9, 10)),
        (taken, 306, 1, "c", "element_id=9"),
        *((taken, at, 1, "a", "element_id=10") for at in (306, 900)),
    ]
    row = of_calls(*calls).iloc[0]
    assert (row["calls"], row["empty"], row["buffered_mean"]) == (3, 1, 1.0)


def test_the_bottleneck_is_the_stage_that_others_wait_for() -> None:
    prefetch, zipped = "Iterator::Root::Prefetch", "Iterator::Root::Prefetch::Zip"
    calls = [
        ("Iterator::Root", 0, 100, "a", ""),
        (prefetch, 1, 98, "a", ""),
        (zipped, 0, 60, "b", ""),
        (f"{zipped}[0]::Map", 1, 40, "b", "name=MapDataset:1"),
        (f"{zipped}[1]::Map", 42, 15, "b", "name=MapDataset:2"),
        (f"{zipped}[0]::Map::Range", 2, 19, "b", "name=RangeDataset:0"),
    ]
    table = of_calls(*calls)
    assert table.loc[table["bottleneck"], "dataset"].tolist() == ["MapDataset:1"]
    assert table.set_index("stage").loc["Root::Prefetch", "busy_ns"] == 98
    # Two simultaneous ones run no longer than one.
    more = of_calls(*calls, (f"{zipped}[0]::Map::Range", 2, 19, "c", "name=RangeDataset:0"))
    assert more["busy_ns"].tolist() == table["busy_ns"].tolist()
    assert more["bottleneck"].tolist() == table["bottleneck"].tolist()


def test_datasets_of_one_kind_are_told_apart() -> None:
    table = of_calls(
        ("Iterator::Root::Zip[0]::Range", 0, 1, "a", "name=RangeDataset:1 shapes=[]"),
        ("Iterator::Root::Zip[1]::Range", 2, 1, "a", "name=RangeDataset:2 shapes=[]"),
        ("Iterator::Root::Zip[1]::Range", 4, 1, "a", "name=RangeDataset:2 shapes=[]"),
    )
    assert table[["dataset", "calls"]].to_numpy().tolist() == [["RangeDataset:1", 1], ["RangeDataset:2", 2]]


def test_facts_may_be_anything() -> None:
    huge = "9" * 300
    detail = f"parallelism={huge} buffer_limit=-1 buffered_elements=x autotune=maybe ram_budget_megabytes=1e5"
    row = of_calls(("Iterator::Root<b>", 0, 5, "a", detail)).iloc[0]
    assert row["stage"] == "Root<b>"
    assert row[["parallelism", "buffer_limit", "empty", "autotune", "ram_budget_bytes"]].isna().all()


def test_a_trace_without_a_pipeline_says_so(data: Path) -> None:
    assert why_not(real_trace(data / "local_mlp_step1.pb").input_pipeline).id == "no_input_pipeline"
    assert why_not(input_pipeline(Trace(events.build({}, rows=0)))).id == "no_input_pipeline"
