"""`tv.trace` as its caller meets it: with, decorator, nothing recorded, one at a time, wrong options."""

import asyncio
import contextlib
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import tensorflow as tf

import tfvis_nb as tv
from tests.support.texts import raises_id
from tfvis_nb.reading.pickles.run_metadata import unpickled
from tfvis_nb.recording.sessions.runs import SessionTracer
from tfvis_nb.texts import Text, id_of

pytestmark = pytest.mark.tensorflow

v1 = tf.compat.v1


@pytest.fixture
def total() -> Iterator[Any]:
    """A tensor that a default session evaluates."""
    with tf.Graph().as_default(), v1.Session():
        # Of a variable: TensorFlow folds the sum of a constant away.
        values = v1.get_variable("values", [10], initializer=v1.ones_initializer())
        values.initializer.run()
        yield tf.reduce_sum(values, name="total")


def test_the_trace_is_filled_when_the_block_ends(total: Any) -> None:
    with tv.trace() as t:
        total.eval()
        ready = [t.ready]
        assert "not filled" in repr(t)
        with raises_id(AttributeError, "not_recorded_yet", name="events"):
            _ = t.events
        with raises_id(AttributeError, "not_recorded_yet", name="lanes"):
            _ = t.lanes
    ready.append(t.ready)
    assert ready == [False, True]
    assert "total" in set(t.events["name"])
    assert t.lanes["events"].sum() == len(t.events)
    assert t.title == "total"
    assert tv.last_trace is t
    with pytest.raises(AttributeError, match="'evens'"):
        _ = t.evens


def test_a_file_is_written_when_the_block_ends(
    total: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with tv.trace("step.pb") as one, monkeypatch.context() as inside:
        inside.chdir("/")
        total.eval()
    assert Path("step.pb").read_bytes() == one.sources[0]
    with contextlib.suppress(KeyError), tv.trace(tmp_path / "step.pickle") as one:
        total.eval()
        raise KeyError
    assert unpickled(Path("step.pickle")) == one.sources[0]
    for path in ("step.exe", "none/step.pb"):
        with pytest.raises(ValueError, match="step"):
            tv.trace(path)


def test_a_decorated_function_is_traced_at_every_call(total: Any) -> None:
    @tv.trace(level="software")
    def evaluate(times: int) -> list[float]:
        return [total.eval() for _ in range(times)]

    assert evaluate(1) == [10]
    first = tv.last_trace
    assert evaluate(2) == [10, 10]
    second = tv.last_trace
    assert first is not None
    assert second is not None
    assert (len(first.steps), len(second.steps)) == (1, 2)


def test_a_block_in_which_nothing_ran_says_so() -> None:
    with raises_id(tv.EmptyTraceError, "nothing_recorded", reason=Text("nothing_ran")), tv.trace() as t:
        tf.TensorShape([3])
    with raises_id(AttributeError, "never_recorded", name="events", reason=Text("nothing_ran")):
        _ = t.events


def test_the_users_exception_is_not_hidden_by_an_empty_trace() -> None:
    with pytest.raises(KeyError) as caught, tv.trace():
        raise KeyError("mine")
    assert caught.value.__context__ is None


def test_a_trace_of_failed_runs_alone_says_that_they_failed() -> None:
    with tf.Graph().as_default(), v1.Session() as session:
        size = v1.placeholder(tf.int32, [])
        bad = tf.reshape(tf.ones([4]), [size])
        suppressed = contextlib.suppress(tf.errors.InvalidArgumentError)
        with (
            raises_id(tv.EmptyTraceError, "nothing_recorded", reason=Text("runs_failed", runs=1)),
            tv.trace(),
            suppressed,
        ):
            session.run(bad, {size: 3})


def test_one_trace_at_a_time(total: Any) -> None:
    with tv.trace() as t:
        with (
            raises_id(RuntimeError, "already_tracing"),
            tv.trace(),
        ):
            pass
        total.eval()
    assert len(t.steps) == 1


def test_a_trace_in_a_suspended_coroutine_stays_active(total: Any) -> None:
    async def traced() -> tv.RecordedTrace:
        with tv.trace() as t:
            await asyncio.sleep(0)
            total.eval()
        return t

    async def both() -> Any:
        return await asyncio.gather(traced(), traced(), return_exceptions=True)

    first, second = asyncio.run(both())
    assert len(first.steps) == 1
    assert isinstance(second, RuntimeError)


def test_a_trace_left_open_is_ended_by_the_next(total: Any) -> None:
    def interrupted() -> Any:
        left = tv.trace()
        return left, left.__enter__()

    left, first = interrupted()
    total.eval()
    with tv.trace() as t:
        total.eval()
    assert len(t.steps) == 1
    assert any(id_of(note) == "trace_left_open" for note in t.notes)
    left.__exit__(None, None, None)
    assert len(first.steps) == 1


def test_an_interrupt_while_the_recorder_starts_leaves_nothing(
    total: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tensorflow.python.client.session import BaseSession

    original = BaseSession._call_tf_sessionrun
    install = SessionTracer.install

    def interrupted(tracer: SessionTracer) -> None:
        install(tracer)
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(SessionTracer, "install", interrupted)
        with pytest.raises(KeyboardInterrupt), tv.trace():
            pass
    assert BaseSession._call_tf_sessionrun is original
    with tv.trace() as t:
        total.eval()
    assert len(t.steps) == 1


def test_unknown_options_are_refused_with_the_near_ones() -> None:
    unknown: Any = {"levle": "full"}
    with raises_id(TypeError, "unknown_option", name="levle", hint="; did you mean 'level'?"):
        tv.trace(**unknown)
    with raises_id(ValueError, "unknown_trace_option", value="sofware", hint="; did you mean 'software'?"):
        tv.trace(level="sofware")  # type: ignore[arg-type]
    with raises_id(ValueError, "unknown_trace_option", value="profile", hint="; did you mean 'profiler'?"):
        tv.trace(mode="profile")  # type: ignore[arg-type]


ABSENT = """
import importlib.abc, sys
class Absent(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("tensorflow", "jax"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Absent())
import tfvis_nb
for options in ({}, {"framework": "tensorflow"}, {"framework": "jax"}):
    try:
        with tfvis_nb.trace(**options):
            pass
    except ImportError as error:
        print(error)
"""


def test_without_a_framework_the_extras_are_named() -> None:
    run = subprocess.run([sys.executable, "-c", ABSENT], capture_output=True, text=True, check=True)
    assert run.stdout.splitlines() == [Text("no_framework"), Text("no_tensorflow"), Text("no_jax")]
