"""``%%trace``: its arguments. The work is recording's and display's."""

import argparse
import contextlib
import keyword
import shlex
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn

from IPython.core.error import UsageError
from IPython.core.magic import no_var_expand
from IPython.display import display

from tfvis_nb.core.errors import EmptyTraceError
from tfvis_nb.core.options import near
from tfvis_nb.core.trace import Trace
from tfvis_nb.recording import trace
from tfvis_nb.recording.options import DEVICE_LEVELS, LEVELS, MODES
from tfvis_nb.texts import Text, text_of
from tfvis_nb.writing.save import SUFFIXES, check_target, save


class CellFailed(Exception):  # noqa: N818 - the front end shows this name after the real error
    """Ends a cell whose traced code failed, so that Run All stops there as well.

    IPython has already shown the code's own traceback, so this one is empty.
    """

    def _render_traceback_(self) -> list[str]:
        return []


class _Parser(argparse.ArgumentParser):
    """Arguments of a magic: a mistake in them is one line in the cell, never an exit."""

    def error(self, message: str) -> NoReturn:
        raise UsageError(message)

    def parse(self, line: str) -> argparse.Namespace:
        lexer = shlex.shlex(line, posix=True, punctuation_chars=False)
        lexer.whitespace_split, lexer.commenters = True, ""
        lexer.escape = ""  # a backslash divides folders on Windows; quotes keep blanks together
        try:
            words = list(lexer)
        except ValueError as error:  # an open quote
            self.error(str(error).lower())
        arguments, unknown = self.parse_known_args(words)
        if unknown:
            options = [name for action in self._actions for name in action.option_strings]
            hint = near(unknown[0], options) or "."
            self.error(Text("unknown_argument", argument=unknown[0], hint=hint, options=", ".join(options)))
        return arguments


def _parser() -> _Parser:
    parser = _Parser(
        prog="%%trace",
        description="Run the cell and show every op, kernel, copy and transfer on one time axis: of"
        " session runs, eager code, tf.function, Keras and tf.distribute.",
        epilog="The suffix of a file chooses its format: "
        + "; ".join(f"{suffix} {what}" for suffix, what in SUFFIXES.items())
        + ".",
        add_help=False,
        allow_abbrev=False,
    )
    add = parser.add_argument
    add("name", metavar="NAME", nargs="?", help="bind the trace to this variable")
    add("-o", "--output", metavar="FILE", action="append", default=[], help="write it to a file; repeatable")
    add("--keep", action="store_true", help="keep the timeline in the notebook's file, even if it is large")
    add("-q", "--quiet", action="store_true", help="do not show the timeline")
    add(
        "--mode",
        choices=MODES,
        default="auto",
        help="session: session runs alone; profiler: everything by tf.profiler, from start to"
        " end; auto (default): session runs, and tf.profiler starting with the first eager call",
    )
    add("--steps", action="store_true", help="leave out events outside steps")
    add(
        "--level",
        choices=sorted(LEVELS),
        default="full",
        help="level of detail for session runs: %(choices)s (%(default)s)",
    )
    add("--python", action="store_true", help="record Python calls in profiles; slows the cell")
    add("--shapes", action="store_true", help="record the shapes of op inputs in profiles")
    add(
        "--device-level",
        type=int,
        choices=DEVICE_LEVELS,
        default=1,
        metavar="N",
        help="what profiles record of accelerators: 0 nothing, 1 kernels and copies (default), 2 more",
    )
    add("--no-partition-graphs", action="store_true", help="leave out the executed graphs")
    add("--no-source", action="store_true", help="leave out lines of code: the stacks of ops and your code")
    add("-h", "--help", action="store_true", help="show this text and run nothing")
    return parser


