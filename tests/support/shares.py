"""Assign tests to processes, and collection to some of the processes."""

from __future__ import annotations

from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from xdist.scheduler import LoadScopeScheduling

if TYPE_CHECKING:
    from collections.abc import Sequence

    from xdist.workermanage import WorkerController

JUPYTER = "tests/browser/jupyter/"
PAGES = "tests/browser/"
SHARES = (
    # What runs TensorFlow.
    (
        "tests/recording/",
        "tests/notebooks/",
        "tests/estimator/",
        "tests/magics/",
        "tests/cli/test_sessions.py",
        "tests/reading/test_nested_fields.py",
        "tests/reading/test_stepstats_generated.py",
    ),
    (JUPYTER, "tests/display/", "tests/test_mutants.py"),
    ("tests/analysis/",),
    # Of pages much is done by processes of the browser, and so there is time for more.
    (PAGES, "tests/reading/"),
)
"""Groups of tests that stay together, for one process each."""
# A folder in a folder comes first: a test is of the innermost.
_OWNERS = sorted(
    ((group, at) for at, share in enumerate(SHARES) for group in share), key=lambda one: -len(one[0])
)


def left_to_others(path: Path, config: pytest.Config, worker: dict[str, Any]) -> bool:
    """Return whether another process has this file or folder of tests, so that this one need not read it.

    What only some tests need, as TensorFlow, is then imported by the processes that run them.
    """
    own, count = int(worker["workerid"].removeprefix("gw")), worker["workercount"]
    name = path.relative_to(config.rootpath).as_posix() + "/" * path.is_dir()
    share = next((at for group, at in _OWNERS if name.startswith(group)), own)
    # A process that takes the place of one that crashed has tests of any share.
    if own >= count or share % count == own:
        return False
    return not any(group.startswith(name) and at % count == own for group, at in _OWNERS)


class Shares(LoadScopeScheduling):
    """Keeps together tests of JupyterLab, other pages, analyses, displays, recording, and processes.

    These take longest and start first, so that none is left at the end for one process alone. Each shares
    something slow: JupyterLab and a kernel, a page, real traces with their tables, or a process that has
    TensorFlow.
    Every other module of tests goes to any free process. pytest-xdist's own groups cannot do it: the groups
    of 3.8 are lost under pytest 9.2.
    """

    collection: list[str] | None

    def _split_scope(self, nodeid: str) -> str:
        module = nodeid.split("::", maxsplit=1)[0]
        return next((group for group, _ in _OWNERS if module.startswith(group)), module)

    def schedule(self) -> None:
        """Give each process its first tests; the processes have found different ones."""
        if self.collection is None:
            self.collection = [*dict.fromkeys(chain.from_iterable(self.registered_collections.values()))]
            for nodeid in self.collection:
                self.workqueue.setdefault(self._split_scope(nodeid), {})[nodeid] = False
            for group in (group for share in reversed(SHARES) for group in reversed(share)):
                if group in self.workqueue:
                    self.workqueue.move_to_end(group, last=False)
            session = self.config.pluginmanager.get_plugin("session")
            assert isinstance(session, pytest.Session)
            session.testscollected = len(self.collection)
        # A process that has one test only does not begin: it is told of the next one first.
        for node in (*self.nodes, *self.nodes):
            self._reschedule(node)

    def add_node_collection(self, node: WorkerController, collection: Sequence[str]) -> None:
        """Record the tests that a process collected."""
        self.registered_collections[node] = list(collection)

    def _assign_work_unit(self, node: WorkerController) -> None:
        found = {self._split_scope(nodeid) for nodeid in self.registered_collections[node]}
        scope = next((scope for scope in self.workqueue if scope in found), None)
        if scope is None:
            node.shutdown()
            return
        self.workqueue.move_to_end(scope, last=False)
        super()._assign_work_unit(node)
