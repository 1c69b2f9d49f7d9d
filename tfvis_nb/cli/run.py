"""``tfvis-nb run``: run a script as Python would, and record its TensorFlow or JAX work."""

from __future__ import annotations

import atexit
import builtins
import io
import os
import sys
import threading
import types
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tfvis_nb.cli.errors import Failure, note, unreadable
from tfvis_nb.cli.export import in_options
from tfvis_nb.cli.parameters import FILE, together
from tfvis_nb.cli.verb import INTERRUPTED, verb
from tfvis_nb.core.errors import EmptyTraceError
from tfvis_nb.recording.imports import Imports, is_imported
from tfvis_nb.recording.options import DEVICE_LEVELS, FRAMEWORKS, LEVELS, MODES, TraceOptions
from tfvis_nb.recording.recorder import Recorder
from tfvis_nb.recording.sigterm import finish_at_sigterm, no_longer
from tfvis_nb.recording.thread_frames import pools_allowed
from tfvis_nb.texts import Text, text_of
from tfvis_nb.writing.save import SUFFIXES, check_target

if TYPE_CHECKING:
    from tfvis_nb.core.trace import Trace
    from tfvis_nb.recording import RecordedTrace

_ABOUT = """
All arguments after SCRIPT are the script's own. The exit code is the script's; it is 1 if that is 0 but the
trace cannot be written.
"""

_EXAMPLES = """
tfvis-nb run train.py --epochs 1
tfvis-nb run -o step.html -o step.parquet --mode session train.py
"""


PROFILED = together(
    click.option("--python", is_flag=True, help="Record Python calls in profiles; slows the program."),
    click.option("--shapes", is_flag=True, help="Record the shapes of op inputs in profiles."),
    click.option(
        "--device-level",
        type=click.Choice([str(level) for level in DEVICE_LEVELS]),
        callback=lambda _context, _option, level: int(level),
        default="1",
        show_default=True,
        help="What profiles record of accelerators: nothing, kernels and copies, or more.",
    ),
)


@verb("run", _ABOUT, _EXAMPLES, context_settings={"allow_interspersed_args": False})
@click.option(
    "-o",
    "--output",
    "files",
    metavar="FILE",
    type=FILE,
    multiple=True,
    help=f"Write the trace there, by suffix: {', '.join(SUFFIXES)}; repeatable."
    "  [default: SCRIPT.trace.html in this folder]",
)
@click.option("--mode", type=click.Choice(MODES), default="auto", show_default=True, help="As for %%trace.")
@click.option(
    "--level",
    type=click.Choice(sorted(LEVELS)),
    default="full",
    show_default=True,
    help="Level of detail for session runs.",
)
@click.option(
    "--framework",
    type=click.Choice(FRAMEWORKS),
    help="Record this one alone.  [default: those that the script imports]",
)
@click.option("--steps", is_flag=True, help="Leave out events outside steps.")
@PROFILED
@click.option("--no-source", is_flag=True, help="Leave out your code: file names, lines and stacks.")
@click.option("--no-sampling", is_flag=True, help="Do not sample which line of your code runs.")
@click.option("--no-partition-graphs", is_flag=True, help="Leave out the executed graphs.")
@click.argument("script", type=FILE)
@click.argument("args", metavar="[ARG]...", nargs=-1, type=click.UNPROCESSED)
def command(
    script: Path,
    args: Sequence[str],
    files: Sequence[Path],
    *,
    no_partition_graphs: bool,
    no_source: bool,
    no_sampling: bool,
    **options: Any,
) -> int:
    """Run a script and write its trace; return its exit code, or 1 if that is 0 but the trace failed."""
    # Before the script runs, and absolute: the script may change the working folder.
    outputs = [file.absolute() for file in files or [Path(f"{script.stem}.trace.html")]]
    for path in outputs:
        try:
            check_target(path)
        except ValueError as error:
            raise click.UsageError(text_of(error)) from None
    code = compiled(script)
    framework = options["framework"]
    kept = {"partition_graphs": no_partition_graphs, "source": no_source, "sampling": no_sampling}
    options |= {name: not left_out for name, left_out in kept.items()}
    try:
        recorder = Recorder(TraceOptions(**options), encloses=True)
    except ValueError as error:
        raise click.UsageError(text_of(error)) from None
    process = os.getpid()
    traced = ScriptTrace(script, outputs, recorder, FRAMEWORKS if framework is None else (framework,))
    traced.begin()
    try:
        status, failure = run_script(script, code, args)
        if os.getpid() != process:
            return status  # forked by the script; the trace belongs to the parent
        wait_for_threads()
        traced.end(failure)
        # What the script does at exit comes first.
        atexit._run_exitfuncs()  # noqa: SLF001 - as multiprocessing does
        complete = traced.write()
    except KeyboardInterrupt:
        # The first Ctrl-C ends the script, another one the work after it.
        note(f"{script}: {Text('interrupted_again')}")
        return INTERRUPTED
    finally:
        traced.close()
    return status if complete else status or 1


