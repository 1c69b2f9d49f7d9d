"""Answers messages of the front end on a separate thread, even while a cell runs."""

from typing import Any


def answer_on_own_thread(comm: Any) -> None:
    """Let messages come where the front end sends them: in Jupyter Lab, not to the thread of the cells."""
    # ipykernel 7.4 takes a message for the answer to the last one sent, and gives it to the thread which sent
    # that: a widget made in a cell would get every click only at the end of the running cell.
    if hasattr(comm, "_reply_subshell_for"):
        comm._reply_subshell_for = None  # noqa: SLF001
