"""Which tests share a process where there are several."""

from __future__ import annotations

from xdist.scheduler import LoadScopeScheduling


class BrowserApart(LoadScopeScheduling):
    """Keeps what is seen in a browser or a notebook together: two of those would wait for each other.

    Every other module of tests goes to whichever process is free. Not by pytest-xdist's own
    groups: those of 3.8 are lost under pytest 9.2.
    """

    def _split_scope(self, nodeid: str) -> str:
        module = nodeid.split("::", maxsplit=1)[0]
        shown = module.startswith("tests/browser/") or module.endswith(".ipynb")
        return "shown" if shown else module
