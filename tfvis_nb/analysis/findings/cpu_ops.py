"""Ops on a CPU, or with copies to the host, interrupt the work of a GPU."""

import numpy as np
import pandas as pd

from tfvis_nb.analysis.dataflow.edges import edges as edges_of
from tfvis_nb.analysis.events.activity import NUMBER, activity
from tfvis_nb.analysis.findings.finding import Finding, step_range, step_times
from tfvis_nb.analysis.findings.rule import (
    Figures,
    Measurement,
    Remedy,
    Rule,
    Texts,
    Threshold,
    beyond,
    listed,
    step_time,
)
from tfvis_nb.analysis.graph.gpu_kernels import cpu_placement
from tfvis_nb.analysis.steps.cpu_ops_between_kernels import cpu_ops_between_kernels
from tfvis_nb.analysis.unavailable import why_not
from tfvis_nb.core.format import format_bytes, format_duration
from tfvis_nb.core.search_sorted import distinct_numbers
from tfvis_nb.core.trace import Trace

SHARE = Threshold(
    0.05, "share of step time in which GPUs are idle while ops run on the CPU or copy to the host and back"
)

_MAX_OPS = 3


def _find(trace: Trace) -> list[Finding]:
    measured = _measure(trace)
    if not measured.share >= SHARE.value:
        return []
    table = _interrupting(trace)
    by_op = table.groupby(table["op"].astype(str))["gpu_idle_ns"].sum().sort_values(ascending=False)
    events = trace.events
    longest = table["longest"].tolist()
    step = int(events["step"].iloc[longest[0]])
    inside = [event for event in longest if events["step"].iloc[event] == step]
    rows = events.iloc[inside]
    start, end = step_range(trace, step)
    figures = {
        "share": measured.share,
        "ops": by_op.index.tolist(),
        "op_types": len(by_op),
        "op_types_on_cpu": int(table.loc[table["where"].astype(str) == "CPU", "op"].nunique()),
        "copies": int(table["copies"].sum()),
        "copied_bytes": int(table["copied"].sum()),
        "idle_ns": int(table["gpu_idle_exclusive_ns"].sum()),
        **_reasons(trace, table),
    }
    return [
        Finding(
            "cpu_ops",
            measured.share,
            figures,
            step,
            max(int(rows["start_ns"].min()), start),
            min(int((rows["start_ns"] + rows["duration_ns"]).max()), end),
            inside,
        )
    ]


def _reasons(trace: Trace, table: pd.DataFrame) -> dict[str, list[str]]:
    """Return op types by the known reason that ties them to the host; most idle time first.

    The reasons: the program requested a CPU, no GPU kernel is registered, the GPU kernel works on host
    memory, or the kernel runs on the GPU and waits for a result that the host reads.
    """
    rows = table.sort_values("gpu_idle_ns", ascending=False)
    where, events = rows["where"].astype(str), rows["longest"]
    requested, unregistered = cpu_placement(trace, events[where == "CPU"].tolist())
    reasons = {
        "requested_cpu": events.isin(requested),
        "no_gpu_kernel": events.isin(unregistered),
        "host_memory": where == "host memory",
        "read_by_host": where == "GPU",
    }
    return {name: rows["op"][of_reason].astype(str).unique().tolist() for name, of_reason in reasons.items()}


def _interrupting(trace: Trace) -> pd.DataFrame:
    """Return the ops of `cpu_ops_between_kernels` that work on a CPU or need the host to read a result."""
    table = cpu_ops_between_kernels(trace)
    copied = table["to_host"] + table["to_device"]
    table = table.assign(copies=copied, copied=table["to_host_bytes"] + table["to_device_bytes"])
    on_gpu = (table["where"].astype(str) == "GPU").to_numpy()
    interrupting: pd.DataFrame = table[
        ((copied > 0) | (table["where"].astype(str) == "CPU")) & (~on_gpu | _asks(trace, table))
    ]
    return interrupting


