"""An environment with TensorFlow 2.15, the last that has tf.estimator, made once and kept in the checkout.

What is installed is what ``pip install '.[estimator]'`` installs, so that its being made shows
that the package and that TensorFlow can be installed together.
"""

from __future__ import annotations

import json
import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from tests.support.environments import ROOT, environment
from tests.support.requirements import requirements as package_requirements

PYTHON = (3, 11)
"""The one version that both this package and TensorFlow 2.15 run on."""

_TESTING = ("pytest", "hypothesis")
_ASK = "import ensurepip, json, sys, venv; print(json.dumps([*sys.version_info[:2], sys.version]))"


def interpreter() -> str | None:
    """Return a Python 3.11 of this machine that can make environments; None where there is none.

    Looked for are the one that runs the tests, ``python3.11`` on the path, and those of pyenv and uv.
    """
    return next((path for path in _candidates() if _version(path)[:2] == list(PYTHON)), None)


def _candidates() -> Iterator[str]:
    yield sys.executable
    name = f"python{PYTHON[0]}.{PYTHON[1]}"
    if found := shutil.which(name):
        yield found
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    uv = Path(os.environ.get("UV_PYTHON_INSTALL_DIR", Path.home() / ".local" / "share" / "uv" / "python"))
    for folder, pattern in ((pyenv, "3.11*"), (uv, "cpython-3.11*")):
        yield from (str(path) for path in sorted(folder.glob(f"{pattern}/bin/{name}"), reverse=True))


def _version(path: str) -> list[int | str]:
    try:
        told = subprocess.run([path, "-c", _ASK], capture_output=True, text=True, timeout=60, check=True)
        version: list[int | str] = json.loads(told.stdout)
    except (OSError, subprocess.SubprocessError, ValueError):
        return []
    return version


def requirements() -> list[str]:
    """Return what has to be installed; of TensorFlow the build without GPUs, where there is one."""
    wanted = package_requirements("estimator")
    if platform.system() == "Linux" and platform.machine() == "x86_64":
        wanted = [one.replace("tensorflow==", "tensorflow-cpu==") for one in wanted]
    return [*wanted, *_TESTING]


def python_with_estimator(base: str) -> Path:
    """Return the Python of an environment with tf.estimator, made by `base` unless it is there."""
    return environment("estimator", requirements(), base) / "python"


def run(python: Path, *arguments: str, cwd: Path = ROOT) -> str:
    """Run Python with this checkout's package; return what it printed.

    Raises
    ------
    AssertionError
        If it fails, with all that it said.
    """
    # Neither the environment of the tests nor a GPU, which this TensorFlow does not know.
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith("PYTEST")},
        "PYTHONPATH": str(ROOT),
        "PYTHONDONTWRITEBYTECODE": "1",
        "TF_CPP_MIN_LOG_LEVEL": "3",
        "CUDA_VISIBLE_DEVICES": "",
    }
    done = subprocess.run(
        [str(python), *arguments], cwd=cwd, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"{done.stdout[-8000:]}\n{done.stderr[-8000:]}"
    return done.stdout
