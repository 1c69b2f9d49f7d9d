"""Answer messages of the front end on a separate thread, even while a cell runs."""

from typing import Any


def answer_on_own_thread(comm: Any) -> None:
    """Receive messages on the thread the front end sends them to: in JupyterLab, not that of the cells."""
    # ipykernel 7.4 treats a message as the answer to the last one sent, and passes it to the thread that sent
    # it: a widget created in a cell would get clicks only at the end of the running cell.
    if hasattr(comm, "_reply_subshell_for"):
        comm._reply_subshell_for = None  # noqa: SLF001
