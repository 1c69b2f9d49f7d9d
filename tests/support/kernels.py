"""Kernels that have TensorFlow and the package when they start: to import them takes longer than most cells.

``python -m tests.support.kernels SOCKET`` is forked for each kernel. Jupyter starts ``start_kernel.py``,
which requests the fork and forwards signals to it.
"""

import atexit
import json
import os
import signal
import socket
import sys
import tempfile
import threading
import time
from contextlib import suppress
from functools import cache
from pathlib import Path
from runpy import run_module
from typing import Any

from tests.support.with_tensorflow import Started

# jsonschema builds a parser of IRIs when it is imported, which takes seconds; no notebook has one to check.
WITHOUT_IRIS = "import sys; sys.modules['rfc3987_syntax'] = None"
exec(WITHOUT_IRIS)

_MOST = 1 << 20
"""Bytes of a request: the environment of a kernel, and little else."""


@cache
def jupyter_path() -> str:
    """Return a folder for ``JUPYTER_PATH`` whose kernel ``python3`` is forked."""
    # The path of a socket has 107 bytes at most.
    folder = tempfile.TemporaryDirectory(prefix="kernels-")
    address = Path(folder.name, "socket")
    kernel = Path(folder.name, "kernels", "python3", "kernel.json")
    kernel.parent.mkdir(parents=True)
    start = [sys.executable, "-I", "-S", str(Path(__file__).with_name("start_kernel.py"))]
    facts = {
        "argv": [*start, str(address), "-f", "{connection_file}"],
        "display_name": "Python 3",
        "language": "python",
        "metadata": {"debugger": True},
    }
    kernel.write_text(json.dumps(facts))
    errors = Path(folder.name, "errors")
    forked = Started("-m", __name__, address, errors=errors)
    while not address.exists():
        if forked.poll() is not None:
            raise RuntimeError(errors.read_text())
        time.sleep(0.05)

    def end() -> None:
        forked.send_signal(signal.SIGKILL)
        folder.cleanup()

    atexit.register(end)
    return folder.name


def _requested(connection: socket.socket) -> tuple[dict[str, Any], list[int]]:
    text, descriptors, _, _ = socket.recv_fds(connection, _MOST, 2)
    while not text.endswith(b"\n") and (more := connection.recv(_MOST)):
        text += more
    return json.loads(text), descriptors


def _end_with(connection: socket.socket) -> None:
    """End this process and those it started when ``start_kernel.py`` has ended."""
    connection.recv(1)
    os.killpg(0, signal.SIGKILL)


def _serve(address: str) -> list[str]:
    """Fork for each request; in a process that was forked, return the arguments of its kernel."""
    listening = socket.socket(socket.AF_UNIX)
    unnamed = Path(f"{address}.new")
    listening.bind(str(unnamed))
    listening.listen()
    unnamed.rename(address)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    while True:
        connection, _ = listening.accept()
        try:
            asked, descriptors = _requested(connection)
        except ValueError:  # the process ended before it sent all
            continue
        if pid := os.fork():
            with suppress(BrokenPipeError), connection:
                connection.sendall(f"{pid}\n".encode())
            for number in descriptors:
                os.close(number)
            continue
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        listening.close()
        os.setsid()
        for number, descriptor in enumerate(descriptors, 1):
            os.dup2(descriptor, number)
            os.close(descriptor)
        os.environ.clear()
        os.environ.update(asked["environment"])
        os.environ["JPY_PARENT_PID"] = str(os.getppid())
        os.chdir(asked["cwd"])
        threading.Thread(target=_end_with, args=(connection,), daemon=True).start()
        arguments: list[str] = asked["arguments"]
        return arguments


if __name__ == "__main__":
    import ipykernel.kernelapp  # noqa: F401

    import tfvis_nb.display.dashboard.dashboard_widget  # noqa: F401

    sys.argv = ["ipykernel_launcher", *_serve(sys.argv[1])]
    run_module("ipykernel_launcher", run_name="__main__", alter_sys=True)
