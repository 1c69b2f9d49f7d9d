"""Thousands of damaged traces: each raises a named error or survives everything, fast, in bounded memory.

``python -m benchmarks.mutants --count 100000 --workers 2 --report report.jsonl`` resumes where it stopped.
``python -m tests.mutants.attack SEED`` runs a single one and shows its traceback.
"""

from __future__ import annotations

import argparse
import gc
import json
import multiprocessing
import os
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

from benchmarks.table import Row, show
from tests.mutants.attack import SECONDS, at_most, attack, limit, where
from tests.mutants.samples import samples

PEAK = 2 << 30
"""Bytes of memory that a mutant may need, including everything the process has loaded."""
_LIMIT = PEAK + (1 << 30)
"""Memory limit of a process in bytes: beyond it, it gets a MemoryError instead of filling the machine."""
_CHUNK = 10
"""How many mutants a process gets at a time, the unit of progress in a report."""
_CHUNKS_EACH = 200
"""How many mutants a process runs before it is replaced, because libraries keep memory of odd traces."""


def _work(connection: Connection) -> None:
    """Run the mutants starting at each number received, and send their results."""
    limit(_LIMIT)
    os.environ["MALLOC_ARENA_MAX"] = "2"
    samples()
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)
    while True:
        first, end = connection.recv()
        for seed in range(first, end):
            connection.send(("begins", seed))
            connection.send(("ended", seed, _one(seed)))
        connection.send(("done", first))


def _one(seed: int) -> dict[str, Any]:
    _forget_peak()
    start, name, form = time.process_time(), "", ""
    try:
        with at_most(SECONDS):
            one = attack(seed)
            name, form = one.sample.name, one.sample.form
            result = one.outcome()
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt):
            raise
        result = f"FAULT {where(error)}"
    taken, peak = time.process_time() - start, _peak()
    if not result.startswith("FAULT") and (taken > SECONDS or peak > PEAK):
        result = f"FAULT {'time' if taken > SECONDS else 'memory'} of {name}"
    return {"result": result, "sample": name, "form": form, "seconds": taken, "peak": peak}


def _forget_peak() -> None:
    Path("/proc/self/clear_refs").write_text("5")


def _peak() -> int:
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) * 1024


@dataclass
class Found:
    """Results of mutants."""

    outcomes: Counter[str] = field(default_factory=Counter)
    faults: dict[str, list[int]] = field(default_factory=dict)
    slowest: tuple[float, int] = (0.0, 0)
    peak: tuple[int, int] = (0, 0)

    def add(self, seed: int, one: dict[str, Any]) -> None:
        """Count one mutant."""
        fault = one["result"].startswith("FAULT")
        self.outcomes[f"{one['form']}: {'FAULT' if fault else one['result']}"] += 1
        if fault:
            known = self.faults.setdefault(one["result"], [])
            known.append(seed)
            if len(known) == 1:
                print(f"{one['result']}\n    {one['sample']}, seed {seed}", file=sys.stderr, flush=True)
        self.slowest = max(self.slowest, (one["seconds"], seed))
        self.peak = max(self.peak, (one["peak"], seed))


@dataclass
class Worker:
    """A process, its current numbers, and their results."""

    process: Any
    connection: Connection
    chunks: int = 0
    at: tuple[int, int] = (0, 0)
    seed: int = 0
    since: float = 0.0
    results: dict[int, dict[str, Any]] = field(default_factory=dict)

    @classmethod
    def begun(cls) -> Worker:
        """Start a process."""
        context = multiprocessing.get_context("spawn")
        here, there = context.Pipe()
        process = context.Process(target=_work, args=(there,), daemon=True)
        process.start()
        there.close()
        return cls(process, here)

    def give(self, first: int, end: int) -> None:
        """Make it run a chunk of mutants, or the rest of one."""
        self.at, self.seed, self.since = (first, end), first, time.monotonic()
        self.connection.send((first, end))

    def end(self) -> None:
        """Kill the process."""
        self.process.kill()
        self.process.join()
        self.connection.close()


