"""All rules: each module of this package that has a ``RULE``."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from tfvis_nb.analysis.findings.rule import Rule


@cache
def rules() -> Mapping[str, Rule]:
    """Return the rules by the names of their modules.

    Examples
    --------
    >>> from tfvis_nb.analysis.findings.rules import rules
    >>> rules()["input_bound"].thresholds["SHARE"].value
    0.05
    """
    package = __name__.rpartition(".")[0]
    names = sorted(module.name for module in pkgutil.iter_modules([str(Path(__file__).parent)]))
    modules = {name: importlib.import_module(f"{package}.{name}") for name in names}
    return {name: module.RULE for name, module in modules.items() if hasattr(module, "RULE")}
