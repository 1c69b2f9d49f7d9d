"""Predicted and measured steps: five changes, each recorded before and after it was really made."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import tensorflow.compat.v1 as tf

import tfvis_nb as tv
from benchmarks.table import Row, show

RUNS = 41
WARM_UP = 5
OFF = 0.10
"""The error of a prediction as a fraction of the measured step."""
WORKERS = 2
SIZE = 384
SMALL_OPS = 2000


class Step(NamedTuple):
    """The work of a session, and where it runs."""

    fetch: Any
    target: str = ""


class Change(NamedTuple):
    """A change of a step: how to build the step before and after it, and how to predict it."""

    what: str
    build: Callable[[bool], Step]
    change: dict[str, Any]


def sleeping_input(changed: bool) -> Step:
    """Make a step that waits for its input, or whose input is immediately available."""

    def load(number: np.int64) -> np.float32:
        time.sleep(0.05)
        return np.float32(number)

    def element(number: Any) -> Any:
        return tf.cast(number, tf.float32) if changed else tf.numpy_function(load, [number], tf.float32)

    options = tf.data.Options()
    options.autotune.enabled = False  # Or a prefetch is added.
    data = tf.data.Dataset.range(1 << 40).map(element).with_options(options)
    batch = tf.data.make_one_shot_iterator(data).get_next()
    return Step(_network(batch + tf.ones((SIZE, SIZE))))


def larger_op(changed: bool) -> Step:
    """Make a step of two branches, and the one that takes longer larger."""
    value = tf.random.uniform((SIZE, SIZE))
    short = _network(value + 1.0, 2)
    with tf.name_scope("large"):
        long = _network(value, 72 if changed else 24)
    return Step(short + long)


def many_ops(changed: bool) -> Step:
    """Make a step with a chain of small ops, or with a single op that does the same."""
    value, two = _network(tf.random.uniform((SIZE, SIZE)), 8), tf.constant(2.0)
    small = tf.math.floormod(tf.reduce_sum(value), two)
    with tf.name_scope("chain"):
        for _ in range(0 if changed else SMALL_OPS - 1):
            small = tf.math.floormod(small, two)
    return Step(small)


def late_worker(changed: bool) -> Step:
    """Make a step of two workers, one of which sleeps."""

    def sleep(value: np.float32) -> np.float32:
        time.sleep(0 if changed else 0.1)
        return value

    found = []
    for task in range(WORKERS):
        with tf.device(f"/job:worker/task:{task}"):
            value = _network(tf.random.uniform((SIZE, SIZE)))
            if task == WORKERS - 1:
                value = tf.numpy_function(sleep, [tf.reduce_sum(value)], tf.float32)
            found.append(tf.reduce_sum(value))
    with tf.device("/job:ps/task:0"):
        return Step(tf.add_n(found), _cluster())


def copied_tensor(changed: bool) -> Step:
    """Make a step that receives a large tensor from another task, or has it locally."""
    with tf.device(f"/job:worker/task:{1 if changed else 0}"):
        weights = tf.random.uniform((4096, 2048))
    with tf.device("/job:worker/task:1"):
        return Step(tf.reduce_sum(_network(weights[:SIZE, :SIZE]) * tf.reduce_sum(weights)), _cluster())


CHANGES = [
    Change("input without its sleep", sleeping_input, {"activities": {"input": 0}}),
    Change("ops three times as large", larger_op, {"layers": {"large": 3}}),
    Change(f"{SMALL_OPS:,} small ops fused", many_ops, {"layers": {"chain": 0}}),
    Change("a late worker on time", late_worker, {"on_time": f"/job:worker/replica:0/task:{WORKERS - 1}"}),
    Change("copies removed", copied_tensor, {"activities": {"communication": 0}}),
]


def _network(value: Any, rounds: int = 24) -> Any:
    for _ in range(rounds):
        value = tf.tanh(tf.matmul(value, value) / SIZE)
    return value


_SERVERS: list[Any] = []


def _cluster() -> str:
    """Return the address of a cluster of one process, which is started once."""
    if not _SERVERS:
        ports = iter(_free_ports(WORKERS + 1))
        jobs = {"worker": WORKERS, "ps": 1}
        cluster = tf.train.ClusterSpec(
            {job: [f"localhost:{next(ports)}" for _ in range(count)] for job, count in jobs.items()}
        )
        for job, count in jobs.items():
            _SERVERS.extend(tf.train.Server(cluster, job, task, config=_config()) for task in range(count))
    return str(_SERVERS[0].target)


def _free_ports(count: int) -> list[int]:
    import socket

    sockets = [socket.create_server(("localhost", 0)) for _ in range(count)]
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


def _config() -> Any:
    return tf.ConfigProto(intra_op_parallelism_threads=1, inter_op_parallelism_threads=2)


class Recorder:
    """Records one step at a time."""

    def __init__(self, change: Change, changed: bool) -> None:
        with tf.Graph().as_default():
            self.step = change.build(changed)
            self.session = tf.Session(self.step.target, config=_config())

    def record(self) -> tv.Trace:
        """Run the step and return its trace."""
        metadata = tf.RunMetadata()
        options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
        self.session.run(self.step.fetch, options=options, run_metadata=metadata)
        return tv.read_trace(metadata)


def recorded(change: Change) -> tuple[list[tv.Trace], list[tv.Trace]]:
    """Record steps before and after a change in turns, so that other load affects both."""
    recorders = [Recorder(change, changed) for changed in (False, True)]
    traces = [[recorder.record() for recorder in recorders] for _ in range(WARM_UP + RUNS)]
    for recorder in recorders:
        recorder.session.close()
    before, after = zip(*traces[WARM_UP:], strict=True)
    return list(before), list(after)


def main() -> None:
    """Measure and print."""
    rows = []
    for change in CHANGES:
        before, after = recorded(change)
        steps = [trace.what_if(**change.change).times.iloc[-1] for trace in before]
        predicted = float(np.median([step["predicted_ns"] for step in steps]))
        measured = float(np.median([trace.steps["duration_ns"].iloc[-1] for trace in after]))
        off = predicted / measured - 1
        rows.append(
            Row(
                f"{change.what}, {np.median([step['recorded_ns'] for step in steps]) / 1e6:.2f} ms before",
                f"{predicted / 1e6:.2f} ms",
                f"measured {measured / 1e6:.2f} ms",
                f"{off:+.1%}",
                f"within {OFF:.0%}",
                abs(off) <= OFF,
            )
        )
    show(f"What if (medians of {RUNS} steps on the CPU)", rows)


if __name__ == "__main__":
    tf.disable_eager_execution()
    main()
