"""``tfvis-nb run`` with forks, threads, signals, closed streams and exit functions, as under Python."""

import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import tfvis_nb as tv
from tests.support.texts import figures_of
from tests.support.with_tensorflow import ROOT, Started
from tfvis_nb.texts import Text

pytestmark = pytest.mark.tensorflow

BEGIN = """\
import os, sys, threading, time
import tensorflow as tf

class session:
    def __enter__(self):
        self.graph = tf.Graph()
        with self.graph.as_default():
            self.session = tf.compat.v1.Session()
            self.total = tf.reduce_sum(tf.random.uniform([9, 9]), name="total")
        return self
    def __exit__(self, *_): pass
    def step(self): self.session.run(self.total)

with session() as s: s.step()
"""


def thorough(*values: object) -> Any:
    return pytest.param(*values, marks=pytest.mark.thorough)


class Ended(NamedTuple):
    """How a script has ended."""

    code: int
    output: str
    errors: str


@contextmanager
def started(folder: Path, text: str) -> Iterator[Started]:
    """Start a script below ``tfvis-nb run``."""
    (folder / "work.py").write_text(BEGIN + text)
    words = ("-m", "tfvis_nb", "run", "-o", "work.parquet", "work.py")
    paths = {"output": folder / "output", "errors": folder / "errors"}
    for path in paths.values():
        path.touch()
    variables = {"PYTHONPATH": str(ROOT), "TMPDIR": str(folder)}
    with Started(*words, cwd=folder, environment=variables, **paths) as process:
        yield process


def ran(folder: Path, text: str) -> Ended:
    """Run a script to its end."""
    with started(folder, text) as process:
        code = process.wait()
    return Ended(code, (folder / "output").read_text(), (folder / "errors").read_text())


def steps(folder: Path) -> int:
    return len(tv.read_trace(folder / "work.parquet").steps)


WROTE = f"tfvis-nb: {Text('files_written', files='work.parquet')}\n"


def test_forked_child_leaves_the_trace_to_its_parent(tmp_path: Path) -> None:
    ended = ran(
        tmp_path,
        """
if os.fork():
    print("child", os.waitstatus_to_exitcode(os.wait()[1]), flush=True)
    s.step()
else:
    os.dup2(1, 2)
    sys.exit(7)
""",
    )
    assert ended == Ended(0, "child 7\n", WROTE)
    assert steps(tmp_path) == 2


@pytest.mark.parametrize("method", ["spawn", *(thorough(one) for one in ("fork", "forkserver"))])
def test_processes_of_multiprocessing_work_as_before(tmp_path: Path, method: str) -> None:
    # The spawned processes need no TensorFlow of their own.
    (tmp_path / "beside.py").write_text("def square(x): return x * x\n")
    ended = ran(
        tmp_path,
        f"""
if __name__ == "__main__":
    import multiprocessing, beside
    context = multiprocessing.get_context({method!r})
    multiprocessing.process.current_process()._config["authkey"] = b"key"
    sys.modules["__main__"].__dict__.pop("__file__")
    with context.Pool(1) as pool:
        print(pool.map(beside.square, [1, 2, 3]), flush=True)
    process = context.Process(target=sys.exit, args=(5,))
    process.start()
    process.join()
    print(process.exitcode)
""",
    )
    assert (ended.code, ended.output) == (0, "[1, 4, 9]\n5\n"), ended.errors
    assert ended.errors.endswith(WROTE)
    assert steps(tmp_path) == 1


def test_work_in_threads_is_awaited(tmp_path: Path) -> None:
    ended = ran(
        tmp_path,
        """
import atexit, concurrent.futures
os.dup2(1, 2)
atexit.register(lambda: print("at exit"))
pool = concurrent.futures.ThreadPoolExecutor(1)
ended = threading.Event()
def work():
    threading.main_thread().join()
    for _ in range(10): s.step()
    print("thread")
threading.Thread(target=work).start()
pool.submit(lambda: [s.step() for _ in range(10)])
sys.exit(3)
""",
    )
    assert ended == Ended(3, f"thread\nat exit\n{WROTE}", "")
    assert steps(tmp_path) == 21


def test_inner_blocks_have_parts_of_the_whole(tmp_path: Path) -> None:
    ended = ran(
        tmp_path,
        """
import tfvis_nb as tv
with tv.trace("inner.parquet") as t:
    s.step()
    float(tf.reduce_sum(tf.ones([9])))
s.step()
with tv.trace(mode="session") as u:
    s.step()
    try:
        with tv.trace(): pass
    except RuntimeError: print("refused")
print(*([*one.steps["label"]].count("total") for one in (t, u)))
float(tf.reduce_sum(tf.zeros([9])))
s.step()
""",
    )
    assert (ended.code, ended.output) == (0, "refused\n1 1\n"), ended.errors
    whole, inner = (tv.read_trace(tmp_path / f"{name}.parquet") for name in ("work", "inner"))
    assert [[*trace.steps["label"]].count("total") for trace in (whole, inner)] == [5, 1]
    assert figures_of(whole.notes, "block_with_other_options") == [{}]
    sums, inner_sums = ((trace.events["op"] == "Sum").sum() for trace in (whole, inner))
    assert sums > inner_sums > 1


