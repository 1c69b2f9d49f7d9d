"""Peak rates of GPUs: floating-point operations per second, by number type.

They are for dense matrix products, on Tensor Cores if these support the type, from NVIDIA's architecture
whitepapers: V100, T4, A100, GA10x, Ada, H100 and Blackwell.
"""

import re

_VOLTA = {"f64": 64, "f32": 128, "f16": 1024}
_AMPERE_GAMES = {"f64": 4, "f32": 512, "f16": 1024, "bf16": 1024}

PER_CYCLE: dict[str, dict[str, int]] = {
    "7.0": _VOLTA,
    "7.5": _VOLTA | {"f64": 4},
    "8.0": {"f64": 128, "f32": 1024, "f16": 2048, "bf16": 2048},
    "8.6": _AMPERE_GAMES,
    "8.9": _AMPERE_GAMES,
    "9.0": {"f64": 256, "f32": 2048, "f16": 4096, "bf16": 4096},
    "10.0": {"f64": 128, "f32": 4096, "f16": 8192, "bf16": 8192},
}
"""Operations of one streaming multiprocessor (SM) per clock cycle, by compute capability and XLA's name of a
type. A multiply-add is two. Where the GPU has TF32, ``f32`` means TF32, which TensorFlow and JAX use."""

_TYPE = re.compile(r"\b(f64|f32|f16|bf16)\[")


def type_of(expression: str) -> str:
    """Return the number type that an HLO instruction computes with: its first operand's, or its own.

    >>> type_of("f32[8,8] dot(bf16[8,4] x, bf16[4,8] y)"), type_of("u32[] constant(1)")
    ('bf16', '')
    """
    _, called, operands = expression.partition("(")
    match = _TYPE.search(operands) or _TYPE.search(expression)
    return match[1] if called and match else ""


def peak_rate(capability: str, cores: int, clock_hz: int, kind: str) -> float | None:
    """Return the operations per second of a GPU at its highest clock rate; None if unknown.

    >>> round(peak_rate("9.0", cores=132, clock_hz=1_980_000_000, kind="bf16") / 1e12)
    1071
    """
    per_cycle = PER_CYCLE.get(capability, {}).get(kind)
    return None if per_cycle is None else float(per_cycle * cores * clock_hz)