def _asks(trace: Trace, table: pd.DataFrame) -> np.ndarray:
    """Return a mask of ops with a copy to the host before they were done, so that the host read it.

    Others copied their arguments to the GPU, or their outputs to the host for later ops.
    """
    events, edges = trace.events, edges_of(trace)
    start = events["start_ns"].to_numpy(np.int64)
    end = start + events["duration_ns"].to_numpy(np.int64)
    source, target = edges["source"].to_numpy(), edges["target"].to_numpy()
    launch = (edges["kind"] == "launch").to_numpy()
    to_host = activity(trace) == NUMBER["d2h"]
    made = launch & to_host[target] & (start[target] < end[source])
    brought = ~launch & to_host[source]
    keys = ["task", "name"]
    asking = events.iloc[distinct_numbers(np.concatenate([source[made], target[brought]]))][keys].astype(str)
    rows = pd.MultiIndex.from_frame(table[keys].astype(str))
    mask: np.ndarray = rows.isin(pd.MultiIndex.from_frame(asking))
    return mask


def _word(_key: str, figures: Figures) -> Texts:
    copies = figures["copies"]
    moved = f"{copies:,} {'copy' if copies == 1 else 'copies'}"
    if copies and figures["copied_bytes"]:
        moved += f", {format_bytes(figures['copied_bytes'])}"
    return Texts(
        "CPU ops and device-to-host copies stall the GPU",
        f"{_working(figures)} between GPU kernels ({moved}); the GPU is idle for"
        f" {format_duration(figures['idle_ns'])} at that time.",
        "Prepare indices and shapes in the input pipeline, keep shapes static, and replace ops whose result"
        " the host has to read (Unique, SparseToDense, Where) with dense ones.",
        _placement(figures).strip(),
    )


def _working(figures: Figures) -> str:
    on_cpu, count = figures["op_types_on_cpu"], figures["op_types"]
    run, copy = ("run", "copy") if count > 1 else ("runs", "copies")
    does = [f"{run} on the CPU"] * (on_cpu > 0) + [f"{copy} data to the host and back"] * (on_cpu < count)
    return f"{listed(figures['ops'][:_MAX_OPS], count)} {' or '.join(does)}"


def _placement(figures: Figures) -> str:
    sentences = {
        "requested_cpu": "The program requests the CPU for {}.",
        "no_gpu_kernel": "No GPU kernel is registered for {}.",
        "read_by_host": "{} {runs} on the GPU, but {waits} until the host has read a result.",
        "host_memory": "TensorFlow places {} on the GPU, but with kernels that work on host memory.",
    }
    parts = []
    for reason, sentence in sentences.items():
        if ops := figures[reason]:
            runs, waits = ("run", "wait") if len(ops) > 1 else ("runs", "waits")
            parts.append(sentence.format(listed(ops[:_MAX_OPS], len(ops)), runs=runs, waits=waits))
    return "".join(f" {sentence}" for sentence in parts)


def _measure(trace: Trace) -> Measurement:
    table = cpu_ops_between_kernels(trace)
    if why_not(table):
        return Measurement.unknown(SHARE, why_not(table))
    total = int(step_times(trace)["duration_ns"].sum())
    share = int(_interrupting(trace)["gpu_idle_exclusive_ns"].sum()) / total if total and len(table) else 0.0
    return Measurement.of(SHARE, share)


def _summarise(figures: Figures) -> str:
    return (
        f"A GPU is idle for {step_time(figures)} while ops run on the CPU or copy to the host"
        f"{beyond(figures)}."
    )


def _headline(figures: Figures) -> str:
    return f"The GPU is idle for {step_time(figures)} while {_working(figures)}"


RULE = Rule(
    "cpu ops",
    {"SHARE": SHARE},
    _find,
    _word,
    _measure,
    _summarise,
    "Interruptions of GPUs by CPU ops are",
    headline=_headline,
    remedy=Remedy("Without these ops", lambda figures: {"ops": dict.fromkeys(figures["ops"], 0)}),
)
