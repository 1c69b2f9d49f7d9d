"""Kernels multiply matrices without the Tensor Cores of their GPU."""

from typing import Any

import pandas as pd

from tfvis_nb.analysis.findings.kernel_time import kernel_rule, kernel_time
from tfvis_nb.analysis.findings.launch_bound import device_name
from tfvis_nb.analysis.findings.program import lower_precision
from tfvis_nb.analysis.findings.rule import Figures, Texts, Threshold, beyond, listed, step_time
from tfvis_nb.analysis.hardware.kernel_runs import kernel_runs
from tfvis_nb.analysis.hardware.tensor_cores import has_tensor_cores
from tfvis_nb.core.per_trace import per_trace
from tfvis_nb.core.trace import Trace
from tfvis_nb.texts import Text

SHARE = Threshold(
    0.05,
    "share of step time of kernels that do not use Tensor Cores, of ops that could, on a GPU that has them,"
    " while no others run there",
)


@per_trace
def _measured(trace: Trace) -> dict[str, Any] | None:
    runs = kernel_runs(trace)
    without = (runs["tensor_cores"] == False) & (runs["eligible"] == True)  # noqa: E712 - None is neither
    return kernel_time(trace, runs, (without & _on_capable(runs)).to_numpy(bool))


def _on_capable(runs: pd.DataFrame) -> pd.Series:
    """Return a mask of the runs on GPUs with Tensor Cores."""
    return runs["capability"].isin(list(filter(has_tensor_cores, runs["capability"].unique())))


def _word(_key: str, figures: Figures) -> Texts:
    name = device_name(figures["task"], figures["device"])
    ops = listed(figures["ops"], figures["op_types"])
    return Texts(
        f"Matrix multiplications on {name} do not use its Tensor Cores",
        f"For {step_time(figures)}, {name} runs kernels of {ops} that do not use Tensor"
        " Cores. These ops also have kernels that do.",
        lower_precision(figures),
    )


def _unknown(runs: pd.DataFrame) -> Text | None:
    if _on_capable(runs).any():
        return None
    return Text("no_kernels") if runs.empty else Text("no_tensor_cores")


def _summarise(figures: Figures) -> str:
    return (
        f"Kernels without Tensor Cores, of ops that could use them, take {step_time(figures)}"
        f"{beyond(figures)}."
    )


RULE = kernel_rule(
    "tensor_cores", SHARE, _measured, _unknown, _word, _summarise, "Kernels without Tensor Cores are"
)
