"""What the recorder costs while it records nothing: a `session.run` of 1 ms with and without tfvis_nb."""

from __future__ import annotations

import subprocess
import sys

from benchmarks.table import Row, show

PAIRS = 6
EXTRA = 0.01
"""The part of a bare run that the recorder may add outside its block."""

# Each in a process of its own, by turns: a fast minute of the machine must not fall on one of the two alone.
_RUNS = """
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
    if sys.argv[1] == "with":
        import tfvis_nb
        with tfvis_nb.trace():
            session.run(total)
    if sys.argv[1] == "counted":
        import tempfile, tfvis_nb
        folder = tempfile.TemporaryDirectory()
        tfvis_nb.inject(folder.name + "/run.tfvis")
    taken = []
    for _ in range(1500):
        start = time.perf_counter()
        session.run(total)
        taken.append(time.perf_counter() - start)
print(statistics.median(taken[500:]))
"""


def seconds(kind: str) -> float:
    """Median time of one run in a process ``"with"``, ``"without"`` or ``"counted"`` by tfvis_nb."""
    run = subprocess.run([sys.executable, "-c", _RUNS, kind], capture_output=True, text=True, check=True)
    return float(run.stdout.splitlines()[-1])


def main() -> None:
    """Measure and print."""
    kinds = ("without", "with", "counted")
    rounds = [[seconds(kind) for kind in kinds] for _ in range(PAIRS)]
    bare, after, counted = (min(times) for times in zip(*rounds, strict=True))
    show(
        f"Recording (best of {PAIRS} processes' medians of 1000 runs)",
        [
            Row(
                f"session.run {when}",
                f"{ours * 1e3:.3f} ms",
                f"without tfvis_nb {bare * 1e3:.3f} ms",
                f"{ours / bare:.3f}x",
                f"<= {1 + EXTRA:.2f}x",
                ours <= bare * (1 + EXTRA),
            )
            for when, ours in (("after a trace", after), ("counted by a TraceSession", counted))
        ],
    )


if __name__ == "__main__":
    main()
