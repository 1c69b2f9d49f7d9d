"""Finds the Pythons of this machine."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path


def interpreter(version: str) -> Path | None:
    """Return a Python of a version, such as "3.12": on the PATH or of pyenv; None without one that runs."""
    for candidate in _candidates(version):
        code = "import sys, venv; print('{}.{}'.format(*sys.version_info))"
        run = subprocess.run([candidate, "-c", code], capture_output=True, text=True, check=False)
        if run.stdout.strip() == version:
            return candidate
    return None


def _candidates(version: str) -> Iterator[Path]:
    # That of pyenv on the PATH only says that the version is not active.
    for folder in os.get_exec_path():
        if found := shutil.which(f"python{version}", path=folder):
            yield Path(found)
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    yield from sorted(pyenv.glob(f"versions/{version}.*/bin/python"))
