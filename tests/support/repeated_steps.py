"""Traces of many steps, made from one that was recorded."""

import numpy as np
import pandas as pd

from tfvis_nb import Trace

TIMES = ("scheduled_ns", "compute_start_ns", "compute_end_ns")


def repeated(trace: Trace, steps: int, seed: int, factor: float = 1.0, spread: float = 0.05) -> Trace:
    """Repeat the last step of a trace, each time longer or shorter by chance, and all of it by `factor`."""
    events = trace.events[trace.events["step"] == trace.events["step"].max()]
    start = (events["start_ns"] - events["start_ns"].min()).to_numpy(np.float64)
    duration = events["duration_ns"].to_numpy(np.float64)
    lengths = factor * np.random.default_rng(seed).lognormal(0, spread, steps)
    begins = np.cumsum(np.append(0, lengths[:-1])) * (start + duration).max() * 1.01
    parts = [
        events.assign(
            step=np.int32(number),
            start_ns=(begin + start * length).astype(np.int64),
            duration_ns=(duration * length).astype(np.int64),
            **{name: pd.array([pd.NA] * len(events), "Int64") for name in TIMES},
        )
        for number, (begin, length) in enumerate(zip(begins, lengths, strict=True))
    ]
    table = pd.concat(parts, ignore_index=True).astype(events.dtypes.to_dict())
    return Trace(table.sort_values("start_ns", kind="stable", ignore_index=True))
