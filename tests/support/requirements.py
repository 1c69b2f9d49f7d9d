"""What ``pip install`` of this package installs."""

from __future__ import annotations

import tomllib

from tests.support.environments import ROOT


def requirements(*extras: str) -> list[str]:
    """Return the requirements of the package, and of some of its extras."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    optional = project["optional-dependencies"]
    return [*project["dependencies"], *(one for extra in extras for one in optional[extra])]
