"""An environment with TensorFlow 2.15, the last that has tf.estimator, made once and kept in the checkout.

It is made by ``pip install '.[estimator]'``, which shows that the package and that TensorFlow can be
installed together.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from tests.support.environments import ROOT, environment
from tests.support.requirements import of_extra, without_gpus

PYTHON = (3, 11)
"""The one version that both this package and TensorFlow 2.15 run on."""

_TESTING = ("pytest", "hypothesis")
_ASK = "import ensurepip, json, sys, venv; print(json.dumps([*sys.version_info[:2], sys.version]))"


def interpreter() -> str | None:
    """Return a Python 3.11 of this machine that can make environments; None without one.

    Candidates are the Python of the tests, ``python3.11`` on the path, and the ones of pyenv and uv.
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
        completed = subprocess.run([path, "-c", _ASK], capture_output=True, text=True, timeout=60, check=True)
        version: list[int | str] = json.loads(completed.stdout)
    except (OSError, subprocess.SubprocessError, ValueError):
        return []
    return version


def requirements() -> list[str]:
    """Return the requirements: this package with its extra, and the test runner."""
    return [str(ROOT), *without_gpus(of_extra("estimator")), *_TESTING]


def python_with_estimator(base: str) -> Path:
    """Return the Python of an environment with tf.estimator, made by `base` unless it is there."""
    return environment("estimator", requirements(), base) / "python"
