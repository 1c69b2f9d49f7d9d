"""What reading raises, by name, when a source is not a trace or holds no events."""

from __future__ import annotations


class TraceFormatError(ValueError):
    """The bytes are truncated, corrupt, or of a format that is not a trace.

    The message names the source, the formats that were tried and the first
    offending byte or field.

    Attributes
    ----------
    foreign
        Whether the bytes are plainly something else than a trace, and no damaged one.

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


class EmptyTraceError(TraceFormatError):
    """The source is well-formed, but no run was traced into it.

    The message says which option makes TensorFlow record one.

    Examples
    --------
    >>> import tfvis_nb
    >>> try:
    ...     tfvis_nb.read_trace(b"")
    ... except tfvis_nb.EmptyTraceError as error:
    ...     print("FULL_TRACE" in str(error))
    True
    """
