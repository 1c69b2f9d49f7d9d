"""``%%trace``: its arguments. Packages recording and display do the work."""

import argparse
import contextlib
from collections.abc import Iterator
from typing import Any

from IPython.core.error import UsageError
from IPython.utils.capture import capture_output

from tfvis_nb.core.errors import EmptyTraceError
from tfvis_nb.core.trace import Trace
from tfvis_nb.magics.arguments import MagicParser
from tfvis_nb.magics.results import Results
from tfvis_nb.recording import Recorder, trace
from tfvis_nb.recording.options import FRAMEWORKS, LEVELS, MODES
from tfvis_nb.recording.step_times import StepTimes, put_tracing_cost
from tfvis_nb.recording.user_errors import type_name
from tfvis_nb.run_history.cell import dependencies_of, running_cell
from tfvis_nb.run_history.dependencies import Value
from tfvis_nb.texts import Text, text_of

NAME = "%%trace"

CALIBRATION_RUNS = 4
"""How often a cell runs without tracing; the first run warms up and does not count."""

_RECORDING = (
    *("mode", "level", "framework", "no_partition_graphs", "no_source"),
    *("no_sampling", "python", "shapes", "device_level"),
)
"""Options that affect times in a recording: only runs with the same ones are compared."""


class CellFailed(Exception):  # noqa: N818 - the front end shows this name after the real error
    """Ends a cell whose traced code failed, so that Run All stops there as well.

    IPython has already shown the code's own traceback, so this one is empty.
    """

    def _render_traceback_(self) -> list[str]:
        return []


def _parser() -> MagicParser:
    parser = MagicParser(
        NAME,
        "Run the cell and show every op, kernel, copy and transfer on one time axis: of session runs, eager"
        " code, tf.function, Keras, tf.distribute and JAX.",
    )
    add = parser.add_argument
    add("name", metavar="NAME", nargs="?", help="bind the trace to this variable")
    parser.add_results()
    add(
        "--mode",
        choices=MODES,
        default="auto",
        help="session: session runs alone; profiler: everything by tf.profiler, from start to"
        " end; auto (default): session runs, and tf.profiler starting with the first eager call",
    )
    add(
        "--framework",
        choices=FRAMEWORKS,
        help="record this one alone: %(choices)s (by default those that the cell uses)",
    )
    add("--steps", action="store_true", help="leave out events outside steps")
    add(
        "--level",
        choices=sorted(LEVELS),
        default="full",
        help="level of detail for session runs: %(choices)s (%(default)s)",
    )
    parser.add_profile()
    add("--no-partition-graphs", action="store_true", help="leave out the executed graphs")
    add("--no-source", action="store_true", help="leave out lines of code: the stacks of ops and your code")
    add(
        "--no-sampling",
        action="store_true",
        help="do not sample which line of your code runs, nor note pauses of Python's garbage collector",
    )
    add(
        "--calibrate",
        action="store_true",
        help=f"run the cell {CALIBRATION_RUNS} more times first, untraced, to measure what tracing costs",
    )
    add("--no-history", action="store_true", help="do not keep step times for the cell's next run")
    parser.add_help_option()
    return parser


