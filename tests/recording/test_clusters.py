"""Workers of a cluster record under their own task, and their files become one trace."""

import json
import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import tfvis_nb as tv
from tests.support.with_tensorflow import LOG_LEVEL
from tfvis_nb.texts import id_of

WORKER = """
import sys
import tensorflow as tf
import tfvis_nb as tv

strategy = tf.distribute.MultiWorkerMirroredStrategy()
with strategy.scope():
    weights = tf.Variable(tf.ones([16, 8]))

@tf.function
def train(x):
    def replica(x):
        gradient = tf.transpose(x) @ (x @ weights)
        # In the all_reduce of a replica context, workers ask the first for the group in every step, which can
        # crash TensorFlow's profiler (recording/profiler/capture.py). This op asks once.
        total = tf.raw_ops.CollectiveReduce(
            input=gradient, group_size=2, group_key=7, instance_key=7,
            merge_op="Add", final_op="Id", subdiv_offsets=[0],
        )
        weights.assign_sub(1e-6 * total)
    strategy.run(replica, args=(x,))

x = tf.ones([4, 16])
train(x)
with tv.trace(sys.argv[1]):
    for _ in range(4):
        train(x)
print("done", flush=True)
sys.stdin.read()
"""


def free_ports(count: int) -> list[int]:
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


@pytest.mark.tensorflow
def test_workers_record_under_their_task(tmp_path: Path) -> None:
    cluster = {"worker": [f"127.0.0.1:{port}" for port in free_ports(2)]}
    started: list[Any] = []
    for index in range(2):
        config = json.dumps({"cluster": cluster, "task": {"type": "worker", "index": index}})
        # A server of gRPC cannot start in a fork of a process with TensorFlow.
        command = [sys.executable, "-c", WORKER, str(tmp_path / f"{'ba'[index]}.parquet")]
        environment = {**os.environ, **LOG_LEVEL, "TF_CONFIG": config, "CUDA_VISIBLE_DEVICES": ""}
        pipes: dict[str, Any] = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
        started.append(subprocess.Popen(command, env=environment, text=True, **pipes))
    try:
        # A worker aborts if the other ends before it, so both stay until both are done.
        done = [process.stdout.readline() for process in started]
    finally:
        for process in started:
            process.kill()
        said = [process.communicate()[1] for process in started]
    assert done == ["done\n"] * 2, said
    for index in range(2):
        alone = tv.read_trace(tmp_path / f"{'ba'[index]}.parquet")
        assert set(alone.events["task"]) == {f"/job:worker/replica:0/task:{index}"}
    trace = tv.read_trace(tmp_path / "[ab].parquet")
    assert trace.step_labels == dict.fromkeys(range(4), "train")
    inside = trace.events[trace.events["step"] >= 0]
    assert inside.groupby("step")["task"].nunique().tolist() == [2] * 4
    assert sum(id_of(note) == "job_files_merged" for note in trace.notes) == 1
    # The thread of the last collective can still be in its event when the profiler stops, which drops it.
    assert trace.collective_waits["collective"].nunique() >= 3
