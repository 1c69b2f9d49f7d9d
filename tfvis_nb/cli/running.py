"""``tfvis-nb run``: a script as Python itself would run it, with what TensorFlow does in it recorded."""

from __future__ import annotations

import argparse
import builtins
import importlib.abc
import importlib.machinery
import importlib.util
import io
import os
import sys
import traceback
import types
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tfvis_nb.cli.failures import Failure, UsageError, one_line
from tfvis_nb.cli.pages import in_options

if TYPE_CHECKING:
    from tfvis_nb.recording import RecordedTrace, Recorder

NO_TENSORFLOW = "the script imported no TensorFlow, so there is nothing to trace"


def run_command(arguments: argparse.Namespace) -> int:
    """Run a script and write its trace; return its exit code, or 1 where that is 0 but the trace failed."""
    from tfvis_nb.recording.options import TraceOptions
    from tfvis_nb.recording.recorder import Recorder
    from tfvis_nb.saving import check_target

    script = Path(arguments.script).expanduser()
    # Before the script runs, and absolute: it may change the folder.
    outputs = [
        Path(file).expanduser().absolute() for file in arguments.output or [f"{script.stem}.trace.html"]
    ]
    for path in outputs:
        try:
            check_target(path)
        except ValueError as error:
            raise UsageError(str(error)) from None
    code = compiled(script)
    options = TraceOptions(
        mode=arguments.mode,
        level=arguments.level,
        partition_graphs=not arguments.no_partition_graphs,
        steps=arguments.steps,
    )
    recording = WhenImported(Recorder(options))
    recording.install()
    try:
        status = run_script(script, code, arguments.args)
    finally:
        complaint = recording.end()
    if complaint is None and recording.trace is not None:
        complaint = write(recording.trace, outputs)
    if complaint is None:
        return status
    sys.stderr.write(f"tfvis-nb: {one_line(f'{script}: {complaint}')}\n")
    return status or 1


def compiled(script: Path) -> types.CodeType:
    """Compile a script.

    Raises
    ------
    Failure
        If it cannot be read or is no Python.
    """
    try:
        with io.open_code(str(script.absolute())) as file:
            return compile(file.read(), str(script.absolute()), "exec", dont_inherit=True)
    except FileNotFoundError:
        raise Failure(f"{script}: there is no such script; check the path") from None
    except OSError as error:
        raise Failure(f"{script}: cannot be read: {(error.strerror or str(error)).lower()}") from None
    except (SyntaxError, ValueError) as error:
        where = f", line {error.lineno}" if isinstance(error, SyntaxError) and error.lineno else ""
        what = error.msg if isinstance(error, SyntaxError) else str(error)
        raise Failure(f"{script}{where}: is no Python that {sys.version.split()[0]} reads: {what}") from None


def run_script(script: Path, code: types.CodeType, arguments: Sequence[str]) -> int:
    """Run a script as ``__main__`` and return its exit code; its error is shown as Python shows it."""
    main = types.ModuleType("__main__")
    main.__file__ = str(script.absolute())
    vars(main)["__builtins__"] = builtins
    # Left in place: functions that the script hands to atexit run later.
    sys.modules["__main__"] = main
    sys.argv[:] = [str(script), *arguments]
    folder = str(script.absolute().parent)
    if sys.path and not sys.flags.safe_path:
        sys.path[0] = folder  # where Python put the folder of this command, or of python -m
    try:
        exec(code, vars(main))  # noqa: S102 - what was asked for
    except SystemExit as error:
        return _exit_code(error.code)
    except KeyboardInterrupt as error:
        _show(error)
        return 130
    except BaseException as error:  # noqa: BLE001 - whatever ends a script, its trace is written
        _show(error)
        return 1
    return 0


def _exit_code(code: object) -> int:
    """Return the code with which Python ends for a SystemExit; a text is shown."""
    if code is None:
        return 0
    if isinstance(code, int):
        return code & 0xFF
    sys.stderr.write(f"{code}\n")
    return 1


def _show(error: BaseException) -> None:
    # The first frame is run_script's, which the script knows nothing of.
    shown = error.with_traceback(error.__traceback__.tb_next if error.__traceback__ else None)
    if sys.excepthook is sys.__excepthook__:
        traceback.print_exception(shown)
    else:
        sys.excepthook(type(shown), shown, shown.__traceback__)


class WhenImported(importlib.abc.MetaPathFinder):
    """Begins a recording when TensorFlow has been imported: a script may set its variables before.

    Parameters
    ----------
    recorder
        What to begin.

    Attributes
    ----------
    trace
        What was recorded, once `end` was called; None when that is nothing.
    """

    def __init__(self, recorder: Recorder) -> None:
        self.trace: RecordedTrace | None = None
        self._recorder = recorder
        self._stack = ExitStack()
        self._began: RecordedTrace | None = None

    def install(self) -> None:
        """Watch for the import of TensorFlow."""
        sys.meta_path.insert(0, self)

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None,  # noqa: ARG002 - the interface's
        target: types.ModuleType | None = None,  # noqa: ARG002
    ) -> importlib.machinery.ModuleSpec | None:
        """Find TensorFlow as the other finders do, with a loader that begins the recording behind it."""
        if fullname != "tensorflow" or self not in sys.meta_path:
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(fullname)
        if spec is not None and spec.loader is not None:
            loader: Any = spec.loader
            execute = loader.exec_module

            def executed(module: types.ModuleType) -> None:
                execute(module)
                self._began = self._stack.enter_context(self._recorder)

            loader.exec_module = executed
        return spec

    def end(self) -> str | None:
        """End the recording; return why there is no trace, or None."""
        from tfvis_nb.reading.errors import EmptyTraceError

        if self in sys.meta_path:
            sys.meta_path.remove(self)
        if self._began is None:
            return NO_TENSORFLOW
        try:
            self._stack.close()
        except EmptyTraceError as error:
            return str(error)
        self.trace = self._began
        return None


def write(trace: RecordedTrace, outputs: Sequence[Path]) -> str | None:
    """Write a trace to each file; return what could not be written, or None.

    A page that would be too large for a browser is written as a table instead: the run is not lost.
    """
    from tfvis_nb.display.page import PageTooLargeError
    from tfvis_nb.saving import save

    complaints = []
    for path in outputs:
        try:
            try:
                written = save(trace, path)
            except PageTooLargeError as error:
                written = save(trace, path.with_suffix(".parquet"))
                complaints.append(f"{in_options(str(error))}, with tfvis-nb export {written[0]}")
        except (OSError, ValueError) as error:
            complaints.append(f"cannot write {path}: {error}")
            continue
        for file in written:
            # Not among what the script itself writes.
            sys.stderr.write(f"tfvis-nb: wrote {os.path.relpath(file)}\n")
    return "; ".join(complaints) or None
