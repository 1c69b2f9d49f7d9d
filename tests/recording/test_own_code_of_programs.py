"""A recording survives the program's own errors and objects, whatever their code does."""

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NoReturn

import pytest
import tensorflow as tf

import tfvis_nb as tv
from tests.support.texts import figures_of
from tests.support.with_tensorflow import Started
from tfvis_nb.texts import Text

pytestmark = pytest.mark.tensorflow
v1 = tf.compat.v1


@pytest.fixture
def total() -> Iterator[Any]:
    """A tensor that a default session evaluates."""
    with tf.Graph().as_default(), v1.Session():
        yield tf.reduce_sum(tf.random.uniform([9]), name="total")


def fails(*_: Any) -> NoReturn:
    raise KeyboardInterrupt("from the program's own code")


def hostile() -> Exception:
    """Return an error all of whose own code fails."""

    class Type(type):
        __name__ = __module__ = property(fails)

    class Hostile(Exception, metaclass=Type):  # noqa: N818
        __str__ = __repr__ = __bool__ = __len__ = __eq__ = add_note = fails
        __hash__ = None  # type: ignore[assignment]
        __class__ = __cause__ = __context__ = property(fails)

    return Hostile()


def exhausted() -> Exception:
    """Return an error about memory that has no message."""

    class Exhausted(tf.errors.ResourceExhaustedError):  # type: ignore[misc]
        __str__ = fails

    return Exhausted(None, None, "OOM when allocating tensor with shape[9] and type float")


@pytest.mark.parametrize("make", [hostile, exhausted])
def test_users_error_and_trace_survive_failing_code(
    make: Callable[[], Exception], total: Any, tmp_path: Path
) -> None:
    error = make()
    caught: list[BaseException] = []
    try:
        with tv.trace(tmp_path / "step.pb") as t:
            total.eval()
            raise error  # noqa: TRY301
    except BaseException as raised:  # noqa: BLE001
        caught.append(raised)
    assert [one is error for one in caught] == [True]
    assert t.steps["label"].tolist() == ["total"]
    assert (tmp_path / "step.pb").read_bytes() == t.sources[0]
    (figures,) = figures_of(t.notes, "ended_by_error")
    assert figures == {"error": type.__dict__["__name__"].__get__(type(error))}

    @tv.trace()
    def step() -> None:
        total.eval()
        raise error

    try:
        step()
    except BaseException as raised:  # noqa: BLE001
        caught.append(raised)
    assert [one is error for one in caught] == [True, True]
    assert tv.last_trace is not None
    assert tv.last_trace is not t


