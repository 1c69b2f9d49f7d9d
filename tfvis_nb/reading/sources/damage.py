"""Messages for unreadable bytes: the position of damage, or an early end."""

from collections.abc import Mapping

from tfvis_nb.reading.protobuf import schema, wire
from tfvis_nb.reading.protobuf.wire import Data
from tfvis_nb.texts import Text, catalogue, text_of

_REPLACED = b"\xef\xbf\xbd"
_MANY = 8
_BRIEF = 300


def ends_early(label: str, what: str, length: int) -> Text:
    """State that a file of `length` bytes is truncated."""
    return Text("ends_early", what=what, byte=length).named(label)


def briefly(error: Exception, label: str) -> str:
    """Explain briefly why a file was not read, for a note that names the file."""
    if isinstance(error, OSError) and error.strerror:
        return error.strerror.lower()
    reason = str(error).removeprefix(f"{label}: ")
    for advice in ("readable_formats", "record_one", "why_cut"):
        reason = reason.partition(catalogue()[advice])[0]
    reason = reason.rstrip("; ")
    return reason if len(reason) <= _BRIEF else f"{reason[:_BRIEF]}..."


def damaged_message(
    data: Data,
    what: str,
    message: str,
    error: Exception,
    messages: Mapping[str, tuple[schema.Field, ...]] = schema.MESSAGES,
) -> Text:
    """Return why and at which byte `data`, read as `what`, is not a protobuf `message`.

    `error` is the decoding error, the reason if nothing else is found.
    """
    damage = wire.find_damage(data, message, messages) or error
    # Some repositories and mail programs treat a binary file as text and replace invalid UTF-8.
    replaced = bytes(data).count(_REPLACED)
    if replaced > _MANY:
        return Text("not_utf8_any_more", what=what, damage=text_of(damage), replaced=replaced)
    if isinstance(damage, wire.DamageError) and damage.cut_off:
        return Text("message_cut_off", what=what, byte=len(data))
    return Text("message_damaged", what=what, damage=text_of(damage))
