"""Finish recordings when SIGTERM ends the process: ``timeout``, SLURM and Kubernetes send it.

The program's threads continue meanwhile, because one of them may hold a lock that the recording needs. Then
the process dies by the signal, as it would have without a recording: no ``finally`` runs.
"""

import _thread
import ctypes
import os
import signal
import sys
import threading
from collections.abc import Callable
from types import FrameType

_BY_SIGNAL = 128
"""Shells add it to the number of the signal."""

_finishing: list[Callable[[], object]] = []
_ending = False


def finish_at_sigterm(finish: Callable[[], object]) -> None:
    """Call a function in a new thread when the process gets SIGTERM, until `no_longer`; the latest first.

    A handler of the program has precedence, and is then alone responsible. Python sets handlers only in the
    main thread.
    """
    if threading.current_thread() is not threading.main_thread():
        return
    if not _finishing and signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
        signal.signal(signal.SIGTERM, _end)
    _finishing.append(finish)


def no_longer(finish: Callable[[], object]) -> None:
    """Forget a function, and restore the handler after the last one."""
    if finish in _finishing:
        _finishing.remove(finish)
    if not _finishing:
        _restore()


def _restore() -> None:
    ours = signal.getsignal(signal.SIGTERM) is _end
    if ours and threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


def _end(_number: int, _frame: FrameType | None) -> None:
    global _ending  # noqa: PLW0603 - `timeout` sends the signal twice
    if not _ending:
        _ending = True
        # Not a `Thread`: the interrupted code may hold the lock that starting one needs.
        _thread.start_new_thread(_finish_all, ())


def _finish_all() -> None:
    for finish in reversed(list(_finishing)):
        try:
            finish()
        except Exception as error:  # noqa: BLE001 - the process ends, and others finish before
            sys.__excepthook__(type(error), error, error.__traceback__)
    # Python's own function sets handlers only in the main thread, which may be anywhere.
    ctypes.pythonapi.PyOS_setsig(int(signal.SIGTERM), None)
    os.kill(os.getpid(), signal.SIGTERM)
    os._exit(_BY_SIGNAL + signal.SIGTERM)  # the first process of a container ignores it


_masks = threading.local()


def _forking() -> None:
    """Hold SIGTERM back: a child process would lose one that comes before `_forked`."""
    if signal.getsignal(signal.SIGTERM) is _end:
        _masks.before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])


def _unblock() -> None:
    before = vars(_masks).pop("before", None)
    if before is not None:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _forked() -> None:
    """Let SIGTERM end a child process at once: its parent has the recording."""
    global _ending  # noqa: PLW0603
    _ending = False
    _finishing.clear()
    _restore()
    _unblock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_forking, after_in_parent=_unblock, after_in_child=_forked)
