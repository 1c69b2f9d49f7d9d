import itertools
import json
from importlib.resources import files
from pathlib import Path

import pytest

from tests.real_traces import SAMPLES, real_trace
from tfvis_nb import Trace, events
from tfvis_nb.analysis.events.activity import ACTIVITIES, activity
from tfvis_nb.analysis.events.bar_categories import categories, named
from tfvis_nb.core.devices import HOROVOD
from tfvis_nb.core.palette import CATEGORIES

WITH_EVENTS = [path for path in SAMPLES if "partition_graphs_only" not in path.name]


def categories_of(trace: Trace) -> list[str]:
    return [CATEGORIES[number] for number in categories(trace)]


@pytest.mark.parametrize("path", WITH_EVENTS, ids=lambda path: path.name)
def test_bars_have_the_kind_and_activity_of_their_events(path: Path) -> None:
    trace = real_trace(path)
    kinds = trace.events["kind"].astype(str)
    expected = [f"{kind} {ACTIVITIES[one]}" for kind, one in zip(kinds, activity(trace), strict=True)]
    horovod = trace.events["device"].astype(str).str.contains(HOROVOD)
    drawn = categories_of(trace)
    differ = [at for at, pair in enumerate(zip(drawn, expected, strict=True)) if pair[0] != pair[1]]
    # Phases of Horovod's collectives are drawn as communication, although no sum counts them.
    assert {drawn[at] for at in differ} <= {"host communication"}
    assert horovod.iloc[differ].all()


@pytest.mark.parametrize(
    ("lane", "op", "category"),
    [
        ("collective", "ALLREDUCE", "host communication"),
        ("collective", "BROADCAST", "host communication"),
        ("activities", "NCCL_ALLREDUCE", "host communication"),
        ("activities", "GLOO_BCAST", "host communication"),
        ("activities", "MEMCPY_IN_FUSION_BUFFER", "host none"),
        ("activities", "WAIT_FOR_OTHER_TENSOR_DATA", "host none"),
    ],
)
def test_horovod_phases_are_drawn_as_communication(lane: str, op: str, category: str) -> None:
    columns = {
        "start_ns": [0, 0],
        "duration_ns": [1, 1],
        "kind": ["host"] * 2,
        "op": [op] * 2,
        "lane": [lane] * 2,
    }
    devices = ["/job:worker/replica:0/task:0/device:Horovod", "/job:worker/replica:0/task:0/device:CPU:0"]
    table = events.build({**columns, "device": devices})
    assert categories_of(Trace(table)) == [category, "host runtime"]


def test_kinds_in_lists_are_registered() -> None:
    registry = json.loads(files("tfvis_nb").joinpath("kinds.json").read_text())
    activities = registry.pop("activity")
    assert tuple(activities) == events.KINDS
    assert set(activities.values()) <= set(ACTIVITIES)
    assert set(itertools.chain(*registry.values())) <= set(events.KINDS)
    for kind, usual in activities.items():
        assert f"{kind} {usual}" in CATEGORIES


def test_every_kind_has_a_category() -> None:
    count = len(events.KINDS)
    table = events.build({"start_ns": range(count), "duration_ns": [1] * count, "kind": events.KINDS})
    assert [name.split()[0] for name in categories_of(Trace(table))] == list(events.KINDS)
    assert categories_of(Trace(events.build({}, rows=0))) == []


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("input", {"host input", "op input"}),
        ("input pipeline", {"host preprocessing", "op preprocessing"}),
        ("copy", {"memcpy h2d", "memcpy d2h", "memcpy d2d"}),
        ("transfer", {"transfer communication"}),
        ("nothing", set()),
    ],
)
def test_names_of_kinds_and_activities_are_found(text: str, found: set[str]) -> None:
    assert {name for name, holds in zip(CATEGORIES, named(text), strict=True) if holds} == found
