"""Builds the documentation, without running its notebooks."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def build(builder: str, output: Path, doctrees: Path) -> None:
    """Build with warnings as errors; AssertionError with them if there are any."""
    options = ["-W", "--keep-going", "-q", "-E", "-b", builder, "-d", str(doctrees), "-c", str(ROOT / "docs")]
    command = [
        sys.executable,
        "-m",
        "sphinx",
        *options,
        "-D",
        "nb_execution_mode=off",
        str(ROOT),
        str(output),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
