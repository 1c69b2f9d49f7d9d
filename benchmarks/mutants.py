"""Thousands of damaged traces: each must be an error by name or a sound table, soon and in bounded memory."""

from __future__ import annotations

import argparse
import random
import resource
import sys
import time
import traceback
from collections import Counter
from pathlib import Path

from benchmarks.table import Row, show
from benchmarks.traces import COLLECTED
from tests.mutation import at_most, content, mutant, outcome
from tests.real_traces import DATA

LARGEST = 4 << 20
"""Unpacked bytes; larger samples would take all the time and have no other bytes in them."""
SECONDS = 20
MEMORY = 4 << 30
"""Bytes of address space that a process gets for all this."""


def samples() -> dict[str, bytes]:
    """Every trace there is, by its name, unpacked."""
    found = {}
    for folder in (DATA, COLLECTED):
        for path in sorted(folder.rglob("*")) if folder.is_dir() else ():
            if path.is_file() and path.suffix not in (".md", ".LICENSE"):
                data = content(path)
                if len(data) <= LARGEST:
                    found[str(path.relative_to(folder.parent))] = data
    return found


def main() -> None:
    """Damage, read, count."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--keep", type=Path, help="a folder for the damaged files that were not read rightly")
    arguments = parser.parse_args()
    every = samples()
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
    names = sorted(every)
    outcomes: Counter[str] = Counter()
    slowest = (0.0, "")
    began = time.perf_counter()
    for number in range(arguments.count):
        seed = arguments.seed + number
        chance = random.Random(seed)
        name = chance.choice(names)
        data = mutant(every[name], every[chance.choice(names)], seed)
        start = time.perf_counter()
        try:
            with at_most(SECONDS):
                result = outcome(data)
        except Exception as error:  # noqa: BLE001 - finding these is what this is for
            result = f"FAULT {type(error).__name__}"
            print(f"\n{name}, seed {seed}, {len(data)} bytes: {error!r}", file=sys.stderr)
            print("".join(traceback.format_tb(error.__traceback__)[-3:]), file=sys.stderr)
            if arguments.keep:
                arguments.keep.mkdir(parents=True, exist_ok=True)
                (arguments.keep / f"{seed}-{name.replace('/', '_')}").write_bytes(data)
        outcomes[result] += 1
        slowest = max(slowest, (time.perf_counter() - start, f"{name}, seed {seed}"))
    taken = time.perf_counter() - began
    faults = sum(count for result, count in outcomes.items() if result.startswith("FAULT"))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    show(
        f"{arguments.count} damaged files of {len(names)} samples in {taken:.0f} s",
        [
            *(
                Row(result, f"{count}", "", "", "", not result.startswith("FAULT"))
                for result, count in outcomes.most_common()
            ),
            Row("faults", f"{faults}", "", "", "0", faults == 0),
            Row("slowest", f"{slowest[0]:.2f} s", slowest[1], "", f"<= {SECONDS} s", slowest[0] <= SECONDS),
            Row("peak memory", f"{peak / 1e6:.0f} MB", "", "", f"<= {MEMORY / 1e6:.0f} MB", peak <= MEMORY),
        ],
    )
    sys.exit(faults > 0)


if __name__ == "__main__":
    main()
