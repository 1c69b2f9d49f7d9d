"""The verbs of ``tfvis-nb``, their exit codes, and the decorator of their commands."""

from collections.abc import Callable
from textwrap import indent
from typing import Any

import click

FAILED, USAGE, BROKEN_PIPE, INTERRUPTED = 1, 2, 141, 130
"""Exit codes other than 0. Shells use the last two for programs that SIGPIPE or SIGINT ended."""

VERBS = {
    "open": "show traces in a browser, in a single page that needs no network",
    "export": "write traces as a page, a Chrome trace or a table",
    "convert": "alias of export",
    "info": "summarize traces: steps, devices, busy times, longest ops, transfers",
    "query": "answer a question in SQL about traces or a dataset",
    "mcp": "let assistants read traces, over the Model Context Protocol",
    "ingest": "read many traces into a dataset of Parquet tables",
    "check": "check traces against limits and against a base, for CI",
    "fleet": "show which steps and tasks of a dataset of traces are slow, as a page",
    "serve": "show a job in a browser while it runs, and request traces there",
    "run": "trace a Python script without changing it",
    "capture": "record running TensorFlow processes, also on other machines",
    "doctor": "check the installation and suggest fixes",
    "skill": "print the guide for AI assistants, or copy it to their folder of skills",
    "completion": "write the completion script of a shell",
}
"""Verb to its description. Its command is ``command`` in the module of the same name."""

EXIT_CODES = "Exit codes: 0 done, 1 failed, 2 wrong arguments"
COMPLETE_VARIABLE = "_TFVIS_NB_COMPLETE"


def verb(
    name: str, about: str, examples: str, *, more_codes: str = "", **settings: Any
) -> Callable[[Callable[..., int]], click.Command]:
    r"""Turn a function that returns the exit code into the command of a verb.

    `about` is the help after the first sentence, `more_codes` are exit codes that only this verb has,
    `settings` are other arguments of `click.command`.
    """
    summary = VERBS[name]
    return click.command(
        name,
        help=f"{summary[0].upper()}{summary[1:]}.\n\n{about}",
        epilog=f"\b\nExamples:\n{indent(examples.strip(), '  ')}\n\n{EXIT_CODES}{more_codes}",
        **settings,
    )
