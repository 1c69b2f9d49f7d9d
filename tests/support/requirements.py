"""What ``pip install`` of this package installs."""

import platform
import tomllib
from typing import Any

from tests.support.environments import ROOT


def _project() -> dict[str, Any]:
    project: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return project


def requirements(*extras: str) -> list[str]:
    """Return the requirements of the package, and of some of its extras."""
    return [*_project()["dependencies"], *(one for extra in extras for one in of_extra(extra))]


def of_extra(extra: str) -> list[str]:
    """Return the requirements of an extra alone."""
    wanted: list[str] = _project()["optional-dependencies"][extra]
    return wanted


def without_gpus(wanted: list[str]) -> list[str]:
    """Return requirements with the smaller build of TensorFlow, if it exists."""
    if platform.system() == "Linux" and platform.machine() == "x86_64":
        return [one.replace("tensorflow==", "tensorflow-cpu==") for one in wanted]
    return wanted