def compiled(script: Path) -> types.CodeType:
    """Compile a script."""
    try:
        with io.open_code(str(script.absolute())) as file:
            return compile(file.read(), str(script.absolute()), "exec", dont_inherit=True)
    except FileNotFoundError:
        raise Failure(Text("no_such_script", script=script)) from None
    except OSError as error:
        raise unreadable(script, error) from None
    except (SyntaxError, ValueError) as error:
        where = f", line {error.lineno}" if isinstance(error, SyntaxError) and error.lineno else ""
        what = error.msg if isinstance(error, SyntaxError) else str(error)
        raise Failure(
            Text("no_python", script=script, where=where, version=sys.version.split()[0], reason=what)
        ) from None


def run_script(
    script: Path, code: types.CodeType, arguments: Sequence[str]
) -> tuple[int, BaseException | None]:
    """Run a script as ``__main__``; return its exit code and its error, which is shown as Python shows it."""
    main = types.ModuleType("__main__")
    main.__file__ = str(script.absolute())
    vars(main)["__builtins__"] = builtins
    # Left in place, because functions that the script registers with atexit run later.
    sys.modules["__main__"] = main
    sys.argv[:] = [str(script), *arguments]
    folder = str(script.absolute().parent)
    if sys.path and not sys.flags.safe_path:
        sys.path[0] = folder  # where Python put the folder of this command or of python -m
    try:
        exec(code, vars(main))  # noqa: S102 - what was asked for
    except SystemExit as error:
        return _exit_code(error), None
    except BaseException as error:  # noqa: BLE001 - whatever ends a script, its trace is written
        return _shown(error), error
    return 0, None


def _exit_code(error: SystemExit) -> int:
    """Return the exit code of Python for a SystemExit; a text is printed."""
    code: Any = error.code
    if code is None:
        return 0
    if issubclass(type(code), int):  # asking for its class may run its code
        number = int.__int__(code)
        return number & 0xFF if abs(number) <= sys.maxsize else 0xFF
    with suppress(BaseException):  # the text of any object, on any stream
        sys.stderr.write(f"{code}")
    _print("")
    return 1


def _shown(error: BaseException) -> int:
    """Show the error of a script as Python does; return the exit code."""
    # The first frame belongs to run_script, not to the script.
    first = error.__traceback__
    shown = BaseException.with_traceback(error, first.tb_next if first else None)
    sys.last_type, sys.last_value, sys.last_traceback = type(shown), shown, shown.__traceback__
    try:
        sys.excepthook(type(shown), shown, shown.__traceback__)
    except SystemExit as end:
        return _exit_code(end)
    except BaseException as other:  # noqa: BLE001 - a hook of the script
        _print("Error in sys.excepthook:")
        sys.__excepthook__(type(other), other, other.__traceback__)
        _print("\nOriginal exception was:")
        sys.__excepthook__(type(shown), shown, shown.__traceback__)
    return INTERRUPTED if issubclass(type(error), KeyboardInterrupt) else 1


