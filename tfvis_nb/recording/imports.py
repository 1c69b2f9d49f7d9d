"""Notice imports of packages, because a cell may import its framework itself."""

import importlib.abc
import importlib.machinery
import importlib.util
import sys
import types
from collections.abc import Callable, Mapping, Sequence
from typing import Any

_executed: set[str] = set()
"""Packages whose code has run, shortly before Python marks them as initialised."""


class Imports(importlib.abc.MetaPathFinder):
    """Calls a function for each package once it has been imported.

    Parameters
    ----------
    packages
        Package name to function.
    """

    def __init__(self, packages: Mapping[str, Callable[[], object]]) -> None:
        self._waiting = dict(packages)

    def watch(self) -> None:
        """Call the functions of imported packages, and wait for the others."""
        for name in [name for name in self._waiting if is_imported(name)]:
            if name in self._waiting:  # one of the functions may end the waiting
                self._waiting.pop(name)()
        if self._waiting:
            sys.meta_path.insert(0, self)

    def end(self) -> None:
        """Stop waiting."""
        self._waiting.clear()
        sys.meta_path[:] = [finder for finder in sys.meta_path if finder is not self]

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None,  # noqa: ARG002 - the interface's
        target: types.ModuleType | None = None,  # noqa: ARG002
    ) -> importlib.machinery.ModuleSpec | None:
        """Find a package through the other finders; its loader calls the function after the import."""
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
            vars(loader).pop("exec_module", None)  # once, if several recordings wait
            try:
                execute(module)
            except BaseException:
                self._waiting[fullname] = call  # the program may try again
                raise
            _executed.add(fullname)
            call()

        loader.exec_module = executed
        return spec


def is_imported(name: str) -> bool:
    """Whether a module is completely imported."""
    spec = getattr(sys.modules.get(name), "__spec__", None)
    return spec is not None and (name in _executed or not getattr(spec, "_initializing", False))
