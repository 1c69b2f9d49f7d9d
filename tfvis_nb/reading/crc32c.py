"""CRC-32C, the checksum of TFRecord files, for records of any size without a loop over their bytes."""

from __future__ import annotations

from functools import cache

import numpy as np

from tfvis_nb.reading.protowire import Data

_POLYNOMIAL = 0x82F63B78
_LANES = 1024


@cache
def _table() -> np.ndarray:
    """Return what each byte does to the checksum."""
    table = np.arange(256, dtype=np.uint32)
    for _ in range(8):
        table = np.where(table & 1, table >> 1 ^ np.uint32(_POLYNOMIAL), table >> 1)
    return table


def crc32c(data: Data) -> int:
    """Return the CRC-32C of `data`.

    Examples
    --------
    >>> from tfvis_nb.reading.crc32c import crc32c
    >>> hex(crc32c(b"123456789")), hex(crc32c(b"123456789" * 1000))
    ('0xe3069283', '0xd601351d')
    """
    content = np.frombuffer(data, np.uint8)
    length = len(content) // _LANES
    if length < 4:
        return _step(0xFFFFFFFF, content) ^ 0xFFFFFFFF
    # The checksum is linear: equal pieces are advanced side by side, then each is moved past the next.
    table = _table()
    pieces = content[: length * _LANES].reshape(_LANES, length)
    lanes = np.zeros(_LANES, np.uint32)
    lanes[0] = 0xFFFFFFFF
    for column in pieces.T:
        lanes = table[(lanes ^ column) & 0xFF] ^ lanes >> 8
    past = _past_zeros(length)
    whole = 0
    for lane in lanes.tolist():
        whole = lane ^ _apply(past, whole)
    return _step(whole, content[length * _LANES :]) ^ 0xFFFFFFFF


def masked(data: Data) -> int:
    """Return the masked CRC-32C that stands in a TFRecord file."""
    value = crc32c(data)
    return ((value >> 15 | value << 17) + 0xA282EAD8) & 0xFFFFFFFF


def _step(state: int, content: np.ndarray) -> int:
    table = _entries()
    for byte in content.tolist():
        state = table[(state ^ byte) & 0xFF] ^ state >> 8
    return state


@cache
def _entries() -> list[int]:
    entries: list[int] = _table().tolist()
    return entries


@cache
def _past_zeros(count: int) -> tuple[int, ...]:
    """Return what `count` zero bytes make of each of the 32 bits of a checksum."""
    bits = np.left_shift(np.uint32(1), np.arange(32, dtype=np.uint32))
    made = bits
    power = _one_zero(bits)
    while count:
        if count & 1:
            made = _each(power, made)
        power = _each(power, power)
        count >>= 1
    return tuple(made.tolist())


def _one_zero(values: np.ndarray) -> np.ndarray:
    advanced: np.ndarray = _table()[values & 0xFF] ^ values >> 8
    return advanced


def _each(matrix: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Apply a matrix, one number for each bit, to each of `values`."""
    bits = values[:, None] >> np.arange(32, dtype=np.uint32) & 1
    made: np.ndarray = np.bitwise_xor.reduce(np.where(bits == 1, matrix[None, :], np.uint32(0)), axis=1)
    return made


def _apply(matrix: tuple[int, ...], value: int) -> int:
    made = 0
    for bit in matrix:
        if value & 1:
            made ^= bit
        value >>= 1
    return made
