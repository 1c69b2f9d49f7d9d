"""``tfvis-nb``: the same verbs from a shell. TensorFlow is imported only to run a script and to diagnose."""

from __future__ import annotations

import importlib
import io
import os
import sys
from collections.abc import Sequence

from tfvis_nb.cli.arguments import VERBS, parser_of, top_parser
from tfvis_nb.cli.failures import Failure, UsageError, one_line
from tfvis_nb.unknown_options import near

OK, FAILED, USAGE, BROKEN_PIPE = 0, 1, 2, 141
"""Exit codes. The last is what a shell gives a program that SIGPIPE ended."""

_HOMES = {"open": "pages", "export": "pages", "convert": "pages", "run": "running", "serve": "serving"}
"""The module of a verb, where it is not the verb's own name."""


def main(argv: Sequence[str] | None = None) -> int:
    """Do what a command line asks.

    Parameters
    ----------
    argv
        The arguments; those of the process unless given.

    Returns
    -------
    int
        The exit code: 0 when all went well, 1 when something failed, 2 when the arguments
        are wrong; of ``run``, the script's own.

    Examples
    --------
    >>> from tfvis_nb.cli import main
    >>> main(["--version"])
    tfvis-nb ...
    0
    """
    words = list(sys.argv[1:] if argv is None else argv)
    try:
        code = _dispatched(words)
        if sys.stdout is not None:  # as where the shell has closed it
            sys.stdout.flush()
    except BrokenPipeError:
        _write_no_more()  # whoever read has seen enough
        return BROKEN_PIPE
    except UsageError as error:
        verb = f" {words[0]}" if words[0] in VERBS else ""
        _complain(f"{error}; see tfvis-nb{verb} --help")
        return USAGE
    except Failure as error:
        _complain(str(error))
        return FAILED
    except OSError as error:
        if error.filename is not None:
            raise  # no output's
        _write_no_more()
        _complain(f"the output cannot be written: {(error.strerror or str(error)).lower()}")
        return FAILED
    except KeyboardInterrupt:
        return 130
    return code


def _dispatched(argv: list[str]) -> int:
    if not argv or argv[0] in ("-h", "--help"):
        print(top_parser().format_help(), end="")  # noqa: T201
        return OK if argv else USAGE
    if argv[0] == "--version":
        from importlib.metadata import version

        print(f"tfvis-nb {version('tfvis-nb')}")  # noqa: T201
        return OK
    verb = argv[0]
    if verb not in VERBS:
        what = "option" if verb.startswith("-") else "verb"
        known = ["--help", "--version"] if what == "option" else list(VERBS)
        hint = near(verb, known) or "."
        raise UsageError(f"unknown {what} {verb!r}{hint} The {what}s are {', '.join(known)}")
    if verb != "run" and isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # names of ops are more than some terminals can show
    arguments = parser_of(verb).checked(argv[1:])
    if arguments is None:
        return OK
    module = importlib.import_module(f"tfvis_nb.cli.{_HOMES.get(verb, verb)}")
    code: int = getattr(module, f"{verb}_command" if verb != "convert" else "export_command")(arguments)
    return code


def _write_no_more() -> None:
    """Forget what is not written yet: Python would try again at the end, and complain of it."""
    if sys.stdout is not None:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _complain(message: str) -> None:
    sys.stderr.write(f"tfvis-nb: {one_line(message)}\n")
