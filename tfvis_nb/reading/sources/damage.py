"""What is said of bytes that cannot be read: where they are damaged, or that they end too early."""

from __future__ import annotations

from collections.abc import Mapping

from tfvis_nb.reading.protobuf import schema, wire
from tfvis_nb.reading.protobuf.wire import Data
from tfvis_nb.reading.sources.unrecognised import READABLE

_REPLACED = b"\xef\xbf\xbd"
_MANY = 8
_WHY_CUT = ": was it cut off while it was copied or written?"
_BRIEF = 300


def ends_early(what: str, length: int) -> str:
    """Say that a file of `length` bytes is only the first part of one."""
    return f"{what} that ends early, at byte {length}{_WHY_CUT}"


def briefly(error: Exception, label: str) -> str:
    """Say in a few words why a file was not read, for a note that names the file."""
    if isinstance(error, OSError) and error.strerror:
        return error.strerror.lower()
    said = str(error).removeprefix(f"{label}: ").partition(READABLE)[0].partition(_WHY_CUT)[0].rstrip("; ")
    return said if len(said) <= _BRIEF else f"{said[:_BRIEF]}..."


def damaged_message(
    data: Data,
    what: str,
    message: str,
    error: Exception,
    messages: Mapping[str, tuple[schema.Field, ...]] = schema.MESSAGES,
) -> str:
    """Return why and at which byte `data`, read as `what`, is no protobuf message of the type `message`.

    `error` is what decoding raised: the reason where nothing else is found.
    """
    damage = wire.find_damage(data, message, messages) or error
    # Some repositories and mail programs take a binary file for text and replace what is not UTF-8.
    replaced = bytes(data).count(_REPLACED)
    if replaced > _MANY:
        hint = f"it holds {replaced} U+FFFD characters, so a text conversion destroyed it"
        return f"damaged as {what}, {damage}; {hint}; {READABLE}"
    if isinstance(damage, wire.DamageError) and damage.cut_off:
        return f"{ends_early(what, len(data))} {READABLE}"
    return f"damaged as {what}, {damage}; {READABLE}"
