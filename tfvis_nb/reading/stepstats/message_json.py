"""Read protobuf's JSON of a RunMetadata or StepStats, as ``json_format.MessageToJson`` writes it."""

import json
import re
from typing import Any

from tfvis_nb.core.errors import TraceFormatError
from tfvis_nb.reading.protobuf import schema
from tfvis_nb.reading.protobuf.crowding import Room
from tfvis_nb.reading.protobuf.wire import Data
from tfvis_nb.reading.stepstats.decode import decode
from tfvis_nb.reading.stepstats.recorded_step import RecordedStep
from tfvis_nb.texts import Text

_STEPS = ("stepStats", "step_stats")
_OTHERS = (
    "costGraph",
    "cost_graph",
    "partitionGraphs",
    "partition_graphs",
    "functionGraphs",
    "function_graphs",
)
_START = re.compile(
    rb'(?:\xef\xbb\xbf)?\s*\{\s*"(?:devStats|dev_stats|%s)"\s*:' % "|".join(_STEPS + _OTHERS).encode()
)


def is_message_json(data: Data) -> bool:
    """Return whether `data` starts like the JSON of a RunMetadata or StepStats."""
    return _START.match(data) is not None


def read(data: Data, label: str, *, room: Room | None) -> RecordedStep:
    """Read the JSON of a message; its graphs are left out with a note."""
    from google.protobuf import json_format

    try:
        message = json.loads(bytes(data))
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
    """Turn maps of thread names into the lists of pairs that they are on the wire."""
    for entry in step.get("devStats", step.get("dev_stats", ())):
        for key in ("threadNames", "thread_names"):
            if key in entry:
                entry[key] = [{"key": int(number), "value": name} for number, name in entry[key].items()]
