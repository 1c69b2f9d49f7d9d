"""The cost of recording a run of about 1 ms, compared with a bare run and, in one process, with others."""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from benchmarks.table import Row, show

EXTRA = 0.01
"""The fraction of a bare run that the recorder may add while it traces nothing."""

PROFILING = 0.05
"""The fraction of a call under JAX's own profiler that recording it may add."""

TRACING = 0.10
"""The fraction of a traced run that storing its trace may add."""

NEEDED = (
    *("tensorflow-tracer", "flask", "gevent", "werkzeug", "itsdangerous", "click", "blinker"),
    *("zope.event", "zope.interface", "greenlet", "jinja2", "markupsafe", "six"),
)
"""The requirements of tftracer's server, except TensorFlow, which is installed, and Bokeh, which draws."""

Times = dict[str, list[tuple[float, float]]]
"""Median and mean seconds of a run, by way and round."""

# Alternating separate processes, so that a fast minute of the machine does not favour one of them.
_AFTER = """
import statistics, sys, time
import tensorflow.compat.v1 as tf

tf.disable_eager_execution()
values = tf.random.uniform([256, 256])
for _ in range(6):
    values = tf.matmul(values, values) * 0.01
total = tf.reduce_sum(values)
config = tf.ConfigProto(intra_op_parallelism_threads=1, inter_op_parallelism_threads=1)
with tf.Session(config=config) as session:
    session.run(total)
    if sys.argv[1] == "after":
        import tfvis_nb
        with tfvis_nb.trace():
            session.run(total)
    taken = []
    for _ in range(1500):
        start = time.perf_counter()
        session.run(total)
        taken.append(time.perf_counter() - start)
print(statistics.median(taken[500:]))
"""


def install(folder: Path) -> str:
    """Install tftracer from PyPI into a folder; return why that failed, or nothing."""
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(folder)]
    try:
        subprocess.run([*command, *NEEDED], check=True, timeout=300, capture_output=True)
    except (OSError, subprocess.SubprocessError) as error:
        shutil.rmtree(folder, ignore_errors=True)
        return f"not installed: {type(error).__name__}"
    return ""


def printed(command: Sequence[str]) -> str:
    """Run Python with TensorFlow, and return the last line it printed."""
    environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"}
    run = subprocess.run(
        [sys.executable, *command], capture_output=True, text=True, check=True, env=environment
    )
    return run.stdout.splitlines()[-1]


def compared(what: str, times: Times, ours: str, other: str, most: float | None = None) -> Row:
    """Return a row that compares two times; ours should be at most `most` times the other."""
    pairs = list(zip(times[ours], times[other], strict=True))
    ratio = statistics.median(one[0] / two[0] for one, two in pairs)
    mean = statistics.median(one[1] / two[1] for one, two in pairs)
    ms = {name: statistics.median(median for median, _ in times[name]) * 1e3 for name in (ours, other)}
    return Row(
        what,
        f"{ms[ours]:.3f} ms",
        f"{other} {ms[other]:.3f} ms",
        f"{ratio:.3f}x (means {mean:.3f}x)",
        "" if most is None else f"<= {most:.2f}x",
        most is None or ratio <= most,
    )


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.recording", description=__doc__)
    parser.add_argument("--processes", type=int, default=4, help="how often all is measured")
    count = parser.parse_args().processes
    pairs = [[float(printed(["-c", _AFTER, kind])) for kind in ("after", "before")] for _ in range(count)]
    after, before = (min(times) for times in zip(*pairs, strict=True))
    times: Times = {}
    jitted: Times = {}
    for _ in range(count):
        for way, found in json.loads(printed(["-m", "benchmarks.recorded_jax"])).items():
            jitted.setdefault(way, []).extend(found)
    with tempfile.TemporaryDirectory() as scratch:
        peer = Path(scratch, "tftracer")
        missing = install(peer)
        for number in range(count):
            folder = Path(scratch, str(number))
            folder.mkdir()
            for part in peer.glob("*"):
                (folder / part.name).symlink_to(part)
            for way, found in json.loads(printed(["-m", "benchmarks.recorded_runs", str(folder)])).items():
                times.setdefault(way, []).extend(found)
    hook, traced = "MonitoredSession under our hook", "every run traced by our hook"
    rows = [
        Row(
            "session.run after a trace",
            f"{after * 1e3:.3f} ms",
            f"before one {before * 1e3:.3f} ms",
            f"{after / before:.3f}x",
            f"<= {1 + EXTRA:.2f}x",
            after <= before * (1 + EXTRA),
        ),
        compared(hook, times, "tfvis_nb", "bare", 1 + EXTRA),
        compared(traced, times, "traced by tfvis_nb", "traced", 1 + TRACING),
        compared("jitted function of JAX, recorded", jitted, "tfvis_nb", "bare"),
        compared("the same beside JAX's profiler", jitted, "tfvis_nb", "jax.profiler", 1 + PROFILING),
        compared("the same with samples of Python and the machine", jitted, "tfvis_nb", "without samples"),
        compared("the same with a row of Python in each", jitted, "with rows", "tfvis_nb"),
    ]
    if missing:
        rows.append(Row("tftracer", missing, "", "", "", kept=False))
    else:
        rows[2:2] = [
            compared(hook, times, "tfvis_nb", "tftracer", 1),
            compared("MonitoredSession under tftracer's hook", times, "tftracer", "bare"),
        ]
        rows.append(compared("every run traced by tftracer's hook", times, "traced by tftracer", "traced"))
    show(
        f"Recording ({count} processes, 40 rounds of 100 runs each way by turns: median of the ratios)", rows
    )


if __name__ == "__main__":
    main()
