"""Convert RunMetadata and StepStats in protobuf's text format to binary."""

import re

from tfvis_nb.core.errors import TraceFormatError
from tfvis_nb.reading.protobuf import schema
from tfvis_nb.reading.protobuf.wire import Data
from tfvis_nb.reading.sources.damage import ends_early
from tfvis_nb.texts import Text

_FIRST_FIELD = re.compile(
    r"(?:\s|#[^\n]*\n)*(step_stats|dev_stats|cost_graph|partition_graphs|function_graphs|session_metadata)\s*:?\s*[{<]"
)


def is_text(data: Data) -> bool:
    r"""Return whether `data` starts like a RunMetadata or StepStats in text format."""
    return (
        _FIRST_FIELD.match(bytes(data[:4096]).decode("utf-8", "replace").removeprefix("\ufeff")) is not None
    )


def to_binary(data: Data, label: str) -> tuple[bytes, list[str]]:
    """Parse text into a serialised RunMetadata or StepStats, with notes on skipped parts.

    Unknown fields are skipped, because old traces have names that were changed later.
    """
    from google.protobuf import text_format

    try:
        text = bytes(data).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise TraceFormatError(Text("text_not_utf8", label=label, byte=error.start)) from None
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
