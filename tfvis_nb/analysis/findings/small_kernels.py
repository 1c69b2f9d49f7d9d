"""Kernels have fewer blocks than the GPU has streaming multiprocessors."""

from typing import Any

import numpy as np
import pandas as pd

from tfvis_nb.analysis.findings.kernel_time import kernel_rule, kernel_time
from tfvis_nb.analysis.findings.launch_bound import device_name
from tfvis_nb.analysis.findings.program import larger_kernels
from tfvis_nb.analysis.findings.rule import Figures, Texts, Threshold, beyond, listed, step_time
from tfvis_nb.analysis.hardware.kernel_runs import kernel_runs
from tfvis_nb.core.categories import is_kind
from tfvis_nb.core.format import format_percent
from tfvis_nb.core.per_trace import per_trace
from tfvis_nb.core.trace import Trace
from tfvis_nb.texts import Text

SHARE = Threshold(
    0.02,
    "share of step time that is lost on a GPU while only kernels with fewer blocks than it has SMs run: that"
    " time, times the mean share of SMs without a block",
)


@per_trace
def _measured(trace: Trace) -> dict[str, Any] | None:
    """Return `kernel_time` of small kernels, with the lost ``share``, that of all their time, and fill."""
    runs = kernel_runs(trace)
    blocks, cores = (runs[name].to_numpy(np.int64) for name in ("blocks", "cores"))
    # Collectives take few SMs to leave the others to computing; a larger batch does not change that.
    collective = is_kind(trace.events, "collective")[runs["event"].to_numpy(np.int64)]
    measured = kernel_time(trace, runs, (blocks > 0) & (blocks < cores) & ~collective)
    if measured is None:
        return None
    rows = measured["rows"]
    length = runs["duration_ns"].to_numpy(np.int64)[rows]
    filled = float(np.sum(length * (blocks[rows] / cores[rows])) / max(int(length.sum()), 1))
    share = measured["share"]
    return measured | {
        "run_share": share,
        "filled": filled,
        "cores": int(cores[rows[0]]),
        "share": share * (1 - filled),
    }


def _word(_key: str, figures: Figures) -> Texts:
    name = device_name(figures["task"], figures["device"])
    ops = listed(figures["ops"], figures["op_types"])
    return Texts(
        f"Kernels are too small for {name}",
        f"For {step_time(figures, 'run_share')}, {name} runs only kernels with fewer blocks than it has SMs"
        f" ({figures['cores']:,}). On average they use {format_percent(figures['filled'])} of the SMs.",
        larger_kernels(figures),
        f"They are kernels of {ops}.",
    )


def _unknown(runs: pd.DataFrame) -> Text | None:
    if ((runs["blocks"] > 0) & (runs["cores"] > 0)).any():
        return None
    return Text("no_kernels") if runs.empty else Text("no_grids")


def _summarise(figures: Figures) -> str:
    return f"Kernels with fewer blocks than the GPU has SMs lose {step_time(figures)}{beyond(figures)}."


RULE = kernel_rule(
    "small_kernels", SHARE, _measured, _unknown, _word, _summarise, "Kernels too small for the GPU are"
)
