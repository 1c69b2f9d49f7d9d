"""The gate around answers: whatever an answer raises becomes a status and one sentence for the user."""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Callable
from typing import Any

from tfvis_nb.core.errors import TraceFormatError

_log = logging.getLogger("tfvis_nb")


class Refusal(Exception):  # noqa: N818 - an answer, not a mistake of the program's
    """A request that is not met.

    Parameters
    ----------
    status
        As HTTP has it, from 400 up.
    sentence
        The reason, for the user.
    """

    def __init__(self, status: int, sentence: str) -> None:
        super().__init__(sentence)
        self.status = status
        self.sentence = sentence


def refusal_of(error: BaseException, request: str) -> Refusal:
    """Return the refusal for what an answer raised; what nobody expects goes to the log, too.

    Parameters
    ----------
    error
        Anything: Rust's panics and ``sys.exit`` are no Exceptions, and the user waits all the same.
    request
        A name of the request for the log.

    Examples
    --------
    >>> from tfvis_nb.display.refusals import refusal_of
    >>> refused = refusal_of(ValueError("n is 0; it is a whole number"), "command")
    >>> refused.status, refused.sentence
    (400, 'n is 0; it is a whole number')
    """
    if isinstance(error, Refusal):
        return error
    if isinstance(error, TraceFormatError):
        return Refusal(422, str(error))
    if isinstance(error, UnicodeError):
        pass  # a ValueError, but a mistake here
    elif isinstance(error, ValueError):
        return Refusal(400, str(error))
    elif isinstance(error, FileNotFoundError):
        return Refusal(404, str(error))
    elif isinstance(error, (sqlite3.Error, OSError)):
        return Refusal(503, f"the file cannot be read or written now: {error}")
    _log.error("%s failed", request, exc_info=error)
    return Refusal(500, f"this failed here: {type(error).__name__}; the log says more")


def answer_message(widget: Any, content: dict[str, Any], answer: Callable[[], object]) -> None:
    """Answer a message of the front end; where that fails, with the reason.

    Parameters
    ----------
    widget
        That was asked.
    content
        The message; views of one widget hear each other's answers, and know theirs by its ``id``.
    answer
        Sends the answer.

    Raises
    ------
    KeyboardInterrupt, SystemExit
        After the reason was sent, if that is what `answer` raised.

    Examples
    --------
    >>> from tfvis_nb.display.refusals import answer_message
    >>> class Asked:
    ...     def send(self, content): print(content)
    >>> def answer(): raise ValueError("there is no trace 7")
    >>> answer_message(Asked(), {"kind": "open", "id": "1"}, answer)
    {'kind': 'open', 'id': '1', 'error': 'there is no trace 7'}
    """
    try:
        answer()
    except BaseException as error:
        # The user waits in the browser, where the traceback in the log is not seen.
        kind = content.get("kind")
        sentence = refusal_of(error, f"the message {kind!r}").sentence
        widget.send({"kind": kind, "id": content.get("id"), "error": sentence})
        if isinstance(error, (KeyboardInterrupt, SystemExit)):
            raise
