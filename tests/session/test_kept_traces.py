"""Kept traces, and limits on the growth of the file and its log."""

import random
import sqlite3
import threading
import time
import tracemalloc
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import tfvis_nb as tv
from tests.support.session_files import recording
from tfvis_nb.session.file import write_ahead_log
from tfvis_nb.session.file import writer as writers
from tfvis_nb.session.file.counters import Counts
from tfvis_nb.session.file.entries import Recording, Signature
from tfvis_nb.session.file.write_ahead_log import HeldError
from tfvis_nb.session.file.writer import Writer


@pytest.mark.thorough
def test_ten_thousand_traces_take_no_more_than_ten(path: Path) -> None:
    writer = Writer(path, keep=10)
    number, slot = writer.add_signature(Signature("session", "train"))
    sizes = []
    tracemalloc.start()
    for run in range(10_000):
        writer.count(slot, Counts(run + 1))
        writer.add_trace(number, recording(run), None)
        if run in (1_000, 9_999):
            wal = Path(f"{path}-wal")
            sizes.append((tracemalloc.get_traced_memory()[0], path.stat().st_size + wal.stat().st_size))
    tracemalloc.stop()
    writer.close({})
    (memory, disk), (memory_after, disk_after) = sizes
    assert memory_after < memory + 100_000
    # How many wait to be deleted together differs from moment to moment; they all take 84 MB.
    assert disk_after < disk + 3_000_000


def test_looking_for_requests_deletes_the_oldest(path: Path) -> None:
    writer = Writer(path, keep=2)
    number, _ = writer.add_signature(Signature("session", "train"))
    with tv.open_session(path) as session:

        def kept() -> list[int]:
            return session.traces["run"].tolist()

        for run in range(1, 6):
            time.sleep(0.12)
            writer.add_trace(number, recording(run), None)
            assert kept() == [run - 1, run][-run:]
        for run in range(6, 9):  # one follows the other
            writer.add_trace(number, recording(run), None)
        assert kept()[-2:] == [7, 8]
        writer.tidy()
        assert kept() == [7, 8]
        noise = random.Random(0).randbytes(600_000)
        for run in range(9, 29):
            writer.add_trace(number, Recording("run_metadata", noise, run, 1, 1), None)
            assert len(kept()) <= 4
        writer.close({})
        assert kept() == [27, 28]


def test_a_reader_without_end_does_not_let_the_log_grow(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(write_ahead_log, "MOST_WAL", 1_000_000)
    monkeypatch.setattr(write_ahead_log, "CHECKPOINT_NS", 0)
    writer = Writer(path, keep=10)
    number, _ = writer.add_signature(Signature("session", "train"))
    writer.add_trace(number, recording(), None)
    reader = sqlite3.connect(path, isolation_level=None)
    reader.execute("BEGIN")
    reader.execute("SELECT count(*) FROM traces").fetchone()
    log = path.with_name("run.tfvis-wal")

    def add_some() -> None:
        for run in range(2, 500):
            writer.add_trace(number, recording(run), None)
            assert log.stat().st_size < 1_500_000

    with pytest.raises(HeldError):
        add_some()
    reader.close()
    add_some()
    writer.close({})


def test_short_readers_that_overlap_are_waited_for(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(write_ahead_log, "MOST_WAL", 1_000_000)
    writer = Writer(path, keep=10)
    number, _ = writer.add_signature(Signature("session", "train"))
    ended = threading.Event()

    def read() -> None:
        first, second = (sqlite3.connect(path, isolation_level=None) for _ in range(2))
        first.execute("BEGIN")
        while not ended.is_set():  # at every time one of them reads
            first.execute("SELECT count(*) FROM traces").fetchone()
            second.execute("BEGIN")
            second.execute("SELECT count(*) FROM traces").fetchone()
            first.execute("COMMIT")
            first, second = second, first
        first.close()
        second.close()

    with ThreadPoolExecutor(1) as pool:
        reading = pool.submit(read)
        kept = held = 0
        try:
            while kept < 1_000 and held < 100:
                try:
                    writer.add_trace(number, recording(kept), None)
                    kept += 1
                except HeldError:
                    held += 1
        finally:
            ended.set()
        reading.result()
    writer.close({})
    assert kept == 1_000


def test_no_more_than_some_are_kept_at_any_moment(path: Path) -> None:
    writer = Writer(path, keep=10)
    number, _ = writer.add_signature(Signature("session", "train"))
    reader = sqlite3.connect(path, isolation_level=None)
    most = 0
    for run in range(1, 400):
        writer.add_trace(number, recording(run), None)
        most = max(most, reader.execute("SELECT count(*) FROM traces").fetchone()[0])
    assert 10 <= most < 10 + 2 * writers.DELETE_TRACES
    reader.close()
    writer.close({})
