"""How often two recordings are said to differ, and equal code to be faster or slower.

Simulated runs have a speed of their own and steps that resemble their predecessor. The recorded ones are
separate processes of a short TensorFlow program, started A B B A, so that a machine that gets slower
affects both sides alike.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np

import tfvis_nb as tv
from benchmarks.table import Row, show
from tfvis_nb.analysis.steps.comparison_headline import comparison_headline
from tfvis_nb.analysis.steps.difference import difference

PAIRS = 400
STEPS = 30
REAL_PAIRS = 40
RUNS_OF_SIDE = 5
FALSE = 0.05
"""The largest share of equal pairs whose code may be called faster or slower."""
RARELY = "faster or slower <= 5 %"

PROGRAM = """
import sys, time
import tensorflow as tf
import tfvis_nb as tv
weights = tf.Variable(tf.random.normal((256, 256)))
@tf.function
def step(x):
    for _ in range(12):
        x = tf.tanh(tf.matmul(x, weights))
    return tf.reduce_sum(x)
x = tf.random.normal((256, 256))
for _ in range(10):
    step(x)
with tv.trace() as trace:
    for _ in range(30):
        step(x)
trace.to_parquet(sys.argv[1])
"""

Run = np.ndarray


def simulated(chance: np.random.Generator, runs: int, variation: float, by: float) -> list[Run]:
    """Return step times (ns) of runs whose speeds vary by a share and whose steps correlate by `by`."""
    noise = chance.standard_normal((runs, STEPS + 50))
    for step in range(1, STEPS + 50):
        noise[:, step] = by * noise[:, step - 1] + np.sqrt(1 - by**2) * noise[:, step]
    speed = np.exp(variation * chance.standard_normal(runs))
    return [*(1e7 * speed[:, None] * (1 + 0.02 * noise[:, 50:]))]


def row(what: str, differ: int, code: int, pairs: int, *, wanted: str, kept: bool) -> Row:
    """Return the numbers of pairs that are said to differ, and whose code is called faster or slower."""
    measured = f"differ {differ}, faster or slower {code} of {pairs}"
    return Row(what, measured, "", f"{differ / pairs:.1%}, {code / pairs:.1%}", wanted, kept)


def shares(pairs: Sequence[tuple[Sequence[Run], Sequence[Run]]]) -> tuple[int, int]:
    """Return how many pairs differ, and of how many the code is called faster or slower."""
    found = [difference(a, b) for a, b in pairs]
    return sum(one.shown for one in found), sum(one.code_differs for one in found)


def equal(runs: int, variation: float, by: float) -> Row:
    """Compare lists of simulated runs of equal code."""
    chance = np.random.default_rng(runs)
    pairs = [
        (simulated(chance, runs, variation, by), simulated(chance, runs, variation, by)) for _ in range(PAIRS)
    ]
    differ, code = shares(pairs)
    side = "one run" if runs == 1 else f"{runs} runs"
    what = f"{side} a side, equal, {variation:.0%} between runs, steps correlate by {by}"
    return row(what, differ, code, PAIRS, wanted=RARELY, kept=code <= FALSE * PAIRS)


def separated(by: float) -> Row:
    """Compare single runs of which no step is as long as any of the other."""
    chance = np.random.default_rng(1)
    pairs = []
    for _ in range(PAIRS):
        ((a,), (b,)) = (simulated(chance, 1, 0.03, by) for _ in range(2))
        a, b = (times[: chance.integers(5, STEPS + 1)] for times in (a, b))
        pairs.append(([a], [b + max(a.max() - b.min(), 0) + chance.exponential(1e6) + 1]))
    differ, code = shares(pairs)
    what = f"separated, 5 to {STEPS} steps, one run a side, steps correlate by {by}"
    kept = differ == PAIRS and code == 0
    return row(what, differ, code, PAIRS, wanted="all differ, none faster or slower", kept=kept)


def recorded(folder: Path) -> list[tv.Trace]:
    """Return traces of the program, each of a process of its own: A B B A and so on."""
    traces = []
    for number in range(2 * REAL_PAIRS):
        path = folder / f"{number}.parquet"
        if not path.exists():
            subprocess.run([sys.executable, "-c", PROGRAM, str(path)], check=True, capture_output=True)
        traces.append(tv.read_trace(path))
    return traces


def real(traces: Sequence[tv.Trace]) -> list[Row]:
    """Compare recorded runs of equal code, singly and in lists."""
    order = [side for number in range(REAL_PAIRS) for side in ((0, 1) if number % 2 == 0 else (1, 0))]
    sides = [[trace for trace, side in zip(traces, order, strict=True) if side == one] for one in (0, 1)]
    single = [
        {sentence.id for sentence in comparison_headline(a, b, parts=False)}
        for a, b in zip(*sides, strict=True)
    ]
    lists = [
        {
            sentence.id
            for sentence in comparison_headline(
                sides[0][at : at + RUNS_OF_SIDE], sides[1][at : at + RUNS_OF_SIDE], parts=False
            )
        }
        for at in range(0, REAL_PAIRS, RUNS_OF_SIDE)
    ]
    rows = []
    for what, found in (("single processes", single), (f"{RUNS_OF_SIDE} processes a side", lists)):
        differ = sum("comparison_recordings_differ" in ids for ids in found)
        code = sum("comparison_code_differs" in ids for ids in found)
        kept = code <= FALSE * len(found)
        rows.append(row(f"recorded, equal, {what}", differ, code, len(found), wanted=RARELY, kept=kept))
    typical = np.array([np.median(trace.steps["duration_ns"]) for trace in traces])
    rows.append(Row("variation between processes", f"{typical.std() / typical.mean():.1%}", "", "", "", True))
    return rows


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--real", type=Path, nargs="?", const=Path(), help="record, and keep the files here")
    folder = parser.parse_args().real
    rows = [equal(runs, variation, 0.6) for runs in (3, 5, 10) for variation in (0.02, 0.03, 0.05)]
    rows += [equal(5, 0.03, by) for by in (0.0, 0.9)]
    rows += [equal(1, variation, by) for variation, by in ((0.0, 0.0), (0.0, 0.8), (0.03, 0.6))]
    rows += [separated(by) for by in (0.0, 0.9, 0.99)]
    if folder is not None:
        with tempfile.TemporaryDirectory() as temporary:
            rows += real(recorded(Path(temporary) if folder == Path() else folder))
    show("Comparisons of equal code", rows)


if __name__ == "__main__":
    main()
