"""Runs and times of instructions, compared with a simple reading of the profile's bytes."""

import lzma
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.real_traces import DATA, SHARED, outside_sample, real_trace

PROFILES = [
    DATA / "cpu_jax.xplane.pb",
    SHARED / "h200" / "jax_train_gpu.xplane.pb",
    SHARED / "third-party" / "xprof" / "tpu_inference_2.xplane.pb",
]


def fields(message: bytes) -> Iterator[tuple[int, Any]]:
    """Yield number and value of each field of a serialised message."""
    at = 0

    def varint() -> int:
        nonlocal at
        value = shift = 0
        while True:
            byte = message[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < len(message):
        tag = varint()
        kind = tag & 7
        size = {1: 8, 5: 4}.get(kind) or (varint() if kind == 2 else 0)
        yield tag >> 3, message[at : at + size] if kind else varint()
        at += size


def of(message: bytes, number: int) -> list[Any]:
    return [value for one, value in fields(message) if one == number]


def entries(plane: bytes, number: int) -> dict[int, bytes]:
    """Return a map of metadata: number to message."""
    pairs = [dict(fields(entry)) for entry in of(plane, number)]
    return {pair.get(1, 0): pair.get(2, b"") for pair in pairs}


def stats(owner: bytes, number: int, names: dict[int, bytes]) -> dict[bytes, Any]:
    found = {}
    for stat in of(owner, number):
        values = dict(fields(stat))
        value = values.get(5, values.get(3, values.get(4)))
        found[names.get(values.get(1, 0), b"")] = names.get(values[7]) if 7 in values else value
    return found


def counted(path: Path) -> tuple[Counter[Any], Counter[Any]]:
    """Return the runs and picoseconds of each program's number and instruction."""
    raw = path.read_bytes()
    runs: Counter[Any] = Counter()
    took: Counter[Any] = Counter()
    for plane in of(lzma.decompress(raw) if path.suffix == ".xz" else raw, 1):
        names = {key: (of(one, 2) or [b""])[0] for key, one in entries(plane, 5).items()}
        events = entries(plane, 4)
        for line in of(plane, 3):
            lane = of(line, 2)
            if lane == [b"Async XLA Ops"]:
                continue
            for event in of(line, 4):
                values = dict(fields(event))
                kind = events.get(values.get(1, 0), b"")
                stat_values = stats(kind, 5, names) | stats(event, 4, names)
                name = stat_values.get(b"hlo_op") or (
                    (of(kind, 4) or of(kind, 2))[0] if lane == [b"XLA Ops"] else None
                )
                if name and name.startswith(b"command_buffer"):
                    # Within one, kernels name the instruction: gemm_fusion_dot_7 is gemm_fusion_dot.7.
                    kernel = of(kind, 2)[0]
                    name = name if b" " in kernel else re.sub(rb"_(\d+)$", rb".\1", kernel)
                if name and b"program_id" in stat_values:
                    key = stat_values[b"program_id"], name.decode()
                    runs[key] += 1
                    took[key] += values.get(3, 0)
    return runs, took


@pytest.mark.parametrize(
    "path",
    [
        pytest.param(path, id=path.name, marks=[pytest.mark.thorough] if outside_sample(path) else [])
        for path in PROFILES
        if path.is_file()
    ],
)
def test_each_instruction_has_the_runs_and_the_time_of_the_file(path: Path) -> None:
    runs, took = counted(path)
    ours = real_trace(path).hlo_ops
    number = ours["program"].str.extract(r"\((\d+)\)$", expand=False).astype("uint64")
    keys = list(zip(number.tolist(), ours["hlo_op"], strict=True))
    assert dict(zip(keys, ours["count"], strict=True)) == runs
    for key, nanoseconds in zip(keys, ours["total_ns"], strict=True):
        assert nanoseconds * 1000 == pytest.approx(took[key], abs=1000 * runs[key]), key
