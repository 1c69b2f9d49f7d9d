"""The threads on which a widget receives and sends messages."""

from typing import Any

_FREE = ("ipykernel", "comm")
"""Packages whose comms send from any thread. Those of Shiny and marimo belong to a session of the thread."""


def answer_on_own_thread(comm: Any) -> None:
    """Receive messages on the thread the front end sends them to: in JupyterLab, not that of the cells."""
    # ipykernel 7.4 treats a message as the answer to the last one sent, and passes it to the thread that sent
    # it: a widget created in a cell would get clicks only at the end of the running cell.
    if hasattr(comm, "_reply_subshell_for"):
        comm._reply_subshell_for = None  # noqa: SLF001


def may_send_from_threads(comm: Any) -> bool:
    """Whether threads other than those that receive messages may send some."""
    return type(comm).__module__.partition(".")[0] in _FREE
