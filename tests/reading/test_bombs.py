"""Few bytes that unpack to very many: rejected early, for all compression formats."""

import base64
import gzip
import io
import json
import lzma
import subprocess
import tarfile
import tempfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tfvis_nb as tv
from tests.protobuf_bytes import field, number, varint
from tests.reading.test_tensorboard import record
from tests.real_traces import DATA
from tests.support.apart import apart, refusal
from tests.support.examples import sample
from tests.support.step_stats import one_op
from tests.support.texts import raises_id, says
from tfvis_nb.reading.pickles.run_metadata import pickled
from tfvis_nb.reading.sources.unpacking import FEW_PARTS, PART, SMALL, _next
from tfvis_nb.session.compression import compress, decompress

pytestmark = pytest.mark.slow

GIB = 1 << 30
MOST_S = 5
"""Of processor time."""


def refused(path: Path) -> str:
    """Return the message for a rejected file, from a process that needs little memory and time."""
    done = apart(refusal, path)
    assert not done.raised, done.raised
    assert done.peak < GIB
    assert done.cpu_s < MOST_S
    assert done.result.startswith("TraceFormatError: ")
    return str(done.result)


def of_gzip() -> bytes:
    """A gibibyte: a member of many zeros, again and again."""
    return gzip.compress(bytes(1 << 25), 1) * 32


def of_xz() -> bytes:
    return lzma.compress(bytes(1 << 25), preset=0) * 32


class Endless:
    """A stream whose size nobody knows."""

    def read(self, most: int) -> bytes:
        return bytes(most)


def sparse() -> BinaryIO:
    file = tempfile.TemporaryFile()  # noqa: SIM115 - read by the caller
    file.truncate(1 << 42)
    return file


def refusal_of_opened(kind: str) -> str:
    return refusal(OPENED[kind]())


def tar(content: dict[str, bytes]) -> bytes:
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w") as archive:
        for name, data in content.items():
            header = tarfile.TarInfo(name)
            header.size = len(data)
            archive.addfile(header, io.BytesIO(data))
    return made.getvalue()


def large_tar_xz() -> bytes:
    header = tarfile.TarInfo("step.pb")
    header.size = GIB
    return lzma.compress(header.tobuf()) + of_xz()


def nested() -> bytes:
    """Every member unpacks to less than what any file may."""
    member = gzip.compress(bytes(1 << 25))
    return lzma.compress(tar({f"step{number}.pb.gz": member for number in range(36)}), preset=0)


BOMBS: dict[str, Callable[[], bytes]] = {
    "step.pb.gz": of_gzip,
    "step.pb.xz": of_xz,
    "steps.tar.xz": large_tar_xz,
    "many members.gz": lambda: gzip.compress(bytes(1 << 20)) * 2000,
    "many streams.xz": lambda: lzma.compress(bytes(1 << 20), preset=0) * 2000,
    "empty members.gz": lambda: gzip.compress(b"") * 200_000,
    "nested.tar.xz": nested,
}


@pytest.mark.thorough
def test_a_table_of_one_number_again_and_again(tmp_path: Path) -> None:
    path = tmp_path / "steps.parquet"
    tv.read_trace(one_op()).to_parquet(path)
    metadata = pq.read_schema(path).metadata
    part = pa.table({"start_ns": pa.array(np.zeros(1 << 22, np.int64))}).replace_schema_metadata(metadata)
    with pq.ParquetWriter(path, part.schema) as writer:
        for _ in range(64):
            writer.write_table(part)
    assert "max_unpacked_bytes" in refused(path)


