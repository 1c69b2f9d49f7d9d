"""Operations and bytes of instructions, compared with XLA's own cost analysis of the same programs.

XLA's counts are in ``xla_costs.json``; ``benchmarks/xla_costs.py`` writes it anew.
"""

import base64
import json
import zlib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.protobuf_bytes import field, number
from tfvis_nb.analysis.programs.hlo_flops import Flops
from tfvis_nb.analysis.programs.hlo_module import HloModule, Modules
from tfvis_nb.analysis.programs.hlo_ops import accessed_bytes
from tfvis_nb.analysis.programs.hlo_text import category, expression

RECORDED = json.loads((Path(__file__).parent / "xla_costs.json").read_text(encoding="utf-8"))
PROGRAMS: dict[str, dict[str, Any]] = RECORDED["programs"]

INTEGERS = ("gathered", "scattered", "layer")
"""Programs that also compare, select or add integers, which XLA counts as operations and we do not."""

IN_PART = ("gathered compiled", "scattered compiled", "updated lowered", "layer lowered")
"""Programs for which XLA counts whole buffers although a fusion touches a part, or the accesses of a call."""

NAMES = st.sampled_from((b"fusion", b"add", b"reduce", b"call", b"while", b"dot", b"convolution", b"scatter"))
IDS = st.integers(-1, 6)
INTEGER = st.one_of(st.integers(-2, 9), st.sampled_from((2**31, 2**62, -(2**63))))


def entry(module: bytes) -> tuple[HloModule, Any, list[Any]]:
    """Return a program, its main computation, which is its last, and that one's instructions."""
    decoded = Modules({"m": field(1, module)}).get("m")
    assert decoded is not None
    main = list(decoded.computations())[-1]
    return decoded, main, list(main.instructions.values())


@pytest.mark.parametrize("name", PROGRAMS)
def test_costs_are_those_of_xla(name: str) -> None:
    said = PROGRAMS[name]
    module, main, instructions = entry(zlib.decompress(base64.b64decode(said["module"])))
    count = Flops(module)
    flops = [count.of(main, one) for one in instructions]
    operations = said["flops"] + said["transcendentals"]
    if name.startswith(INTEGERS):
        assert 0 < operations - sum(filter(None, flops)) <= 2048
    else:
        assert sum(one for one in flops if one is not None) == operations
    accessed = [accessed_bytes(module, main, one) for one in instructions]
    if name not in IN_PART:
        assert sum(one for one in accessed if one is not None) == said["bytes_accessed"]


def shape(kind: int, dimensions: list[int], parts: list[bytes]) -> bytes:
    sizes = b"".join(number(3, one) for one in dimensions)
    return number(2, kind) + sizes + b"".join(field(4, one) for one in parts)


SHAPES = st.recursive(
    st.builds(shape, st.integers(-1, 40), st.lists(INTEGER, max_size=4), st.just([])),
    lambda inner: st.builds(shape, st.just(13), st.just([]), st.lists(inner, max_size=3)),
    max_leaves=4,
)


@st.composite
def instructions(draw: st.DrawFn, at: int) -> bytes:
    window = b"".join(
        field(1, b"".join(number(place, draw(INTEGER)) for place in (1, 2, 3, 5, 6)))
        for _ in range(draw(st.integers(0, 2)))
    )
    places = b"".join(number(place, draw(IDS)) for place in (4, 6, 7, 8, 11, 12))
    return (
        field(1, b"i%d" % at)
        + field(2, draw(NAMES))
        + field(3, draw(SHAPES))
        + field(15, window)
        + field(16, places)
        + field(30, b"".join(number(1, one) for one in draw(st.lists(IDS, max_size=2))))
        + number(35, at)
        + b"".join(number(36, one) for one in draw(st.lists(IDS, max_size=3)))
        + b"".join(number(38, one) for one in draw(st.lists(IDS, max_size=3)))
        + number(50, draw(INTEGER))
    )


@given(st.data())
def test_no_program_fails_or_goes_on_for_ever(data: st.DataObject) -> None:
    """Computations that call themselves, ids of nothing, sizes that no memory has."""
    computations = b"".join(
        field(
            3,
            b"".join(field(2, data.draw(instructions(at))) for at in range(data.draw(st.integers(0, 4))))
            + number(5, data.draw(IDS))
            + number(6, data.draw(IDS)),
        )
        for _ in range(data.draw(st.integers(0, 3)))
    )
    module = Modules({"m": field(1, computations)}).get("m")
    assert module is not None
    for computation in module.computations():
        count = Flops(module)
        for one in computation.instructions.values():
            figures = (count.of(computation, one), accessed_bytes(module, computation, one))
            assert all(figure is None or figure >= 0 for figure in figures)
            assert category(one)
            assert len(expression(computation, one)) < 10_000


@given(st.binary(max_size=60))
def test_damaged_programs_are_not_known(data: bytes) -> None:
    Modules({"m": data}).get("m")
    assert Modules({"m": b"\x0a\xff" + data}).get("m") is None


def test_a_chain_of_computations_ends() -> None:
    """Each computation calls the next, more than Python can follow."""
    computations = b"".join(
        field(
            3,
            field(2, field(1, b"f%d" % at) + field(2, b"fusion") + number(35, 1) + number(38, at + 1))
            + number(5, at),
        )
        for at in range(1, 3000)
    )
    module = Modules({"m": field(1, computations)}).get("m")
    assert module is not None
    place = module.find("f1")
    assert place is not None
    assert Flops(module).of(*place) is None
    assert Modules({}).get("m") is None
