"""A TensorFlow profile, from its start to its XSpace, through a temporary folder.

TensorFlow logs to file descriptor 2, which notebooks show in red, and its log level cannot be changed after
loading. So that descriptor is a pipe while the profiler starts or ends, and all other lines are passed on.
"""

import contextlib
import os
import re
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tfvis_nb.core.progress import progress_after
from tfvis_nb.core.temporary_folder import TemporaryFolder
from tfvis_nb.recording.profiler.thread_names import ThreadNames
from tfvis_nb.texts import Text

# For TensorFlow 2.16 and later, and for earlier versions; only informational lines.
_OWN = re.compile(
    rb"(?:I\d{4} [\d:.]+\s+\d+ |\d{4}-\d\d-\d\d [\d:.]+: I )"
    rb"(?:\S*/)?(?:profiler_session|save_profile|cupti_\w+|gpu_tracer|device_tracer_\w+)\.cc:\d+\] "
)
_MAY_BE_OWN = re.compile(rb"I\d|\d{4}-|\0|[I\d]{0,4}$")
_END = b"\0tfvis_nb: passed on so far\n"
_STDERR = 2
# Garbage collected in between may end another profile.
_lock = threading.RLock()


@dataclass(frozen=True)
class XSpace:
    """A serialised ``XSpace``, and the start of the profile in epoch ns of Python's clock.

    TensorFlow 2.15 leaves the start out of its message; the figure of later versions is better.
    """

    data: bytes
    epoch_ns: int


class _Level:
    """A tracer's level. TensorFlow 2.21 mistakes an int for a bool and ignores it, but not an index."""

    def __init__(self, level: int) -> None:
        self._level = level

    def __index__(self) -> int:
        return self._level


class Profile:
    """A profile that runs until `stop`; TensorFlow raises AlreadyExistsError if another one runs.

    `levels` are those of `TraceOptions.profiler_levels`.

    TensorFlow only provides a profile as a file. It is written to a temporary folder, which `stop` or
    deleting the object removes.
    """

    def __init__(self, levels: Mapping[str, int]) -> None:
        from tensorflow.python.profiler.internal import _pywrap_profiler

        self._folder = TemporaryFolder()
        # Not through tf.profiler.experimental, whose running profile belongs to the user.
        self._session: Any = _pywrap_profiler.ProfilerSession()
        options = {name: _Level(level) for name, level in levels.items()}
        self._threads = ThreadNames()
        self._threads.watch()
        try:
            with without_profiler_log():
                # TensorFlow reads the clock before it prepares the GPU.
                self._epoch_ns = time.time_ns()
                self._session.start(str(self._folder.path), options)
        except BaseException:
            self.leave()
            self._folder.close()
            raise

    def leave(self) -> None:
        """Restore Python, also in a forked process, whose parent goes on profiling."""
        self._threads.end()

    def stop(self) -> XSpace:
        """End the profile and return its recording; OSError if TensorFlow could not write it."""
        from tensorflow.python.framework import errors

        session, self._session = self._session, None
        self.leave()
        try:
            # It takes about as long as the profiled code, if that ran many thousands of ops per second.
            with progress_after("TensorFlow is writing its profile"), without_profiler_log():
                # TensorFlow 2.18 and 2.21 can crash here. `TraceMeRecorder::Consume` keeps pointers to events
                # that ended in another thread than they started, moves the events, and then writes
                # through the old pointers. Only workers other than the first have such events.
                session.export_to_tb()
            profile = written(self._folder.path, self._epoch_ns)
            return replace(profile, data=self._threads.named(profile.data))
        except errors.OpError as error:
            raise OSError(error.message) from error
        finally:
            self._folder.close()


def written(folder: Path, epoch_ns: int) -> XSpace:
    """Read the newest profile written in `folder` since `epoch_ns`; OSError if there is none."""
    # File times are coarser than the clock.
    since = epoch_ns - 1_000_000_000
    files = [(path.stat().st_mtime_ns, path) for path in folder.glob("plugins/profile/*/*.xplane.pb")]
    recent = [file for file in files if file[0] >= since]
    if not recent:
        raise FileNotFoundError(Text("no_profile_written"))
    return XSpace(max(recent)[1].read_bytes(), epoch_ns)


class _Filter:
    """A pipe that replaces a file descriptor, and the thread that forwards its output.

    Both exist as long as the process, because a program started in the meantime keeps writing to the pipe.
    """

    def __init__(self) -> None:
        self._reading, self._writing = os.pipe()
        self._target = _STDERR
        self._passed = threading.Event()
        threading.Thread(target=self._pass_on, name="tfvis_nb log filter", daemon=True).start()

    @contextlib.contextmanager
    def put(self) -> Iterator[None]:
        """Replace the descriptor, unless that is already done."""
        if self._target != _STDERR:
            yield
            return
        with contextlib.suppress(Exception):  # the program may have closed or replaced it
            sys.stderr.flush()
        target = self._target = os.dup(_STDERR)
        os.dup2(self._writing, _STDERR)
        try:
            yield
        finally:
            os.dup2(target, _STDERR)
            self._passed.clear()
            os.write(self._writing, _END)
            self._passed.wait()
            os.close(target)

    def _pass_on(self) -> None:
        held = b""
        while held := held + os.read(self._reading, 1 << 16):
            *lines, held = held.splitlines(keepends=True)
            # An unfinished line may be a progress bar.
            if held.endswith(b"\n") or not _MAY_BE_OWN.match(held):
                lines, held = [*lines, held], b""
            for line in lines:
                text, ended, _ = line.partition(_END)
                if not _OWN.match(text):
                    self._write(text)
                if ended:
                    self._target = _STDERR
                    self._passed.set()

    def _write(self, text: bytes) -> None:
        with contextlib.suppress(OSError):  # nobody reads the log
            while text:
                text = text[os.write(self._target, text) :]


_filters: dict[int, _Filter] = {}


@contextlib.contextmanager
def without_profiler_log() -> Iterator[None]:
    """Leave out only the profiler's informational lines in this block."""
    with _lock, contextlib.ExitStack() as stack:
        with contextlib.suppress(OSError):  # daemons may lack descriptor 2
            os.fstat(_STDERR)
            # A forked process has the pipe, but not the thread.
            if os.getpid() not in _filters:
                _filters[os.getpid()] = _Filter()
            stack.enter_context(_filters[os.getpid()].put())
        yield
