"""Which tests share a process where there are several."""

from __future__ import annotations

from typing import TYPE_CHECKING

from xdist.scheduler import LoadScopeScheduling

if TYPE_CHECKING:
    from xdist.workermanage import WorkerController

JUPYTER = "tests/browser/jupyter/"
PAGES = "tests/browser/"
TOGETHER = (
    JUPYTER,
    PAGES,
    "tests/analysis/",
    "tests/display/",
    "tests/recording/",
    "tests/notebooks/",
    "tests/test_mutants.py",
)


class BrowserApart(LoadScopeScheduling):
    """Keeps together tests of what is seen in JupyterLab, on other pages, computed, shown, recorded, and run.

    These take longest and begin first, so that none is left at the end for one process alone. Each shares
    what takes long: JupyterLab and a kernel, a page, real traces with their tables, or a process that has
    TensorFlow.
    Every other module of tests goes to whichever process is free. Not by pytest-xdist's own groups: those
    of 3.8 are lost under pytest 9.2.
    """

    def _split_scope(self, nodeid: str) -> str:
        module = nodeid.split("::", maxsplit=1)[0]
        return next((group for group in TOGETHER if module.startswith(group)), module)

    def _assign_work_unit(self, node: WorkerController) -> None:
        for group in reversed(TOGETHER):
            if group in self.workqueue:
                self.workqueue.move_to_end(group, last=False)
        super()._assign_work_unit(node)
