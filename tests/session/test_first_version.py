"""Files of the first version, which did not distinguish traced runs, are read and continued."""

import lzma
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import tfvis_nb as tv
from tests.real_traces import DATA
from tests.support.session_files import crafted, filled, recording
from tests.support.stored_writer import METADATA
from tests.support.texts import raises_id
from tfvis_nb.compat.tftracer_server import add_session
from tfvis_nb.session.file.counters import Counts, read_ledger
from tfvis_nb.session.file.entries import Signature
from tfvis_nb.session.file.writer import Writer
from tfvis_nb.session.snapshot import session_state

COST: dict[str, Any] = {"tracing_ns": 300, "untraced_ns": 2_500, "untraced_runs": 64, "batch": 7}


@pytest.fixture
def old(tmp_path: Path) -> Path:
    """A session of one signature, ``train``, with two runs of 5,000 ns and their traces."""
    path = tmp_path / "old.tfvis"
    path.write_bytes(lzma.decompress((DATA / "sessions/version1.tfvis.xz").read_bytes()))
    return path


def test_it_opens_without_unknown_tables(old: Path, tmp_path: Path) -> None:
    with tv.open_session(old) as session:
        assert session.traces["duration_ns"].tolist() == [5_000, 5_000]
        assert session.traces[["tracing_ns", "untraced_ns", "batch"]].isna().all(axis=None)
        assert session.traces["untraced_runs"].tolist() == [0, 0]
        assert session.signatures[["runs", "traced", "mean_ns"]].iloc[0].tolist() == [2, 0, 5_000]
        assert session.read(2).events.equals(tv.read_trace(METADATA).events)
        assert [row["untraced_ns"] for row in session_state(session)["traces"]] == [None, None]
        with tv.open_session(session.save(tmp_path / "copy.tfvis")) as copy:
            assert copy.traces.equals(session.traces)


def test_it_is_continued(old: Path) -> None:
    writer = Writer(old, keep=None)
    number, slot = writer.add_signature(Signature("session", "train", "loss:0"))
    writer.add_trace(number, replace(recording(3), **COST), None)
    counts = Counts(3, 0, 30, 20, 1, 2, traced=1, traced_ns=20)
    writer.count(slot, counts)
    writer.save_counts({number: counts})
    with tv.open_session(old) as session:
        session.delete(1)
        assert session.traces["run"].tolist() == [2, 3]
        assert session.traces["tracing_ns"].isna().all()
        writer.close({number: counts})
        assert session.signatures["runs"].tolist() == [5]


def test_the_tables_must_be_those_of_the_version(tmp_path: Path) -> None:
    crafted(tmp_path / "new.tfvis", "PRAGMA user_version = 1")
    with raises_id(tv.TraceFormatError, "session_damaged"):
        tv.open_session(tmp_path / "new.tfvis")


def test_counts_that_a_killed_process_left(tmp_path: Path) -> None:
    record = (5, 1, 50, 9, 1, 2, 50, 6)
    numbers = b"".join(number.to_bytes(8, "little") for number in record)
    (tmp_path / "ledger").write_bytes(b"tfvis_nb counts\n".ljust(64, b"\0") + numbers)
    assert read_ledger(tmp_path / "ledger") == {0: Counts(5, 1, 50, 9, 1, 2)}


def test_old_and_new_ones_are_added_to_each_other(old: Path, tmp_path: Path) -> None:
    new = tmp_path / "new.tfvis"
    filled(new, traces=0)
    writer = Writer(new, keep=None)
    number, _ = writer.add_signature(Signature("session", "train", "loss:0"))
    writer.add_trace(number, replace(recording(9), **COST), None)
    writer.close({number: Counts(1, 0, 70, 70, 1, 1, traced=1, traced_ns=70)})
    with tv.open_session(new) as session, tv.open_session(old) as other:
        add_session(session, old, 10)
        assert session.traces["untraced_ns"].fillna(-1).tolist() == [2_500, -1, -1]
        assert session.signatures[["runs", "traced", "mean_ns"]].iloc[0].tolist() == [3, 1, 5_000]
        add_session(other, new, 10)
        assert other.traces["untraced_ns"].isna().tolist() == [True] * 5
        assert other.signatures["runs"].tolist() == [5]
