"""``tfvis-nb`` as a shell runs it."""

import os
import subprocess
import sys
from contextlib import chdir, redirect_stderr, redirect_stdout
from io import BytesIO, TextIOWrapper
from pathlib import Path

from tfvis_nb.cli import main


def tfvis_nb(
    *words: str | Path, cwd: Path | None = None, **environment: str
) -> subprocess.CompletedProcess[str]:
    """Run a command line without a display, and return its output."""
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


def tfvis_nb_here(*words: str | Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Do what `tfvis_nb` does in this process, which is quicker."""
    command = [*map(str, words)]
    # Not StringIO: completions are written as bytes.
    out, err = (TextIOWrapper(BytesIO(), encoding="utf-8", write_through=True) for _ in range(2))
    with chdir(cwd), redirect_stdout(out), redirect_stderr(err):
        code = main(command)
    said = [stream.detach().getvalue().decode() for stream in (out, err)]
    return subprocess.CompletedProcess(command, code, *said)


def complaint(done: subprocess.CompletedProcess[str], code: int) -> str:
    """Return the single line with a command's error message."""
    assert done.returncode == code, done.stderr
    assert done.stdout == ""
    (line,) = done.stderr.splitlines()
    assert line.startswith("tfvis-nb: ")
    return line.removeprefix("tfvis-nb: ")
