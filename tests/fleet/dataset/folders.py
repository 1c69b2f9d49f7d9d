"""Folders of real traces under the names of runs, tasks and steps."""

import json
import shutil
from pathlib import Path

import pyarrow.parquet as pq

from tfvis_nb.fleet.dataset.stored_parts import footer_sum

DATA = Path(__file__).parents[2] / "data"

JOB = {
    "a/rank0/step3.pb.xz": "horovod_rank0_step3.pb.xz",
    "a/rank1/step3.pb.xz": "horovod_rank1_step3.pb.xz",
    "b/step5.pb.xz": "gpu_tf218_dist.pb.xz",
    "b/step6.pb.xz": "gpu_tf221_mlp.pb.xz",
    "c/plugins/profile/2026_01_31/gpu7.xplane.pb": "cpu_jax.xplane.pb",
}
"""Names in a bucket to files of `DATA`: two ranks, several tasks, GPUs, a profile with stacks."""


def bucket(folder: Path, names: dict[str, str]) -> Path:
    """Copy files of `DATA` under other names."""
    for name, file in names.items():
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(DATA / file, target)
    return folder


def record(part: Path, dataset: Path) -> None:
    """Make the manifest of a dataset take a changed part for the one that was written."""
    name = part.relative_to(dataset).as_posix()
    for file in (dataset / "manifest").iterdir():
        entry = json.loads(file.read_text())
        if name in entry["parts"]:
            entry["parts"][name] = [pq.read_metadata(part).num_rows, part.stat().st_size, footer_sum(part)]
            file.write_text(json.dumps(entry))
