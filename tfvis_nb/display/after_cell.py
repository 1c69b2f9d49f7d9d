"""Run work right after a cell, before the next one runs."""

from collections.abc import Callable
from contextlib import suppress
from typing import Any


def after_cell(work: Callable[[], object]) -> None:
    """Call `work` when the current notebook cell has ended; outside notebooks immediately.

    By then the output of the cell has been sent to the browser. An interrupt ends the work: the front end
    requests details that it did not get.
    """
    from IPython import get_ipython

    shell = get_ipython()
    if shell is None or not hasattr(shell, "kernel"):
        work()
        return

    def once(*_: Any) -> None:
        shell.events.unregister("post_run_cell", once)
        # IPython 9 prints the traceback of an interrupt here, with our own code, below the cell's output.
        with suppress(KeyboardInterrupt):
            work()

    shell.events.register("post_run_cell", once)
