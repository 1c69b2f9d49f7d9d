"""The file of a session is a trace to every verb that reads."""

import json
import sqlite3
from pathlib import Path

import pytest
import tensorflow as tf
from tensorflow.core.protobuf.config_pb2 import RunMetadata

import tfvis_nb as tv
from tests.cli.command import complaint, tfvis_nb_here
from tests.real_traces import DATA
from tests.serving.conftest import write_session
from tests.support.texts import says
from tfvis_nb.cli import main
from tfvis_nb.reading.pickles.reader import tftracer_session
from tfvis_nb.reading.pickles.run_metadata import unpickled
from tfvis_nb.reading.sources.unpacking import unpack
from tfvis_nb.session.file.entries import Recording, Signature
from tfvis_nb.session.file.writer import Writer
from tfvis_nb.texts import Text

pytestmark = pytest.mark.tensorflow

v1 = tf.compat.v1


def record(path: Path, *, traced: bool) -> None:
    """Run something twice in a session that keeps its traces at `path`."""
    with tf.Graph().as_default(), v1.Session() as session, tv.TraceSession(path) as stored:
        total = tf.reduce_sum(tf.random.uniform([10]), name="total")
        if traced:
            stored.trace_all()
        for _ in range(2):
            session.run(total)


def test_its_traces_are_steps(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, target = tmp_path / "run.tfvis", tmp_path / "run.parquet"
    record(path, traced=True)
    before = len(tv.open_session(path).traces)
    assert main(["info", "--json", str(path)]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["title"] == "run.tfvis"
    assert [step["label"] for step in facts["steps"]] == ["total, run 1", "total, run 2"]
    assert main(["export", str(path), "-o", str(target)]) == 0
    assert len(tv.read_trace(target).events) == facts["events"] > 0
    assert len(tv.open_session(path).traces) == before == 2


def test_messages_are_written_byte_for_byte(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, target = tmp_path / "run.tfvis", tmp_path / "step.pb"
    record(path, traced=True)
    with tv.open_session(path) as session:
        messages = [session.read(number).sources[0] for number in (1, 2)]
    assert [RunMetadata.FromString(one).ByteSize() for one in messages] == [*map(len, messages)]
    words = ["export", str(path), "-o", str(target), "-o", str(target.with_suffix(".pickle"))]
    assert main(words) == 0
    names = [f"step.step{step}{suffix}" for suffix in (".pb", ".pickle") for step in (0, 1)]
    assert capsys.readouterr().out.splitlines() == [str(tmp_path / name) for name in names]
    assert [(tmp_path / name).read_bytes() for name in names[:2]] == messages
    assert [unpickled(tmp_path / name) for name in names[2:]] == messages
    assert len(tv.read_trace(tmp_path / "step.step*.pb").steps) == 2
    # A table keeps them.
    tv.open_session(path).read(1).to_parquet(tmp_path / "step.parquet")
    assert main(["export", str(tmp_path / "step.parquet"), "-o", str(target)]) == 0
    assert target.read_bytes() == messages[0]


def test_messages_of_a_session_of_tftracer(tmp_path: Path) -> None:
    source = DATA / "tftracer_session.pickle.gz"
    assert main(["export", str(source), "-o", str(tmp_path / "step.pb")]) == 0
    files = sorted(tmp_path.iterdir())
    saved = tftracer_session(unpack(source.read_bytes(), source.name), source.name)
    kept = [message for run in saved for _, message in run.traces if message]
    assert sorted(file.read_bytes() for file in files) == sorted(map(bytes, kept))


@pytest.mark.parametrize(
    ("source", "words", "code", "key"),
    [
        ("step.json", ["-o", "step.pb"], 1, "no_messages_to_write"),
        ("run.tfvis", ["-o", "step.pb", "--time-range", ":1ms"], 2, "part_of_message"),
        ("run.tfvis", ["-o", "step.pb", "--no-source"], 2, "part_of_message"),
        ("keras.tfvis", ["-o", "step.pickle"], 1, "profile_in_pickle"),
    ],
)
def test_sources_without_such_a_message_are_rejected(
    source: str, words: list[str], code: int, key: str, tmp_path: Path
) -> None:
    write_session(tmp_path / "run.tfvis")
    tv.open_session(tmp_path / "run.tfvis").read(1).to_chrome_trace(tmp_path / "step.json")
    writer = Writer(tmp_path / "keras.tfvis", keep=None)
    profile = (DATA / "cpu_jax.xplane.pb").read_bytes()
    number, _ = writer.add_signature(Signature("train", "train model"))
    writer.add_trace(number, Recording("xspace", profile, 1, 10**18, 5, 10**18), None)
    writer.close({})
    done = tfvis_nb_here("export", source, *words, cwd=tmp_path)
    assert done.returncode == code
    assert says(done.stderr, key)
    assert not list(tmp_path.glob("step.p*"))
    if source == "keras.tfvis":
        assert main(["export", str(tmp_path / source), "-o", str(tmp_path / "step.pb")]) == 0
        assert (tmp_path / "step.pb").read_bytes() == profile


def test_one_without_traces_says_how_to_get_one(tmp_path: Path) -> None:
    path = tmp_path / "run.tfvis"
    record(path, traced=False)
    said = complaint(tfvis_nb_here("info", path, cwd=tmp_path), 1)
    assert said == Text("session_without_traces", path=str(path))


def damaged(path: Path, start: int, count: int) -> Path:
    """Put zeros over a part of a file."""
    data = bytearray(path.read_bytes())
    data[start : start + count] = bytes(len(data[start : start + count]))
    path.write_bytes(data)
    return path


def in_one_file(path: Path, traces: int) -> Path:
    """Write a session that has nothing beside it."""
    write_session(path, traces)
    return tv.open_session(path).save(path.with_name("run.tfvis"))


def test_a_damaged_one(tmp_path: Path) -> None:
    path = in_one_file(tmp_path / "whole.tfvis", 2)
    damaged(path, 4096, path.stat().st_size)
    assert says(complaint(tfvis_nb_here("info", path, cwd=tmp_path), 1), "session_damaged")


def test_one_whose_traces_are_damaged_is_not_one_without(tmp_path: Path) -> None:
    path = in_one_file(tmp_path / "whole.tfvis", 0)
    with sqlite3.connect(path) as database:
        page = database.execute("SELECT rootpage FROM sqlite_schema WHERE name = 'traces'").fetchone()[0]
    database.close()
    # A table that says it is empty, in a page that is not as an empty one is.
    data = bytearray(path.read_bytes())
    data[(page - 1) * 4096 + 7] = 99
    path.write_bytes(data)
    said = complaint(tfvis_nb_here("info", path, cwd=tmp_path), 1)
    assert says(said, "session_found_damaged", path=path)


def test_a_damaged_trace_is_left_out_and_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = in_one_file(tmp_path / "whole.tfvis", 3)
    with sqlite3.connect(path) as database:
        database.execute("UPDATE traces SET data = zeroblob(50) WHERE id = 2")
    database.close()
    assert main(["info", "--json", str(path)]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert [step["label"] for step in facts["steps"]] == ["train, run 1", "train, run 3"]
    (note,) = facts["notes"]
    assert says(note, "session_trace_left_out", number=2, session="run.tfvis")
    with sqlite3.connect(path) as database:
        database.execute("UPDATE traces SET data = zeroblob(50)")
    database.close()
    said = complaint(tfvis_nb_here("info", path, cwd=tmp_path), 1)
    assert says(said, "no_session_trace_readable", path=path, number=1)


def test_an_empty_one_is_no_trace_of_nothing(tmp_path: Path) -> None:
    path = tmp_path / "empty.tfvis"
    path.touch()
    said = complaint(tfvis_nb_here("info", path, cwd=tmp_path), 1)
    assert Text("session_empty", path="empty.tfvis") in said


def test_another_database_is_none(tmp_path: Path) -> None:
    path = tmp_path / "other.db"
    with sqlite3.connect(path) as database:
        database.execute("CREATE TABLE t(x)")
    assert Text("sqlite_but_no_session", path="other.db") in complaint(
        tfvis_nb_here("info", path, cwd=tmp_path), 1
    )
