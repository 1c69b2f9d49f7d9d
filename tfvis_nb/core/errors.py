"""Errors for sources that are not traces or contain no events."""

from typing import Any

from tfvis_nb.texts import text_of


class TraceFormatError(ValueError):
    """The bytes are truncated, corrupt, or of a format that is not a trace.

    The message names the source, the formats that were tried and the first
    offending byte or field.

    Attributes
    ----------
    id
        Identifies the error for programs; the wording of the message may change. Empty for other errors.
    figures
        Values in the message: texts and numbers by name.
    foreign
        Whether the bytes are clearly another format rather than a damaged trace.

    Examples
    --------
    >>> import tfvis_nb
    >>> tfvis_nb.read_trace(b"<!DOCTYPE html>")
    Traceback (most recent call last):
    ...
    tfvis_nb.core.errors.TraceFormatError: 15 bytes: this is an HTML or XML page; read_trace reads ...
    """

    def __init__(self, *args: object, foreign: bool = False) -> None:
        super().__init__(*args)
        self.foreign = foreign

    @property
    def id(self) -> str:
        """Return the id of the message."""
        return text_of(self).id

    @property
    def figures(self) -> dict[str, Any]:
        """Return the values in the message."""
        return text_of(self).figures


class EmptyTraceError(TraceFormatError):
    """The source is well-formed but contains no traced run.

    The message names the option that makes TensorFlow record one.

    Examples
    --------
    >>> import tfvis_nb
    >>> try:
    ...     tfvis_nb.read_trace(b"")
    ... except tfvis_nb.EmptyTraceError as error:
    ...     print("FULL_TRACE" in str(error))
    True
    """
