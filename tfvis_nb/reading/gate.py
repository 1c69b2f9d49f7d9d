"""Convert any failure while reading bytes to a `TraceFormatError` that names them."""

from collections.abc import Iterator
from contextlib import contextmanager

from tfvis_nb.core.errors import TraceFormatError
from tfvis_nb.texts import Text

_LONGEST = 200


@contextmanager
def gate(label: str) -> Iterator[None]:
    """Convert any error of a reader or a library to a `TraceFormatError` that names `label`.

    Rust's panics and errors of some libraries are no `Exception`, so everything is caught except requests to
    stop: KeyboardInterrupt, SystemExit, GeneratorExit.
    """
    try:
        yield
    except (TraceFormatError, KeyboardInterrupt, SystemExit, GeneratorExit):
        raise
    except MemoryError:
        raise TraceFormatError(Text("no_memory", label=label)) from None
    except BaseException as error:  # noqa: BLE001 - a panic in Rust is not an Exception
        raise TraceFormatError(Text("unreadable", label=label, reason=_said(error))) from None


def _said(error: BaseException) -> str:
    kind = type(error).__name__
    try:
        message = " ".join(str(error).split())
    except Exception:  # noqa: BLE001 - an error of a library need not have a text
        message = ""
    message = message if len(message) <= _LONGEST else f"{message[:_LONGEST]}..."
    return f"{kind}: {message}" if message else kind
