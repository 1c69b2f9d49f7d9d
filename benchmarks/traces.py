"""The traces to measure: collected ones next to the checkout, or else one recorded here."""

from __future__ import annotations

import lzma
import subprocess
import sys
from functools import cache
from pathlib import Path

import pandas as pd
import pyarrow as pa

from tfvis_nb import Trace

COLLECTED = Path(__file__).parent.parent.parent / "shared" / "traces"

# Recorded by another process, so that the memory and imports of this one do not change.
_RECORD = """
import sys
import tensorflow as tf

layers, target = int(sys.argv[1]), sys.argv[2]
v1 = tf.compat.v1
v1.disable_eager_execution()
value = v1.placeholder(tf.float32, [8, 16])
weights = v1.get_variable("weights", [16, 16])
for layer in range(layers):
    with tf.name_scope(f"layer_{layer}"):
        value = tf.nn.relu(tf.matmul(value, weights) + 0.5) * 0.9 - tf.reduce_mean(value)
with v1.Session() as session:
    session.run(v1.global_variables_initializer())
    options = v1.RunOptions(trace_level=v1.RunOptions.FULL_TRACE)
    metadata = v1.RunMetadata()
    feed = {"Placeholder:0": [[0.1] * 16] * 8}
    session.run(value, feed)
    session.run(value, feed, options=options, run_metadata=metadata)
with open(target, "wb") as file:
    file.write(metadata.SerializeToString())
"""


def large(folder: Path) -> Path:
    """Return a RunMetadata file of about 100,000 rows: 4000 layers of tiny ops.

    Parameters
    ----------
    folder
        The folder for the file.
    """
    return _unpacked("h200/deep4000.pb.xz", folder) or _recorded(15_000, folder / "deep.pb")


def medium(folder: Path) -> Path:
    """Return a RunMetadata file of about 13,000 rows: one training step of a convolutional network."""
    return _unpacked("h200/inception_step1.pb.xz", folder) or _recorded(2_000, folder / "medium.pb")


def profile(folder: Path) -> Path:
    """Return an XSpace file of a profiled training with 781,142 events, or a small one if that is missing."""
    small = Path(__file__).parent.parent / "tests" / "data" / "gpu_tf221_worker1.xplane.pb.xz"
    large = _unpacked("h200/inception_tf2_60steps_gpu.xplane.pb.xz", folder)
    if large is not None:
        return large
    path = folder / small.stem
    path.write_bytes(lzma.decompress(small.read_bytes()))
    return path


def small_profile(folder: Path) -> Path:
    """Return an XSpace file of a Keras training on a GPU, or the same small one if that is missing."""
    recorded = COLLECTED / "h200" / "keras_fit_gpu.xplane.pb"
    return recorded if recorded.exists() else profile(folder)


def repeated(trace: Trace, times: int) -> Trace:
    """Return the trace repeated `times`, one step after the other."""
    events = trace.events
    span = int((events["start_ns"] + events["duration_ns"]).max() - events["start_ns"].min())
    gap = span // 50
    clocks = [name for name in events.columns if name.endswith("_ns") and name != "duration_ns"]
    steps = [
        events.assign(
            step=events["step"] + number, **{name: events[name] + number * (span + gap) for name in clocks}
        )
        for number in range(times)
    ]
    nested = None if trace.nested is None else pa.concat_tables([trace.nested] * times)
    return Trace(pd.concat(steps, ignore_index=True), nested=nested, title=f"{trace.title} x {times}")


@cache
def _unpacked(name: str, folder: Path) -> Path | None:
    packed = COLLECTED / name
    if not packed.exists():
        return None
    path = folder / packed.stem
    path.write_bytes(lzma.decompress(packed.read_bytes()))
    return path


@cache
def _recorded(layers: int, path: Path) -> Path:
    subprocess.run([sys.executable, "-c", _RECORD, str(layers), str(path)], check=True)
    return path
