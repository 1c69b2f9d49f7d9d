"""`trace`: the recorder that magics, hooks and scripts all use."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import os
import sys
import threading
import traceback
from collections.abc import Callable, Sequence
from contextlib import ContextDecorator, ExitStack
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any

from tfvis_nb.core.errors import EmptyTraceError
from tfvis_nb.core.metadata import Metadata
from tfvis_nb.core.options import only_known_options
from tfvis_nb.recording.heap_dumps import HeapDumps
from tfvis_nb.recording.imports import Imports
from tfvis_nb.recording.jax.tracer import JaxTracer
from tfvis_nb.recording.machine_samples import MachineSampler
from tfvis_nb.recording.options import FRAMEWORKS, DeviceLevel, Framework, Level, Mode, TraceOptions
from tfvis_nb.recording.out_of_memory import is_out_of_memory, out_of_memory
from tfvis_nb.recording.patches import Replacements
from tfvis_nb.recording.python_rows import PACKAGES
from tfvis_nb.recording.python_samples import PythonSampler
from tfvis_nb.recording.recorded_trace import RecordedTrace
from tfvis_nb.recording.sigterm import finish_at_sigterm, no_longer
from tfvis_nb.recording.tensorflow_tracer import TensorFlowTracer
from tfvis_nb.recording.thread_frames import frames_of_threads, module_of, pools_allowed, unfinished_work
from tfvis_nb.recording.user_errors import add_note, in_a_line
from tfvis_nb.texts import Text
from tfvis_nb.writing.save import check_target, save

_switching = threading.Lock()
_active: Recorder | None = None
_enclosing: Recorder | None = None
"""The recorder of a whole program, which goes on around the blocks of the program."""

_of_parents: list[object] = []
"""What a forked process must not even delete, because its parent is recording with it."""

_latest: RecordedTrace | None = None

SUSPENDABLE = inspect.CO_COROUTINE | inspect.CO_GENERATOR | inspect.CO_ASYNC_GENERATOR
"""Code flags of frames that can leave every stack and still continue later."""
_ABSENT = {"tensorflow": "no_tensorflow", "jax": "no_jax"}


class Recorder(ContextDecorator):
    """Records the work of TensorFlow and JAX in a ``with`` block, or in each call of a decorated function.

    Made by `trace`, which describes it.
    """

    def __init__(self, options: TraceOptions, path: Path | None = None, *, encloses: bool = False) -> None:
        """Prepare a recording; one that `encloses` others goes on around them, with what they recorded."""
        self._options = options
        self._path = path
        self._encloses = encloses
        self._begin()

    def _begin(self) -> None:
        self._tensorflow: TensorFlowTracer | None = None
        self._jax: JaxTracer | None = None
        self._python: PythonSampler | None = None
        self._machine: MachineSampler | None = None
        self._imports = Imports({})
        self._threads, self._dumps = ThreadErrors(), HeapDumps()
        self._trace = RecordedTrace()
        self._owner: FrameType | None = None
        self._earlier_threads: list[threading.Thread] = []
        self._remarks: list[str] = []
        self._suspended = False
        # SIGTERM ends the recording in a thread of its own.
        self._ending = threading.Lock()
        self._ended = False

    def __enter__(self) -> RecordedTrace:
        global _active, _enclosing  # noqa: PLW0603
        frameworks = to_record(self._options.framework)
        with _switching:
            remarks: list[str] = []
            if _active is not None and not self._encloses:
                if _active._is_wanted():  # noqa: SLF001
                    raise RuntimeError(Text("already_tracing"))
                _active._stop()  # noqa: SLF001
                remarks.append(Text("trace_left_open"))
            self._begin()
            self._owner, self._remarks = _caller(), remarks
            self._earlier_threads = threading.enumerate()
            begin = {"tensorflow": self._record_tensorflow, "jax": self._record_jax}
            try:
                if self._encloses:
                    _enclosing, self._suspended = self, _active is not None
                else:
                    _active = self
                    if _enclosing is not None:
                        _enclosing._suspend()
                # Keras may import its backend, and the block may import both.
                wanted = {name: begin[name] for name in frameworks}
                self._imports = Imports(wanted | dict.fromkeys(PACKAGES, self._mark_python))
                self._imports.watch()
                self._threads.install()
                self._dumps.install()
                if self._options.sampling:
                    self._python = PythonSampler(lines=self._options.source)
                    self._machine = MachineSampler()
                    if not self._suspended:
                        self._python.start()
                        self._machine.start()
                if self._path is not None:
                    finish_at_sigterm(self.end_at_sigterm)
            except BaseException:  # an interrupt here would leave TensorFlow patched
                self._stop()
                raise
        return self._trace

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        remarks = unfinished_work(self._earlier_threads)
        if error is None:
            self._end(None, remarks)
            return
        # The user's exception is more useful than ours.
        try:
            self._end(error, remarks)
        except EmptyTraceError:
            pass
        except Exception as failure:  # noqa: BLE001
            add_note(error, failure)

    def end_at_sigterm(self) -> None:
        """End the recording because the process is about to end."""
        self._end(None, [Text("ended_by_sigterm")])

    def _end(self, error: BaseException | None, remarks: Sequence[str]) -> None:
        """End the recording, unless it has ended or belongs to the process that this one was forked from."""
        with self._ending:
            if self._ended:
                return
            self._ended = True
            self._remarks += remarks
            try:
                with _switching:
                    self._stop()
                with pools_allowed():
                    self._fill(error)
            finally:
                self._dumps.close()
                no_longer(self.end_at_sigterm)

    def _fill(self, error: BaseException | None) -> None:
        global _latest  # noqa: PLW0603 - what `tfvis_nb.last_trace` shows
        tensorflow, jax, python, machine = self._tensorflow, self._jax, self._python, self._machine
        self._tensorflow = self._jax = self._python = self._machine = None
        failure, of_thread = self._failures(tensorflow, jax, error)
        if error is not None and not failure:
            self._remarks.append(Text("ended_by_error", error=in_a_line(error)))
        self._trace._fill(  # noqa: SLF001
            tensorflow,
            jax,
            python,
            machine,
            self._options,
            self._remarks,
            failure or of_thread,
            in_thread=bool(of_thread),
        )
        _latest = self._trace
        if self._path is not None:
            save(self._trace, self._path)

    def _record_tensorflow(self) -> None:
        self._tensorflow = TensorFlowTracer(self._options)
        self._tensorflow.watch()
        if not self._suspended:
            self._tensorflow.install()

    def _record_jax(self) -> None:
        if self._options.mode != "session":
            self._jax = JaxTracer(self._options)
            if not self._suspended:
                self._jax.install()

    def _mark_python(self) -> None:
        if self._jax is not None and not self._suspended:
            self._jax.mark_python()

    def _suspend(self) -> None:
        """Leave the profilers to a recording that begins inside this one."""
        self._suspended = True
        for sampler in (self._python, self._machine):
            if sampler is not None:
                sampler.stop()
        for tracer in (self._jax, self._tensorflow):
            if tracer is not None:
                tracer.remove()

    def _resume(self, inner: Recorder) -> None:
        """Go on, with what the recording inside this one has recorded."""
        self._suspended = False
        if inner._options != self._options:
            self._remarks.append(Text("block_with_other_options"))
        if self._tensorflow is not None:
            self._tensorflow.take(inner._tensorflow)
            self._tensorflow.install()
        if self._jax is not None:
            self._jax.take(inner._jax)
            self._jax.install()
        if self._python is not None:
            if inner._python is not None:
                self._python.take(inner._python)
            self._python.start()
        if self._machine is not None:
            if inner._machine is not None:
                self._machine.take(inner._machine)
            self._machine.start()

    def _failures(
        self, tensorflow: TensorFlowTracer | None, jax: JaxTracer | None, error: BaseException | None
    ) -> tuple[Metadata, Metadata]:
        """Return the facts about a failed allocation that ended the block, or else one of its threads."""
        functions: Callable[[], dict[str, Any]] | None = dict if self._options.source else None
        graphs: list[Any] = []
        if tensorflow is not None:
            sources = tensorflow.sources
            functions = None if sources is None else sources.functions.graphs
            graphs = [run.graph for run in tensorflow.sessions.runs]
        elif jax is None:
            return {}, {}
        failure = out_of_memory(error, functions, graphs, self._dumps)
        return failure, {} if failure else out_of_memory(self._threads.error, functions, graphs, self._dumps)

    def _recreate_cm(self) -> Recorder:
        """Give each call of a decorated function, even in other threads, its own recorder."""
        return Recorder(self._options, self._path)

    def _stop(self) -> None:
        global _active, _enclosing  # noqa: PLW0603
        self._owner = None
        resumed = None
        if _enclosing is self:
            if _active is not None:
                _active._stop()  # noqa: SLF001
            _enclosing = None
        elif _active is self:
            _active, resumed = None, _enclosing
        self._imports.end()
        self._threads.remove()
        self._dumps.remove()
        # Each may be interrupted: samplers wait for their threads, JAX's profiler for JAX's work.
        with ExitStack() as ends:
            if resumed is not None:
                ends.callback(resumed._resume, self)  # noqa: SLF001
            if self._machine is not None:
                ends.callback(self._machine.stop)
            if self._tensorflow is not None:
                ends.callback(self._tensorflow.remove)
                ends.callback(self._tensorflow.end)
            if self._jax is not None:
                ends.callback(self._jax.remove)
            if self._python is not None:
                ends.callback(self._python.stop)

    def _leave(self) -> None:
        """Leave the recording to the process that this one was forked from."""
        self._ending, self._ended = threading.Lock(), True
        _of_parents.append((self._jax, self._tensorflow))
        self._imports.end()
        self._threads.remove()
        self._dumps.remove()
        for tracer in (self._python, self._machine, self._jax, self._tensorflow):
            if tracer is not None:
                tracer.leave()
        self._trace._give_up(Text("recorded_by_parent"))  # noqa: SLF001

    def _is_wanted(self) -> bool:
        """Whether the code that started this recording can still end it."""
        if self._owner is None:
            return False
        if self._owner.f_code.co_flags & SUSPENDABLE:
            return True
        return any(self._owner is frame for frame in frames_of_threads())


@only_known_options
def trace(
    path: str | Path | None = None,
    *,
    mode: Mode = "auto",
    level: Level = "full",
    partition_graphs: bool = True,
    steps: bool = False,
    source: bool = True,
    sampling: bool = True,
    python: bool = False,
    shapes: bool = False,
    device_level: DeviceLevel = 1,
    framework: Framework | None = None,
) -> Recorder:
    """Record the work of TensorFlow and JAX in a ``with`` block, in all threads, as a Trace.

    Every run of a ``tf.compat.v1`` session is one step: ``Session.run``, ``Tensor.eval``, ``Operation.run``,
    ``make_callable``, initialisers, savers and ``MonitoredSession``. Options and ``RunMetadata`` that the
    code passes itself keep working. Eager code, ``tf.function``, Keras and ``tf.distribute`` are profiled by
    ``tf.profiler``; steps are then Keras's batches, marks of ``tf.profiler.experimental.Trace``, or the calls
    of functions. A profiler started by the code itself takes precedence, and its result is imported. JAX is
    profiled by its own profiler; its steps are marks of ``jax.profiler.StepTraceAnnotation``, Keras's
    batches, or the calls of jitted functions. The block ends when JAX has finished its queued work. Outside
    the block nothing is changed or slowed down.

    Parameters
    ----------
    path
        A file to write when the block ends, like ``%%trace -o``; its suffix determines the format. ``.pb`` is
        TensorFlow's own message, which the Trace has as ``sources`` or ``profiles``.
    mode
        ``"session"`` records only session runs. ``"profiler"`` profiles from start to end, with session runs
        as rows of the profile. ``"auto"`` traces session runs and starts the profiler before the first eager
        call; from then on the profile has the GPU rows of both.
    level
        Trace level of session runs. ``"full"`` records ops, GPU kernels and copies, and transfers between the
        tasks of a cluster; ``"hardware"`` leaves out the transfers, ``"software"`` records only ops. Without
        a GPU all levels are the same. Sessions of a cluster always use ``"full"``, because they record
        nothing at other levels.
    partition_graphs
        Whether to keep the executed graphs, after placement and optimisation: those of each session run, and
        of functions first called in the block. Also keeps which ops of functions made the inputs of others.
    steps
        Whether to leave out events outside steps.
    source
        Whether to keep the Python stack of each op, and the text of the files and cells of your own code in
        it, as ``stacks`` of the Trace. Also keeps the arguments for which functions were traced again, which
        `tfvis_nb.analysis.retraces` compares.
    sampling
        Whether to sample which line of your code runs in this thread, 50 times a second, for
        `tfvis_nb.Trace.python_lines`, and to note pauses of Python's garbage collector. Samples have files,
        functions and lines, and no values; without `source` there are none. Also whether to sample memory of
        the process and of devices, and with the extra ``nvml`` power, clocks and load of NVIDIA GPUs.
    python
        Whether the profile has a row for each call of a Python function, which slows the program.
    shapes
        Whether the ops of the profile have the shapes of their inputs in ``detail``.
    device_level
        What TensorFlow's profile records of accelerators: 0 nothing, 1 kernels and copies, 2 everything else
        the device tracer offers.
    framework
        ``"tensorflow"`` or ``"jax"`` records only that one, and imports it; None records each one that the
        code has imported or imports in the block. `level`, `partition_graphs` and `shapes` only apply to
        TensorFlow.

    Returns
    -------
    Recorder
        For use in ``with``, which returns the `RecordedTrace`, or as a decorator: ``tfvis_nb.last_trace``
        then is the Trace of the last call.

    Raises
    ------
    ImportError
        At the start of the block, if the framework is not installed, or none is.
    RuntimeError
        At the start of the block, if another one is recording in this process.
    EmptyTraceError
        At the end of the block, if nothing that can be recorded ran in it.
    TypeError
        If there is no such option.
    ValueError
        If there is no such mode, level, device level or framework, if sessions are requested of JAX, which
        has none, or if no file can be written at `path`; at the end of the block, if the recording cannot be
        written in that format.
    OSError
        At the end of the block, if the file cannot be written.

    Examples
    --------
    >>> import tensorflow.compat.v1 as tf
    >>> import tfvis_nb
    >>> with tf.Graph().as_default(), tf.Session() as session:
    ...     total = tf.reduce_sum(tf.random.uniform([100, 100]), name="total")
    ...     with tfvis_nb.trace() as t:
    ...         value = session.run(total)
    >>> t.steps["label"].tolist()
    ['total']
    >>> "total" in set(t.events["name"])
    True
    """
    options = TraceOptions(
        level=level,
        partition_graphs=partition_graphs,
        mode=mode,
        steps=steps,
        source=source,
        sampling=sampling,
        python=python,
        shapes=shapes,
        device_level=device_level,
        framework=framework,
    )
    return Recorder(options, None if path is None else _target(path))


def latest() -> RecordedTrace | None:
    """Return the last recording in this process; ``tfvis_nb.last_trace`` is this."""
    return _latest


def _target(path: str | Path) -> Path:
    """Return the path to write to, relative to the current folder now; ValueError if it is invalid."""
    target = Path(path).expanduser().absolute()
    check_target(target)
    return target


def _caller() -> FrameType:
    """Return the frame whose ``with`` statement is being entered."""
    inside = (__name__, "contextlib")
    stack = traceback.walk_stack(sys._getframe())  # noqa: SLF001
    return next(frame for frame, _ in stack if module_of(frame) not in inside)


def _forked() -> None:
    """Let a child process record for itself."""
    global _switching, _active, _enclosing  # noqa: PLW0603
    _switching = threading.Lock()
    for recorder in (_active, _enclosing):
        if recorder is not None:
            recorder._leave()  # noqa: SLF001
    _active = _enclosing = None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)


class ThreadErrors:
    """The first out-of-memory error that ended a thread."""

    def __init__(self) -> None:
        self.error: BaseException | None = None
        self._replacements = Replacements()

    def install(self) -> None:
        """Begin to note errors."""
        self._replacements.put(threading, "excepthook", self._noting)

    def remove(self) -> None:
        """Stop noting them."""
        self._replacements.undo()

    def _noting(self, original: Any) -> Any:
        def excepthook(args: Any) -> None:
            if self.error is None and is_out_of_memory(args.exc_value):
                self.error = args.exc_value
            original(args)

        return excepthook


def to_record(framework: str | None) -> Sequence[str]:
    """Return the frameworks to record; a requested one is imported.

    Raises
    ------
    ImportError
        If it is not installed, or none is. The message names the extra.
    """
    if framework is None:
        if not any(map(_is_installed, FRAMEWORKS)):
            raise ImportError(Text("no_framework"))
        return FRAMEWORKS
    try:
        importlib.import_module(framework)
    except ModuleNotFoundError as error:
        if error.name != framework:
            raise
        raise ImportError(Text(_ABSENT[framework])) from None
    return (framework,)


def _is_installed(name: str) -> bool:
    try:
        return importlib.util.find_spec(name) is not None
    except (ImportError, ValueError):  # blocked, or without a spec
        return False
