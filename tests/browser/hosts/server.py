"""Programs that serve one page with a timeline, each in its own environment."""

import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tests.support.environments import ROOT

STARTS_WITHIN = 120.0


def wheel(folder: Path) -> str:
    """Build this package as users install it; return its path."""
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder), str(ROOT)]
    subprocess.run(command, check=True, capture_output=True)
    (built,) = folder.glob("*.whl")
    return str(built)


@contextmanager
def serving(command: Sequence[str | Path], folder: Path, path: str = "") -> Iterator[str]:
    """Run a server until the block ends; ``{port}`` in its arguments is a free port. Yields its address."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    address = f"http://127.0.0.1:{port}/{path}"
    log = folder / "server.log"
    private = {f"JUPYTER_{name}_DIR": str(folder / name) for name in ("CONFIG", "DATA", "RUNTIME")}
    environment = {**os.environ, **private, "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"}
    with log.open("wb") as output:
        process = subprocess.Popen(
            [str(part).format(port=port) for part in command],
            cwd=folder,
            env=environment,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
    try:
        deadline = time.monotonic() + STARTS_WITHIN
        while not _answers(address):
            assert process.poll() is None, log.read_text(errors="replace")
            assert time.monotonic() < deadline, log.read_text(errors="replace")
            time.sleep(0.2)
        yield address
    finally:
        os.killpg(process.pid, signal.SIGTERM)
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait(10)


def _answers(address: str) -> bool:
    try:
        urllib.request.urlopen(address, timeout=30).close()
    except (urllib.error.URLError, ConnectionError, TimeoutError):
        return False
    return True
