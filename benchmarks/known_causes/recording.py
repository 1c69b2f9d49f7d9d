"""Records a variant of a program: steps without a trace, traced steps, and steps without a trace again."""

from __future__ import annotations

import contextlib
import importlib
import json
import multiprocessing
import os
import tempfile
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.known_causes.cluster import Cluster, addresses
from benchmarks.known_causes.program import Program, load

TIMEOUT_S = 180
SETTINGS = {"TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": "-1"}


def recorded(program: Program, variant: str, repeat: int, folder: Path) -> str:
    """Record a variant in processes of its own, most with TensorFlow imported; return what went wrong."""
    os.environ.update(SETTINGS)
    context: Any = multiprocessing.get_context("spawn" if program.backend else "forkserver")
    context.set_forkserver_preload(["tensorflow", "tfvis_nb"])
    cluster = addresses(worker=program.tasks)
    together = context.Barrier(program.tasks, timeout=TIMEOUT_S)
    with tempfile.TemporaryDirectory() as scratch:
        started = [
            context.Process(
                target=_record, args=(program.name, variant, repeat, folder, task, cluster, together, scratch)
            )
            for task in range(program.tasks)
        ]
        for process in started:
            process.start()
        until = time.monotonic() + TIMEOUT_S
        for process in started:
            process.join(max(until - time.monotonic(), 0))
            process.kill()
            process.join()
    failed = [process.exitcode for process in started if process.exitcode]
    return f"failed or took more than {TIMEOUT_S} s ({failed[0]})" if failed else ""


def files(folder: Path, program: Program, variant: str, repeat: int) -> list[Path]:
    """Return the trace of each task of a variant."""
    stem = f"{program.name}.{variant}.{repeat}"
    return [
        folder / f"{stem}.parquet" if task == 0 else folder / f"{stem}.task{task}.parquet"
        for task in range(program.tasks)
    ]


def times_file(folder: Path, program: Program, variant: str, repeat: int) -> Path:
    """Return the file with the wall times of a variant, which is written last."""
    return folder / f"{program.name}.{variant}.{repeat}.json"


def _record(
    name: str,
    variant: str,
    repeat: int,
    folder: Path,
    task: int,
    cluster: Cluster,
    together: Any,
    scratch: str,
) -> None:
    program = load(name)
    tempfile.tempdir = scratch
    with contextlib.suppress(PermissionError):
        os.nice(-5)  # Before threads start, so that other programs change the times less.
    if program.backend:
        os.environ["KERAS_BACKEND"] = program.backend
    if program.tasks > 1:
        os.environ["TF_CONFIG"] = json.dumps({"cluster": cluster, "task": {"type": "worker", "index": task}})
    try:
        _run(program, variant, repeat, folder, task, together.wait)
    except BaseException:  # noqa: BLE001 - the process ends here
        traceback.print_exc()
        os._exit(1)
    os._exit(0)  # Threads of servers and of collectives never end.


def _run(
    program: Program,
    variant: str,
    repeat: int,
    folder: Path,
    task: int,
    wait_for_others: Callable[[], object],
) -> None:
    module = importlib.import_module(f"benchmarks.known_causes.programs.{program.name}")
    import tfvis_nb as tv
    from benchmarks.known_causes.clock import STARTS

    def timed() -> list[float]:
        STARTS.clear()
        run(program.steps)
        ends = [*STARTS[1:], time.perf_counter()]
        return [end - start for start, end in zip(STARTS, ends, strict=True)]

    run: Any = module.make(variant == "slow")
    untraced = []
    if program.warm:
        run(program.warm)
        untraced.append(timed())
    with tv.trace() as trace:
        traced = timed()
        # End all recordings together, so that none has a tail without the others. Workers of
        # MultiWorkerMirroredStrategy can still crash here (docs/troubleshooting.md).
        wait_for_others()
    wait_for_others()
    if program.warm:
        untraced.append(timed())
    trace.to_parquet(files(folder, program, variant, repeat)[task])
    if task == 0:
        times = {"untraced": untraced, "traced": traced, "places": program.places}
        times_file(folder, program, variant, repeat).write_text(json.dumps(times))
    wait_for_others()  # They may still read from this one.
    if hasattr(module, "close"):
        module.close()