@pytest.mark.parametrize(
    "wait",
    [
        "while True: time.sleep(0.01)",
        "threading.Event().wait()",
        "Thread(target=time.sleep, args=(600,)).start()",
    ],
)
def test_sigterm_ends_the_script_with_its_trace(tmp_path: Path, wait: str) -> None:
    text = f"""
import atexit
from threading import Thread
atexit.register(lambda: os.write(1, b"at exit"))
try:
    os.write(1, b"ready\\n")
    {wait}
finally:
    if not {wait!r}.startswith("Thread"): os.write(1, b"finally")
"""
    with started(tmp_path, text) as process:
        while (tmp_path / "output").read_text() != "ready\n":
            assert process.poll() is None, (tmp_path / "errors").read_text()
            time.sleep(0.01)
        process.send_signal(signal.SIGTERM)
        process.send_signal(signal.SIGTERM)
        assert process.wait() == -signal.SIGTERM
    assert (tmp_path / "output").read_text() == "ready\n"
    assert (tmp_path / "errors").read_text().endswith(WROTE)
    assert figures_of(tv.read_trace(tmp_path / "work.parquet").notes, "ended_by_sigterm") == [{}]
    assert [path for path in tmp_path.iterdir() if path.is_dir()] == []


def test_handler_of_the_script_gets_sigterm(tmp_path: Path) -> None:
    ended = ran(
        tmp_path,
        """
import signal
def end(number, frame):
    print("handler")
    sys.exit(9)
signal.signal(signal.SIGTERM, end)
os.kill(os.getpid(), signal.SIGTERM)
""",
    )
    assert (ended.code, ended.output) == (9, "handler\n")
    assert steps(tmp_path) == 1


def test_sigterm_ends_a_forked_child_alone(tmp_path: Path) -> None:
    ended = ran(
        tmp_path,
        """
import signal
if not (child := os.fork()):
    signal.pause()
os.kill(child, signal.SIGTERM)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
""",
    )
    assert ended == Ended(0, "-15\n", WROTE)
    assert steps(tmp_path) == 1


@pytest.mark.parametrize(
    ("text", "code"),
    [
        thorough("sys.stdout.close()", 0),
        ("sys.stdout.close(); sys.exit(4)", 4),
        thorough("sys.stdout = None", 0),
        ("sys.stderr.close()", 0),
        ("sys.stderr = sys.stdout = object()", 120),
        thorough("os.close(1)", 0),
        thorough("r, w = os.pipe(); os.close(r); os.dup2(w, 1); sys.stdout = open(1, 'w'); print(1)", 120),
    ],
)
def test_closed_streams_do_not_change_the_exit_code(tmp_path: Path, text: str, code: int) -> None:
    assert ran(tmp_path, text + "\n").code == code
    assert steps(tmp_path) == 1


HOSTILE = """
class Meta(type):
    __name__ = __module__ = property(lambda cls: 1 / 0)
class E(Exception, metaclass=Meta):
    def __str__(self): raise KeyboardInterrupt("from str")
    __repr__ = __bool__ = __len__ = add_note = __str__
    __class__ = __cause__ = __context__ = property(__str__)
"""


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("raise E", "E"),
        ("sys.exit(E())", ""),
        ("sys.excepthook = lambda *_: 1 / 0\nraise KeyError(5)", "Original exception was:"),
        thorough("sys.excepthook = lambda *_: sys.exit(1)\nraise KeyError(5)", ""),
    ],
)
def test_errors_with_failing_code_keep_the_trace(tmp_path: Path, text: str, shown: str) -> None:
    ended = ran(tmp_path, f"{HOSTILE}{text}\n")
    assert ended.code == 1, ended.errors
    assert shown in ended.errors
    assert ended.errors.endswith(WROTE)
    assert steps(tmp_path) == 1


def test_next_recording_removes_folders_of_dead_ones(tmp_path: Path) -> None:
    ended = ran(tmp_path, "float(tf.reduce_sum(tf.ones([9])))\nos._exit(5)\n")
    assert ended == Ended(5, "", "")
    left = [path for path in tmp_path.iterdir() if path.is_dir()]
    assert left
    assert ran(tmp_path, "") == Ended(0, "", WROTE)
    assert [path for path in tmp_path.iterdir() if path.is_dir()] == []
    assert os.listdir(tmp_path)  # noqa: PTH208 - the files stay
