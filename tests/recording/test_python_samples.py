"""A recording samples the Python code of its thread, and leaves nothing of the sampler behind."""

import gc
import signal
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import tfvis_nb as tv
from tests.recording.test_own_code_of_programs import ended
from tests.recording.work import squared
from tests.support.texts import raises_id
from tfvis_nb.core.metadata import GC_PAUSES, PYTHON_SAMPLES, THREAD_SAMPLES
from tfvis_nb.recording.options import TraceOptions
from tfvis_nb.recording.recorder import Recorder

pytestmark = pytest.mark.tensorflow

HERE = Path(__file__).name
SECRET = "a value that no sample may hold"


@pytest.fixture(autouse=True)
def nothing_left() -> Iterator[None]:
    before = state()
    yield
    assert state() == before


def state() -> tuple[Any, ...]:
    """Everything of the process that a sampler changes."""
    samplers = [thread for thread in threading.enumerate() if thread.name == "tfvis_nb samples"]
    return sys.getswitchinterval(), [*gc.callbacks], samplers, gc.isenabled()


def run_something() -> None:
    tf.reduce_sum(tf.ones([9])).numpy()


def compute(argument: str = SECRET) -> int:
    """Run Python that never waits."""
    end = time.thread_time() + 0.3
    total = len(argument)
    while time.thread_time() < end:
        total += 1
    return total


def functions(trace: tv.Trace) -> list[Any]:
    return trace.metadata[PYTHON_SAMPLES]["function"].fillna("").tolist()


def test_samples_name_the_line_of_users_code() -> None:
    with tv.trace() as t:
        run_something()
        compute()
    # On a busy machine a sample has the time when it was due, and a line that ran later.
    samples = t.metadata[PYTHON_SAMPLES].dropna()
    inside = samples[samples["function"] == "compute"]
    assert len(inside)
    assert {Path(file).name for file in samples["file"]} == {HERE}
    assert {*samples["function"]} <= {"compute", "run_something", "test_samples_name_the_line_of_users_code"}
    first = compute.__code__.co_firstlineno
    assert inside["line"].between(first, first + 8).all()
    assert samples["time_ns"].is_monotonic_increasing


def test_calls_into_tensorflow_have_the_users_line(tmp_path: Path) -> None:
    checkpoint = tf.train.Checkpoint(x=tf.Variable(1.0))

    def save() -> None:
        end = time.perf_counter() + 0.3
        while time.perf_counter() < end:
            checkpoint.write(tmp_path / "saved")

    with tv.trace() as t:
        save()
    assert {*functions(t)} - {"", "test_calls_into_tensorflow_have_the_users_line"} == {"save"}


def test_thread_that_records_is_sampled() -> None:
    def work(recorded: list[tv.Trace]) -> None:
        with tv.trace() as t:
            run_something()
            compute()
        recorded.append(t)

    recorded: list[tv.Trace] = []
    thread = threading.Thread(target=work, args=(recorded,))
    thread.start()
    thread.join()
    assert "compute" in functions(recorded[0])
    assert "test_thread_that_records_is_sampled" not in functions(recorded[0])


def test_pauses_of_the_garbage_collector_are_noted() -> None:
    held = [[number] for number in range(200_000)]
    with tv.trace() as t:
        run_something()
        begun = time.time_ns()
        gc.collect()
        after = time.time_ns()
    pauses = t.metadata[GC_PAUSES]
    (pause,) = pauses[(pauses["time_ns"] >= begun) & (pauses["generation"] == 2)].to_dict("records")
    assert begun <= pause["time_ns"] <= pause["time_ns"] + pause["duration_ns"] <= after
    assert len(held) == 200_000


def test_samples_can_be_left_out() -> None:
    with tv.trace(sampling=False) as t:
        during = state()
        run_something()
        compute()
    assert during == state()
    assert {PYTHON_SAMPLES, THREAD_SAMPLES, GC_PAUSES}.isdisjoint(t.metadata)
    with tv.trace(source=False) as t:
        run_something()
        compute()
    assert {PYTHON_SAMPLES, THREAD_SAMPLES}.isdisjoint(t.metadata)
    with raises_id(TypeError, "flag_not_bool", name="sampling"):
        tv.trace(sampling="yes")  # type: ignore[arg-type]


