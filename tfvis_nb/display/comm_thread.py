"""The threads on which a widget receives and sends messages, and for whom."""

import logging
import threading
from collections.abc import Callable
from typing import Any

from tfvis_nb.core.labels import printable
from tfvis_nb.texts import Text

_FREE = ("ipykernel", "comm", "__main__")
"""Packages whose comms send from any thread. Those of Shiny and marimo belong to a session of the thread.

``__main__`` is the worker of ``tfvis-nb serve``.
"""

_OF_VISITORS = ("panel", "ipywidgets_bokeh")
"""Packages that use the comms of ipykernel with kernels of their own, one for each visitor."""

_log = logging.getLogger("tfvis_nb")


def answer_on_own_thread(comm: Any) -> None:
    """Receive messages on the thread the front end sends them to: in JupyterLab, not that of the cells."""
    # ipykernel 7.4 treats a message as the answer to the last one sent, and passes it to the thread that sent
    # it: a widget created in a cell would get clicks only at the end of the running cell.
    if hasattr(comm, "_reply_subshell_for"):
        comm._reply_subshell_for = None  # noqa: SLF001


def may_send_from_threads(comm: Any) -> bool:
    """Whether threads other than those that receive messages may send some."""
    return _package(comm) in _FREE


def is_of_one_user(comm: Any) -> bool:
    """Whether the process of a widget serves one user, as kernels do, and no visitors of a page."""
    return may_send_from_threads(comm) and _package(getattr(comm, "kernel", None)) not in _OF_VISITORS


def _package(owner: object) -> str:
    return type(owner).__module__.partition(".")[0]


def start_sending(work: Callable[[], object], name: str) -> threading.Thread:
    """Start a thread whose work sends messages; a failed send ends it, with one line in the log."""

    def run() -> None:
        try:
            work()
        except Exception as error:  # noqa: BLE001 - hosts raise what they like
            reason = printable(" ".join(f"{type(error).__name__}: {error}".split()), 300)
            _log.error(Text("widget_not_updated", thread=name, reason=reason))

    # A daemon, so that nothing shown in a page keeps a process from ending.
    thread = threading.Thread(target=run, name=name, daemon=True)
    thread.start()
    return thread
