"""Ingest of many real traces: two workers beside one, kills in the middle, figures beside the traces' own."""

from __future__ import annotations

import argparse
import os
import resource
import signal
import statistics
import subprocess
import sys
import tarfile
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import pandas as pd
from distributed import Client, LocalCluster

import tfvis_nb as tv
from benchmarks.table import Row, show
from tests.real_traces import DATA, SHARED
from tests.support.ingests import digests, done, kill_in_the_middle, renamed
from tfvis_nb.analysis import op_statistics
from tfvis_nb.analysis.steps.breakdown import PARTS

_ALONE = """
import resource, sys
import tfvis_nb as tv
tv.open_traces(sys.argv[2]).ingest(sys.argv[1], progress=False)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


def traces(folder: Path) -> list[Path]:
    """Return traces of one step of one task each."""
    archive = SHARED / "h200" / "mlp_60steps.tar.xz"
    if not archive.is_file():
        return [DATA / f"gpu_tf2{version}_mlp.pb.xz" for version in ("18", "21")]
    with tarfile.open(archive) as file:
        file.extractall(folder, filter="data")
    names = ("mlp_step?", "mixed_sparse_embedding_step?", "two_logical_gpus_step?", "lstm_while_v2_step?")
    others = [path for name in names for path in sorted((SHARED / "h200").glob(f"{name}.pb"))]
    return [*sorted(folder.rglob("*.pb")), *others]


def timed(bucket: Path, dataset: Path, workers: int, *, kill: bool = False) -> tuple[float, float]:
    """Return how long (s) some workers take, and the maximum CPU time (s) of one of them.

    On shared cores, the latter is the time without other load. `kill` ends a worker in the middle.
    """
    count = len([*bucket.rglob("*.pb*")])
    with (
        LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=":0") as cluster,
        Client(cluster) as client,
    ):
        # Imports of a worker are not included.
        client.run(__import__, "tfvis_nb.fleet.dataset.parts")
        client.run(tv.read_trace, DATA / "run_meta.v1")
        used = client.run(time.process_time)
        before = time.perf_counter()
        ingest = threading.Thread(
            target=lambda: tv.open_traces(dataset).ingest(bucket, client, progress=False)
        )
        ingest.start()
        if kill:
            while done(dataset) < count // 2:
                time.sleep(0.01)
            os.kill(cluster.workers[0].pid, signal.SIGKILL)
        ingest.join()
        seconds = time.perf_counter() - before
        then = client.run(time.process_time)
        return seconds, max(then[worker] - used.get(worker, 0) for worker in then)


def different(dataset: tv.TraceDataset, every: int) -> list[str]:
    """Return the sources whose figures in the dataset differ from those of their traces."""
    steps, ops = dataset.steps.groupby("key"), dataset.ops.groupby("key")
    wrong = []
    for key, path in dataset.sources[["key", "path"]].iloc[::every].itertuples(index=False):
        trace = tv.read_trace(path)
        whole = trace.breakdown[trace.breakdown["device"] == ""]
        same = [_plain(steps.get_group(key)[["step_ns", *PARTS]]) == _plain(whole[["step_ns", *PARTS]])]
        figures = ["count", "total_ns", "self_ns", "min_ns", "max_ns"]
        keys = ["op", "kind", "side"]
        own = ops.get_group(key).set_index(keys)[figures].sort_index()
        wanted = op_statistics(trace).astype(dict.fromkeys(keys, str)).set_index(keys)[figures].sort_index()
        same.append(_plain(own.reset_index()) == _plain(wanted.reset_index()))
        if not all(same):
            wrong.append(path)
    return wrong


def _plain(table: pd.DataFrame) -> list[Any]:
    rows: list[Any] = table.astype(object).where(table.notna(), None).to_numpy().tolist()
    return rows


def alone(source: Path, dataset: Path) -> tuple[float, float, int]:
    """Return the CPU time (s) and peak memory (bytes) of a process that ingests one file, and its events."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    run = subprocess.run(
        [sys.executable, "-c", _ALONE, source, dataset], capture_output=True, text=True, check=True
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return seconds, int(run.stdout) * 1024, int(tv.open_traces(dataset).sources["events"].sum())


def main() -> int:
    """Run, print and return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.ingest", description=__doc__)
    parser.add_argument("--traces", type=int, default=1000)
    parser.add_argument("--pairs", type=int, default=3, help="how often one and two workers take turns")
    asked = parser.parse_args()
    rows: list[Row] = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder)
        bucket = renamed(traces(path / "own"), path / "bucket", asked.traces, 8)
        ratios, of_cpu = [], []
        for pair in range(asked.pairs):
            one, two = (timed(bucket, path / f"workers{workers}_{pair}", workers) for workers in (1, 2))
            ratios.append(one[0] / two[0])
            of_cpu.append(one[1] / two[1])
            print(
                f"  one worker {one[0]:.1f} s ({one[1]:.1f} s CPU), two {two[0]:.1f} s ({two[1]:.1f} s CPU): "
                f"{ratios[-1]:.2f} x ({of_cpu[-1]:.2f} x)",
                flush=True,
            )
        undisturbed = digests(path / "workers1_0")
        median, cpu = statistics.median(ratios), statistics.median(of_cpu)
        rate = f"{asked.traces / two[0]:.1f} traces/s"
        rows.append(Row("two workers", rate, "one worker", f"{median:.2f} x", ">= 1.7 x", median >= 1.7))
        cpu_row = Row(
            "the same by CPU time",
            f"{two[1]:.1f} s",
            f"{one[1]:.1f} s",
            f"{cpu:.2f} x",
            ">= 1.7 x",
            cpu >= 1.7,
        )
        rows.append(cpu_row)
        same = sum(digests(path / f"workers2_{pair}") == undisturbed for pair in range(asked.pairs))
        rows.append(
            Row(
                "datasets of two workers",
                f"{same} the same",
                f"{asked.pairs}",
                "",
                "all",
                same == asked.pairs,
            )
        )

        killed = kill_in_the_middle(bucket, path / "killed", asked.traces // 2)
        before = time.perf_counter()
        found = tv.open_traces(path / "killed").ingest(bucket, progress=False)
        again = time.perf_counter() - before
        whole = digests(path / "killed") == undisturbed and found.problems == 0
        rows.append(
            Row(
                "ingest killed",
                f"{killed:,} done",
                f"{found.read:,} read then",
                f"{again:.0f} s",
                "the same files",
                whole,
            )
        )
        timed(bucket, path / "worker_killed", 2, kill=True)
        whole = digests(path / "worker_killed") == undisturbed
        rows.append(
            Row("worker killed", f"{done(path / 'worker_killed'):,} done", "", "", "the same files", whole)
        )
        wrong = different(tv.open_traces(path / "killed"), max(asked.traces // 200, 1))
        rows.append(Row("traces with other figures", f"{len(wrong)}", "", "", "0", not wrong))

        large = SHARED / "h200" / "inception_tf2_60steps_gpu.xplane.pb.xz"
        if large.is_file():
            seconds, peak, events = alone(large, path / "large")
            rows.append(
                Row(
                    "one large profile",
                    f"{events:,} events",
                    f"{seconds:.1f} s CPU",
                    f"{peak / 2**30:.2f} GiB",
                    "<= 3 GiB",
                    peak <= 3 << 30,
                )
            )
    show(f"Ingest of {asked.traces:,} traces", rows)
    return 0 if all(row.kept for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
