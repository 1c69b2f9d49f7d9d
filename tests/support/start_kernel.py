"""Jupyter starts this as a kernel. It imports little: the kernel itself is forked by ``kernels.py``."""

import json
import os
import select
import signal
import socket
import sys
from pathlib import Path


def main(address: str, *arguments: str) -> None:
    """Request a kernel, and end when it or the process that started this one ends."""
    parent = os.getppid()
    asked = {"cwd": str(Path.cwd()), "environment": dict(os.environ), "arguments": arguments}
    connection = socket.socket(socket.AF_UNIX)
    connection.connect(address)
    text = json.dumps(asked).encode() + b"\n"
    sent = socket.send_fds(connection, [text], [1, 2])
    connection.sendall(text[sent:])
    kernel = int(connection.makefile().readline())
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda received, _: os.kill(kernel, received))
    while os.getppid() == parent:
        if select.select([connection], [], [], 1.0)[0]:
            return


if __name__ == "__main__":
    main(*sys.argv[1:])