class TraceMagic:
    """The ``%%trace`` magic of one shell.

    Parameters
    ----------
    shell
        The IPython shell whose cells it runs.
    """

    def __init__(self, shell: Any) -> None:
        self.parser = _parser()
        self._shell = shell
        self._shown: dict[str, weakref.ref[Any]] = {}

    def run(self, line: str, cell: str) -> None:
        """Run `cell` with the arguments in `line`."""
        arguments = self._parse_line(line)
        if arguments.help:
            print(self.parser.format_help())  # noqa: T201 - the answer to the user's question
            return
        self._refuse_await(cell)
        recorded = None
        try:
            with trace(
                mode=arguments.mode,
                level=arguments.level,
                partition_graphs=not arguments.no_partition_graphs,
                steps=arguments.steps,
                source=not arguments.no_source,
                python=arguments.python,
                shapes=arguments.shapes,
                device_level=arguments.device_level,
            ) as recorded:
                self._run_cell(line, cell)
        except EmptyTraceError as error:
            unbound = f"; {Text('variable_not_set', name=arguments.name)}" if arguments.name else ""
            print(f"%%trace: {error}{unbound}")  # noqa: T201 - the cell itself went well
        except ImportError as error:
            raise UsageError(text_of(error)) from None
        except BaseException:
            if recorded is not None and recorded.ready:
                self._hand_over(recorded, arguments)
            raise
        else:
            self._hand_over(recorded, arguments)

    def _run_cell(self, line: str, cell: str) -> None:
        # IPython looks for a semicolon at the end in the outer cell, where it is inside a string.
        silent = self._shell.displayhook.semicolon_at_end_of_expression(cell)
        with self._numbered(self._above(line, cell), "\npass" if silent else ""):
            result = self._shell.run_cell(cell, store_history=False)
        error = result.error_before_exec or result.error_in_exec
        if error is not None:
            raise CellFailed(Text("cell_failed", error=type(error).__name__)) from error

    def _above(self, line: str, cell: str) -> str:
        """Return what stands above the code in the cell, as Python: the magic's line, and blank ones."""
        magic = f"%%trace {line}".rstrip()
        raw: str = self._shell.history_manager.input_hist_raw[-1]
        above = raw.rstrip().removesuffix(cell.rstrip())
        blank = above.partition(magic)[0] if above.strip() == magic else ""
        return f"{blank}# {magic}\n"

    @contextlib.contextmanager
    def _numbered(self, above: str, below: str) -> Iterator[None]:
        """Give the code the cell's number and the line numbers that the user sees; `below` is run after it.

        IPython counts cells before a magic runs, and lines below the magic's.
        """
        compiler = self._shell.compile
        cache, parse, number = compiler.cache, compiler.ast_parse, self._shell.execution_count - 1

        def parse_cell(code: str, *rest: Any, **options: Any) -> Any:
            del compiler.ast_parse  # code compiled by the code has its own lines
            return parse("\n" * above.count("\n") + code + below, *rest, **options)

        compiler.cache = lambda cell, _=0, **options: cache(above + cell, number, **options)
        compiler.ast_parse = parse_cell
        try:
            yield
        finally:
            del compiler.cache
            vars(compiler).pop("ast_parse", None)

    def _parse_line(self, line: str) -> argparse.Namespace:
        arguments = self.parser.parse(line)
        name = arguments.name
        if name is not None and (not name.isidentifier() or keyword.iskeyword(name)):
            self.parser.error(Text("no_name", name=name))
        arguments.output = [Path(file).expanduser() for file in arguments.output]
        for path in arguments.output:
            try:
                check_target(path)
            except ValueError as error:
                self.parser.error(text_of(error))
        return arguments

    def _refuse_await(self, cell: str) -> None:
        try:
            awaits = self._shell.should_run_async(cell, transformed_cell=self._shell.transform_cell(cell))
        except SyntaxError:
            return  # running it shows where
        if awaits:
            raise UsageError(Text("awaits"))

    def _hand_over(self, recorded: Trace, arguments: argparse.Namespace) -> None:
        if arguments.name:
            self._shell.push({arguments.name: recorded})
        for path in arguments.output:
            try:
                written = save(recorded, path)
            except (OSError, ValueError) as error:
                # The cell has run: its recording is shown, and the other files are written.
                print(f"%%trace: {_not_written(path, error)}")  # noqa: T201
                continue
            if not arguments.quiet or written != [path]:
                print(Text("files_written", files=", ".join(map(str, written))))  # noqa: T201 - where to look
        if not arguments.quiet:
            self._show(recorded, keep=arguments.keep)

    def _show(self, recorded: Trace, *, keep: bool) -> None:
        from tfvis_nb.display.timeline.widget import show_timeline

        widget = show_timeline(recorded, keep=keep)
        cell = self._cell_id()
        if cell is not None:
            # Run again, the cell loses its old output; the widget in it would live on in the kernel
            # and in the saved notebook.
            previous = self._shown.pop(cell, lambda: None)()
            if previous is not None:
                previous.close()
            self._shown[cell] = weakref.ref(widget)
        publish: Any = display  # which has no types
        publish(widget)

    def _cell_id(self) -> str | None:
        """Return the notebook's id of the cell that runs, or None where a front end sends none."""
        parent = self._shell.get_parent() if hasattr(self._shell, "get_parent") else {}
        cell = (parent.get("metadata") or {}).get("cellId")
        return cell if isinstance(cell, str) else None


def _not_written(path: Path, error: OSError | ValueError) -> str:
    """Describe in one line which file was not written, and why."""
    reason = (error.strerror if isinstance(error, OSError) else None) or " ".join(str(error).split())
    start = f"cannot write {str(path)!r}: "
    return start + reason.removeprefix(start)


def _keep_help_runnable(lines: list[str]) -> list[str]:
    """Give a lone ``%%trace --help`` the body without which IPython refuses a cell magic."""
    words = lines[0].split() if len(lines) == 1 else []
    if words[:1] == ["%%trace"] and {"-h", "--help"} & {*words}:
        return [lines[0].rstrip("\n") + "\n", "\n"]
    return lines


def register(shell: Any) -> None:
    """Add ``%%trace`` to an IPython `shell`."""
    magic = TraceMagic(shell)

    def run(line: str, cell: str) -> None:
        magic.run(line, cell)

    run.__doc__ = magic.parser.format_help()  # what %%trace? shows
    shell.register_magic_function(no_var_expand(run), magic_kind="cell", magic_name="trace")
    shell.input_transformers_cleanup.append(_keep_help_runnable)


def unregister(shell: Any) -> None:
    """Take ``%%trace`` out of an IPython `shell` again."""
    shell.magics_manager.magics["cell"].pop("trace", None)
    if _keep_help_runnable in shell.input_transformers_cleanup:
        shell.input_transformers_cleanup.remove(_keep_help_runnable)
