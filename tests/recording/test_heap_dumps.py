"""The blocks that allocators write down when they run out of memory."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from tensorflow.core.protobuf.bfc_memory_map_pb2 import MemoryDump

from tfvis_nb.recording.heap_dumps import HeapDumps

pytestmark = pytest.mark.tensorflow

VARIABLE = "TF_BFC_MEMORY_DUMP"


@pytest.fixture
def dumps(monkeypatch: pytest.MonkeyPatch) -> Iterator[HeapDumps]:
    monkeypatch.delenv(VARIABLE, raising=False)
    dumps = HeapDumps()
    dumps.install()
    yield dumps
    dumps.remove()
    dumps.close()


def write(allocator: str, time_us: int, *chunks: tuple[int, int, bool]) -> None:
    """Write a dump as TensorFlow's allocators do."""
    dump = MemoryDump(allocator_name=allocator)
    for address, (size, requested, in_use) in enumerate(chunks):
        dump.chunk.add(address=address, size=size, requested_size=requested, in_use=in_use)
    Path(f"{os.environ[VARIABLE]}_{allocator}.{time_us}").write_bytes(dump.SerializeToString())


def test_the_last_dump_of_the_allocator_counts(dumps: HeapDumps) -> None:
    assert dumps.last("GPU_0_bfc") == ({}, [])
    write("GPU_0_bfc", 7, (256, 8, True))
    write("GPU_0_bfc", 12, (256, 8, True), (1024, 0, False), (512, 500, True), (2048, 4, False))
    write("GPU_1_bfc", 90, (256, 8, False))
    heap, live = dumps.last("GPU_0_bfc")
    assert heap == {
        "time_ns": 12_000,
        "in_use_bytes": 768,
        "available_bytes": 3072,
        "largest_free_bytes": 2048,
    }
    assert [(row["address"], row["bytes"], row["requested_bytes"]) for row in live] == [
        (2, 512, 500),
        (0, 256, 8),
    ]
    assert dumps.last(None)[0]["time_ns"] == 90_000
    assert dumps.last("cpu") == ({}, [])


def test_damaged_dumps_say_nothing(dumps: HeapDumps) -> None:
    Path(f"{os.environ[VARIABLE]}_a.5").write_bytes(b"\xff" * 9)
    assert dumps.last("a") == ({}, [])


def test_nothing_is_left_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    dumps = HeapDumps()
    dumps.install()
    folder = Path(os.environ[VARIABLE]).parent
    write("a", 1)
    dumps.remove()
    assert VARIABLE not in os.environ
    dumps.close()
    assert not folder.exists()


def test_options_of_the_program_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "/mine")
    dumps = HeapDumps()
    dumps.install()
    dumps.remove()
    dumps.close()
    assert os.environ[VARIABLE] == "/mine"
    assert dumps.last("a") == ({}, [])
