"""Noticing that packages have been imported: a cell may import its framework itself."""

import importlib.abc
import importlib.machinery
import importlib.util
import sys
import types
from collections.abc import Callable, Mapping, Sequence
from typing import Any

_executed: set[str] = set()
"""Packages whose code has run, which Python calls initialised a little later."""


class Imports(importlib.abc.MetaPathFinder):
    """Calls a function for each package once it has been imported.

    Parameters
    ----------
    packages
        The functions, by the names of their packages.
    """

    def __init__(self, packages: Mapping[str, Callable[[], object]]) -> None:
        self._waiting = dict(packages)

    def watch(self) -> None:
        """Call the functions of packages that are there; begin to wait for the others."""
        for name in [name for name in self._waiting if is_imported(name)]:
            self._waiting.pop(name)()
        if self._waiting:
            sys.meta_path.insert(0, self)

    def end(self) -> None:
        """Wait no more."""
        self._waiting.clear()
        if self in sys.meta_path:
            sys.meta_path.remove(self)

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None,  # noqa: ARG002 - the interface's
        target: types.ModuleType | None = None,  # noqa: ARG002
    ) -> importlib.machinery.ModuleSpec | None:
        """Find a package as the other finders do, with a loader that calls its function afterwards."""
        call = self._waiting.pop(fullname, None)
        if call is None:
            return None
        spec = importlib.util.find_spec(fullname)
        if spec is None or spec.loader is None:
            self._waiting[fullname] = call
            return spec
        loader: Any = spec.loader
        execute = loader.exec_module

        def executed(module: types.ModuleType) -> None:
            del loader.exec_module
            execute(module)
            _executed.add(fullname)
            call()

        loader.exec_module = executed
        return spec


def is_imported(name: str) -> bool:
    """Whether a module is there as a whole, and not about to be imported."""
    spec = getattr(sys.modules.get(name), "__spec__", None)
    return spec is not None and (name in _executed or not getattr(spec, "_initializing", False))
