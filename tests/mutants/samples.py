"""The sources of mutants: samples next to the tests, small versions of them, and files of our formats."""

import functools
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import tfvis_nb as tv
from tests.mutants import containers, protobuf, tokens
from tests.real_traces import DATA
from tfvis_nb.reading.sources.unpacking import unpack

PROTOBUF, JSON, TEXT, PICKLE, PARQUET, SESSION = "protobuf", "JSON", "text", "pickle", "Parquet", "session"

_MOST = 12
"""Fields of a number, and entries of a list, that small versions keep."""


class Sample(NamedTuple):
    """The bytes of a trace, unpacked, and how they are written; small ones are tried more often."""

    name: str
    form: str
    data: bytes
    weight: float


def content(path: Path) -> bytes:
    """The bytes of a sample, unpacked: damage to the packed bytes is found by their checksums."""
    return bytes(unpack(path.read_bytes(), path.name))


def _form(path: Path, data: bytes) -> str:
    if data[:1] in b"{[":
        return JSON
    if ".pickle" in path.name:
        return PICKLE
    return TEXT if path.suffix == ".pbtxt" else PROTOBUF


@functools.cache
def samples() -> tuple[Sample, ...]:
    """Every sample, in an order that does not change."""
    found = []
    for path in sorted(DATA.iterdir()):
        if path.suffix == ".md" or path.is_dir():
            continue
        data = content(path)
        form = _form(path, data)
        small = _reduced(data, form)
        if len(small) < 0.8 * len(data):
            found.append(Sample(f"{path.name}, in part", form, small, 12.0))
        found.append(
            Sample(path.name, form, data, 12.0 if len(data) < 12_000 else min(1.0, 20_000 / len(data)))
        )
    by_name = {one.name: one for one in found}
    found += _of_our_own(lambda name: by_name.get(f"{name}, in part", by_name.get(name)) or found[0])
    return tuple(found)


def _reduced(data: bytes, form: str) -> bytes:
    if form == PROTOBUF:
        return protobuf.reduced(data, _MOST)
    return tokens.reduced_json(data, 5 * _MOST) if form == JSON else data


def _of_our_own(sample: Callable[[str], Sample]) -> list[Sample]:
    """Return files of the formats that this package writes, and an event file."""
    made = []
    with tempfile.TemporaryDirectory() as folder:
        for name in (
            "gpu_tf221_mlp.pb.xz",
            "cpu_tf221_dist_while.pb.xz",
            "gpu_tf221_worker0.xplane.pb.xz",
            "horovod_timeline.json.xz",
        ):
            trace = tv.read_trace(sample(name).data)
            path = trace.to_parquet(Path(folder, "trace.parquet"))
            made.append(Sample(f"{name} as Parquet", PARQUET, path.read_bytes(), 12.0))
            text = trace.to_chrome_trace()
            made.append(Sample(f"{name} as a Chrome trace", JSON, text.encode(), 12.0))
    run = sample("run_meta.v3").data
    made.append(
        Sample("an event file", PROTOBUF, containers.event_file([run, run], [b"step_7", b"step_8"]), 4.0)
    )
    made.append(Sample("a session", SESSION, b"", 24.0))
    return made


@functools.cache
def session_files() -> dict[str, bytes]:
    """Return the files of a session of two jobs, one of them killed, by the suffix of their name."""
    from tfvis_nb.session.file.counters import Counts
    from tfvis_nb.session.file.entries import Recording, Signature
    from tfvis_nb.session.file.writer import Writer

    by_name = {one.name: one for one in samples() if one.form == PROTOBUF}
    runs = (by_name["run_meta.v3"].data, by_name["run_meta.v1"].data)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "run.tfvis")
        for job in range(2):
            writer = Writer(path, keep=None)
            number, slot = writer.add_signature(
                Signature("session", "train", "loss:0", "train", "x:0", "trace")
            )
            began = 1_700_000_000_000_000_000
            counts = {number: Counts(3, 1, 3000, 2000, began, began + 10**9, traced=2, traced_ns=900)}
            writer.count(slot, counts[number])
            for run, data in enumerate(runs, 1):
                recording = Recording(
                    "run_metadata",
                    data,
                    run,
                    began + run,
                    1000,
                    tracing_ns=300,
                    untraced_ns=500,
                    untraced_runs=1,
                    batch=run,
                )
                writer.add_trace(number, recording, None)
            writer.save_counts(counts)
            if job == 0:
                writer.close(counts)
        found = {
            file.name.removeprefix("run.tfvis"): file.read_bytes() for file in sorted(Path(folder).iterdir())
        }
        writer.close(counts)
    return found
