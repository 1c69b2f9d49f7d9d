"""Restore step_stats from the output of TensorFlow's ``timeline.py``, as far as possible.

Bars have the node's name, op type and inputs, so labels can be restored and the rows read like recorded ones.
The file lacks sizes and ends of transfers and copies, queueing times, nanoseconds and, unless memory was
requested, outputs.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import accumulate, pairwise
from typing import Any, NamedTuple

from tfvis_nb import events as event_table
from tfvis_nb.core.data_types import DATA_TYPES, REFERENCE
from tfvis_nb.core.devices import Place, place
from tfvis_nb.core.trace import Trace
from tfvis_nb.reading.chrome.counters import CounterEvents
from tfvis_nb.reading.chrome.slices import UNUSABLE
from tfvis_nb.reading.chrome.values import nanoseconds, text
from tfvis_nb.reading.protobuf import schema
from tfvis_nb.reading.stepstats.assemble import assemble
from tfvis_nb.reading.stepstats.decode import decode
from tfvis_nb.reading.stepstats.recorded_step import RecordedStep
from tfvis_nb.texts import Text

_MEMORY = re.compile(r"^(?:\[[^\]]*\] )*")
_COPY = re.compile(r"memcpy", re.IGNORECASE)
_FIELD = re.compile(r"(\w+): ?(\S+)")
_FEWEST_REPLACED = 3


class Bar(NamedTuple):
    """A bar of timeline.py: its dev_stats entry, device, node name, op type, inputs, and microseconds."""

    entry: int
    device: str
    name: str
    op: str
    inputs: tuple[str, ...]
    start: int
    duration: int


class TimelineReader:
    """Reads timeline.py's files, even several merged into one."""

    def __init__(self) -> None:
        self._processes: dict[Any, str] = {}
        self._events: list[tuple[Any, Any, Any, dict[str, Any]]] = []
        self._tensors: dict[tuple[Any, str], str] = {}
        self._counters = CounterEvents()

    def add(self, events: Sequence[Any]) -> None:
        """Add events."""
        self._counters.add([event for event in events if type(event) is dict and event.get("ph") == "C"])
        for event in events:
            if type(event) is not dict:
                continue
            phase, arguments = event.get("ph"), event.get("args")
            if not isinstance(arguments, dict):
                arguments = {}
            if phase == "X":
                self._events.append((_pid(event), event.get("ts"), event.get("dur", 0), arguments))
            elif phase == "M" and event.get("name") == "process_name":
                self._processes[_pid(event)] = text(arguments.get("name"))
            elif phase == "O" and isinstance(described := arguments.get("snapshot"), dict):
                tensor = text(event.get("name"))
                self._tensors[_pid(event), tensor] = text(described.get("tensor_description"))

    def finish(self, keys: Mapping[str, Any]) -> Trace:
        """Make the trace; `keys` are not used."""
        del keys
        notes: list[str] = [Text("timeline_py_lacks")]
        bars = self._bars(notes)
        places = {device: place(device) for device in {bar.device for bar in bars}}
        notes += _replaced_times(bars, places)
        # Tensors are named, not numbered: with a repeated name, those of the last step count.
        recorded = _recorded(_named_copies(bars, places), places, self._outputs())
        if recorded is None:
            return Trace(event_table.build({}, rows=0))
        trace = assemble([recorded])
        # timeline.py counts the memory of each allocator.
        trace.recorded_counters, lost = self._counters.finish(
            lambda process: ("", self._device(process)), unit="bytes"
        )
        trace.notes = notes + trace.notes + lost
        return trace

    def _bars(self, notes: list[str]) -> list[Bar]:
        start, usable = nanoseconds([ts for _, ts, _, _ in self._events])
        duration, known = nanoseconds([dur for _, _, dur, _ in self._events])
        good = usable & known
        if not good.all():
            notes.append(Text(UNUSABLE, bars=int((~good).sum())))
        # It processes dev_stats in order: entries with the same name share a pid, but are apart in the file.
        pids = [pid for pid, _, _, _ in self._events]
        entries = accumulate((before != pid for before, pid in pairwise(pids)), initial=0)
        times = zip(self._events, entries, start.tolist(), duration.tolist(), good.tolist(), strict=False)
        return [
            Bar(
                entry,
                self._device(pid),
                text(arguments.get("name")),
                text(arguments.get("op")),
                _inputs(arguments),
                begin // 1000,
                max(length, 0) // 1000,
            )
            for (pid, _, _, arguments), entry, begin, length, is_good in times
            if is_good
        ]

    def _device(self, pid: Any) -> str:
        name = self._processes.get(pid, f"process {text(pid)}")
        return name.removesuffix(" Compute").removesuffix(" Tensors")

    def _outputs(self) -> dict[tuple[str, str], list[tuple[int, str]]]:
        """Return the outputs of each device and node: slot and description."""
        parsed: dict[tuple[str, str], list[tuple[int, str]]] = {}
        for (pid, tensor), described in self._tensors.items():
            name, _, slot = tensor.rpartition(":")
            numbered = bool(name) and re.fullmatch(r"[0-9]{1,5}", slot) is not None
            key = self._device(pid), name if numbered else tensor
            parsed.setdefault(key, []).append((int(slot) if numbered else 0, described))
        return parsed


def _pid(event: dict[str, Any]) -> Any:
    pid = event.get("pid")
    return pid if isinstance(pid, (int, str)) else text(pid)


