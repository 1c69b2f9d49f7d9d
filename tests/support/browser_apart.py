"""Which tests share a process where there are several."""

from __future__ import annotations

from typing import TYPE_CHECKING

from xdist.scheduler import LoadScopeScheduling

if TYPE_CHECKING:
    from xdist.workermanage import WorkerController

SHOWN = "shown"


class BrowserApart(LoadScopeScheduling):
    """Keeps what is seen in a browser or a notebook together, and begins with it.

    Two of those would wait for each other, and together they take longest. Every other module of tests
    goes to whichever process is free. Not by pytest-xdist's own groups: those of 3.8 are lost under
    pytest 9.2.
    """

    def _split_scope(self, nodeid: str) -> str:
        module = nodeid.split("::", maxsplit=1)[0]
        shown = module.startswith(("tests/browser/", "tests/notebooks/"))
        return SHOWN if shown else module

    def _assign_work_unit(self, node: WorkerController) -> None:
        if SHOWN in self.workqueue:
            self.workqueue.move_to_end(SHOWN, last=False)
        super()._assign_work_unit(node)
