"""What a command could not do, and how that is written on the error output."""

from __future__ import annotations


class UsageError(Exception):
    """The arguments are wrong; the message says which."""


class Failure(Exception):  # noqa: N818 - not a mistake of the program's
    """What was asked could not be done; the message is for the user."""


def one_line(message: str) -> str:
    r"""Make a message, which may name what a trace holds, into one line that no terminal acts on.

    Examples
    --------
    >>> from tfvis_nb.cli.failures import one_line
    >>> one_line("step.pb: a\n  b").encode("ascii", "replace")
    b'step.pb: a b'
    """
    text = " ".join(message.split())
    return "".join(letter if letter.isprintable() else "\ufffd" for letter in text)