def test_a_text_of_a_list_again_and_again(tmp_path: Path) -> None:
    path = tmp_path / "steps.parquet"
    tv.read_trace(DATA / "local_mlp_step1.pb").to_parquet(path)
    table = pq.read_table(path)
    rows = 1 << 11
    memory = pa.array([[{"allocator": "x" * (1 << 16), "records": []}]]).take(np.zeros(rows, np.int64))
    part = table.take(np.zeros(rows, np.int64))
    number = part.column_names.index("nested.memory")
    part = part.set_column(number, "nested.memory", memory).replace_schema_metadata(table.schema.metadata)
    with pq.ParquetWriter(path, part.schema) as writer:
        for _ in range(12):
            writer.write_table(part)
    assert path.stat().st_size < 1_000_000
    assert "max_unpacked_bytes" in refused(path)


@pytest.mark.thorough
def test_lists_of_nothing(tmp_path: Path) -> None:
    path = tmp_path / "steps.parquet"
    tv.read_trace(DATA / "local_mlp_step1.pb").to_parquet(path)
    table = pq.read_table(path)
    nothing = pa.array([[None]], pa.list_(pa.int64())).flatten().take(np.zeros(1 << 23, np.int64))
    lists = pa.ListArray.from_arrays(pa.array([0, len(nothing)], pa.int32()), nothing)
    part = table.slice(0, 1).append_column("nested.odd", lists)
    with pq.ParquetWriter(path, part.schema) as writer:
        for _ in range(32):
            writer.write_table(part)
    assert path.stat().st_size < 1_000_000
    assert "max_unpacked_bytes" in refused(path)


def test_a_graph_in_the_metadata_of_a_table(tmp_path: Path) -> None:
    path = tmp_path / "steps.parquet"
    tv.read_trace(one_op()).to_parquet(path)
    table = pq.read_table(path)
    head = json.loads(table.schema.metadata[b"tfvis_nb"])
    head["graphs"] = [[base64.b64encode(zlib.compress(bytes(1 << 28), 9)).decode()]]
    pq.write_table(table.replace_schema_metadata({b"tfvis_nb": json.dumps(head).encode()}), path)
    assert "max_unpacked_bytes" in refused(path)


def test_a_long_text_of_fixed_length_again_and_again(tmp_path: Path) -> None:
    path = tmp_path / "steps.parquet"
    tv.read_trace(one_op()).to_parquet(path)
    table = pq.read_table(path)
    part = table.take(np.zeros(1 << 12, np.int64))
    long = pa.array([bytes(1 << 16)], pa.binary(1 << 16)).take(np.zeros(len(part), np.int64))
    pq.write_table(part.append_column("nested.odd", long), path)
    assert path.stat().st_size < 1_000_000
    assert "max_unpacked_bytes" in refused(path)


def test_a_page_that_is_larger_than_the_footer_says(tmp_path: Path) -> None:
    path = tmp_path / "steps.parquet"
    tv.read_trace(one_op()).to_parquet(path)
    metadata = pq.read_schema(path).metadata
    table = pa.table({"detail": [bytes(1 << 27)]}).replace_schema_metadata(metadata)
    pq.write_table(table, path, compression="zstd", use_dictionary=False, write_statistics=False)
    size = pq.read_metadata(path).row_group(0).total_byte_size
    content = path.read_bytes()
    # pyarrow before 18 also writes the column's metadata behind its pages.
    assert content.count(varint(2 * size)) >= 2
    # Twice the number, because the lowest bit is the sign; in as many bytes, to move nothing.
    path.write_bytes(content.replace(varint(2 * size), b"\xc8\x81\x80\x80\x00"))
    assert pq.read_metadata(path).row_group(0).total_byte_size == 100
    assert "max_unpacked_bytes" in refused(path)


def rows(count: int, row: bytes = b"\x12\x00") -> bytes:
    return field(1, field(1, field(1, b"/cpu:0") + row * count))


def profile(plane: bytes) -> bytes:
    return field(1, field(2, b"/host:CPU") + plane)


