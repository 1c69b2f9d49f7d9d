"""Lanes of a program's threads have the names that it gave them."""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import tensorflow as tf

import tfvis_nb as tv
from tests.anonymizing.survivors import file_text
from tests.hostile_names import HOSTILE
from tests.recording.work import squared

pytestmark = pytest.mark.tensorflow


def at_once(*names: str, work: Callable[[], object] = lambda: squared(tf.ones((4, 4)))) -> None:
    """Do work in threads that all exist before the first one ends, so that each has a handle of its own."""
    started = threading.Barrier(len(names))

    def wait_and_work() -> None:
        started.wait()
        work()
        started.wait()

    threads = [threading.Thread(target=wait_and_work, name=name) for name in names]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def lanes_of_calls(trace: tv.Trace) -> set[str]:
    """Return the lanes with calls of functions."""
    return set(trace.events["lane"][trace.events["name"] == "sum_of_squares"])


@pytest.fixture(scope="module", autouse=True)
def traced_before() -> Any:
    return squared(tf.ones((4, 4)))


def test_each_thread_has_a_lane_with_its_name() -> None:
    start = vars(threading.Thread)["start"]
    with tv.trace() as t:
        squared(tf.ones((4, 4)))
        at_once("reader", "trainer")
    assert lanes_of_calls(t) == {"python", "python/reader", "python/trainer"}
    assert vars(threading.Thread)["start"] is start


def test_threads_that_run_around_the_block_have_their_names() -> None:
    go, done, go_on = threading.Event(), threading.Event(), threading.Event()

    def wait_and_work() -> None:
        threading.current_thread().name = "renamed"
        go.wait()
        squared(tf.ones((4, 4)))
        done.set()
        go_on.wait()

    thread = threading.Thread(target=wait_and_work, name="first")
    thread.start()
    with tv.trace() as t:
        go.set()
        done.wait()
    go_on.set()
    thread.join()
    assert lanes_of_calls(t) == {"python/renamed"}


def test_a_thread_of_a_pool_is_named_by_its_pool() -> None:
    with tv.trace() as t, ThreadPoolExecutor(1, thread_name_prefix="reader") as pool:
        pool.submit(squared, tf.ones((4, 4))).result()
    assert lanes_of_calls(t) == {"python/reader_0"}


def test_threads_one_after_the_other_have_their_names() -> None:
    with tv.trace() as t:
        for name in ("first", "second", "third"):
            at_once(name)
    # They have one lane if the system gave a later one the handle of an earlier one.
    assert {name for lane in lanes_of_calls(t) for name in re.split("[/,] ?", lane)} == {
        *("python", "first", "second", "third")
    }


def test_two_threads_of_one_name_have_two_lanes() -> None:
    with tv.trace() as t:
        at_once("twin", "twin")
    assert lanes_of_calls(t) == {"python/twin", "python/twin (2)"}


@pytest.mark.parametrize("name", ["step.parquet", "step.xplane.pb", "step.json"])
def test_saved_recordings_keep_the_names(tmp_path: Path, name: str) -> None:
    with tv.trace(tmp_path / name) as t:
        at_once("reader", "trainer")
    again = tv.read_trace(tmp_path / name)
    assert lanes_of_calls(again) == lanes_of_calls(t) == {"python/reader", "python/trainer"}


@pytest.mark.parametrize("name", [*HOSTILE, "\ud800", "tf_Compute/17"])
def test_any_text_may_be_a_name(name: str) -> None:
    with tv.trace() as t:
        at_once(name)
    assert lanes_of_calls(t) == {f"python/{name}".encode("utf-8", "replace").decode()}


def test_simultaneous_steps_of_threads_are_separate_kinds() -> None:
    meet = threading.Barrier(2)

    def loop() -> None:
        for number in range(4):
            with tf.profiler.experimental.Trace("train", step_num=number, _r=1):
                meet.wait()
                squared(tf.ones((4, 4)))

    with tv.trace() as t:
        at_once("trainer", "evaluator", work=loop)
    assert {kind["kind"]: kind["count"] for kind in t.overview["kinds"]} == {
        "train (python/trainer)": 4,
        "train (python/evaluator)": 4,
    }


def test_names_are_anonymized(tmp_path: Path) -> None:
    with tv.trace() as t:
        at_once("zanzibar", "worker of Zebra-7")
    t.anonymized().to_parquet(tmp_path / "step.parquet")
    assert not re.search("zanzibar|zebra", file_text(tmp_path / "step.parquet"), re.IGNORECASE)
    assert len(lanes_of_calls(t)) == 2


def test_a_thread_whose_name_fails_runs_all_the_same() -> None:
    class Nameless(threading.Thread):
        """Has a name until it has started."""

        def __getattribute__(self, attribute: str) -> Any:
            if attribute == "name" and self.ident is not None:
                raise RuntimeError
            return super().__getattribute__(attribute)

    with tv.trace() as t:
        thread = Nameless(target=squared, args=(tf.ones((4, 4)),))
        thread.start()
        thread.join()
    assert len(lanes_of_calls(t)) == 1


def test_a_forked_child_has_its_own_threads() -> None:
    start = vars(threading.Thread)["start"]
    with tv.trace():
        squared(tf.ones((4, 4)))
        child = os.fork()
        if not child:
            os._exit(0 if vars(threading.Thread)["start"] is start else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
