from __future__ import annotations

import pytest

from tfvis_nb import events
from tfvis_nb.display.categories import CATEGORIES, categorise


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


def test_every_kind_has_a_category_and_none_is_needed() -> None:
    count = len(events.KINDS)
    table = events.build({"start_ns": range(count), "duration_ns": [1] * count, "kind": events.KINDS})
    assert len(set(categorise(table).tolist())) == count
    assert categorise(events.build({}, rows=0)).tolist() == []