def _inputs(arguments: dict[str, Any]) -> tuple[str, ...]:
    inputs: list[str] = []
    while (key := f"input{len(inputs)}") in arguments:
        inputs.append(text(arguments[key]))
    return tuple(inputs)


def _replaced_times(bars: Sequence[Bar], places: Mapping[str, Place]) -> list[str]:
    """Return a note if ops have the times of their kernels: timeline.py's option ``op_time``.

    With ``gpu`` each op starts when its first kernel does. With ``all`` it ends no earlier than its last one.
    Recorded ops start before their kernels, and some end before them. If none does, and more ops end in the
    same microsecond as their kernels than at any other distance, their ends were moved.
    """
    spans: dict[str, tuple[int, int]] = {}
    for bar in bars:
        if places[bar.device].family == "gpu":
            begin, end = spans.get(bar.name, (bar.start, bar.start))
            spans[bar.name] = min(begin, bar.start), max(end, bar.start + bar.duration)
    ops = [
        (bar, *spans[bar.name])
        for bar in bars
        if places[bar.device].family == "executor" and bar.name in spans
    ]
    if len(ops) < _FEWEST_REPLACED:
        return []
    if all(bar.start == begin for bar, begin, _ in ops):
        return [Text("op_times_replaced", mode="gpu", ops=len(ops))]
    ends = Counter(bar.start + bar.duration - end for bar, _, end in ops)
    moved = ends.pop(0, 0)
    if min(ends, default=0) < 0 or moved <= max(ends.values(), default=0):
        return []
    if 2 * moved > len(ops):
        return [Text("op_times_replaced", mode="all", ops=len(ops))]
    return [Text("op_ends_replaced", ops=moved)] if moved >= _FEWEST_REPLACED else []


def _named_copies(bars: Sequence[Bar], places: Mapping[str, Place]) -> list[Bar]:
    """Name copies on plain streams: until TF 1.13 they differ from kernels only by the lane ``/memcpy``."""
    copied = {
        (bar.name, bar.op, bar.start, bar.duration)
        for bar in bars
        if places[bar.device].what == "memcpy" and not _COPY.search(bar.op)
    }
    on_streams = {
        (bar.name, bar.op, bar.start, bar.duration)
        for bar in bars
        if places[bar.device].family == "gpu"
        and not places[bar.device].what
        and not places[bar.device].aggregate
    }
    renamed = copied & on_streams
    return [
        bar._replace(op="Memcpy")
        if places[bar.device].family == "gpu" and (bar.name, bar.op, bar.start, bar.duration) in renamed
        else bar
        for bar in bars
    ]


def _recorded(
    bars: Sequence[Bar],
    places: Mapping[str, Place],
    tensors: Mapping[tuple[str, str], Sequence[tuple[int, str]]],
) -> RecordedStep | None:
    """Write bars as a StepStats and read that; None if there are none."""
    if not bars:
        return None
    from google.protobuf import message_factory

    step: Any = message_factory.GetMessageClass(schema.descriptors()["StepStats"])()
    entries = {
        entry: step.dev_stats.add(device=_encoded(device))
        for entry, device in dict.fromkeys((bar.entry, bar.device) for bar in bars)
    }
    rows: dict[tuple[str, str], Any] = {}
    times = Counter((bar.device, bar.name) for bar in bars)
    for bar in bars:
        name, label = _name_and_label(bar, places[bar.device])
        rows[bar.device, name] = entries[bar.entry].node_stats.add(
            node_name=_encoded(name),
            timeline_label=_encoded(label),
            all_start_micros=bar.start,
            all_end_rel_micros=bar.duration,
            op_end_rel_micros=bar.duration,
        )
    for (device, name), outputs in tensors.items():
        row = rows.get((device, name))
        # All received tensors are called RecvTensor: if there are several, their sizes are unknown.
        if row is not None and (name != "RecvTensor" or times[device, name] == 1):
            for slot, described in outputs:
                output = row.output.add(slot=slot)
                _describe(output.tensor_description, described)
    return decode(step.SerializeToString(), "timeline.py", "StepStats")


def _describe(tensor: Any, described: str) -> None:
    """Fill in a TensorDescription from its text, from which timeline.py removed the quotes."""
    fields = dict(_FIELD.findall(described))
    kind = fields.get("dtype", "").removeprefix("DT_")
    bare = kind.removesuffix("_REF")
    if bare in DATA_TYPES:
        tensor.dtype = DATA_TYPES.index(bare) + (REFERENCE if bare != kind else 0)
    if "shape {" in described:
        tensor.shape.unknown_rank = fields.get("unknown_rank") == "true"
        for size in re.findall(r"\bsize: (-?[0-9]{1,18})\b", described):
            tensor.shape.dim.add(size=int(size))
    allocation = tensor.allocation_description
    allocation.allocator_name = _encoded(fields.get("allocator_name", ""))
    allocation.has_single_reference = fields.get("has_single_reference") == "true"
    for name in ("requested_bytes", "allocated_bytes", "allocation_id", "ptr"):
        if re.fullmatch("[0-9]{1,18}", fields.get(name, "")):
            setattr(allocation, name, int(fields[name]))


def _name_and_label(bar: Bar, where: Place) -> tuple[str, str]:
    if bar.op in ("", "unknown", "RecvTensor") or where.family == "host":
        return bar.name, ""
    if where.family == "gpu":
        return f"{bar.name}:{bar.op}", ""
    return _MEMORY.sub("", bar.name), f"{bar.name} = {bar.op}({', '.join(bar.inputs)})"


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "replace")
