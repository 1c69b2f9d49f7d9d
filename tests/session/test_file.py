"""The session file: several writers and readers, copies, deletion, counts; without TensorFlow."""

import shutil
import sqlite3
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import tfvis_nb as tv
from tests.support.session_files import filled, recording
from tests.support.store_load import load
from tests.support.stored_writer import METADATA
from tests.support.texts import raises_id
from tfvis_nb.session.file.counters import SLOTS, Counts, read_ledger
from tfvis_nb.session.file.entries import Signature
from tfvis_nb.session.file.writer import MORE, Writer
from tfvis_nb.session.snapshot import session_state


@pytest.mark.parametrize(("rounds", "readers"), [(2, 1), pytest.param(5, 3, marks=pytest.mark.thorough)])
def test_two_writers_and_readers(path: Path, rounds: int, readers: int) -> None:
    done = load(path, rounds=rounds, readers=readers)
    assert done.failures == []
    assert done.written == done.kept == done.counted > 0
    assert done.asked == done.met >= readers * rounds
    assert done.reads >= readers * rounds
    assert done.damaged == 0
    assert done.whole


def test_a_copy_is_the_session(path: Path, tmp_path: Path) -> None:
    filled(path)
    with tv.open_session(shutil.copy(path, tmp_path / "copied.tfvis")) as copied:
        assert copied.signatures["runs"].tolist() == [3]
        assert copied.traces["run"].tolist() == [1, 2, 3]
        trace = copied.read(2)
        assert [each.title for each in copied] == [copied.read(number).title for number in (1, 2, 3)]
    assert trace.title == "train, run 2"
    assert trace.events.equals(tv.read_trace(METADATA).events)


def test_a_running_session_is_saved_whole(path: Path, tmp_path: Path) -> None:
    writer = Writer(path, keep=None)
    number, slot = writer.add_signature(Signature("session", "train"))
    writer.add_trace(number, recording(), None)
    writer.count(slot, Counts(7, 1, 70, 20, 5, 6))  # which is not in the database yet
    with tv.open_session(path) as session:
        saved = session.save(tmp_path / "saved.tfvis")
        with pytest.raises(FileExistsError):
            session.save(saved)
    writer.close({number: Counts(8)})
    with tv.open_session(saved) as copy:
        row = copy.signatures.iloc[0]
        assert (row["runs"], row["failed"], row["total_ns"], row["longest_ns"]) == (7, 1, 70, 20)
        assert len(copy.read(1).events)
        assert copy.processes["end"].notna().all()


def test_types_of_tensors_distinguish_no_signatures(path: Path) -> None:
    known = Signature("session", "loss", "loss:0\nmean:0 float32[]", "train", "x:0 float32[?, 2]\ny:0")
    alike = Signature("session", "loss", "loss:0 float32[]\nmean:0", "train", "x:0\ny:0 int32")
    others = [
        known._replace(fetches="loss:01\nmean:0"),
        known._replace(fetches="loss:0"),
        known._replace(fetches=""),
        known._replace(feeds="x:0"),
        known._replace(targets=""),
        known._replace(options="timeout_in_ms: 5"),
    ]
    writer = Writer(path, keep=None)
    numbers = [writer.add_signature(each)[0] for each in (known, alike, *others, alike)]
    writer.close({})
    assert numbers == [1, 1, *range(2, 8), 1]
    with tv.open_session(path) as session:
        table = session.signatures.loc[1]
        shown = session_state(session)["signatures"][0]
    assert [table["fetches"], table["fetch_types"]] == [["loss:0", "mean:0"], ["", "float32[]"]]
    assert shown["fetches"] == ["loss:0", "mean:0 float32[]"]
    assert [table["feeds"], table["feed_types"]] == [["x:0", "y:0"], ["float32[?, 2]", ""]]


def test_deleting_makes_the_file_smaller(path: Path) -> None:
    filled(path, traces=50)
    size = path.stat().st_size
    with tv.open_session(path) as session:
        session.delete(range(1, 50))
        session.delete(1)
        assert session.traces.index.tolist() == [50]
        assert len(session.read(50).events)
        with raises_id(KeyError, "no_such_trace", number=1):
            session.read(1)
    assert path.stat().st_size < size / 3


def test_a_request_is_met_once_by_each_process_that_runs_it(path: Path) -> None:
    writers = [Writer(path, keep=None) for _ in range(2)]
    (number,) = {writer.add_signature(Signature("session", "train"))[0] for writer in writers}
    with tv.open_session(path) as session:
        session.trace_next("train")
        for writer in writers:
            orders = writer.orders()
            assert orders is not None
            ((request, own),) = orders.requests[number]
            assert own
            writer.add_trace(number, recording(), request)
        assert session.signatures["requested"].tolist() == [0]
        for writer in writers:
            writer.close({})
        session.trace_next("train")  # nobody runs: it is for the first that will
    writers = [Writer(path, keep=None) for _ in range(2)]
    found = [writer.orders() for writer in writers]
    request = found[0].requests[number][0][0] if found[0] else -1
    assert [writer.claim(request) for writer in writers] == [True, False]
    for writer in writers:
        writer.close({})


