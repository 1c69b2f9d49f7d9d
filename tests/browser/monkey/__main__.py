"""Walk from a shell, and count the faults."""

import argparse
import re
import sys
import time
from collections.abc import Sequence

from tests.browser import monkey
from tests.browser.monkey.hosts import HOSTS, opened
from tests.browser.monkey.walker import BrokenInvariantError
from tests.browser.monkey.walks import LENGTH, say, walk


def main(arguments: Sequence[str]) -> int:
    """Walk from a shell, and count the faults."""
    parser = argparse.ArgumentParser(prog="python -m tests.browser.monkey", description=monkey.__doc__)
    parser.add_argument("--host", choices=[*HOSTS], required=True)
    parser.add_argument("--gestures", type=int, default=LENGTH)
    parser.add_argument("--seed", type=int, default=1, help="of the first walk; the next have the next ones")
    given = parser.parse_args(arguments)
    broken: list[str] = []
    done = cut = overlapping = 0
    began = time.monotonic()
    with opened(given.host) as host:
        for seed in range(given.seed, given.seed + -(-given.gestures // LENGTH)):
            try:
                walker = walk(host, seed, min(LENGTH, given.gestures - done))
                done += len(walker.done)
                cut, overlapping = max(cut, walker.cut), max(overlapping, walker.overlapping)
            except BrokenInvariantError as fault:
                done += int(re.search(r"gesture (\d+) at", str(fault))[1])  # type: ignore[index]
                broken.append(fault.invariant)
                say(str(fault))
            took = time.monotonic() - began
            say(f"seed {seed}: {done} gestures, {len(broken)} walks broken, {took:.0f} s")
    say(f"at most {cut} texts cut and {overlapping} pairs of texts overlapping")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
