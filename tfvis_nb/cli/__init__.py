"""``tfvis-nb``: the verbs of the shell. TensorFlow is imported only to run a script or to diagnose."""

import importlib
import io
import os
import sys
from collections.abc import Sequence

import click
from click.shell_completion import CompletionItem, shell_complete

from tfvis_nb.cli.errors import Failure, note, unexpected
from tfvis_nb.cli.verb import BROKEN_PIPE, COMPLETE_VARIABLE, EXIT_CODES, FAILED, INTERRUPTED, USAGE, VERBS
from tfvis_nb.core.options import near
from tfvis_nb.texts import Text

_ALIASES = {"convert": "export"}


class _Verbs(click.Group):
    """Imports the module of a verb only to run it, so that listing and completing verbs stay fast."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's interface
        return list(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name in VERBS:
            module = importlib.import_module(f"tfvis_nb.cli.{_ALIASES.get(cmd_name, cmd_name)}")
            command: click.Command = module.command
            return command
        if not ctx.resilient_parsing:
            hint = near(cmd_name, VERBS) or "."
            ctx.fail(Text("unknown_verb", verb=cmd_name, hint=hint, verbs=", ".join(VERBS)))
        return None  # a shell asks for completions

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        with formatter.section("Verbs"):
            formatter.write_dl(list(VERBS.items()))

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        verbs = [
            CompletionItem(name, help=what) for name, what in VERBS.items() if name.startswith(incomplete)
        ]
        return [*verbs, *click.Command.shell_complete(self, ctx, incomplete)]


@click.group(
    "tfvis-nb",
    cls=_Verbs,
    subcommand_metavar="VERB ...",
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog=f"\b\ntfvis-nb VERB --help lists the options of a verb.\n{EXIT_CODES}",
)
@click.version_option(package_name="tfvis-nb", message="%(prog)s %(version)s")
def group() -> None:
    """See every op, kernel, copy and network transfer of a TensorFlow step."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command line, by default that of the process, and return the exit code.

    0 for success, 1 for a failure, 2 for wrong arguments; ``run`` returns the exit code of the script.
    """
    arguments = list(sys.argv[1:] if argv is None else argv)
    try:
        code = _run(arguments)
        # The output of a script belongs to Python. A shell may have closed it.
        if sys.stdout is not None and arguments[:1] != ["run"]:
            sys.stdout.flush()
    except BrokenPipeError:
        _write_no_more()  # the reader closed the pipe
        return BROKEN_PIPE
    except click.UsageError as error:
        verb_name = f" {arguments[0]}" if arguments[0] in VERBS else ""
        note(Text("see_help", reason=error.format_message().removesuffix("."), verb=verb_name))
        return USAGE
    except Failure as error:
        note(error.message)
        return FAILED
    except KeyboardInterrupt:
        return INTERRUPTED
    except Exception as error:
        if isinstance(error, OSError) and error.filename is None:
            _write_no_more()
            note(Text("output_unwritable", reason=(error.strerror or str(error)).lower()))
            return FAILED
        if sys.flags.dev_mode:
            raise
        note(unexpected(error))
        return FAILED
    return code


def _run(arguments: list[str]) -> int:
    if instruction := os.environ.get(COMPLETE_VARIABLE):
        return shell_complete(group, {}, "tfvis-nb", COMPLETE_VARIABLE, instruction)
    if arguments[:1] != ["run"] and isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # terminals may lack characters in names of ops
    try:
        # Not `group.main`, which has its own exit codes for Ctrl-C and closed pipes.
        with group.make_context("tfvis-nb", [*arguments] or ["--help"]) as context:
            code: int = group.invoke(context)
            return code
    except click.exceptions.Exit as end:  # after showing the help or the version
        return end.exit_code if arguments else USAGE


def _write_no_more() -> None:
    """Discard unwritten output: Python would try again to write it at exit, and report an error."""
    if sys.stdout is not None:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
