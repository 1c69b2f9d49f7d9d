"""Read RunMetadata and StepStats in protobuf's text format, and as its JSON."""

import json
import re
from typing import Any

from tfvis_nb.core.errors import TraceFormatError
from tfvis_nb.reading.protobuf import schema
from tfvis_nb.reading.protobuf.crowding import RecordMemory
from tfvis_nb.reading.protobuf.wire import Data
from tfvis_nb.reading.sources.damage import ends_early
from tfvis_nb.reading.sources.encodings import EncodedText, start_of_text
from tfvis_nb.reading.stepstats.decode import decode
from tfvis_nb.reading.stepstats.recorded_step import RecordedStep
from tfvis_nb.texts import Text

_FIRST_FIELD = re.compile(
    r"(?:\s|#[^\n]*\n)*(step_stats|dev_stats|cost_graph|partition_graphs|function_graphs|session_metadata)\s*:?\s*[{<]"
)
_STEPS = ("stepStats", "step_stats")
_OTHERS = (
    "costGraph",
    "cost_graph",
    "partitionGraphs",
    "partition_graphs",
    "functionGraphs",
    "function_graphs",
)
_FIRST_KEY = re.compile(rb'\s*\{\s*"(?:devStats|dev_stats|%s)"\s*:' % "|".join(_STEPS + _OTHERS).encode())


def is_text(data: Data) -> bool:
    r"""Return whether `data` starts like a RunMetadata or StepStats in text format."""
    return _FIRST_FIELD.match(start_of_text(data).decode("utf-8", "replace")) is not None


def is_message_json(data: Data) -> bool:
    """Return whether `data` starts like what ``MessageToJson`` makes of a RunMetadata or StepStats."""
    return _FIRST_KEY.match(start_of_text(data)) is not None


def read_text(data: Data, label: str, *, room: RecordMemory | None) -> RecordedStep:
    """Read a message in text format."""
    binary, notes = to_binary(data, label)
    step = decode(binary, label, room=room)
    step.notes += notes
    return step


def to_binary(data: Data, label: str) -> tuple[bytes, list[str]]:
    """Parse text into a serialised RunMetadata or StepStats, with notes on skipped parts.

    Unknown fields are skipped, because old traces have names that were changed later.
    """
    from google.protobuf import text_format

    source = EncodedText(bytes(data))
    try:
        text = source.data.decode()
    except UnicodeDecodeError as error:
        byte = source.position(error.start)
        raise TraceFormatError(Text("text_not_utf8", label=label, byte=byte)) from None
    first = _FIRST_FIELD.match(text)
    message = "StepStats" if first and first[1] == "dev_stats" else "RunMetadata"
    try:
        parsed = text_format.Parse(text, schema.message_class(message)(), allow_unknown_field=True)
    except text_format.ParseError as error:
        if text.count("{") > text.count("}") and error.GetLine() == text.rstrip().count("\n") + 1:
            raise TraceFormatError(ends_early(label, f"a text {message}", len(data))) from None
        raise TraceFormatError(
            Text("text_message_damaged", label=label, message=message, line=error)
        ) from None
    return parsed.SerializeToString(), _skipped(text, message)


def _skipped(text: str, message: str) -> list[str]:
    every = schema.MESSAGES | schema.messages("run_metadata")
    known = {name for fields in every.values() for name, _, _ in fields}
    names = set(re.findall(r"^[ \t]*([a-z_]\w*)[ \t]*[:{<]", text, re.MULTILINE)) - known
    return [Text("fields_skipped", message=message, fields=", ".join(sorted(names)))] if names else []


def read_json(data: Data, label: str, *, room: RecordMemory | None) -> RecordedStep:
    """Read the JSON of a message; its graphs are left out with a note."""
    from google.protobuf import json_format

    try:
        message = json.loads(EncodedText(bytes(data)).data)
        name = next((key for key in _STEPS if key in message), "")
        step = message[name] if name else message if {"devStats", "dev_stats"} & message.keys() else {}
        _list_threads(step)
        parsed = schema.message_class("StepStats", "string")()
        json_format.ParseDict(step, parsed, ignore_unknown_fields=True)
    except (ValueError, TypeError, AttributeError, RecursionError, json_format.ParseError) as error:
        reason = " ".join(str(error).split())[:200]
        raise TraceFormatError(Text("message_json_damaged", label=label, reason=reason)) from None
    read = decode(parsed.SerializeToString(), label, "StepStats", room)
    if left_out := sorted(message.keys() & set(_OTHERS)):
        read.notes.append(Text("message_parts_left_out", message="RunMetadata", fields=", ".join(left_out)))
    return read


def _list_threads(step: Any) -> None:
    """Turn maps of thread names into lists of pairs, as on the wire."""
    for entry in step.get("devStats", step.get("dev_stats", ())):
        for key in ("threadNames", "thread_names"):
            if key in entry:
                entry[key] = [{"key": int(number), "value": name} for number, name in entry[key].items()]
