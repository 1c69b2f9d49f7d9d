"""``tfvis-nb run``: run a script as Python would, and record its TensorFlow or JAX work."""

from __future__ import annotations

import builtins
import io
import os
import sys
import traceback
import types
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tfvis_nb.cli import INTERRUPTED, verb
from tfvis_nb.cli.errors import Failure, note, unreadable
from tfvis_nb.cli.export import in_options
from tfvis_nb.cli.parameters import FILE, together
from tfvis_nb.recording.imports import Imports, is_imported
from tfvis_nb.recording.options import DEVICE_LEVELS, FRAMEWORKS, LEVELS, MODES, TraceOptions
from tfvis_nb.recording.recorder import Recorder
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
    options |= {"partition_graphs": not no_partition_graphs, "source": not no_source}
    try:
        recorder = Recorder(TraceOptions(**options))
    except ValueError as error:
        raise click.UsageError(text_of(error)) from None
    recording = WhenImported(recorder, FRAMEWORKS if framework is None else (framework,))
    recording.install()
    _call_the_process_python()
    try:
        failure = None
        try:
            status, failure = run_script(script, code, args)
        finally:
            complaint = recording.end(failure)
        if complaint is None and recording.trace is not None:
            complaint = write(recording.trace, outputs)
    except KeyboardInterrupt:
        # The first Ctrl-C ends the script, another one the work after it.
        note(f"{script}: {Text('interrupted_again')}")
        return INTERRUPTED
    if complaint is None:
        return status
    note(f"{script}: {complaint}")
    return status or 1


def _call_the_process_python() -> None:
    """Name the main thread as Python does: profiles use that name for its lane, which comes first."""
    with suppress(OSError):  # not Linux
        Path("/proc/self/comm").write_text("python", encoding="ascii")


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
        return _exit_code(error.code), None
    except KeyboardInterrupt as error:
        _show(error)
        return INTERRUPTED, error
    except BaseException as error:  # noqa: BLE001 - whatever ends a script, its trace is written
        _show(error)
        return 1, error
    return 0, None


def _exit_code(code: object) -> int:
    """Return the exit code of Python for a SystemExit; a text is printed."""
    if code is None:
        return 0
    if isinstance(code, int):
        return code & 0xFF
    sys.stderr.write(f"{code}\n")
    return 1


def _show(error: BaseException) -> None:
    # The first frame belongs to run_script, not to the script.
    shown = error.with_traceback(error.__traceback__.tb_next if error.__traceback__ else None)
    if sys.excepthook is sys.__excepthook__:
        traceback.print_exception(shown)
    else:
        sys.excepthook(type(shown), shown, shown.__traceback__)


class WhenImported:
    """Starts recording once TensorFlow or JAX is imported, so that a script can set their variables first.

    After `end`, ``trace`` is the recording, or None if nothing was recorded.
    """

    def __init__(self, recorder: Recorder, frameworks: Sequence[str]) -> None:
        self.trace: RecordedTrace | None = None
        self._recorder = recorder
        self._imports = Imports(dict.fromkeys(frameworks, self._begin))
        self._stack = ExitStack()
        self._began: RecordedTrace | None = None

    def install(self) -> None:
        """Wait for the import."""
        self._imports.watch()

    def _begin(self) -> None:
        """Start recording, unless another framework imports this one, as TensorFlow imports JAX."""
        if all(is_imported(name) for name in FRAMEWORKS if name in sys.modules):
            self._imports.end()
            self._began = self._stack.enter_context(self._recorder)

    def end(self, failure: BaseException | None) -> str | None:
        """End the recording, given the error of the script; return why there is no trace, or None."""
        from tfvis_nb.core.errors import EmptyTraceError

        self._imports.end()
        if self._began is None:
            return Text("script_without_framework")
        try:
            self._stack.__exit__(type(failure) if failure else None, failure, None)
        except EmptyTraceError as error:
            return text_of(error)
        if not self._began.ready:
            return Text("nothing_recorded", reason=self._began.reason)
        self.trace = self._began
        return None


def write(trace: Trace, outputs: Sequence[Path]) -> str | None:
    """Write a trace to each file; return a text about failures, or None.

    A page too large for a browser is written as a table instead, so that the run is not lost.
    """
    from tfvis_nb.display.pages.page import PageTooLargeError
    from tfvis_nb.writing.save import save

    complaints = []
    for path in outputs:
        try:
            try:
                written = save(trace, path)
            except PageTooLargeError as error:
                written = save(trace, path.with_suffix(".parquet"))
                complaints.append(
                    Text("written_as_table", reason=in_options(text_of(error)), file=written[0])
                )
        except (OSError, ValueError) as error:
            complaints.append(Text("file_unwritable", path=path, reason=error))
            continue
        for file in written:
            # Separate from the output of the script.
            note(Text("files_written", files=os.path.relpath(file)))
    return "; ".join(complaints) or None