def test_unwritable_file_becomes_a_note_of_the_users_error(total: Any, tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()

    @tv.trace(folder / "step.pb")
    def step() -> None:
        total.eval()
        folder.rmdir()
        raise KeyError("mine")

    with pytest.raises(KeyError) as caught:
        step()
    assert "step.pb" in caught.value.__notes__[0]


def test_globals_of_programs_are_not_asked(total: Any) -> None:
    class Name:
        __eq__ = __str__ = fails
        __hash__ = None  # type: ignore[assignment]

    variables = {"__name__": Name(), "tv": tv, "total": total}
    exec("with tv.trace() as t:\n    total.eval()", variables)
    assert len(variables["t"].steps) == 1


def test_error_hook_of_threads_gets_failing_errors(total: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    got: list[Any] = []
    monkeypatch.setattr(threading, "excepthook", got.append)

    def work() -> None:
        raise exhausted()

    with tv.trace():
        total.eval()
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    assert len(got) == 1


def test_closed_error_output_does_not_stop_profiles(monkeypatch: pytest.MonkeyPatch) -> None:
    with open(os.devnull, "w") as closed:  # noqa: PTH123
        pass
    monkeypatch.setattr(sys, "stderr", closed)
    with tv.trace() as t:
        tf.reduce_sum(tf.ones([9])).numpy()
    assert len(t.events)


def test_threads_that_go_on_are_noted(total: Any) -> None:
    begun, ended = threading.Event(), threading.Event()

    def work() -> None:
        begun.set()
        ended.wait()

    thread = threading.Thread(target=work)
    with tv.trace() as t:
        total.eval()
        thread.start()
        begun.wait()
    ended.set()
    thread.join()
    assert figures_of(t.notes, "threads_unfinished") == [{"threads": 1}]
    with tv.trace() as t:
        total.eval()
    assert figures_of(t.notes, "threads_unfinished") == []


BEGIN = """\
import os, signal, sys, threading
import tensorflow as tf
import tfvis_nb as tv
graph = tf.Graph()
with graph.as_default():
    session = tf.compat.v1.Session()
    total = tf.reduce_sum(tf.random.uniform([9]), name="total")
"""


def ended(tmp_path: Path, text: str) -> tuple[int, str]:
    """Run a program; return its exit status and output."""
    paths = {"output": tmp_path / "output", "errors": tmp_path / "errors"}
    environment = {"TMPDIR": str(tmp_path / "scratch"), "PYTHONPATH": str(Path(tv.__file__).parents[1])}
    with Started("-c", BEGIN + text, cwd=tmp_path, environment=environment, **paths) as process:
        code = process.wait()
    assert (tmp_path / "errors").read_text() == ""
    return code, (tmp_path / "output").read_text()


def test_forked_child_of_a_block_writes_nothing(tmp_path: Path) -> None:
    # TensorFlow itself works in a child process only if its parent has not used it.
    text = """
def inner():
    try:
        with tv.trace(): pass
    except tv.EmptyTraceError as error: print(error)
with tv.trace("step.parquet") as t:
    session.run(total)
    child = os.fork()
    if child:
        print(os.waitstatus_to_exitcode(os.wait()[1]))
        session.run(total)
    else:
        inner()
if not child:
    print(t.reason, hasattr(t, "events"), flush=True)
    sys.exit(7)
"""
    code, output = ended(tmp_path, text)
    empty = Text("nothing_recorded", reason=Text("nothing_ran"))
    assert (code, output) == (0, f"{empty}\n{Text('recorded_by_parent')} False\n7\n")
    assert len(tv.read_trace(tmp_path / "step.parquet").steps) == 2


def test_sigterm_writes_the_file_of_a_block(tmp_path: Path) -> None:
    text = """
try:
    with tv.trace("step.parquet") as t:
        session.run(total)
        float(tf.reduce_sum(tf.ones([9])))
        os.kill(os.getpid(), signal.SIGTERM)
        threading.Event().wait()
finally:
    os.write(1, b"finally")
"""
    assert ended(tmp_path, text) == (-signal.SIGTERM, "")
    trace = tv.read_trace(tmp_path / "step.parquet")
    assert figures_of(trace.notes, "ended_by_sigterm") == [{}]
    assert {"total"} < {*trace.steps["label"]}


def test_sigterm_is_the_programs_before_and_after_a_block(tmp_path: Path) -> None:
    text = """
assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
with tv.trace("step.parquet"):
    session.run(total)
    assert signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL
assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
signal.signal(signal.SIGTERM, lambda *_: print("handler"))
with tv.trace("step.parquet"):
    session.run(total)
    os.kill(os.getpid(), signal.SIGTERM)
"""
    assert ended(tmp_path, text) == (0, "handler\n")
    assert len(tv.read_trace(tmp_path / "step.parquet").steps) == 1


def test_block_of_a_thread_ends_after_the_main_thread(tmp_path: Path) -> None:
    text = """
def work():
    with tv.trace("step.parquet"):
        session.run(total)
        threading.main_thread().join()
        session.run(total)
threading.Thread(target=work).start()
"""
    assert ended(tmp_path, text) == (0, "")
    assert len(tv.read_trace(tmp_path / "step.parquet").steps) == 2