def test_signatures_beyond_the_ledger_are_counted_together(path: Path) -> None:
    writer = Writer(path, keep=None)
    writer._slots = SLOTS - 2
    found = [writer.add_signature(Signature("session", str(which), str(which))) for which in range(3)]
    writer.close({})
    assert found[1] == found[2]
    with tv.open_session(path) as session:
        assert session.signatures["label"].tolist() == ["0", MORE]


def ledger(*records: tuple[int, ...]) -> bytes:
    numbers = b"".join(number.to_bytes(8, "little") for record in records for number in record)
    return b"tfvis_nb counts 2\n".ljust(80, b"\0") + numbers


HALF = (3, 0, 30, 9, 1, 2, 1, 8, 20, 2)


def test_a_half_written_count_is_not_read(tmp_path: Path) -> None:
    file = tmp_path / "ledger"
    file.write_bytes(ledger(HALF, (5, 1, 50, 9, 1, 2, 1, 8, 50, 6)))
    assert read_ledger(file) == {1: Counts(5, 1, 50, 9, 1, 2, 1, 8)}


def test_a_count_that_is_being_written_is_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    contents = [ledger(HALF), ledger((3, 0, 30, 9, 1, 2, 0, 0, 30, 3))]
    monkeypatch.setattr("tfvis_nb.session.file.counters.read_plain", lambda *_: contents.pop(0))
    assert read_ledger(tmp_path / "ledger") == {0: Counts(3, 0, 30, 9, 1, 2)}


@pytest.mark.parametrize(
    ("content", "key"),
    [(b"", "session_empty"), (b"<!DOCTYPE html>" * 100, "no_session"), (METADATA, "no_session")],
    ids=["empty", "page", "trace"],
)
def test_other_files_are_refused(path: Path, content: bytes, key: str) -> None:
    path.write_bytes(content)
    with raises_id(tv.TraceFormatError, key):
        tv.open_session(path)
    assert path.read_bytes() == content


def test_a_database_of_something_else_is_refused(path: Path) -> None:
    other = sqlite3.connect(path)
    other.execute("CREATE TABLE bookmarks(url)")
    other.close()
    with raises_id(tv.TraceFormatError, "sqlite_but_no_session"):
        tv.open_session(path)
    with raises_id(tv.TraceFormatError, "sqlite_but_no_session"):
        Writer(path, None)


def test_a_process_that_records_several_times_is_one(path: Path) -> None:
    for _ in range(3):
        filled(path)
    code = "import sys; from tests.support.session_files import *; filled(Path(sys.argv[1]))"
    subprocess.run([sys.executable, "-c", code, str(path)], check=True)
    with tv.open_session(path) as session:
        assert session.signatures["processes"].tolist() == [2]
        assert session.signatures["runs"].tolist() == [12]
        assert len(session.processes) == 4
        (row,) = session_state(session)["signatures"]
        assert row["processes"] == 2


@pytest.mark.parametrize("change", ["size = 1 << 40", "size = 5", "data = x'00'"])
def test_a_damaged_trace_is_refused(path: Path, change: str) -> None:
    filled(path)
    damaged = sqlite3.connect(path)
    damaged.execute(f"UPDATE traces SET {change}")
    damaged.commit()
    damaged.close()
    with tv.open_session(path) as session, pytest.raises(tv.TraceFormatError):
        session.read(1)


def test_threads_share_a_session(path: Path) -> None:
    filled(path)
    found = []
    with tv.open_session(path) as session:
        threads = [threading.Thread(target=lambda: found.append(len(session.traces))) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert found == [3] * 8


def test_a_copy_of_the_file_alone_is_not_running(path: Path, tmp_path: Path) -> None:
    writer = Writer(path, keep=None)
    number, slot = writer.add_signature(Signature("session", "train"))
    writer.save_counts({number: Counts(4, 0, 40, 20, 5, 6)})
    writer._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    copied = Path(shutil.copy(path, tmp_path / "copied.tfvis"))
    writer.count(slot, Counts(5))
    writer.close({})
    changed = sqlite3.connect(copied)
    changed.execute("UPDATE writers SET started_ns = started_ns - 120000000000")
    changed.commit()
    changed.close()
    with tv.open_session(copied) as session:
        assert session.processes["end"].notna().all()
        assert session.signatures["runs"].tolist() == [4]


def test_reader_is_closed_while_python_ends(path: Path) -> None:
    filled(path)
    code = (
        "import atexit, os, sys\n"
        "def end():\n"
        "    with session: print(len(session.traces))  # opened again\n"
        "    print(os.listdir(os.path.dirname(session.path)))\n"
        "atexit.register(end)\n"
        "import tfvis_nb as tv\n"
        "session = tv.open_session(sys.argv[1])\n"
    )
    command = [sys.executable, "-c", code, str(path)]
    printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    assert printed.splitlines() == ["3", "['run.tfvis']"]
