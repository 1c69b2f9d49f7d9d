"""An allocation failed and ended the program."""

import math
from typing import Any

import pandas as pd

from tfvis_nb.analysis.findings.finding import PROBLEM, Finding
from tfvis_nb.analysis.findings.rule import NOT_KNOWN, Figures, Measurement, Rule, Texts, capital
from tfvis_nb.analysis.memory.out_of_memory import live_at_failure, out_of_memory
from tfvis_nb.analysis.unavailable import why_not
from tfvis_nb.core.format import format_bytes
from tfvis_nb.core.labels import printable
from tfvis_nb.core.trace import Trace

_MOST_NAMED = 3
_LEAST_SHARE = 0.01
_LONGEST = 80
_NUMBERS = (
    *("requested_bytes", "free_bytes", "largest_free_bytes", "in_use_bytes"),
    *("fitting_rows", "line", "fragmentation"),
)
_TEXTS = ("node", "op", "layer", "shape", "dtype", "allocator", "file")


def _find(trace: Trace) -> list[Finding]:
    failures = out_of_memory(trace)
    if why_not(failures):
        return []
    failure = failures.iloc[-1]
    figures: dict[str, Any] = {name: printable(str(failure[name]), _LONGEST) for name in _TEXTS}
    figures |= {name: None if pd.isna(failure[name]) else failure[name].item() for name in _NUMBERS}
    live = live_at_failure(trace).head(_MOST_NAMED)
    live = live[live["share"] >= _LEAST_SHARE]
    figures["live"] = [printable(name, _LONGEST) or "(not recorded)" for name in live["name"]]
    figures["live_bytes"] = live["bytes"].tolist()
    free, asked = figures["free_bytes"], figures["requested_bytes"]
    case = "unknown" if free is None or asked is None else "larger" if free < asked else "fragmented"
    event, step = int(failure["event"]), int(failure["step"])
    ends = trace.events["start_ns"] + trace.events["duration_ns"]
    start = end = int(ends.max()) if len(ends) else 0
    if event >= 0:
        start, end = int(trace.events["start_ns"].iloc[event]), int(ends.iloc[event])
    events = [event] if event >= 0 else []
    return [Finding(f"out_of_memory.{case}", math.nan, figures, step, start, end, events, PROBLEM)]


def _asked(figures: Figures) -> str:
    """Describe the op, the requested size and the free memory, as "the op a asked ..."."""
    op, node, asked = (figures[name] for name in ("op", "node", "requested_bytes"))
    free, largest = figures["free_bytes"], figures["largest_free_bytes"]
    name = f"{node} ({op})" if node and op and node != op else node or op
    who = f"the op {name}" if name else "the program"
    what = "memory that was not there" if asked is None else format_bytes(asked)
    had = "" if free is None else f", and {format_bytes(free)} were free"
    if free is not None and largest is not None and largest < free:
        had += f", the largest block {format_bytes(largest)}"
    return f"{who} asked for {what}{had}"


def _word(key: str, figures: Figures) -> Texts:
    case = key.rpartition(".")[2]
    not_one = case == "fragmented" and figures["largest_free_bytes"] is None
    text = f"{capital(_asked(figures))}{', but not in one block' if not_one else ''}."
    how = ""
    if figures["shape"]:
        how += f" It was for a tensor of shape {figures['shape']}"
        how += f" and type {figures['dtype']}." if figures["dtype"] else "."
    line = "" if figures["line"] is None else f"at {figures['file']}:{figures['line']}"
    places = [place for place in (line, f"in layer {figures['layer']}" if figures["layer"] else "") if place]
    if places:
        text += f" This was {', '.join(places)}."
    if figures["live"]:
        pairs = zip(figures["live"], figures["live_bytes"], strict=True)
        largest = ", ".join(f"{name} {format_bytes(size)}" for name, size in pairs)
        how += f" The largest buffers at that time: {largest}."
    if case == "fragmented":
        advice = (
            "Set the environment variable TF_GPU_ALLOCATOR=cuda_malloc_async before the program starts, which"
            " fragments less, or use a smaller batch."
        )
    else:
        advice = "Use a smaller batch, or split the op."
        how += " The Memory tab lists what was allocated." if figures["live"] else ""
    if figures["fitting_rows"]:
        rows = f"A first dimension of at most {figures['fitting_rows']:,} would have fit"
        if figures["largest_free_bytes"] is None:
            rows += " if all free memory had been one block"
        how += f" {rows}."
    return Texts("The program ran out of memory", text, advice, how.strip())


def _measure(trace: Trace) -> Measurement:
    return Measurement(NOT_KNOWN, NOT_KNOWN, {"failures": len(out_of_memory(trace))})


def _summarise(figures: Figures) -> str:
    return "The program ran out of memory." if figures["failures"] else "No out-of-memory error was recorded."


def _headline(figures: Figures) -> str:
    return f"Out of memory: {_asked(figures)}."


def ended(trace: Trace) -> str:
    """Briefly name the failed allocation that ended the recording; empty if none did."""
    failures = _find(trace)
    return _headline(failures[0].figures).removesuffix(".") if failures else ""


RULE = Rule(
    "out of memory", {}, _find, _word, _measure, _summarise, whole=True, headline=_headline, fatal=True
)