class TraceMagic:
    """The ``%%trace`` magic of one shell.

    Parameters
    ----------
    shell
        The IPython shell whose cells it runs.
    results
        Handles the trace.
    """

    def __init__(self, shell: Any, results: Results) -> None:
        self.parser = _parser()
        self._shell = shell
        self._results = results
        self._is_kept = True

    def run(self, line: str, cell: str) -> None:
        """Run `cell` with the arguments in `line`."""
        arguments = self.parser.parse(line)
        self.parser.check_name(arguments.name)
        if arguments.help:
            print(self.parser.format_help())  # noqa: T201 - the answer to the user's question
            return
        self._refuse_await(cell)
        try:
            recorder = self._recorder(arguments)
        except ValueError as error:
            raise UsageError(text_of(error)) from None
        measured, recorded = StepTimes(), None
        before = dependencies_of(self._shell, cell)
        try:
            untraced = self._untraced(line, cell) if arguments.calibrate else []
            with (
                recorder as recorded,
                measured if untraced else contextlib.nullcontext(),
            ):
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
            if untraced:
                print(put_tracing_cost(recorded, untraced, measured))  # noqa: T201 - asked for
            self._hand_over(recorded, arguments, cell, before)

    @staticmethod
    def _recorder(arguments: argparse.Namespace) -> Recorder:
        return trace(
            mode=arguments.mode,
            level=arguments.level,
            partition_graphs=not arguments.no_partition_graphs,
            steps=arguments.steps,
            source=not arguments.no_source,
            sampling=not arguments.no_sampling,
            python=arguments.python,
            shapes=arguments.shapes,
            device_level=arguments.device_level,
            framework=arguments.framework,
        )

    def _untraced(self, line: str, cell: str) -> list[StepTimes]:
        """Run the cell without tracing, and without output unless it fails; return its step times."""
        print(Text("calibrating", runs=CALIBRATION_RUNS))  # noqa: T201 - the user would wonder
        runs = [StepTimes() for _ in range(CALIBRATION_RUNS)]
        shown: Any  # IPython has no types
        try:
            for run in runs:
                with capture_output() as shown, run:
                    self._run_cell(line, cell)
        except CellFailed:
            shown.show()
            raise
        return runs[1:]

    def _run_cell(self, line: str, cell: str) -> None:
        # IPython looks for a final semicolon in the outer cell, where it is inside a string.
        silent = self._shell.displayhook.semicolon_at_end_of_expression(cell)
        with self._numbered(self._above(line, cell), "\npass" if silent else ""):
            result = self._shell.run_cell(cell, store_history=False)
        before = result.error_before_exec
        error = result.error_in_exec if before is None else before
        if error is not None:
            raise CellFailed(Text("cell_failed", error=type_name(error))) from error

    def _above(self, line: str, cell: str) -> str:
        """Return the lines above the code in the cell, as Python: the magic's line, and blank lines."""
        magic = f"%%trace {line}".rstrip()
        raw: str = self._shell.history_manager.input_hist_raw[-1]
        above = raw.rstrip().removesuffix(cell.rstrip())
        blank = above.partition(magic)[0] if above.strip() == magic else ""
        return f"{blank}# {magic}\n"

    @contextlib.contextmanager
    def _numbered(self, above: str, below: str) -> Iterator[None]:
        """Give the code the cell's number and the line numbers that the user sees; `below` runs after it.

        IPython counts cells before a magic runs, and lines below the magic's.
        """
        compiler = self._shell.compile
        cache, parse, number = compiler.cache, compiler.ast_parse, self._shell.execution_count - 1

        def parse_cell(code: str, *rest: Any, **options: Any) -> Any:
            del compiler.ast_parse  # code compiled by the cell has its own lines
            return parse("\n" * above.count("\n") + code + below, *rest, **options)

        compiler.cache = lambda cell, _=0, **options: cache(above + cell, number, **options)
        compiler.ast_parse = parse_cell
        try:
            yield
        finally:
            del compiler.cache
            vars(compiler).pop("ast_parse", None)

    def _refuse_await(self, cell: str) -> None:
        try:
            awaits = self._shell.should_run_async(cell, transformed_cell=self._shell.transform_cell(cell))
        except SyntaxError:
            return  # running it shows the location
        if awaits:
            raise UsageError(Text("awaits"))

    def _hand_over(
        self,
        recorded: Trace,
        arguments: argparse.Namespace,
        cell: str = "",
        before: dict[str, Value] | None = None,
    ) -> None:
        """Give the user the trace, and summarize it if it is of a whole `cell`, with what that used."""
        self._results.bind(recorded, arguments.name)
        if before is not None:
            self._remember(recorded, arguments, cell, before)
        self._results.show(recorded, arguments, NAME)

    def _remember(
        self, recorded: Trace, arguments: argparse.Namespace, cell: str, before: dict[str, Value]
    ) -> None:
        """Save a summary of the run, and show how it differs from the last one."""
        from tfvis_nb.run_history.history import remember

        changed = [
            f"{name}={getattr(arguments, name)}"
            for name in _RECORDING
            if getattr(arguments, name) != self.parser.get_default(name)
        ]
        try:
            running = running_cell(self._shell, cell, " ".join(changed), before)
            said = remember(recorded, running, kept=not arguments.no_history)
        except Exception as error:  # noqa: BLE001 - the cell went well, whatever its summary does
            said = [Text("run_not_kept", reason=error)] if self._is_kept else []
            self._is_kept = False
        for text in said:
            if not arguments.quiet or text.id != "run_and_last":
                print(text)  # noqa: T201 - like a cell's own output


def keep_help_runnable(lines: list[str]) -> list[str]:
    """Add a body to a lone ``%%trace --help``, because IPython rejects cell magics without one."""
    words = lines[0].split() if len(lines) == 1 else []
    if words[:1] == ["%%trace"] and {"-h", "--help"} & {*words}:
        return [lines[0].rstrip("\n") + "\n", "\n"]
    return lines


def cell_magic(shell: Any, results: Results) -> Any:
    """Return the function that IPython calls."""
    magic = TraceMagic(shell, results)

    def run(line: str, cell: str) -> None:
        magic.run(line, cell)

    run.__doc__ = magic.parser.format_help()  # what %%trace? shows
    return run
