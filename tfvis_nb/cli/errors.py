"""Why a command failed, and how that is written on the error output."""

import sys

import click


class Failure(click.ClickException):
    """The command failed; the message is for the user. Wrong arguments are a `click.UsageError`."""


def one_line(message: str) -> str:
    r"""Make a message, which may name what a trace holds, into one line that no terminal acts on."""
    text = " ".join(message.split())
    return "".join(letter if letter.isprintable() else "\ufffd" for letter in text)


def note(message: str) -> None:
    """Write one line on the error output, under the name of the program."""
    sys.stderr.write(f"tfvis-nb: {one_line(message)}\n")
    sys.stderr.flush()
