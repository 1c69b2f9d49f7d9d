"""Records a variant of a program: steps without a trace, traced steps, and steps without a trace again.

``python -m benchmarks.known_causes.recording NAME slow|fixed REPEAT FOLDER [TASK]`` is one process of it.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from benchmarks.known_causes.cluster import addresses
from benchmarks.known_causes.program import Program, load

TIMEOUT_S = 180


def recorded(program: Program, variant: str, repeat: int, folder: Path) -> str:
    """Record a variant in processes of its own; return what went wrong."""
    command = [sys.executable, "-m", __spec__.name, program.name, variant, str(repeat), str(folder)]
    environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": "-1"}
    started = []
    cluster = addresses(worker=program.tasks)
    for task in range(program.tasks):
        if program.tasks > 1:
            own = {"cluster": cluster, "task": {"type": "worker", "index": task}}
            environment["TF_CONFIG"] = json.dumps(own)
        started.append(
            subprocess.Popen(
                [*command, str(task)],
                env=environment,
                text=True,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
            )
        )
    try:
        errors = [process.communicate(timeout=TIMEOUT_S)[1] for process in started]
    except subprocess.TimeoutExpired:
        return f"took more than {TIMEOUT_S} s"
    finally:
        for process in started:
            process.kill()
    failed = [error for process, error in zip(started, errors, strict=True) if process.returncode]
    return failed[0][-2000:] if failed else ""


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


def _record(program: Program, variant: str, repeat: int, folder: Path, task: int) -> None:
    with contextlib.suppress(PermissionError):
        os.nice(-5)  # Before threads start, so that other programs change the times less.
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
    if program.warm:
        untraced.append(timed())
    trace.to_parquet(files(folder, program, variant, repeat)[task])
    if task == 0:
        times = {"untraced": untraced, "traced": traced, "places": program.places}
        times_file(folder, program, variant, repeat).write_text(json.dumps(times))
    if hasattr(module, "close"):
        module.close()


if __name__ == "__main__":
    _record(load(sys.argv[1]), sys.argv[2], int(sys.argv[3]), Path(sys.argv[4]), int(sys.argv[5]))
    os._exit(0)  # Threads of servers and of collectives never end.
