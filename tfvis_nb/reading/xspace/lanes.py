"""Names for the lanes of host threads."""

from collections.abc import Sequence

from tfvis_nb.reading.xspace.events import Line

_LONG = 7
"""A thread number with at least this many digits is a hash, which is meaningless to readers."""


def thread_lanes(parts: Sequence[tuple[str, dict[int, Line]]]) -> list[list[str]]:
    """Name the lanes of lines without another name, by the index of the line in its plane.

    Threads have their pool's name and a number of 19 digits; instead they are numbered from 1 within their
    pool, in source order. Each part is the name of a plane, and its lines.

    >>> lines = {0: Line(-6496432264529327406, "tf_Compute/-6496432264529327406"), 1: Line(7, "python")}
    >>> thread_lanes([("/host:CPU", lines)])
    [['tf_Compute/1', 'python']]
    """
    pools: dict[tuple[str, str], int] = {}
    taken: dict[str, tuple[str, int]] = {}
    named: dict[tuple[str, int], str] = {}
    last: dict[str, int] = {}
    for plane, lines in parts:
        for number, line in lines.items():
            if (plane, number) in named:
                continue
            named[plane, number] = _free(_short(plane, line, pools), (plane, number), taken, last)
    return [
        [named.get((plane, number), "") for number in range(max(lines, default=-1) + 1)]
        for plane, lines in parts
    ]


def _short(plane: str, line: Line, pools: dict[tuple[str, str], int]) -> str:
    pool, _, number = line.name.rpartition("/")
    name = line.name
    if pool and number.lstrip("-").isdecimal() and len(number) >= _LONG:
        pools[plane, pool] = pools.get((plane, pool), 0) + 1
        name = f"{pool}/{pools[plane, pool]}"
    if plane.startswith("/host:") and plane != "/host:CPU":
        name = f"{plane.removeprefix('/host:')} {name}".strip()
    return name or f"line {line.id}"


def _free(name: str, owner: tuple[str, int], taken: dict[str, tuple[str, int]], last: dict[str, int]) -> str:
    """Return `name`, with a number if another line of the host has the same name.

    `last` has the highest number of each name.
    """
    # Lanes of devices are distinguished by their device.
    scope = "" if owner[0].startswith("/host:") else owner[0]
    wanted = f"{scope}\0{name}"
    number = last.get(wanted, 1)
    free = name if number == 1 else f"{name} ({number})"
    while taken.setdefault(f"{scope}\0{free}", owner) != owner:
        number += 1
        free = f"{name} ({number})"
    last[wanted] = number
    return free
