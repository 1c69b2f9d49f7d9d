"""Tables of a fleet's steps and ops, made by chance from a seed, in which something is planted or nothing."""

import numpy as np
import pandas as pd

TASK = "/job:worker/replica:0/task:{}"
DAY_NS = 86_400 * 10**9
START_NS = 1_760_000_000 * 10**9
STEP_NS = 50e6


def steps(
    seed: int,
    tasks: int = 64,
    count: int = 500,
    *,
    days: int = 5,
    straggler: tuple[int, float] | None = None,
    drift: float = 0.0,
    slow: tuple[int, ...] = (),
    correlation: float = 0.0,
) -> pd.DataFrame:
    """Steps of a job whose tasks wait for the latest one.

    Each computes for about 35 ms, varying by 4 %, and waits for the others; the input takes 5 ms.
    `straggler` computes longer by a factor, all compute longer by `drift` from the first day to the last, and
    the steps `slow` have an input of 80 ms on one task. Times of a task resemble those of the step before by
    `correlation`.
    """
    rng = np.random.default_rng(seed)
    noise = rng.normal(size=(tasks, count))
    for step in range(1, count):
        noise[:, step] = correlation * noise[:, step - 1] + np.sqrt(1 - correlation**2) * noise[:, step]
    compute = 35e6 * np.exp(0.04 * noise)
    compute *= 1 + drift * np.arange(count) / max(count - 1, 1)
    if straggler is not None:
        compute[straggler[0]] *= straggler[1]
    waits_for_input = rng.gamma(25, 2e5, size=(tasks, count))
    for step in slow:
        waits_for_input[step % tasks, step] = 80e6
    own = np.rint(compute) + np.rint(waits_for_input)
    duration = own.max(axis=0) + rng.integers(3_000_000, 4_000_000, count)
    start = START_NS + np.arange(count) * days * DAY_NS // count
    of_task, of_step = (each.ravel() for each in np.indices((tasks, count)))
    return pd.DataFrame(
        {
            "run": "1",
            "task": pd.Categorical([TASK.format(number) for number in of_task.tolist()]),
            "step": of_step.astype(np.int32),
            "start_ns": start[of_step] + of_task,
            "duration_ns": duration[of_step].astype(np.int64),
            "device_compute_ns": np.rint(compute).astype(np.int64).ravel(),
            "input_ns": np.rint(waits_for_input).astype(np.int64).ravel(),
            "communication_ns": (duration - own).astype(np.int64).ravel(),
        }
    )


def ops(
    seed: int,
    tasks: int = 8,
    count: int = 500,
    kinds: int = 40,
    *,
    slower: tuple[int, int, float] = (0, 0, 1),
) -> pd.DataFrame:
    """Kernels of op types of different lengths; `slower` is one of them, since when, and by which factor."""
    rng = np.random.default_rng(seed)
    task, step, op = (each.ravel() for each in np.indices((tasks, count, kinds)))
    ns = 1e5 * (1 + op) * np.exp(0.05 * rng.normal(size=len(op)))
    which, since, factor = slower
    ns[(op == which) & (step >= since)] *= factor
    names = [f"Op{number}" for number in range(kinds)]
    return pd.DataFrame(
        {
            "run": "1",
            "task": pd.Categorical(np.array([TASK.format(number) for number in range(tasks)])[task]),
            "step": step,
            "op": pd.Categorical(np.array(names)[op]),
            "kind": "kernel",
            "count": 1,
            "self_ns": np.rint(ns).astype(np.int64),
        }
    )
