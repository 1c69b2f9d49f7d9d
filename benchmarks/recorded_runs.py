"""Runs of about 1 ms in a ``MonitoredSession``, recorded in several alternating ways in one process.

``python -m benchmarks.recorded_runs FOLDER`` prints the run times of each way and round as JSON, so that slow
moments of the machine affect all ways. `FOLDER` is for files, and contains tftracer if that is also measured.
"""

from __future__ import annotations

import importlib
import json
import os
import statistics
import sys
import time
import types
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any, NamedTuple

import tensorflow.compat.v1 as tf

ROUNDS = 40
RUNS = 100
"""Runs per way and round."""

SETTLING = 10
"""Runs at the start of each turn that do not count."""


class Way(NamedTuple):
    """A way to record: the hooks of the session, and the recorder that is active during its turns."""

    hooks: list[Any]
    on: AbstractContextManager[object] = nullcontext()


class FullTrace(tf.train.SessionRunHook):  # type: ignore[misc] # tensorflow has no types
    """Requests a trace of every run from TensorFlow, and discards it."""

    def before_run(self, run_context: Any) -> Any:  # noqa: ARG002 - the interface's
        """Raise the trace level."""
        return tf.train.SessionRunArgs(None, options=tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE))


def tftracer(folder: Path) -> Any:
    """Import tftracer from PyPI, with the API of TensorFlow 1 as its ``tensorflow``.

    Its drawing module, which needs a Bokeh of 2018, is left out, because nothing is drawn here.
    """
    sys.path.insert(0, str(folder))
    drawing = types.ModuleType("tftracer.timeline_visualizer")
    drawing.DataLoader = drawing.TimelineVisualizer = None  # type: ignore[attr-defined]
    sys.modules[drawing.__name__] = drawing
    current = sys.modules["tensorflow"]
    sys.modules["tensorflow"] = tf
    try:
        return importlib.import_module("tftracer")
    finally:
        sys.modules["tensorflow"] = current


def ways(folder: Path) -> Iterator[tuple[str, Way]]:
    """Yield the ways by name. Both servers serve their pages, which is their default."""
    from tfvis_nb import TracingServer

    yield "bare", Way([])
    yield "traced", Way([FullTrace()])
    for tracing in (False, True):
        name = "traced by {}" if tracing else "{}"
        server = TracingServer(path=folder / f"run{tracing:d}.tfvis", server_port=0)
        if tracing:
            server.session.trace_all()
        yield name.format("tfvis_nb"), Way([Nothing()], server.session)
        if (folder / "tftracer").exists():
            peer = tftracer(folder).TracingServer(server_ip="127.0.0.1", server_port=0)
            if tracing:
                peer._source.enable_global_tracing()  # noqa: SLF001 - what its page does
            yield name.format("tftracer"), Way([peer.hook])


class Nothing(tf.train.SessionRunHook):  # type: ignore[misc]
    """What our hook is to a session, but that it records all the time, which is for its turns here."""


def measured(folder: Path) -> dict[str, list[tuple[float, float]]]:
    """Return the median and the mean run time by way and round, in seconds."""
    tf.disable_eager_execution()
    tf.train.get_or_create_global_step()
    values = tf.random.uniform([256, 256])
    for _ in range(6):
        values = tf.matmul(values, values) * 0.01
    total = tf.reduce_sum(values)
    config = tf.ConfigProto(intra_op_parallelism_threads=1, inter_op_parallelism_threads=1)
    by_name = dict(ways(folder))
    sessions = {
        name: tf.train.MonitoredSession(tf.train.ChiefSessionCreator(config=config), way.hooks)
        for name, way in by_name.items()
    }
    taken: dict[str, list[tuple[float, float]]] = {name: [] for name in by_name}
    for _ in range(ROUNDS):
        for name, way in by_name.items():
            run = sessions[name].run
            times = []
            with way.on:
                for _ in range(RUNS + SETTLING):
                    start = time.perf_counter()
                    run(total)
                    times.append(time.perf_counter() - start)
            taken[name].append((statistics.median(times[SETTLING:]), statistics.mean(times[SETTLING:])))
    return taken


if __name__ == "__main__":
    print(json.dumps(measured(Path(sys.argv[1]))), flush=True)
    os._exit(0)  # the thread of tftracer's server never ends
