"""Numbers and texts at the edges of what programs can hold."""

import random

from tests.hostile_names import HOSTILE

NUMBERS = (
    *(0, 1, 2, -1, -2, 7, 100, 127, 128, 255, 256, 65_535, 65_536, 1_000_000),
    *(
        sign * (2**bits) + more
        for bits in (31, 32, 53, 62, 63, 64)
        for sign in (1, -1)
        for more in (-1, 0, 1)
    ),
    *(10**digits for digits in (9, 12, 15, 18, 19)),
    *((2**63) // unit for unit in (1000, 10**6, 10**9)),
    1_700_000_000_000_000_000,
)
"""Whole numbers: limits of integers, of float64, and of int64 after a change of unit."""

TEXTS = (
    *HOSTILE,
    "",
    " ",
    "\n",
    "/",
    "=",
    "a = b(c, d",
    "/job:worker/replica:0/task:99999999999999999999/device:GPU:-1",
    "/device:GPU:0/stream:all",
    "/host:CPU",
    "/device:GPU:" + "9" * 30,
    "edge_1_a_to_b; src=/job:a;dst=",
    "MEMCPYHtoD",
    "RecvTensor",
    "^a:0",
    "a/" * 500,
    "rank0",
    "nan",
    "None",
)
"""Texts that somebody parses, shows, or takes for something else."""


def number(near: int, chance: random.Random) -> int:
    """Return a number at an edge, or not far from the one there was."""
    action = chance.randrange(6)
    if action == 0:
        return near + chance.choice((-1, 1))
    if action == 1:
        return near * chance.choice((-1, 2, 1000, 1_000_000))
    if action == 2:
        return near // chance.choice((2, 1000))
    if action == 3:
        return chance.getrandbits(chance.randrange(1, 65))
    made: int = chance.choice(NUMBERS)
    return made


def text(near: str, chance: random.Random) -> str:
    """Return a hostile text, or the one there was with something of one in it."""
    hostile = chance.choice(TEXTS)
    if chance.random() < 0.3:
        at = chance.randrange(len(near) + 1)
        return near[:at] + hostile + near[at:]
    return near * chance.choice((2, 50)) if chance.random() < 0.1 else hostile
