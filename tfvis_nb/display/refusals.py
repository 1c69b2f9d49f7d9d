"""Convert exceptions in answers into a status and one sentence for the user."""

import logging
import sqlite3

from tfvis_nb.core.errors import TraceFormatError
from tfvis_nb.texts import Text, text_of

_log = logging.getLogger("tfvis_nb")


class Refusal(Exception):  # noqa: N818 - an answer, not a mistake of the program's
    """A request that is rejected: `status` as in HTTP, from 400 up, and a `sentence` for the user."""

    def __init__(self, status: int, sentence: str) -> None:
        super().__init__(sentence)
        self.status = status
        self.sentence = sentence


def refusal_of(error: BaseException, request: str) -> Refusal:
    """Return the refusal for an exception; unexpected errors are also logged.

    `error` may be any BaseException: Rust's panics and ``sys.exit`` are not Exceptions, but the user is also
    waiting.
    """
    if isinstance(error, Refusal):
        return error
    if isinstance(error, TraceFormatError):
        return Refusal(422, text_of(error))
    if isinstance(error, UnicodeError):
        pass  # a ValueError, but a bug here
    elif isinstance(error, ValueError):
        return Refusal(400, text_of(error))
    elif isinstance(error, FileNotFoundError):
        return Refusal(404, text_of(error))
    elif isinstance(error, (sqlite3.Error, OSError)):
        return Refusal(503, Text("file_unusable_now", reason=error))
    _log.error(Text("request_failed", request=request), exc_info=error)
    return Refusal(500, Text("failed_here", error=type(error).__name__))
