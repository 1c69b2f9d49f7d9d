"""Damage to bytes regardless of their meaning, as by disks and networks."""

import random

INTERESTING = (0, 1, 0x0A, 0x22, 0x2E, 0x7B, 0x7D, 0x7F, 0x80, 0xFF)


def damaged(data: bytes, other: bytes, chance: random.Random) -> bytes:
    """Damage `data` in one place: change, cut, insert, swap, repeat, or splice with `other`."""
    made = bytearray(data)
    at = chance.randrange(len(made) + 1)
    size = min(chance.choice((1, 1, 2, 4, 8, 64, 1024)), len(made))
    action = chance.randrange(10)
    if action == 0 and at < len(made):
        made[at] ^= 1 << chance.randrange(8)
    elif action == 1 and at < len(made):
        made[at] = chance.choice(INTERESTING)
    elif action == 2:
        del made[at : at + size]
    elif action == 3:
        made[at:at] = bytes(chance.choice(INTERESTING) for _ in range(size))
    elif action == 4:
        to = chance.randrange(len(made) + 1)
        made[at : at + size], made[to : to + size] = made[to : to + size], made[at : at + size]
    elif action == 5:
        made[at:at] = made[at : at + size] * chance.randint(1, 4)
    elif action == 6:
        start = chance.randrange(len(other) + 1)
        made[at : at + size] = other[start : start + size]
    elif action == 7:
        start = chance.randrange(len(made) + 1)
        part = made[start : start + chance.randint(1, 8)]
        made[at : at + len(part)] = part
    elif chance.random() < 0.2:
        del made[at:]
    return bytes(made)


def mutant(data: bytes, other: bytes, seed: int) -> bytes:
    """Damage `data` in one to four places; the same arguments give the same bytes."""
    chance = random.Random(seed)
    for _ in range(chance.choice((1, 1, 1, 2, 4))):
        data = damaged(data, other, chance)
    return data
