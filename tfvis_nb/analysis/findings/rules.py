"""All rules: each module of this package that has a ``RULE``."""

import importlib
import pkgutil
from collections.abc import Mapping
from pathlib import Path

from tfvis_nb.analysis.findings.rule import Rule


def _found() -> Mapping[str, Rule]:
    # Modules that import this one have no rule, and would cause circular imports.
    package, _, own = __name__.rpartition(".")
    names = sorted(module.name for module in pkgutil.iter_modules([str(Path(__file__).parent)]))
    others = [name for name in names if name not in (own, "findings", "measurements")]
    modules = {name: importlib.import_module(f"{package}.{name}") for name in others}
    return {name: module.RULE for name, module in modules.items() if hasattr(module, "RULE")}


RULES = _found()
"""The rules by the names of their modules."""
