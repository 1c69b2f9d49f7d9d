"""Read device memory profiles of JAX, in the format of pprof: the buffers of one moment by stack."""

from collections import Counter
from itertools import chain, islice
from typing import Any

from tfvis_nb import events as event_table
from tfvis_nb.core.errors import TraceFormatError
from tfvis_nb.core.metadata import DEVICE_MEMORY, table_of
from tfvis_nb.core.stacks import Frame
from tfvis_nb.core.trace import Trace
from tfvis_nb.events import MOST_IN_ALL
from tfvis_nb.reading.protobuf import wire
from tfvis_nb.reading.protobuf.crowding import RecordMemory
from tfvis_nb.reading.protobuf.schema import messages
from tfvis_nb.reading.protobuf.to_arrow import handler
from tfvis_nb.reading.protobuf.wire import Data, text
from tfvis_nb.reading.sources.damage import damaged_message
from tfvis_nb.reading.xspace.hlo_program import MOST_FRAMES, python_frame
from tfvis_nb.texts import Text

_MESSAGE, _PACKAGE = "MemoryProfile", "pprof"
_LONGEST = 200
"""How many characters of a line are kept."""


def is_memory_profile(data: Data) -> bool:
    """Return whether `data` starts like a profile of pprof: with types of values, which are numbers."""
    try:
        first = next(wire.fields(data), None)
        if first is None or first.number != 1 or first.wire_type != wire.LENGTH or first.end == first.start:
            return False
        parts = [(one.number, one.wire_type) for one in wire.fields(data, first.start, first.end)]
    except wire.DamageError:
        return False
    known = {(1, wire.VARINT), (2, wire.VARINT)}
    return set(parts) <= known and wire.fits(data, _MESSAGE, messages(_PACKAGE))


def read(data: Data, label: str, *, room: RecordMemory | None) -> Trace:
    """Read a profile as a Trace without events."""
    try:
        own = None if room is None else room.of(len(data), label)
        if own is not None:
            own.take_message(data, _MESSAGE)
        batch = handler(_MESSAGE, _PACKAGE).list_to_record_batch([bytes(data)])
    except TraceFormatError:
        raise
    except ValueError as error:
        reason = damaged_message(data, "a memory profile", _MESSAGE, error, messages(_PACKAGE))
        raise TraceFormatError(reason.named(label)) from None
    profile: dict[str, Any] = batch.to_pylist()[0]
    strings = dict(enumerate(map(text, profile["string_table"])))
    units = [strings.get(one["unit"], "") for one in profile["sample_type"]]
    if sorted(units) != ["bytes", "count"]:
        raise TraceFormatError(Text("foreign_format", label=label, what=Text("is_pprof")), foreign=True)
    of_bytes, of_count = units.index("bytes"), units.index("count")
    lines = _lines(profile, strings)
    found: Counter[tuple[str, str, str]] = Counter()
    buffers: Counter[tuple[str, str, str]] = Counter()
    for sample in profile["sample"]:
        labels = {strings.get(one["key"]): strings.get(one["str"], "") for one in sample["label"]}
        stack = chain.from_iterable(lines.get(number, ()) for number in sample["location_id"])
        outermost_first = [line for line in islice(stack, MOST_FRAMES) if line][::-1]
        key = (labels.get("device", ""), labels.get("kind", ""), "\n".join(outermost_first))
        if own is not None and key not in found:
            own.take_records("stack", len(key[2]))
        values = dict(enumerate(sample["value"]))
        found[key] += max(values.get(of_bytes, 0), 0)
        buffers[key] += max(values.get(of_count, 0), 0)
    rows = [
        dict(zip(("device", "kind", "stack"), key, strict=True))
        | {"buffers": min(buffers[key], MOST_IN_ALL), "bytes": min(size, MOST_IN_ALL)}
        for key, size in found.items()
    ]
    return Trace(event_table.build({}, rows=0), metadata={DEVICE_MEMORY: table_of(DEVICE_MEMORY, rows)})


def _lines(profile: dict[str, Any], strings: dict[int, str]) -> dict[int, list[str]]:
    """Return the lines of each location, the innermost first: functions may be inlined.

    Lines of installed packages are empty.
    """
    functions = {one["id"]: one for one in profile["function"]}
    return {
        location["id"]: [
            _line(
                python_frame(
                    strings.get(function["filename"], "").encode(),
                    line["line"],
                    strings.get(function["name"], "").encode(),
                )
            )
            for line in location["line"][:MOST_FRAMES]
            if (function := functions.get(line["function_id"])) is not None
        ]
        for location in profile["location"]
    }


def _line(frame: Frame) -> str:
    if not frame.own:
        return ""
    where = f"{frame.file.replace(chr(92), '/').rpartition('/')[2]}:{frame.line}"
    return " ".join(f"{frame.function[:_LONGEST]} ({where[-_LONGEST:]})".split())
