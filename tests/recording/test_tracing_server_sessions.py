"""Sessions that a TracingServer loads and saves."""

import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import tfvis_nb as tv
from tests.real_traces import DATA
from tests.support.recorded_sessions import runs_of
from tests.support.texts import raises_id
from tests.support.with_tensorflow import run
from tfvis_nb import TracingServer
from tfvis_nb.texts import Text

pytestmark = pytest.mark.tensorflow


def offline(made: Callable[..., TracingServer], **options: Any) -> TracingServer:
    return made(start_web_server_on_start=False, **options)


def test_a_session_of_tftracer_is_loaded(
    made: Callable[..., TracingServer], caplog: pytest.LogCaptureFixture, session: Any
) -> None:
    server = offline(made)
    with caplog.at_level(logging.WARNING):
        server.load_session(DATA / "tftracer_session.pickle.gz", gziped=True)
    assert f"tftracer_session.pickle.gz: {Text('traces_not_kept', lost=1, traces=7)}" in caplog.text
    assert runs_of(server.session) == {"GradientDescent": 12, "loss, mul": 3}
    assert server.session.traces.groupby("label").size().to_dict() == {"GradientDescent": 4, "loss, mul": 2}
    with server.session:
        session.run("loss:0")
    server.close()
    assert server.session.path.exists()  # something was recorded as well
    assert runs_of(server.session) == {"GradientDescent": 12, "loss, mul": 3, "loss": 1}


LOADED = """
import os
import sys
import tfvis_nb as tv
server = tv.TracingServer(start_web_server_on_start=False, server_port=0, path=sys.argv[1])
server.load_session(sys.argv[2])
child = os.fork()
if child == 0:  # which ends with everything that the end of a process does
    try:
        server.close()
    finally:
        os._exit(0)
os.waitpid(child, 0)
assert server.session.path.exists()
server.close()
"""


def test_loaded_sessions_create_no_file(path: Path) -> None:
    # In a process without JAX, whose threads may hold locks when a process is forked.
    run("-c", LOADED, path, DATA / "tftracer_session.pickle.gz", folder=path.parent)
    assert list(path.parent.glob("run*")) == []


def test_saving(made: Callable[..., TracingServer], session: Any, tmp_path: Path) -> None:
    server = offline(made)
    copy = tmp_path / "session.pickle"
    with raises_id(FileNotFoundError, "nothing_to_save"):
        server.save_session(copy)
    copy.write_text("what was there before")
    with server.session:
        session.run("loss:0")
        server.save_session(copy)
        session.run("loss:0")
        link = tmp_path / "link.pickle"
        link.symlink_to(copy)
        server.save_session(str(link))
        assert link.is_symlink()
        link.unlink()
        for taken in (server.session.path, tmp_path / "run.tfvis"):
            with raises_id(FileExistsError, "save_over_recording"):
                server.save_session(taken)
    with pytest.raises(FileExistsError):
        server.save_session(server.session.path)
    with raises_id(FileNotFoundError, "no_folder_to_write_to"):
        server.save_session(tmp_path / "none" / "session.pickle")
    with tv.open_session(copy) as saved:
        assert runs_of(saved) == {"loss": 2}
    server.close()
    assert sorted(file.name for file in tmp_path.iterdir()) == ["run.tfvis", "scratch", "session.pickle"]


def test_saved_and_loaded_sessions_keep_so_many_traces(
    made: Callable[..., TracingServer], session: Any, tmp_path: Path
) -> None:
    server = offline(made, keep_traces=2)
    copy = tmp_path / "session.pickle"
    with server.session:
        server.session.trace_all()
        for _ in range(9):
            session.run("loss:0")
            session.run("product:0")
        server.save_session(copy)
    with tv.open_session(copy) as saved:
        kept = saved.traces.groupby("label")["run"].apply(list).to_dict()
        assert kept == {"loss": [8, 9], "product": [8, 9]}
        assert len(saved.read(int(saved.traces.index[-1])).events)
    other = offline(made, keep_traces=2, path=tmp_path / "other.tfvis")
    with other.session:
        session.run("loss:0")
        other.session.trace_next("loss")
        session.run("loss:0")
    for name in (copy, DATA / "tftracer_session.pickle.gz"):
        other.load_session(name)
    # The newest, whichever session they are from.
    kept = other.session.traces.groupby("label")["run"].apply(sorted).to_dict()
    assert kept == {"loss": [2, 9], "product": [8, 9], "GradientDescent": [0, 0], "loss, mul": [0, 0]}


@pytest.mark.parametrize(
    "content", [b"", b"SQLite format 3\0" * 9, b"<html>"], ids=["empty", "sqlite", "page"]
)
def test_other_files_are_not_loaded_as_sessions(
    made: Callable[..., TracingServer], tmp_path: Path, content: bytes
) -> None:
    server = offline(made)
    (tmp_path / "other").write_bytes(content)
    with pytest.raises(tv.TraceFormatError):
        server.load_session(tmp_path / "other")
    with pytest.raises(FileNotFoundError):
        server.load_session(tmp_path / "none")
    server.close()
    assert not server.session.path.exists()
