"""Parse a kernel's launch configuration: registers, shared memory, grid and block."""

import math
import re
from dataclasses import dataclass

_INTEGER = r"([0-9]{1,12})\b"
_REGISTERS = re.compile(rf" (?:regs:|registers per thread=){_INTEGER}")
_STATIC = re.compile(rf" static_shared:{_INTEGER}")
# PyTorch gives the sum of both.
_DYNAMIC = re.compile(rf" (?:dynamic_shared:|shared memory=){_INTEGER}")
_OCCUPANCY = re.compile(r" occ_pct:([0-9]{1,3}(?:\.[0-9]{1,9})?)\b")
_SIZE = r"(?::|=\[)([0-9]{1,12}), ?([0-9]{1,12}), ?([0-9]{1,12})\b"
_GRID, _BLOCK = (re.compile(rf" {name}{_SIZE}") for name in ("grid", "block"))


@dataclass(frozen=True)
class LaunchConfiguration:
    """The recorded parameters of a launch; None or empty if not recorded.

    - `registers`: Per thread.
    - `static_shared`, `dynamic_shared`: Bytes of shared memory of a block.
    - `grid`, `block`: Blocks in the grid and threads in a block, in x, y and z.
    - `occupancy`: The theoretical one, from 0 to 1. None where TensorFlow 2.18 writes 0, for kernels with
      more shared memory than the default limit.
    """

    registers: int | None
    static_shared: int | None
    dynamic_shared: int | None
    grid: tuple[int, ...]
    block: tuple[int, ...]
    occupancy: float | None

    @property
    def blocks(self) -> int:
        """Number of blocks in the grid, 0 if not recorded."""
        return math.prod(self.grid) if self.grid else 0

    @property
    def threads(self) -> int:
        """Number of threads in a block, 0 if not recorded."""
        return math.prod(self.block) if self.block else 0


def launch_configuration(text: str) -> LaunchConfiguration:
    """Read the text of a kernel.

    >>> launch = launch_configuration("gemm regs:92 dynamic_shared:98304 grid:32,2,1 block:128,1,1")
    >>> launch.registers, launch.dynamic_shared, launch.blocks, launch.threads
    (92, 98304, 64, 128)
    """
    percent = _OCCUPANCY.search(text)
    return LaunchConfiguration(
        registers=_integer(_REGISTERS, text),
        static_shared=_integer(_STATIC, text),
        dynamic_shared=_integer(_DYNAMIC, text),
        grid=_integers(_GRID, text),
        block=_integers(_BLOCK, text),
        occupancy=float(percent[1]) / 100 or None if percent else None,
    )


def _integer(pattern: re.Pattern[str], text: str) -> int | None:
    match = pattern.search(text)
    return int(match[1]) if match else None


def _integers(pattern: re.Pattern[str], text: str) -> tuple[int, ...]:
    match = pattern.search(text)
    return tuple(map(int, match.groups())) if match else ()
