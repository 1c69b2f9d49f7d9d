"""Copies between host and device run while no device computes."""

import numpy as np
import pandas as pd

from tfvis_nb.analysis.events.activity import NUMBER, activity
from tfvis_nb.analysis.findings.finding import Finding, step_range, whole_tasks
from tfvis_nb.analysis.findings.rule import (
    NOT_KNOWN,
    Figures,
    Measurement,
    Rule,
    Texts,
    Threshold,
    beyond,
    example,
    step_time,
)
from tfvis_nb.core.per_trace import per_trace
from tfvis_nb.core.trace import Trace
from tfvis_nb.texts import Text

SHARE = Threshold(0.1, "share of step time of copies while no device computes, `h2d_ns` and `d2h_ns`")

_COPIES = ["h2d_ns", "d2h_ns"]
_DIRECTIONS = {"h2d": "from the host to a device", "d2h": "from a device to the host"}
_ADVICE = {
    "h2d": "Keep data that is used again on the device, and prefetch input to it"
    " (tf.data.experimental.prefetch_to_device).",
    "d2h": "Fetch fewer results, less often. Keep results on the device if they are used there again.",
}


@per_trace
def _exposed(trace: Trace) -> pd.DataFrame:
    """Return the share and the sums of copies while nothing computes, of each task; the most first."""
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
    found = sums.iloc[0]
    share, task = float(found["share"]), str(found["task"])
    most = max(_COPIES, key=lambda part: int(found[part]))
    table = whole_tasks(trace)
    own = table[table["task"].astype(str) == task]
    amount = own[_COPIES].fillna(0).sum(axis=1).to_numpy(np.int64)
    index = int(amount.argmax())
    worst = own.iloc[index]
    step = int(worst["step"])
    start, end = step_range(trace, step)
    moved = trace.transfers
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
    }
    longest = moved.sort_values("duration_ns", ascending=False, kind="stable")["event"].tolist()
    return [Finding("copies", share, figures, step, start, end, longest)]


def _word(_key: str, figures: Figures) -> Texts:
    return Texts(
        "Copies between host and device are not hidden",
        f"Copies run while no device computes for {step_time(figures['share'])}, most of them"
        f" {_DIRECTIONS[figures['most']]}: {example(figures)}.",
        _ADVICE[figures["most"]],
    )


def _measure(trace: Trace) -> Measurement:
    sums = _exposed(trace)
    if sums.empty:
        return Measurement(NOT_KNOWN, SHARE.value, {"reason": Text("no_gpu_events")})
    share = float(sums["share"].iloc[0])
    return Measurement(share, SHARE.value, {"share": share, "threshold": SHARE.value})


def _summarise(figures: Figures) -> str:
    if "reason" in figures:
        return f"Copies between host and device are not available: {figures['reason']}."
    return (
        f"Copies between host and device take {step_time(figures['share'])} while no device computes"
        f"{beyond(figures)}."
    )


RULE = Rule("copies", {"SHARE": SHARE}, _find, _word, _measure, _summarise)
