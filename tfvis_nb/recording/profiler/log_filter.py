"""Filter the lines that TensorFlow's profiler logs at its start and end, which notebooks show in red.

TensorFlow's C++ code logs to file descriptor 2, and its log level cannot be changed after loading. So that
descriptor is a pipe while the profiler starts or ends, and all other lines are passed on.
"""

import contextlib
import os
import re
import sys
import threading
from collections.abc import Iterator

# For TensorFlow 2.16 and later, and for earlier versions; only informational lines.
_OWN = re.compile(
    rb"(?:I\d{4} [\d:.]+\s+\d+ |\d{4}-\d\d-\d\d [\d:.]+: I )"
    rb"(?:\S*/)?(?:profiler_session|save_profile|cupti_\w+|gpu_tracer|device_tracer_\w+)\.cc:\d+\] "
)
_MAY_BE_OWN = re.compile(rb"I\d|\d{4}-|\0|[I\d]{0,4}$")
_END = b"\0tfvis_nb: passed on so far\n"
_STDERR = 2


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


# Garbage collected in between may end another profile.
_lock = threading.RLock()
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
