"""How many examples of generated tests are tried: all for ``--extent all``, fewer otherwise."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

PERCENT = {"small": 4, "some": 10, "all": 100}
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
