"""Any error of a reader or library becomes one error that names the file, or a note if others are read."""

import decimal
import json
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

import pyarrow as pa
import pytest

import tfvis_nb as tv
from tests.protobuf_bytes import field
from tests.support.examples import sample
from tests.support.step_stats import one_op
from tests.support.texts import raises_id
from tfvis_nb.reading.protobuf import to_arrow
from tfvis_nb.reading.stepstats import decode
from tfvis_nb.texts import Text, id_of


def _panic() -> object:
    """Like the error of a fault in a Rust library, which is not an Exception."""
    return to_arrow.handler("DeviceStepStats")._ptars.array_to_record_batch(pa.array([1]))


def _raiser(error: BaseException) -> Callable[[], NoReturn]:
    def fail() -> NoReturn:
        raise error

    return fail


ERRORS = [
    RecursionError("maximum recursion depth exceeded"),
    decimal.InvalidOperation(),
    OverflowError("int too big to convert"),
    UnicodeEncodeError("utf-8", "\ud800", 0, 1, "surrogates not allowed"),
    pa.ArrowNotImplementedError("no such cast"),
    MemoryError(),
    KeyError("node_stats"),
    OSError("a stream that is no file"),
    StopIteration(),
]


@pytest.fixture
def steps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, list[Callable[[], object]]]:
    """A folder of a readable step, and of a step whose reading runs the actions in the list."""
    (tmp_path / "good.pb").write_bytes(one_op(1))
    (tmp_path / "strange.pb").write_bytes(one_op(77))
    strange = one_op(77)
    fail: list[Callable[[], object]] = []
    batch = decode._batch

    def failing(data: bytes, *rest: object) -> object:
        if bytes(data) == strange:
            fail[0]()
        return batch(data, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(decode, "_batch", failing)
    return tmp_path, fail


@pytest.mark.parametrize("fail", [_panic, *map(_raiser, ERRORS)])
def test_one_error_of_one_file_and_a_note_of_a_folder(
    steps: tuple[Path, list[Callable[[], object]]], fail: Callable[[], object]
) -> None:
    folder, how = steps
    how[:] = [fail]
    with pytest.raises(tv.TraceFormatError, match=r"strange\.pb: "):
        tv.read_trace(folder / "strange.pb")
    trace = tv.read_trace(folder)
    assert trace.events["start_ns"].tolist() == [1000]
    assert len(trace.notes) == 1
    assert "strange.pb" in trace.notes[0]


@pytest.mark.parametrize("stop", [KeyboardInterrupt, SystemExit])
def test_who_wants_to_stop_is_not_held(
    steps: tuple[Path, list[Callable[[], object]]], stop: type[BaseException]
) -> None:
    folder, how = steps
    how[:] = [_raiser(stop())]
    with pytest.raises(stop):
        tv.read_trace(folder)


def test_what_fails_when_steps_are_put_together(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    path = tmp_path / "step.pb"
    path.write_bytes(one_op())
    monkeypatch.setattr("tfvis_nb.reading.stepstats.assemble.assemble", lambda *_: _panic())
    with pytest.raises(tv.TraceFormatError, match=r"step\.pb: .*PanicException"):
        tv.read_trace(path)


LENGTHS = [
    b"\xff" * 9 + b"\x01",
    b"\xf0" + b"\xff" * 8 + b"\x01",
    b"\x80\x80\x80\x80\x88" + b"\xff" * 4 + b"\x01",
]
ENDLESS = [tag + length for tag in (b"\x0a", b"\x1a", b"\xa2\x06", b"\x82\x80\x01") for length in LENGTHS]
"""Fields whose length is close to 2**64, in a DeviceStepStats and beside its fields."""


@pytest.mark.parametrize("count", [1, 1000, 40_000])
@pytest.mark.parametrize("endless", sample(ENDLESS, ENDLESS[:2]))
def test_endless_lengths_print_nothing(endless: bytes, count: int, capfd: pytest.CaptureFixture[str]) -> None:
    device = field(1, b"/cpu:0")
    good = field(2, field(1, b"a") + b"\x10\x01\x28\x01")
    row = field(2, field(1, b"a") + b"\x10\x01\x28\x01" + endless)
    for damaged in (device + row, device + endless, device + good * count + row, device + row + good * count):
        for data in (field(1, damaged), field(1, field(1, damaged)), field(1, device) + field(1, damaged)):
            with pytest.raises(tv.TraceFormatError):
                tv.read_trace(data)
    assert capfd.readouterr().err == ""


def test_names_and_numbers_may_look_like_endless_lengths() -> None:
    looks = b"\x0a" + b"\xff" * 9 + b"\x01"
    for name in (looks, b"*" + looks):
        row = field(2, field(1, name) + b"\x10\x01\x28\x01" + field(8, b"a = NoOp()"))
        for count in (3, 300):
            assert len(tv.read_trace(field(1, field(1, field(1, b"/cpu:0") + row * count))).events) == count
    packed = field(12, field(5, (b"\xff" * 9 + b"\x01") * 5))
    row = field(2, field(1, b"a") + b"\x10\x01\x28\x01" + packed + field(8, b"a = NoOp()"))
    assert len(tv.read_trace(field(1, field(1, field(1, b"/cpu:0") + row))).events) == 1


def test_a_file_that_is_not_there_is_no_damaged_trace(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        tv.read_trace(tmp_path / "none.pb")


@pytest.mark.slow
def test_damaged_files_are_not_held_until_the_others_are_read(tmp_path: Path) -> None:
    size = 8 << 20
    for number in range(12):
        (tmp_path / f"damaged{number}.pb").write_bytes(one_op() + b"\x0a\xff" + bytes(size))
    (tmp_path / "good.pb").write_bytes(one_op())
    tracemalloc.start()
    try:
        trace = tv.read_trace(tmp_path)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert len(trace.events) == 1
    assert "damaged0.pb" in trace.notes[0]
    assert peak < 6 * size


BAR = {"ph": "X", "name": "a", "pid": 1, "tid": 1, "ts": 1, "dur": 1}
HUGE = "9" * 400


@pytest.mark.parametrize(
    "events",
    [
        (
            '{"ph": "B", "pid": 1, "tid": 1, "ts": 9999999999999.5},'
            ' {"ph": "E", "pid": 1, "tid": 1, "ts": -1e999999999}'
        ),
        f'{{"ph": "B", "pid": 1, "tid": 1, "ts": {HUGE}}}, {{"ph": "E", "pid": 1, "tid": 1, "ts": 1.5}}',
        f'{{"ph": "X", "pid": 1, "tid": 1, "ts": {HUGE}, "dur": 1}}',
        '{"ph": "X", "pid": 1, "tid": 1, "ts": 1e400, "dur": 1}',
    ],
)
def test_a_time_that_is_no_time_costs_its_bar(events: str) -> None:
    trace = tv.read_trace(f'{{"traceEvents": [{json.dumps(BAR)}, {events}]}}'.encode())
    assert trace.events["name"].tolist() == ["a"]
    assert Text("unusable_bars_left_out", bars=1) in trace.notes


def test_half_characters_in_every_text_of_a_bar() -> None:
    half = "\ud800"
    bar = BAR | {"name": half, "cat": half, "pid": half, "tid": half, "args": {half: half}}
    trace = tv.read_trace(json.dumps([bar, bar | {"cat": "cpu_op"}]).encode())
    assert trace.events["name"].tolist() == ["\ufffd", "\ufffd"]
    trace.to_html()


@pytest.mark.slow
def test_many_documents_and_empty_lines_end_soon() -> None:
    with raises_id(tv.TraceFormatError, "too_many_documents"):
        tv.read_trace(b"[]" * 400_000)
    one = json.dumps([BAR]).encode()
    assert len(tv.read_trace(one * 3).events) == 3
    # All of them are more than is parsed at a time.
    assert len(tv.read_trace((one + b"\n" * 50_000) * 100 + one).events) == 101
    lines = b'dev_stats { device: "/cpu:0" node_stats { node_name: "a" }' + b"\n" * 400_000 + b"}"
    assert tv.read_trace(lines).events["name"].tolist() == ["a"]


def test_a_damaged_graph_costs_itself(data: Path) -> None:
    whole = tv.read_trace(data / "local_mlp_step1.pb")
    trace = tv.read_trace(data / "local_mlp_step1.pb")
    trace.graphs[0].append(b"\x0a\xff")
    assert trace.critical_path.equals(whole.critical_path)
    assert sum(id_of(note) == "damaged_graphs_left_out" for note in trace.notes) == 1


@pytest.mark.parametrize(("start", "scheduled"), [(2**62, -(2**63)), (2**61, -(2**63)), (5, -(2**63))])
def test_times_whose_difference_would_not_fit(start: int, scheduled: int) -> None:
    arguments = {"name": "a", "op": "A", "step": 0, "start_ns": str(start), "duration_ns": 1}
    bar = BAR | {"cat": "op", "args": arguments | {"scheduled_ns": str(scheduled)}}
    file = {"otherData": {"writer": "tfvis_nb"}, "traceEvents": [bar]}
    with pytest.raises(tv.TraceFormatError):
        tv.read_trace(json.dumps(file).encode())