def test_python_that_tensorflow_calls_is_sampled(tmp_path: Path) -> None:
    def produce() -> Iterator[int]:
        for number in range(3):
            compute()
            yield number

    data = tf.data.Dataset.from_generator(produce, output_signature=tf.TensorSpec((), tf.int32)).prefetch(1)
    ended = threading.Event()
    own = threading.Thread(target=ended.wait)  # Python has started it: it may only wait
    own.start()
    with tv.trace(tmp_path / "a.parquet") as t:
        for _ in data:
            run_something()
    ended.set()
    own.join()
    called = t.metadata[THREAD_SAMPLES]
    assert {*called["function"]} <= {"compute", "produce"}
    assert "compute" in {*called["function"]}
    first = compute.__code__.co_firstlineno
    assert called.loc[called["function"] == "compute", "line"].between(first, first + 8).all()
    assert tv.read_trace(tmp_path / "a.parquet").metadata[THREAD_SAMPLES].equals(called)
    assert SECRET not in called.to_csv()


def waits(number: tf.Tensor) -> tf.Tensor:
    time.sleep(0.3)
    return number


def add() -> int:
    """Calls nothing: a thread that calls functions of C all the time is seldom seen between them."""
    total = 0
    for number in range(10_000_000):
        total += number
    return total


def computes(number: tf.Tensor) -> tf.Tensor:
    add()
    return number


@pytest.mark.parametrize(("function", "running"), [(waits, False), (computes, True)])
def test_samples_show_whether_a_called_thread_runs(function: Any, *, running: bool) -> None:
    data = tf.data.Dataset.range(3).map(lambda number: tf.py_function(function, [number], tf.int64))
    with tv.trace() as t:
        for _ in data.prefetch(1):
            run_something()
    called = t.metadata[THREAD_SAMPLES]
    here = called[called["function"] == ("add" if running else "waits")]
    assert len(here)
    assert here["called"].eq(1).all()
    assert here["running"].eq(1).any() == running


def test_thread_of_the_program_is_sampled_while_it_runs() -> None:
    def work() -> None:
        add()
        time.sleep(0.2)

    thread = threading.Thread(target=work)
    with tv.trace() as t:
        run_something()
        thread.start()
        thread.join()
    own = t.metadata[THREAD_SAMPLES]
    assert "add" in {*own["function"]}
    assert own["called"].eq(0).all()
    assert own["running"].eq(1).all()


def test_error_of_the_program_ends_sampling() -> None:
    before = state()

    def fail() -> None:
        run_something()
        compute()
        raise KeyError

    with pytest.raises(KeyError), tv.trace() as t:
        fail()
    assert state() == before
    assert "compute" in functions(t)


def test_nested_recording_gives_its_samples_to_the_outer_one() -> None:
    def outer() -> None:
        compute()

    def inner() -> None:
        compute()

    with Recorder(TraceOptions(), encloses=True) as whole:
        run_something()
        outer()
        with tv.trace() as block:
            run_something()
            inner()
        outer()
    in_block = block.metadata[PYTHON_SAMPLES]["time_ns"]
    every = whole.metadata[PYTHON_SAMPLES]["time_ns"]
    assert {*in_block} < {*every}
    assert every.is_monotonic_increasing
    assert (every < in_block.min()).sum() >= 3
    assert (every > in_block.max()).sum() >= 3


def test_samples_survive_files_and_hold_no_values(tmp_path: Path) -> None:
    with tv.trace(tmp_path / "a.parquet") as t:
        run_something()
        compute()
    read = tv.read_trace(tmp_path / "a.parquet")
    for subject in (PYTHON_SAMPLES, GC_PAUSES):
        assert read.metadata[subject].equals(t.metadata[subject])
    assert [*t.metadata[PYTHON_SAMPLES]] == ["task", "time_ns", "file", "line", "function"]
    assert SECRET not in t.metadata[PYTHON_SAMPLES].to_csv()


