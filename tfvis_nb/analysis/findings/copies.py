"""Copies between host and device run while no device computes."""

import re

import numpy as np
import pandas as pd

from tfvis_nb.analysis.communication.transfers import transfers
from tfvis_nb.analysis.dataflow.edges import edges as edges_of
from tfvis_nb.analysis.events.activity import NUMBER, activity
from tfvis_nb.analysis.findings.finding import Finding, step_range, whole_tasks
from tfvis_nb.analysis.findings.rule import (
    Figures,
    Measurement,
    Remedy,
    Rule,
    Texts,
    Threshold,
    beyond,
    example,
    step_time,
)
from tfvis_nb.core.format import format_bytes
from tfvis_nb.core.per_trace import per_trace
from tfvis_nb.core.search_sorted import distinct_numbers
from tfvis_nb.core.trace import Trace
from tfvis_nb.core.undivided import whole
from tfvis_nb.texts import Text

SHARE = Threshold(0.1, "share of step time of copies while no device computes, `h2d_ns` and `d2h_ns`")

VARIABLES = Threshold(
    0.5, "share of variables on the CPU in the bytes copied to devices at which the text mentions them"
)

_COPIES = ["h2d_ns", "d2h_ns"]
_DIRECTIONS = {"h2d": "from the host to a device", "d2h": "from a device to the host"}
_ADVICE = {
    "h2d": "Keep data that is used again on the device, and prefetch input to it"
    " (tf.data.experimental.prefetch_to_device).",
    "d2h": "Fetch fewer results, less often, and keep results that are used again on the device.",
}
_PLACE_VARIABLES = (
    "Place the variables on the GPU that uses them; with several GPUs, tf.distribute.MirroredStrategy keeps a"
    " copy on each."
)
_READS = re.compile(r"ReadVariableOp|Variable(?:V2)?")
_READS_OF_REFERENCES = re.compile(r".*/read")
"""Names of the ops of type Identity that read variables before TensorFlow 2."""


@per_trace
def _exposed(trace: Trace) -> pd.DataFrame:
    """Return the share and the sums of copies while nothing computes, for each task, largest first."""
    table = whole_tasks(trace)
    table = table[table[_COPIES].notna().all(axis=1)].astype(
        {"task": object} | dict.fromkeys(_COPIES, "int64")
    )
    sums = table.groupby("task")[[*_COPIES, "step_ns"]].sum().reset_index()
    sums["share"] = sums[_COPIES].sum(axis=1) / sums["step_ns"]
    return sums.sort_values("share", ascending=False, kind="stable").reset_index(drop=True)


def _find(trace: Trace) -> list[Finding]:
    sums = _exposed(trace)
    if sums.empty or not float(sums["share"].iloc[0]) >= SHARE.value:
        return []
    largest = sums.iloc[0]
    share, task = float(largest["share"]), str(largest["task"])
    most = str(largest[_COPIES].astype("int64").idxmax())
    table = whole_tasks(trace)
    own = table[table["task"].astype(str) == task]
    amount = own[_COPIES].fillna(0).sum(axis=1).to_numpy(np.int64)
    index = int(amount.argmax())
    worst = own.iloc[index]
    step = int(worst["step"])
    start, end = step_range(trace, step)
    moved = transfers(trace)
    between = np.isin(activity(trace)[moved["event"].to_numpy()], [NUMBER["h2d"], NUMBER["d2h"]])
    moved = moved[between & (moved["step"] == step).to_numpy()]
    figures = {
        "share": share,
        "task": task,
        "most": most.removesuffix("_ns"),
        "step": step,
        "steps": len(own),
        "here_ns": int(amount[index]),
        "step_ns": int(worst["step_ns"]),
        **_variables(trace, moved),
    }
    longest = moved.sort_values("duration_ns", ascending=False, kind="stable")["event"].tolist()
    case = "copies.variables" if figures["variables"] else "copies"
    return [Finding(case, share, figures, step, start, end, longest)]


def _variables(trace: Trace, moved: pd.DataFrame) -> Figures:
    """Return the number and bytes of copies that bring variables from a CPU to devices; 0 below `VARIABLES`.

    The source of such a copy is an op that reads a variable.
    """
    events, edges = trace.events, edges_of(trace)
    to_device = moved[activity(trace)[moved["event"].to_numpy()] == NUMBER["h2d"]]
    size = to_device.set_index("event")["bytes"].astype("float64").fillna(0)
    made = edges[(edges["kind"] == "transfer").to_numpy() & np.isin(edges["target"], size.index)]
    source = events.iloc[made["source"].to_numpy()]
    op, name = source["op"].astype(str), source["name"].astype(str)
    reads = op.str.fullmatch(_READS) | (op.eq("Identity") & name.str.fullmatch(_READS_OF_REFERENCES))
    copies = distinct_numbers(made["target"].to_numpy()[reads.to_numpy()])
    copied = float(size.loc[copies].sum())
    if not copied or copied < VARIABLES.value * float(size.sum()):
        return {"variables": 0, "variable_bytes": 0}
    return {"variables": len(copies), "variable_bytes": int(copied)}


def _word(_key: str, figures: Figures) -> Texts:
    text = (
        f"For {step_time(figures)}, copies run while no device computes, most of them"
        f" {_DIRECTIONS[figures['most']]}: {example(figures)}."
    )
    if not figures["variables"]:
        return Texts("Copies between host and device are not hidden", text, _ADVICE[figures["most"]])
    return Texts(
        "Variables on the CPU are copied to the devices",
        f"{_brought(figures)} in {whole(figures, 'this step')}.",
        _PLACE_VARIABLES,
        text,
    )


def _brought(figures: Figures) -> str:
    count = figures["variables"]
    return (
        f"{count:,} {'copies bring' if count > 1 else 'copy brings'}"
        f" {format_bytes(figures['variable_bytes'])} of variables from the CPU"
    )


def _headline(figures: Figures) -> str:
    if not figures["variables"]:
        return ""
    return f"{_brought(figures)} in {whole(figures, 'a step')}"


def _measure(trace: Trace) -> Measurement:
    sums = _exposed(trace)
    if sums.empty:
        return Measurement.unknown(SHARE, Text("no_gpu_events"))
    share = float(sums["share"].iloc[0])
    return Measurement.of(SHARE, share)


def _summarise(figures: Figures) -> str:
    return (
        f"Copies between host and device take {step_time(figures)} while no device computes{beyond(figures)}."
    )


RULE = Rule(
    "copies",
    {"SHARE": SHARE, "VARIABLES": VARIABLES},
    _find,
    _word,
    _measure,
    _summarise,
    "Copies between host and device are",
    remedy=Remedy("Without these copies", lambda _: {"activities": dict.fromkeys(("h2d", "d2h"), 0)}),
    headline=_headline,
)
