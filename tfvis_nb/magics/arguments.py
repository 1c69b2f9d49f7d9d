"""Shared parts of the magics: parsing of their lines, and options for their results."""

import argparse
import keyword
import shlex
from pathlib import Path
from typing import NoReturn

from IPython.core.error import UsageError

from tfvis_nb.core.options import near
from tfvis_nb.recording.options import DEVICE_LEVELS
from tfvis_nb.texts import Text, text_of
from tfvis_nb.writing.save import SUFFIXES, check_target


class MagicParser(argparse.ArgumentParser):
    """Argument parser of a magic: a mistake shows one line in the cell and never exits."""

    def __init__(self, magic: str, description: str) -> None:
        formats = "; ".join(f"{suffix} {what}" for suffix, what in SUFFIXES.items())
        super().__init__(
            prog=magic,
            description=description,
            epilog=f"The suffix of a file chooses its format: {formats}.",
            add_help=False,
            allow_abbrev=False,
        )

    def add_results(self) -> None:
        """Add the options for the use of the trace."""
        add = self.add_argument
        add(
            "-o",
            "--output",
            metavar="FILE",
            action="append",
            default=[],
            help="write it to a file; repeatable",
        )
        add(
            "--keep",
            action="store_true",
            help="keep the timeline in the notebook's file, even if it is large",
        )
        add(
            "--no-report",
            action="store_true",
            help="do not keep the findings as Markdown in the notebook's file",
        )
        add("-q", "--quiet", action="store_true", help="do not show the timeline")

    def add_profile(self) -> None:
        """Add the options for the content of profiles."""
        add = self.add_argument
        add("--python", action="store_true", help="record Python calls in profiles; slows what is recorded")
        add("--shapes", action="store_true", help="record the shapes of op inputs in profiles")
        add(
            "--device-level",
            type=int,
            choices=DEVICE_LEVELS,
            default=1,
            metavar="N",
            help="what profiles record of accelerators: 0 nothing, 1 kernels and copies (default), 2 more",
        )

    def add_help_option(self) -> None:
        """Add the option that shows the help."""
        self.add_argument("-h", "--help", action="store_true", help="show this text and run nothing")

    def error(self, message: str) -> NoReturn:
        """Show a mistake as one line."""
        raise UsageError(message)

    def parse(self, line: str) -> argparse.Namespace:
        """Parse a line, and check the name of the variable and the files before anything runs."""
        lexer = shlex.shlex(line, posix=True, punctuation_chars=False)
        lexer.whitespace_split, lexer.commenters = True, ""
        lexer.escape = ""  # backslashes separate folders on Windows; quotes keep spaces
        try:
            words = list(lexer)
        except ValueError as error:  # an unclosed quote
            self.error(str(error).lower())
        arguments, unknown = self.parse_known_args(words)
        if unknown:
            options = [name for action in self._actions for name in action.option_strings]
            hint = near(unknown[0], options) or "."
            self.error(Text("unknown_argument", argument=unknown[0], hint=hint, options=", ".join(options)))
        arguments.output = [Path(file).expanduser() for file in arguments.output]
        for path in arguments.output:
            try:
                check_target(path)
            except ValueError as error:
                self.error(text_of(error))
        return arguments

    def check_name(self, name: str | None) -> None:
        """Reject invalid names of variables."""
        if name is not None and (not name.isidentifier() or keyword.iskeyword(name)):
            self.error(Text("no_name", name=name))