def run(chunks: list[tuple[int, int]], workers: int, report: Path | None, found: Found) -> None:
    """Run chunks of mutants in processes; if one dies or does not answer, that is a fault of its mutant."""
    left = chunks[::-1]
    busy: list[Worker] = []
    while left or busy:
        while left and len(busy) < workers:
            worker = Worker.begun()
            worker.give(*left.pop())
            busy.append(worker)
        ready = wait([worker.connection for worker in busy], timeout=1)
        for worker in list(busy):
            if worker.connection in ready:
                try:
                    message = worker.connection.recv()
                except (EOFError, OSError):
                    worker.process.join()
                    message = _lost(worker, f"FAULT a process that ended, {worker.process.exitcode}")
            elif time.monotonic() - worker.since > 20 * SECONDS:
                message = _lost(worker, "FAULT a process that does not answer")
            else:
                continue
            if message[0] == "lost":
                busy.remove(worker)
                follower = Worker.begun()
                follower.results, follower.chunks = worker.results, 0
                follower.give(worker.seed + 1, worker.at[1])
                busy.append(follower)
                continue
            if message[0] == "begins":
                worker.seed, worker.since = message[1], time.monotonic()
            elif message[0] == "ended":
                worker.results[message[1]] = message[2]
            else:
                _keep(worker.results, report, found)
                worker.results = {}
                worker.chunks += 1
                if left and worker.chunks < _CHUNKS_EACH:
                    worker.give(*left.pop())
                else:
                    worker.end()
                    busy.remove(worker)


def _lost(worker: Worker, result: str) -> tuple[str]:
    name = attack(worker.seed).sample
    taken = time.monotonic() - worker.since
    worker.results[worker.seed] = {
        "result": f"{result}, {name.name}",
        "sample": name.name,
        "form": name.form,
        "seconds": taken,
        "peak": 0,
    }
    worker.end()
    return ("lost",)


def _keep(results: dict[int, dict[str, Any]], report: Path | None, found: Found) -> None:
    for seed, one in results.items():
        found.add(seed, one)
    if report is not None:
        with report.open("a") as file:
            file.write(json.dumps(results) + "\n")


def _known(report: Path | None, found: Found) -> set[int]:
    """Return the numbers already in a report."""
    known = set()
    for line in report.read_text().splitlines() if report is not None and report.exists() else ():
        for seed, one in json.loads(line).items():
            known.add(int(seed))
            found.add(int(seed), one)
    return known


def main() -> None:
    """Run everything on damaged traces, and count the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--report", type=Path, help="a file that keeps what came of each, to go on later")
    arguments = parser.parse_args()
    found = Found()
    known = _known(arguments.report, found)
    last = arguments.seed + arguments.count
    firsts = [first for first in range(arguments.seed, last, _CHUNK) if first not in known]
    began = time.perf_counter()
    try:
        run(
            [(first, min(first + _CHUNK, last)) for first in firsts],
            arguments.workers,
            arguments.report,
            found,
        )
    except KeyboardInterrupt:
        print("ended early", file=sys.stderr)
    taken = time.perf_counter() - began
    summary(found, taken, found.outcomes.total() - len(known))


def summary(found: Found, taken: float, count: int) -> None:
    """Print the results, and exit with 1 if there are faults."""
    for fault, seeds in sorted(found.faults.items(), key=lambda one: -len(one[1])):
        print(f"{len(seeds):6}  {fault}  seeds {seeds[:3]}")
    faults = sum(map(len, found.faults.values()))
    (slowest, slow_seed), (peak, peak_seed) = found.slowest, found.peak
    rate = f"{count / max(taken, 1e-9):.1f} a second"
    show(
        f"{found.outcomes.total()} mutants of {len(samples())} samples; {count} now, in {taken:.0f} s",
        [
            *(
                Row(what, f"{times}", "", "", "", "FAULT" not in what)
                for what, times in sorted(found.outcomes.items())
            ),
            Row("faults", f"{faults}", "", "", "0", faults == 0),
            Row(
                "slowest", f"{slowest:.1f} s", f"seed {slow_seed}", "", f"<= {SECONDS} s", slowest <= SECONDS
            ),
            Row("peak memory", f"{peak / 1e6:.0f} MB", f"seed {peak_seed}", "", "<= 2147 MB", peak <= PEAK),
            Row("rate", rate, "", "", "", kept=True),
        ],
    )
    sys.exit(faults > 0)


if __name__ == "__main__":
    main()
