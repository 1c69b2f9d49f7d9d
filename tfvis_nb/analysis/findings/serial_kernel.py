"""A kernel runs alone on its GPU while kernels of other streams wait for its end."""

import numpy as np
import pandas as pd

from tfvis_nb.analysis.findings.finding import Finding, step_range, step_times
from tfvis_nb.analysis.findings.launch_bound import device_name
from tfvis_nb.analysis.findings.rule import (
    Figures,
    Measurement,
    Remedy,
    Rule,
    Texts,
    Threshold,
    beyond,
    step_time,
)
from tfvis_nb.analysis.hardware.kernel_runs import kernel_runs
from tfvis_nb.analysis.hardware.kernels import kernels
from tfvis_nb.analysis.hardware.stream_waits import stream_waits, streams
from tfvis_nb.core.labels import printable
from tfvis_nb.core.trace import Trace
from tfvis_nb.events import NO_STEP
from tfvis_nb.texts import Text

SHARE = Threshold(
    0.05,
    "share of step time in which one kernel runs alone on a GPU, while a launched kernel of another stream"
    " waits for it to end: one that starts next, and whose stream has nothing else to finish",
)
_LONGEST_NAME = 60
_OVERLAP = (
    "Launch work that does not need its result before it, on another stream, but not on CUDA's default"
    " stream, which waits for all others."
)


def _waits(trace: Trace) -> pd.DataFrame:
    """Return the runs in steps that kernels of other streams wait for, with ``waits_ns`` and their GPU."""
    runs = kernel_runs(trace)
    runs = runs.assign(waits_ns=stream_waits(trace)[runs["event"]])
    runs = runs[runs["waits_ns"] > 0].copy()
    events = trace.events[["step", "task", "device"]].iloc[runs["event"]]
    runs["step"] = events["step"].to_numpy(np.int64)
    for name in ("task", "device"):
        runs[name] = events[name].astype(object).fillna("").astype(str).to_numpy()
    return runs[runs["step"] != NO_STEP]


def _find(trace: Trace) -> list[Finding]:
    runs = _waits(trace)
    total = int(step_times(trace)["duration_ns"].sum())
    keys = ["task", "device", "name", "op"]
    waits = runs.groupby(keys, sort=False)["waits_ns"].sum()
    if not total or waits.empty or waits.max() < SHARE.value * total:
        return []
    own = runs.set_index(keys).loc[[waits.idxmax()]].reset_index()
    own = own.sort_values("waits_ns", ascending=False, kind="stable")
    task, device, name, op = own[keys].iloc[0]
    table = kernels(trace)
    (row,) = table[(table["name"] == name) & (table["op"] == op)].to_dict("records")
    share = min(int(own["waits_ns"].sum()) / total, 1.0)
    figures = {
        "task": task,
        "device": device,
        "name": name,
        "op": op,
        "share": share,
        "streams": int(streams(trace)[own["event"].iloc[0]]),
        "runs": len(own),
        "waves": None if pd.isna(row["waves"]) else float(row["waves"]),
    }
    spent = own.groupby("step")["waits_ns"].sum()
    step = int(spent.index[int(spent.to_numpy().argmax())])
    return [Finding("serial_kernel", share, figures, step, *step_range(trace, step), own["event"].tolist())]


def _word(_key: str, figures: Figures) -> Texts:
    gpu = device_name(figures["task"], figures["device"])
    kernel = printable(figures["name"], _LONGEST_NAME)
    op = f" (op {figures['op']})" if figures["op"] else ""
    waves = figures["waves"]
    text = (
        f"For {step_time(figures)}, {gpu} runs only {kernel}{op}, while launched kernels of other"
        f" streams wait for it to end."
    )
    how = f"That happens in {figures['runs']:,} of its runs, with kernels on {figures['streams']:,} streams."
    if waves is not None:
        how += f" In its longest run the kernel has {waves:.2g} waves of blocks."
    return Texts(
        f"One kernel serialises the streams of {gpu}",
        text,
        "Make the kernel faster if it fills the GPU by itself." if waves and waves >= 1 else _OVERLAP,
        how,
    )


def _measure(trace: Trace) -> Measurement:
    several = streams(trace) > 1
    if not several.any():
        reason = Text("no_kernels") if kernel_runs(trace).empty else Text("one_stream")
        return Measurement.unknown(SHARE, reason)
    if trace.events["scheduled_ns"][several].isna().all():
        return Measurement.unknown(SHARE, Text("no_launches"))
    runs = _waits(trace)
    total = int(step_times(trace)["duration_ns"].sum())
    waits = runs.groupby(["task", "device", "name", "op"])["waits_ns"].sum()
    share = min(int(waits.max()) / total, 1.0) if total and len(waits) else 0.0
    return Measurement.of(SHARE, share)


def _summarise(figures: Figures) -> str:
    return (
        f"For {step_time(figures)}, one kernel runs alone while kernels of other streams wait for it"
        f" to end{beyond(figures)}."
    )


RULE = Rule(
    "serial kernel",
    {"SHARE": SHARE},
    _find,
    _word,
    _measure,
    _summarise,
    "Kernels that serialise streams are",
    remedy=Remedy("Without this kernel", lambda figures: {"kernels": {figures["name"]: 0}}),
)
