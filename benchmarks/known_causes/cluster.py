"""Servers of TensorFlow in processes of their own."""

from __future__ import annotations

import json
import socket
import subprocess
import sys

Cluster = dict[str, list[str]]


def addresses(**tasks: int) -> Cluster:
    """Return a free local address for each task of each job."""
    sockets = {job: [socket.create_server(("localhost", 0)) for _ in range(tasks[job])] for job in tasks}
    found = {job: [f"localhost:{one.getsockname()[1]}" for one in own] for job, own in sockets.items()}
    for own in sockets.values():
        for one in own:
            one.close()
    return found


def started(cluster: Cluster, job: str, task: int) -> subprocess.Popen[bytes]:
    """Start a server; it ends when its standard input is closed, so also with this process."""
    command = [sys.executable, "-m", __name__, json.dumps(cluster), job, str(task)]
    return subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )


if __name__ == "__main__":
    import tensorflow.compat.v1 as tf

    server = tf.train.Server(tf.train.ClusterSpec(json.loads(sys.argv[1])), sys.argv[2], int(sys.argv[3]))
    sys.stdin.read()
