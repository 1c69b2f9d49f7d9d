"""How many examples of a test are tried: most for ``--extent all``, fewer otherwise."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, settings

if TYPE_CHECKING:
    from _pytest.mark import ParameterSet

PERCENT = {"small": 4, "some": 6, "all": 40}
"""Of the examples that a test asks for, and of Hypothesis's own 100."""


def try_examples(extent: str) -> None:
    """Have tests try so many examples, however long one takes; to be called before they are imported."""
    settings.register_profile(
        "extent",
        parent=settings(),
        max_examples=PERCENT[extent],
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow],
    )
    settings.load_profile("extent")


def examples(count: int) -> int:
    """Return the part of `count` examples that is to be tried."""
    return max(1, count * settings().max_examples // 100)


def sample(cases: Iterable[Any], kept: Collection[Any]) -> list[ParameterSet]:
    """Return parameters for a test of similar cases; all but the kept ones are thorough."""
    given = [*cases]
    assert set(kept) <= set(given)
    return [
        pytest.param(case, marks=[] if case in kept else [pytest.mark.thorough], id=str(case))
        for case in given
    ]
