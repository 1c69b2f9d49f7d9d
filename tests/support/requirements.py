"""What ``pip install`` of this package installs."""

import platform
import tomllib
from typing import Any

from tests.support.environments import ROOT


def _tables() -> dict[str, Any]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def requirements(*extras: str) -> list[str]:
    """Return the requirements of the package, and of some of its extras."""
    return [*_tables()["project"]["dependencies"], *(one for extra in extras for one in of_extra(extra))]


def of_extra(extra: str) -> list[str]:
    """Return the requirements of an extra alone."""
    wanted: list[str] = _tables()["project"]["optional-dependencies"][extra]
    return wanted


def of_group(group: str) -> list[str]:
    """Return the requirements of a dependency group, and of those that it includes."""
    wanted: list[str] = []
    for each in _tables()["dependency-groups"][group]:
        wanted += [each] if isinstance(each, str) else of_group(each["include-group"])
    return wanted


def without_gpus(wanted: list[str]) -> list[str]:
    """Return requirements with the smaller build of TensorFlow, if it exists."""
    if platform.system() == "Linux" and platform.machine() == "x86_64":
        return [one.replace("tensorflow==", "tensorflow-cpu==") for one in wanted]
    return wanted
