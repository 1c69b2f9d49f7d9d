"""The parser of one verb: argparse, with mistakes that are errors of this program and name what is near."""

from __future__ import annotations

import argparse
import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, NoReturn

from tfvis_nb.cli.failures import UsageError
from tfvis_nb.unknown_options import near

_MAY_BE_NEGATIVE = "--time-range"


class VerbParser(argparse.ArgumentParser):
    """The arguments of one verb; a mistake in them is a `UsageError`, with the near names."""

    def error(self, message: str) -> NoReturn:
        """Raise UsageError, where argparse would exit."""
        raise UsageError(message)

    @property
    def actions(self) -> list[argparse.Action]:
        """What can be given."""
        return list(self._actions)

    def checked(self, words: Sequence[str]) -> argparse.Namespace | None:
        """Return the arguments, or None after showing the help that was asked for."""
        arguments, unknown = self.parse_known_args(_with_negatives(words))
        if arguments.help:
            print(self.format_help(), end="")  # noqa: T201
            return None
        if unknown:
            options = [name for action in self._actions for name in action.option_strings]
            word = unknown[0].partition("=")[0]
            if not word.startswith("-"):
                what = _taken(self._actions)
                self.error(f"unexpected argument {word!r}: {self.prog} takes {what}")
            hint = near(word, options) or "."
            self.error(f"unknown option {word!r}{hint} The options are {', '.join(options)}")
        # Only now: of a misspelt option and of what is missing for it, the former is the reason.
        for name in ("traces", "output", "session", "script", "shell"):
            if name in self._needed and not getattr(arguments, name):
                self.error(f"{self._needed[name]} is missing")
        return arguments

    def format_help(self) -> str:
        """Return the help, in which what has to be given stands so."""
        # To argparse nothing has to be: see `checked`.
        usual = [(action, action.nargs, action.required) for action in self._actions]
        for action, nargs, _ in usual:
            if action.dest in self._needed:
                action.required = True
                action.nargs = {"?": None, "*": "+"}.get(str(nargs), nargs)
        try:
            return super().format_help()
        finally:
            for action, nargs, required in usual:
                action.nargs, action.required = nargs, required

    _needed: Mapping[str, str] = MappingProxyType({})


def _with_negatives(words: Sequence[str]) -> list[str]:
    """Write ``--time-range -1ms:1ms`` with ``=``: what begins with a dash is an option to argparse."""
    out: list[str] = []
    for word in words:
        if out and out[-1] == _MAY_BE_NEGATIVE and re.match(r"-[\d:]", word):
            out[-1] += f"={word}"
        else:
            out.append(word)
    return out


def _taken(actions: Sequence[argparse.Action]) -> str:
    names = [str(action.metavar) for action in actions if not action.option_strings]
    return f"{' and '.join(names)} alone" if names else "options alone"


class Once(argparse.Action):
    """An option that can be given once: of two files one would not be written."""

    def __call__(
        self, parser: argparse.ArgumentParser, namespace: Any, values: Any, option: Any = None
    ) -> None:
        """Take the value, or refuse the second."""
        if getattr(namespace, self.dest) is not None:
            parser.error(f"{option} is given twice; write each file by a call of its own")
        setattr(namespace, self.dest, values)
