"""The stages of tf.data pipelines, beside the events of the profile one by one."""

from collections import Counter
from pathlib import Path

import pandas as pd
import pytest

from tests.real_traces import real_trace
from tests.support import xspace_oracle
from tfvis_nb import Trace, events
from tfvis_nb.analysis import input_pipeline, why_not

KERAS = "cpu_tf221_keras_fit.xplane.pb.xz"


def of_calls(*calls: tuple[str, int, int, str, str]) -> pd.DataFrame:
    ordered = sorted(calls, key=lambda call: (call[1], -call[2]))
    names, starts, durations, lanes, details = zip(*ordered, strict=True)
    columns = {"name": names, "start_ns": starts, "duration_ns": durations, "lane": lanes, "detail": details}
    return input_pipeline(Trace(events.build({**columns, "kind": ["host"] * len(calls)})))


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
    assert (root["algorithm"], root["cpu_budget"], root["ram_budget_bytes"]) == ("DEFAULT", 2, 11282 * 2**20)
    mapped = table.loc["Root::Prefetch::ParallelMapV2"]
    assert (mapped["parallelism"], mapped["autotune"], mapped["deterministic"]) == (2, True, True)
    assert mapped["dataset"] == "ParallelMapDatasetV2:24"
    assert table.loc["Root::Prefetch", "buffer_limit"] == 1
    assert table.loc["Root", ["parallelism", "buffer_limit", "empty", "deterministic"]].isna().all()
    assert table["awaits"].to_dict() == {
        stage: stage.endswith(("Prefetch", "ParallelMapV2")) for stage in table.index
    }


def test_profiles_of_older_releases_say_less(data: Path) -> None:
    table = real_trace(data / "tf2_host.trace.json").input_pipeline.set_index("stage")
    assert table.loc["Model::ParallelMap", "parallelism"] == 4
    assert (table["dataset"] == "").all()
    assert table["cpu_budget"].isna().all()


def test_stages_stand_below_what_takes_their_elements(data: Path) -> None:
    stages = real_trace(data / KERAS).input_pipeline["stage"].tolist()
    for number, stage in enumerate(stages[1:], 1):
        assert stage.rpartition("::")[0] in stages[:number]


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
    """TensorFlow says nothing of a buffer without elements, nor of any before 2.8."""
    calls = [("Iterator::Root", 0, 9, "a", ""), ("Iterator::Root::Prefetch", 1, 8, "a", "buffer_limit=2")]
    assert of_calls(*calls)["empty"].isna().all()
    calls += [("Iterator::Root::Prefetch", 20, 1, "a", "buffer_limit=2 buffered_elements=2")]
    table = of_calls(*calls).set_index("stage")
    assert (table["empty"]["Root::Prefetch"], table["buffered_mean"]["Root::Prefetch"]) == (1, 1.0)
    assert table["empty"].isna()["Root"]


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
    # Two at once are under way for no longer than one.
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