def _print(line: str) -> None:
    with suppress(Exception):
        sys.stderr.write(f"{line}\n")


def wait_for_threads() -> None:
    """Wait for the threads that Python waits for when a script ends, and for the work of pools."""
    try:
        threading._shutdown()  # type: ignore[attr-defined] # noqa: SLF001 - as multiprocessing does
    except KeyboardInterrupt as error:
        _print(f"Exception ignored in: {threading!r}")  # Python's words
        sys.__excepthook__(type(error), error, error.__traceback__)


class ScriptTrace:
    """The trace of a script, and the files it is written to.

    Recording starts once TensorFlow or JAX is imported, so that the script can set their variables first. If
    SIGTERM ends the process, the trace is written before.
    """

    def __init__(
        self, script: Path, outputs: Sequence[Path], recorder: Recorder, frameworks: Sequence[str]
    ) -> None:
        self._script = script
        self._outputs = outputs
        self._recorder = recorder
        self._imports = Imports(dict.fromkeys(frameworks, self._imported))
        self._process = os.getpid()
        self._trace: RecordedTrace | None = None
        self._complaint: str | None = None
        # SIGTERM ends the script in a thread of its own.
        self._writing = threading.Lock()
        self._complete: bool | None = None

    def begin(self) -> None:
        """Wait for the import."""
        finish_at_sigterm(self._finish)
        self._imports.watch()

    def _imported(self) -> None:
        """Start recording, unless another framework imports this one, as TensorFlow imports JAX."""
        if os.getpid() == self._process and all(
            is_imported(name) for name in FRAMEWORKS if name in sys.modules
        ):
            self._imports.end()
            self._trace = self._recorder.__enter__()

    def end(self, failure: BaseException | None) -> None:
        """End the recording, given the error of the script."""
        self._end(
            lambda: self._recorder.__exit__(type(failure) if failure is not None else None, failure, None)
        )

    def _end(self, end: Callable[[], None]) -> None:
        self._imports.end()
        if self._trace is None:
            self._complaint = Text("script_without_framework")
            return
        try:
            end()
        except EmptyTraceError as error:
            self._complaint = text_of(error)

    def write(self) -> bool:
        """Write the files, and report them; return whether everything was written."""
        with self._writing, pools_allowed():
            if self._complete is None:
                complaint = self._complaint
                if self._trace is not None and self._trace.ready:
                    complaint = write(self._trace, self._outputs)
                elif self._trace is not None:
                    complaint = complaint or Text("nothing_recorded", reason=self._trace.reason)
                if complaint is not None:
                    note(f"{self._script}: {complaint}")
                self._complete = complaint is None
            return self._complete

    def _finish(self) -> None:
        self._end(self._recorder.end_at_sigterm)
        self.write()

    def close(self) -> None:
        """Leave SIGTERM to the script again."""
        no_longer(self._finish)


def write(trace: Trace, outputs: Sequence[Path]) -> str | None:
    """Write a trace to each file; return a text about failures, or None.

    A page too large for a browser is written as a table instead, so that the run is not lost.
    """
    from tfvis_nb.display.pages.page import PageTooLargeError
    from tfvis_nb.writing.save import check_free, save

    complaints = []
    for path in outputs:
        try:
            try:
                written = save(trace, path)
            except PageTooLargeError as error:
                table = path.with_suffix(".parquet")
                check_free([table])
                written = save(trace, table)
                complaints.append(
                    Text("written_as_table", reason=in_options(text_of(error)), file=written[0])
                )
        except (OSError, ValueError) as error:
            complaints.append(Text("file_unwritable", path=path, reason=error))
            continue
        for file in written:
            # Separate from the output of the script, and after it.
            with suppress(Exception):
                sys.stdout.flush()
            note(Text("files_written", files=os.path.relpath(file)))
    return "; ".join(complaints) or None
