from __future__ import annotations

import pytest

from tfvis_nb import events
from tfvis_nb.analysis.events.bar_categories import CATEGORIES, categorise


@pytest.mark.parametrize(
    ("kind", "op", "lane", "category"),
    [
        ("op", "MatMul", "ops", "op"),
        ("op", "IteratorGetNext", "ops", "input"),
        ("op", "QueueDequeueManyV2", "ops", "input"),
        ("op", "IteratorFromStringHandle", "ops", "op"),
        ("host", "Iterator::Root::Prefetch", "thread 7", "input"),
        ("host", "Session::Run", "thread 7", "host"),
        ("kernel", "IteratorGetNext", "stream:13", "kernel"),
        ("kernel", "copy-done", "XLA Ops", "sync"),
        ("collective", "all-reduce-done", "XLA Ops", "sync"),
        ("kernel", "copy-start", "XLA Ops", "kernel"),
        ("memcpy", "MemcpyH2D", "memcpy H2D", "h2d"),
        ("memcpy", "MEMCPYDtoH", "memcpy", "d2h"),
        ("memcpy", "", "memcpy D2H", "d2h"),
        ("memcpy", "MemcpyP2P", "memcpy P2P", "d2d"),
        ("memset", "Memset", "memset", "memset"),
        ("transfer", "RecvTensor", "recv", "transfer"),
        ("collective", "CollectiveReduce", "collective", "collective"),
        ("sync", "cuStreamSynchronize", "sync", "sync"),
    ],
)
def test_category(kind: str, op: str, lane: str, category: str) -> None:
    table = events.build({"start_ns": [0], "duration_ns": [1], "kind": [kind], "op": [op], "lane": [lane]})
    assert [CATEGORIES[number] for number in categorise(table)] == [category]


@pytest.mark.parametrize(
    ("lane", "op", "category"),
    [
        ("collective", "ALLREDUCE", "collective"),
        ("collective", "BROADCAST", "collective"),
        ("activities", "NCCL_ALLREDUCE", "collective"),
        ("activities", "GLOO_BCAST", "collective"),
        ("activities", "MEMCPY_IN_FUSION_BUFFER", "host"),
        ("activities", "WAIT_FOR_OTHER_TENSOR_DATA", "host"),
    ],
)
def test_what_horovod_communicates_has_the_colour_of_that(lane: str, op: str, category: str) -> None:
    columns = {
        "start_ns": [0, 0],
        "duration_ns": [1, 1],
        "kind": ["host"] * 2,
        "op": [op] * 2,
        "lane": [lane] * 2,
    }
    devices = ["/job:worker/replica:0/task:0/device:Horovod", "/job:worker/replica:0/task:0/device:CPU:0"]
    table = events.build({**columns, "device": devices})
    assert [CATEGORIES[number] for number in categorise(table)] == [category, "host"]


def test_every_kind_has_a_category_and_none_is_needed() -> None:
    count = len(events.KINDS)
    table = events.build({"start_ns": range(count), "duration_ns": [1] * count, "kind": events.KINDS})
    assert len(set(categorise(table).tolist())) == count
    assert categorise(events.build({}, rows=0)).tolist() == []