def test_program_of_many_stretches_keeps_few_samples(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tfvis_nb.recording.python_samples.MOST_SAMPLES", 8)
    thread = threading.Thread(target=add)
    with tv.trace() as t:
        run_something()
        thread.start()
        compute()
        compute()
        thread.join()
    samples, of_threads = t.metadata[PYTHON_SAMPLES], t.metadata[THREAD_SAMPLES]
    assert 2 <= len(samples) <= 8
    assert set(of_threads["time_ns"]) <= set(samples["time_ns"])


JOB = "import time\ndef work():\n    time.sleep(0.3)\n"
IMPORTED = """
import gc
sys.path.insert(0, ".")
from job import work
"""


def test_forked_child_has_no_sampler(tmp_path: Path) -> None:
    (tmp_path / "job.py").write_text(JOB)
    text = """
before = sys.getswitchinterval(), len(gc.callbacks), threading.active_count()
def state():
    return sys.getswitchinterval(), len(gc.callbacks), threading.active_count()
with tv.trace("step.parquet") as t:
    session.run(total)
    work()
    child = os.fork()
    if child:
        print(os.waitstatus_to_exitcode(os.wait()[1]))
        work()
    else:
        assert state() == before
assert state() == before
"""
    assert ended(tmp_path, IMPORTED + text) == (0, "0\n")
    assert "work" in functions(tv.read_trace(tmp_path / "step.parquet"))


def test_sigterm_keeps_the_samples(tmp_path: Path) -> None:
    (tmp_path / "job.py").write_text(JOB)
    text = """
with tv.trace("step.parquet"):
    session.run(total)
    work()
    os.kill(os.getpid(), signal.SIGTERM)
    threading.Event().wait()
"""
    assert ended(tmp_path, IMPORTED + text) == (-signal.SIGTERM, "")
    assert "work" in functions(tv.read_trace(tmp_path / "step.parquet"))


def test_switch_interval_set_by_the_program_stays() -> None:
    before = sys.getswitchinterval()
    try:
        with tv.trace():
            run_something()
            sys.setswitchinterval(0.002)
        assert sys.getswitchinterval() == pytest.approx(0.002)
    finally:
        sys.setswitchinterval(before)


def test_other_python_threads_keep_the_switch_interval() -> None:
    """A shorter one shows Python between calls, but other threads would change places as often."""
    before, stop = sys.getswitchinterval(), threading.Event()

    def work() -> None:
        while not stop.is_set():
            compute()

    thread = threading.Thread(target=work)
    thread.start()
    with tv.trace():
        run_something()
        during = sys.getswitchinterval()
        while (after := sys.getswitchinterval()) != before:
            compute()
    stop.set()
    thread.join()
    assert during < after


def test_finding_names_what_runs_between_steps() -> None:
    held = [[number] for number in range(300_000)]
    squared(tf.ones([9, 9]))
    with tv.trace() as t:
        for _ in range(12):
            squared(tf.ones([9, 9]))
            gc.collect()
    (finding,) = t.findings[t.findings["id"] == "between_steps"].to_dict("records")
    code = test_finding_names_what_runs_between_steps.__code__
    assert finding["level"] == "problem"
    assert f"{HERE}:{code.co_firstlineno + 6} in {code.co_name} runs in" in finding["text"]
    assert "garbage collector" in finding["text"] + finding["how"]
    assert len(held) == 300_000


def test_lines_after_a_loop_get_no_more_than_their_time() -> None:
    image = np.ones((224, 224, 3), np.float32)
    spent = [0, 0]

    def scaled() -> Any:
        times = [time.perf_counter_ns()]
        for _ in range(100_000):
            pass
        times.append(time.perf_counter_ns())
        found = image / 255.0
        times.append(time.perf_counter_ns())
        for place, length in enumerate(np.diff(times).tolist()):
            spent[place] += length
        return found

    def produce() -> Iterator[Any]:
        while sum(spent) < 6e9:
            yield scaled()

    data = tf.data.Dataset.from_generator(produce, output_signature=tf.TensorSpec((224, 224, 3), tf.float32))
    with tv.trace() as t:
        for _ in data:
            pass
    samples = t.metadata[THREAD_SAMPLES]
    lines = samples.loc[samples["function"] == "scaled", "line"] - scaled.__code__.co_firstlineno
    after, every = int((lines == 5).sum()), int(lines.isin([2, 3, 5]).sum())
    share = spent[1] / sum(spent)
    assert every > 20
    # Nearly all, if the sampler gets the interpreter lock only where NumPy releases it. On a busy machine, it
    # waits there more often than the share of the time.
    assert after < (share + 1) / 2 * every
