"""Sets of versions that users have, each in an environment that uv resolves and installs."""

import subprocess
import sys
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from tests.support.environments import ROOT, kept
from tests.support.requirements import of_extra, of_group, requirements, without_gpus

_EXTRAS = ("fleet", "lab", "mcp", "pictures", "remote", "sql")
_TOOLS = ("aiohttp", "hypothesis", "import-linter", "ipykernel", "mistune", "pytest", "pytest-xdist")
SETS = {
    "lowest": ("lowest-direct", []),
    "tensorflow-2.15": ("highest", of_extra("estimator")),
    "tensorflow-2.18": ("highest", ["tensorflow==2.18.*"]),
    "newest": ("highest", []),
}
"""Name to uv's strategy, and what else is wanted. TensorFlow takes part in choosing, but is not installed."""

_HAS_EVERY_SET = (3, 11)


def python_of(name: str) -> Path:
    """Return the Python of an environment with a set of versions; skip where this Python has none."""
    pins = _resolved(*SETS[name])

    def make(home: Path) -> None:
        _uv("venv", "--quiet", "--allow-existing", "--python", sys.executable, str(home))
        install = ("pip", "install", "--quiet", "--python", str(home / "bin" / "python"))
        _uv(*install, "--requirements", "-", text=pins)
        # For the version of this package, and its commands.
        _uv(*install, "--no-deps", "--editable", str(ROOT))

    return kept(name, [pins, sys.version], make) / "bin" / "python"


def _resolved(strategy: str, beside: list[str]) -> str:
    tools = [one for one in of_group("test") if Requirement(one).name in _TOOLS]
    wanted = [*requirements(*_EXTRAS), *tools, *without_gpus(beside)]
    options = ("--quiet", "--no-header", "--no-annotate", "--only-binary", ":all:")
    absent = ("--no-emit-package", "tensorflow", "--no-emit-package", "tensorflow-cpu")
    where = ("--python", sys.executable, "--resolution", strategy)
    try:
        return _uv("pip", "compile", *options, *absent, *where, "-", text="\n".join(wanted))
    except subprocess.CalledProcessError as error:
        if "has no wheels" not in error.stderr or sys.version_info[:2] == _HAS_EVERY_SET:
            raise AssertionError(error.stderr) from None
        pytest.skip(f"not run: {' '.join(error.stderr.split())}")


def _uv(*words: str, text: str = "") -> str:
    command = [sys.executable, "-m", "uv", *words]
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=True)
    return done.stdout
