"""Ingests that are killed, and the files of a dataset."""

import hashlib
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

_SCRIPT = """
import sys
import dask
import tfvis_nb as tv
if len(sys.argv) > 3:
    from distributed import Client
    client = Client(sys.argv[3])
else:
    client = None
    dask.config.set(num_workers=2)
tv.open_traces(sys.argv[2]).ingest(sys.argv[1], client)
"""


def renamed(files: Sequence[Path], folder: Path, count: int, ranks: int) -> Path:
    """Copy traces, again and again, to ``run=job/rank<r>/step<s>`` until there are `count` of them."""
    for number in range(count):
        file = files[number % len(files)]
        suffix = "".join(part for part in file.suffixes if part in (".xplane", ".pb", ".xz"))
        target = folder / f"run=job/rank{number % ranks}/step{number // ranks}{suffix}"
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, target)
    return folder


def done(dataset: Path) -> int:
    """Return how many sources a dataset has an entry of."""
    return len([*dataset.glob("manifest/*.json")])


def kill_in_the_middle(bucket: Path, dataset: Path, after: int, *address: str) -> int:
    """Ingest in a process of its own and kill it when `after` sources are done; return how many are then."""
    process = subprocess.Popen([sys.executable, "-c", _SCRIPT, bucket, dataset, *address])
    while done(dataset) < after:
        assert process.poll() is None, "the ingest ended before it was killed"
        time.sleep(0.002)
    process.send_signal(signal.SIGKILL)
    process.wait()
    return done(dataset)


def digests(dataset: Path) -> dict[str, str]:
    """Return a hash of each file of a dataset."""
    return {
        path.relative_to(dataset).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(dataset.rglob("*"))
        if path.is_file()
    }