CROWDS: dict[str, Callable[[int], bytes]] = {
    "rows": rows,
    "outputs": lambda count: rows(1, field(2, b"\x3a\x00" * count)),
    "names of threads": lambda count: rows(count, b"\x1a\x00"),
    "devices": lambda count: field(1, b"\x0a\x00" * count),
    "steps": lambda count: b"\x0a\x00" * count,
    "events": lambda count: profile(field(3, b"\x22\x00" * count)),
    "stats": lambda count: profile(field(3, field(4, b"\x22\x00" * count))),
    "lines": lambda count: profile(b"\x1a\x00" * count),
}


@pytest.mark.parametrize("kind", sample(CROWDS, {"rows", "stats"}))
def test_very_many_empty_records_are_refused(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "step.pb"
    path.write_bytes(CROWDS[kind](10_000_000))
    assert says(refused(path), "too_many_records", label=path, bytes=path.stat().st_size)


def test_records_of_small_runs_are_counted_together(tmp_path: Path) -> None:
    path = tmp_path / "runs.pickle.xz"
    path.write_bytes(lzma.compress(b"\x80\x03](" + pickled(rows(3000))[2:-1] * 2000 + b"e.", preset=0))
    assert path.stat().st_size < 50_000
    with raises_id(tv.TraceFormatError, "too_many_records"):
        tv.read_trace(path)


OPENED: dict[str, Callable[[], Any]] = {
    "device": lambda: Path("/dev/zero").open("rb"),  # noqa: SIM115 - read by the caller
    "pipe": lambda: subprocess.Popen(["cat", "/dev/zero"], stdout=subprocess.PIPE).stdout,
    "gzip": lambda: gzip.GzipFile(fileobj=io.BytesIO(of_gzip())),
    "xz": lambda: lzma.LZMAFile(io.BytesIO(of_xz())),  # noqa: SIM115
    "sparse file": sparse,
    "endless stream": Endless,
}


@pytest.mark.parametrize("kind", OPENED)
def test_open_files_without_end_are_refused(kind: str) -> None:
    done = apart(refusal_of_opened, kind)
    assert not done.raised, done.raised
    assert done.peak < GIB
    assert done.cpu_s < MOST_S
    assert done.result.startswith("TraceFormatError: ")


def test_open_files_are_read_within_limits(tmp_path: Path) -> None:
    data = one_op()
    (tmp_path / "step.pb.gz").write_bytes(gzip.compress(data))
    with gzip.open(tmp_path / "step.pb.gz") as packed:
        assert len(tv.read_trace(packed).events) == 1
    with subprocess.Popen(["cat", tmp_path / "step.pb.gz"], stdout=subprocess.PIPE) as process:
        assert len(tv.read_trace(process.stdout).events) == 1
    stream = io.BytesIO(bytes(SMALL) + data)
    stream.seek(SMALL)
    assert len(tv.read_trace(stream).events) == 1


def test_records_of_small_members_are_counted_together(tmp_path: Path) -> None:
    path = tmp_path / "runs.tar.xz"
    path.write_bytes(lzma.compress(tar({f"step{n}.pb": rows(20_000) for n in range(300)}), preset=0))
    assert path.stat().st_size < 100_000
    done = apart(left_out, path)
    assert not done.raised, done.raised
    assert done.peak < 2 * GIB
    assert "too_many_records" in done.result


def left_out(path: Path) -> list[str]:
    """Return the ids of the reasons why members are left out."""
    trace = tv.read_trace(path)
    return ["too_many_records" for note in trace.notes if "no trace has such small records" in note]


def test_as_many_records_as_a_trace_has_are_read() -> None:
    row = field(2, field(1, b"a") + b"\x10\x01\x28\x01" + field(8, b"a = NoOp()"))
    assert len(tv.read_trace(rows(60_000, row)).events) == 60_000


def plane(name: bytes) -> bytes:
    """A plane of one line with one event."""
    event = field(4, number(1, 1) + number(2, 5) + number(3, 7))
    names = field(4, number(1, 1) + field(2, number(1, 1) + field(2, b"a")))
    return field(1, field(2, name) + names + field(3, field(2, b"t") + event))


ONE_RUN = field(1, one_op())
PARTS: dict[str, Callable[[int], bytes]] = {
    "planes of a profile": lambda count: plane(b"/host:CPU") * count,
    "runs of an event file": lambda count: (
        record(field(3, b"brain.Event:2")) + record(field(8, field(1, b"a") + field(2, ONE_RUN))) * count
    ),
    "runs of a pickle": lambda count: b"\x80\x03](" + pickled(ONE_RUN)[2:-1] * count + b"e.",
    "files of an archive": lambda count: tar({f"{number}.pb": one_op() for number in range(count)}),
}


@pytest.mark.parametrize("kind", PARTS)
def test_packed_files_hold_few_parts(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "step.xz"
    path.write_bytes(lzma.compress(PARTS[kind](9000)))
    assert path.stat().st_size < PART * FEW_PARTS
    assert says(refused(path), "too_many_parts", most=FEW_PARTS, size=path.stat().st_size)
    # Few are read, and more in a larger file.
    assert len(tv.read_trace(PARTS[kind](9)).events) == 9


def test_members_after_a_bomb_are_not_unpacked(monkeypatch: pytest.MonkeyPatch) -> None:
    unpacked = []

    def counted(*given: Any) -> tuple[bytes, int]:
        piece, at = _next(*given)
        unpacked.append(len(piece))
        return piece, at

    monkeypatch.setattr("tfvis_nb.reading.sources.unpacking._next", counted)
    member = lzma.compress(bytes(60 << 20), preset=0)
    with pytest.raises(tv.TraceFormatError):
        tv.read_trace(lzma.compress(tar({f"step{number}.pb.xz": member for number in range(100)})))
    assert max(unpacked) <= 1 << 20
    assert sum(unpacked) <= SMALL + (1 << 20)


@pytest.mark.parametrize("name", sample(BOMBS, {"step.pb.gz", "steps.tar.xz", "empty members.gz"}))
def test_a_packed_bomb_is_refused(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_bytes(BOMBS[name]())
    said = refused(path)
    assert str(path) in said


def test_the_error_says_what_to_do_and_the_argument_does_it(tmp_path: Path) -> None:
    path = tmp_path / "step.pb.xz"
    # A field that no RunMetadata has, and much in it.
    path.write_bytes(lzma.compress(one_op() + b"\xfa\x07\x80\x80\x80\x28" + bytes(80 << 20), preset=0))
    with raises_id(tv.TraceFormatError, "unpacks_beyond_ratio"):
        tv.read_trace(path)
    assert len(tv.read_trace(path, max_unpacked_bytes=1 << 27).events) == 1
    with raises_id(tv.TraceFormatError, "unpacks_beyond_limit", most=1_000_000):
        tv.read_trace(path, max_unpacked_bytes=10**6)
    with raises_id(ValueError, "max_unpacked_negative"):
        tv.read_trace(path, max_unpacked_bytes=-1)
    with raises_id(TypeError, "max_unpacked_no_number"):
        tv.read_trace(path, max_unpacked_bytes="1 GB")  # type: ignore[arg-type]


def test_a_bomb_among_steps_costs_itself_only(tmp_path: Path) -> None:
    (tmp_path / "a.pb.xz").write_bytes(lzma.compress(bytes(1 << 27), preset=0))
    (tmp_path / "b.pb").write_bytes(one_op())
    trace = tv.read_trace(tmp_path)
    assert len(trace.events) == 1
    assert "a.pb.xz" in trace.notes[0]


def test_a_trace_of_a_session_with_a_false_size_is_rejected() -> None:
    content = compress(bytes(1 << 20))
    with raises_id(tv.TraceFormatError, "unpacks_beyond_ratio", size=len(content)):
        decompress(content, (1 << 31) - 1)
