"""The number of warps of a kernel that a streaming multiprocessor (SM) can hold, and its limits.

Limits and allocation units are those of NVIDIA's CUDA C++ Programming Guide ("Technical Specifications per
Compute Capability") and of its occupancy calculator.
"""

from dataclasses import dataclass

_WARP = 32
_LARGEST_BLOCK = 1024
"""Maximum threads of a block on all GPUs."""

_REGISTERS = 65_536
"""Registers of an SM for all compute capabilities in `LIMITS`; TensorFlow 2 does not support older ones."""

_REGISTER_UNIT, _WARP_UNIT = 256, 4
"""A warp gets registers in units of 256; each of an SM's four schedulers has a quarter of them."""


@dataclass(frozen=True)
class Limits:
    """The limits of an SM.

    - `blocks`, `warps`: Blocks and warps at once.
    - `shared_bytes`: Shared memory.
    - `shared_unit`: Allocation unit of shared memory, in bytes.
    - `reserved_bytes`: Shared memory of each block that the driver keeps.
    """

    blocks: int
    warps: int
    shared_bytes: int
    shared_unit: int = 128
    reserved_bytes: int = 1024


_BEFORE_AMPERE = {"shared_unit": 256, "reserved_bytes": 0}
_KIB = 1024

LIMITS: dict[str, Limits] = {
    "5.0": Limits(32, 64, 64 * _KIB, **_BEFORE_AMPERE),
    "5.2": Limits(32, 64, 96 * _KIB, **_BEFORE_AMPERE),
    "6.0": Limits(32, 64, 64 * _KIB, **_BEFORE_AMPERE),
    "6.1": Limits(32, 64, 96 * _KIB, **_BEFORE_AMPERE),
    "7.0": Limits(32, 64, 96 * _KIB, **_BEFORE_AMPERE),
    "7.5": Limits(16, 32, 64 * _KIB, **_BEFORE_AMPERE),
    "8.0": Limits(32, 64, 164 * _KIB),
    "8.6": Limits(16, 48, 100 * _KIB),
    "8.7": Limits(16, 48, 164 * _KIB),
    "8.9": Limits(24, 48, 100 * _KIB),
    "9.0": Limits(32, 64, 228 * _KIB),
    "10.0": Limits(32, 64, 228 * _KIB),
    "12.0": Limits(24, 48, 100 * _KIB),
}
"""By compute capability."""


@dataclass(frozen=True)
class Occupancy:
    """How well a kernel can fill an SM.

    - `blocks`: Blocks at once.
    - `share`: Their threads as a share of the SM's maximum, from 0 to 1.
    - `limited_by`: The resource that allows the fewest blocks: ``threads``, ``blocks``, ``registers``,
      ``shared memory``.
    """

    blocks: int
    share: float
    limited_by: str


def occupancy(capability: str, registers: int, shared_bytes: int, threads: int) -> Occupancy | None:
    """Return the theoretical occupancy of a kernel; None if the limits of the GPU are unknown.

    Parameters
    ----------
    capability
        Compute capability of the GPU, such as ``"9.0"``.
    registers
        Registers per thread.
    shared_bytes
        Static and dynamic shared memory of a block.
    threads
        Threads of a block.

    Examples
    --------
    >>> occupancy("9.0", registers=166, shared_bytes=16_896, threads=128)
    Occupancy(blocks=3, share=0.1875, limited_by='registers')
    """
    limits = LIMITS.get(capability)
    if limits is None or threads < 1 or registers < 0 or shared_bytes < 0:
        return None
    warps = -(-threads // _WARP)
    fitting = {"threads": limits.warps // warps, "blocks": limits.blocks}
    if registers:
        of_warp = -(-registers * _WARP // _REGISTER_UNIT) * _REGISTER_UNIT
        fitting["registers"] = _REGISTERS // of_warp // _WARP_UNIT * _WARP_UNIT // warps
    if shared_bytes:
        unit = limits.shared_unit
        fitting["shared memory"] = limits.shared_bytes // (
            -(-(shared_bytes + limits.reserved_bytes) // unit) * unit
        )
    limited_by = min(fitting, key=lambda name: fitting[name])
    blocks = fitting[limited_by]
    return Occupancy(blocks, blocks * threads / (limits.warps * _WARP), limited_by) if blocks else None


def suggested_block(capability: str, registers: int, shared_bytes: int) -> int | None:
    """Return the block size with the highest occupancy of a kernel; of several, the largest.

    CUDA's ``cudaOccupancyMaxPotentialBlockSize`` suggests the same for these registers per thread and shared
    memory of a block. None if the limits of the GPU are unknown or no block fits.

    Examples
    --------
    >>> suggested_block("9.0", registers=193, shared_bytes=73_728)
    256
    """
    warps = {
        threads: full.share
        for threads in range(_LARGEST_BLOCK, 0, -_WARP)
        if (full := occupancy(capability, registers, shared_bytes, threads))
    }
    return max(warps, key=lambda threads: warps[threads], default=None)
