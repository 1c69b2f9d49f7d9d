"""Doing something right after a cell, before the next one runs."""

from collections.abc import Callable
from typing import Any


def after_cell(work: Callable[[], object]) -> None:
    """Call `work` when the present cell of a notebook has ended; at once outside of a notebook.

    The cell's output is on its way to the browser by then.
    """
    from IPython import get_ipython

    shell = get_ipython()
    if shell is None or not hasattr(shell, "kernel"):
        work()
        return

    def once(*_: Any) -> None:
        shell.events.unregister("post_run_cell", once)
        work()

    shell.events.register("post_run_cell", once)
