"""Which tests share a process where there are several."""

from __future__ import annotations

from typing import TYPE_CHECKING

from xdist.scheduler import LoadScopeScheduling

if TYPE_CHECKING:
    from xdist.workermanage import WorkerController

JUPYTER = "tests/browser/jupyter/"
PAGES = "tests/browser/"


class BrowserApart(LoadScopeScheduling):
    """Keeps what is seen in JupyterLab together, and all other pages, and begins with these.

    These two take longest, and each shares what takes long to start: JupyterLab and a kernel, or a page.
    Every other module of tests goes to whichever process is free. Not by pytest-xdist's own groups: those
    of 3.8 are lost under pytest 9.2.
    """

    def _split_scope(self, nodeid: str) -> str:
        module = nodeid.split("::", maxsplit=1)[0]
        return next((group for group in (JUPYTER, PAGES) if module.startswith(group)), module)

    def _assign_work_unit(self, node: WorkerController) -> None:
        for group in (PAGES, JUPYTER):
            if group in self.workqueue:
                self.workqueue.move_to_end(group, last=False)
        super()._assign_work_unit(node)
