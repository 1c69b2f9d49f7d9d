"""Environments of other packages than those of the tests, made once and kept in the checkout."""

import fcntl
import hashlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

ROOT = Path(__file__).parents[2]
KEPT = ROOT / ".venvs"
_READY = "ready"


def environment(name: str, wanted: Sequence[str], base: str = sys.executable) -> Path:
    """Return the folder with the commands of an environment, made by the Python `base` unless it is there.

    It is made again when the requirements or the Python change; the previous one is removed.
    """
    version = subprocess.run([base, "-VV"], capture_output=True, text=True, check=True).stdout

    def make(home: Path) -> None:
        subprocess.run([base, "-m", "venv", str(home)], check=True)
        pip = [str(home / "bin" / "python"), "-m", "pip", "install", "--quiet"]
        subprocess.run([*pip, *wanted], check=True)

    return kept(name, [*wanted, version], make) / "bin"


def run(python: Path, *arguments: str, cwd: Path = ROOT) -> str:
    """Run Python with this checkout's package; return its output.

    Raises
    ------
    AssertionError
        If it fails, with its whole output.
    """
    # Neither the environment of the tests nor a GPU, which an older TensorFlow does not know.
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


def npm_packages(name: str, *wanted: str) -> Path:
    """Return a folder with packages of npm: other programs need them, or their pages load them."""

    def make(home: Path) -> None:
        npm = ["npm", "install", "--silent", "--no-save", "--ignore-scripts", "--prefix", str(home)]
        subprocess.run([*npm, *wanted], check=True)

    return kept(name, wanted, make) / "node_modules"


def kept(name: str, wanted: Sequence[str], make: Callable[[Path], None]) -> Path:
    """Return a folder of this checkout; call `make` to fill it unless it did so for equal requirements."""
    key = hashlib.sha256(json.dumps(wanted).encode()).hexdigest()[:12]
    home = KEPT / f"{name}-{key}"
    KEPT.mkdir(exist_ok=True)
    with (KEPT / f"{name}.lock").open("w") as lock:
        # Two runs of the tests at once make one environment.
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (home / _READY).exists():
            for old in KEPT.glob(f"{name}-*"):
                shutil.rmtree(old)
            home.mkdir()
            make(home)
            (home / _READY).touch()
    return home
