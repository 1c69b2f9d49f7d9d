"""``tfvis-nb`` as a shell runs it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path


def tfvis_nb(
    *words: str | Path, cwd: Path | None = None, **environment: str
) -> subprocess.CompletedProcess[str]:
    """Run a command line without a display, and return what it printed."""
    displays = ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER")
    variables = {name: value for name, value in os.environ.items() if name not in displays}
    return subprocess.run(
        [sys.executable, "-m", "tfvis_nb", *map(str, words)],
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
        cwd=cwd,
        env={**variables, "TF_CPP_MIN_LOG_LEVEL": "3", **environment},
    )


def complaint(done: subprocess.CompletedProcess[str], code: int) -> str:
    """Return the one line in which a command said what is wrong, and nothing else."""
    assert done.returncode == code, done.stderr
    assert done.stdout == ""
    (line,) = done.stderr.splitlines()
    assert line.startswith("tfvis-nb: ")
    return line.removeprefix("tfvis-nb: ")
