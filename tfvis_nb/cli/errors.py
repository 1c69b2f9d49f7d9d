"""Failures of commands, and how they are written to the error output."""

import contextlib
import sys
import traceback

import click

from tfvis_nb.texts import Text


class Failure(click.ClickException):
    """The command failed; the message is for the user. Wrong arguments are a `click.UsageError`."""


def unreadable(path: object, error: OSError) -> Failure:
    """Return the failure to read a file."""
    reason = error.strerror or str(error)
    # Messages of the system start with a capital letter.
    reason = reason if isinstance(reason, Text) else reason.lower()
    return Failure(Text("file_unreadable", path=path, reason=reason))


def unexpected(error: Exception) -> Text:
    """Describe an error that nobody has foreseen, with the line of code that raised it."""
    said = "".join(traceback.format_exception_only(error)).strip()
    frame = traceback.extract_tb(error.__traceback__)[-1]
    return Text("unexpected_error", error=said, file=frame.filename, line=frame.lineno or 0)


def one_line(message: str) -> str:
    r"""Turn a message, which may contain names from a trace, into one line that is safe for terminals."""
    text = " ".join(message.split())
    return "".join(letter if letter.isprintable() else "\ufffd" for letter in text)


def note(message: str) -> None:
    """Write one line on the error output, under the name of the program."""
    with contextlib.suppress(Exception):  # scripts may close or replace it
        sys.stderr.write(f"tfvis-nb: {one_line(message)}\n")
        sys.stderr.flush()
