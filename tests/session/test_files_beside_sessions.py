"""Files next to a session file: they are neither followed, replayed nor overwritten."""

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

import tfvis_nb as tv
from tests.support.examples import sample
from tests.support.session_files import UNENDED, crafted, filled, opened
from tests.support.texts import raises_id
from tfvis_nb.session.file.entries import Signature
from tfvis_nb.session.file.writer import Writer


@pytest.mark.parametrize("beside", sample(["-counts1", "-wal", "-shm"], ["-counts1"]))
@pytest.mark.parametrize("kind", ["pipe", "link", "folder"])
def test_only_plain_files_are_opened(path: Path, beside: str, kind: str) -> None:
    crafted(path, UNENDED)
    file = path.with_name(path.name + beside)
    if kind == "pipe":
        os.mkfifo(file)
    elif kind == "link":
        file.symlink_to("/dev/zero")
    else:
        file.mkdir()
    assert opened(path) == "DamagedSessionError"
    assert os.path.lexists(file)


def test_a_journal_is_not_played_back(path: Path) -> None:
    filled(path, traces=1)
    victim = path.with_name("victim")
    victim.write_text("somebody's")
    path.with_name("run.tfvis-journal").write_bytes(b"\xd9\xd5\x05\xf9\x20\xa1\x63\xd7" + bytes(600))
    before = path.read_bytes()
    assert opened(path) == "DamagedSessionError"
    assert (path.read_bytes(), victim.read_text()) == (before, "somebody's")


def test_files_of_somebody_else_stay(tmp_path: Path) -> None:
    path = tmp_path / "model"
    users = [
        "model.new-weights.h5",
        "model-counts-per-class.new",
        "model-counts9.new",
        "model.new-" + "0" * 32,
    ]
    for name in users:
        (tmp_path / name).write_text("somebody's")
    filled(path, traces=1)
    for name in users:
        assert (tmp_path / name).read_text() == "somebody's"


WAL = b"\x37\x7f\x06\x82" + bytes(28)
"""The log of a user's database whose file is elsewhere."""


@pytest.mark.parametrize("beside", ["-wal", "-shm", "-journal", "-counts1", "-counts7"])
@pytest.mark.parametrize("content", [b"somebody's", b"", WAL], ids=["text", "empty", "log"])
@pytest.mark.parametrize("is_there", [False, True], ids=["no file", "empty file"])
def test_new_session_is_refused_beside_companions(
    tmp_path: Path, beside: str, content: bytes, is_there: bool
) -> None:
    users = tmp_path / f"model{beside}"
    users.write_bytes(content)
    path = tmp_path / "model"
    if is_there:
        path.touch()
    before = sorted(tmp_path.iterdir())
    with raises_id(FileExistsError, "in_the_way", path=str(users)):
        Writer(path, None)
    assert (users.read_bytes(), sorted(tmp_path.iterdir())) == (content, before)


@pytest.mark.tensorflow
def test_job_goes_on_where_its_session_is_refused(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    users = tmp_path / "model-wal"
    users.write_text("somebody's")
    with tv.TraceSession(tmp_path / "model") as recorded:
        assert "in the way of a new session" in recorded.problem
    assert "in the way of a new session" in caplog.text
    assert [file.name for file in tmp_path.iterdir()] == ["model-wal"]
    assert users.read_text() == "somebody's"


@pytest.mark.parametrize("beside", ["-wal", "-shm", "-journal"])
def test_copy_is_refused_beside_companions(path: Path, beside: str) -> None:
    filled(path, traces=1)
    users = path.with_name(f"copy{beside}")
    users.write_text("somebody's")
    with tv.open_session(path) as session, raises_id(FileExistsError, "in_the_way", path=str(users)):
        session.save(path.with_name("copy"))
    assert users.read_text() == "somebody's"
    assert not path.with_name("copy").exists()


def test_log_of_somebody_else_beside_a_session_stays(path: Path) -> None:
    filled(path, traces=1)
    users = path.with_name("run.tfvis-wal")
    users.write_text("somebody's")
    assert opened(path) == "DamagedSessionError"
    with raises_id(tv.TraceFormatError, "session_damaged"):
        Writer(path, None)
    assert users.read_text() == "somebody's"


def test_only_the_owner_may_read(path: Path) -> None:
    before = os.umask(0)
    try:
        writer = Writer(path, keep=None)
        writer.add_signature(Signature("session", "train"))
        with tv.open_session(path) as session:
            session.save(path.with_name("copy.tfvis"))
        modes = {file.name: stat.S_IMODE(file.stat().st_mode) for file in path.parent.iterdir()}
        writer.close({})
    finally:
        os.umask(before)
    beside = ("", "-wal", "-shm", "-counts1")
    assert modes == {**{f"run.tfvis{name}": 0o600 for name in beside}, "copy.tfvis": 0o600}


CUT = """
import os, sys
from pathlib import Path
from tfvis_nb.session.file.writer import *
path = Path(sys.argv[1])
writer = Writer(path, None)
number, slot = writer.add_signature(Signature("session", "train"))
for run in range(1, 4):
    writer.count(slot, Counts(run, 0, run, 1, 1, 1))
    os.truncate(f"{path}-counts1", 0)
writer.count(slot, Counts(4, 0, 4, 1, 1, 1))
writer.close({number: Counts(4, 0, 4, 1, 1, 1)})
"""


def test_a_counts_file_that_is_cut_short_does_not_end_the_job(path: Path) -> None:
    done = subprocess.run([sys.executable, "-c", CUT, str(path)], check=False)
    assert done.returncode == 0
    with tv.open_session(path) as session:
        assert session.signatures["runs"].tolist() == [4]
