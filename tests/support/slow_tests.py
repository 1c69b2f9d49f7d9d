"""The tests that `make check` leaves out: the listed ones, measured at more than `LIMIT_S`."""

import resource
from collections import defaultdict
from collections.abc import Generator, Iterable, Mapping
from functools import cache
from pathlib import Path
from statistics import mean
from typing import Any

import pytest

LIST = Path(__file__).parents[1] / "slow_tests.txt"
"""One test a line, as pytest calls it but without its parameters."""
LIMIT_S = 0.1
"""Of processor time, which depends less on other programs; of a test with parameters the mean."""


@cache
def slow_tests() -> frozenset[str]:
    """Return the tests of the list."""
    return frozenset(LIST.read_text(encoding="utf-8").splitlines())


def name_without_parameters(nodeid: str) -> str:
    """Return the name of a test in the list."""
    return nodeid.partition("[")[0]


def measured(known: Iterable[str], seconds: Mapping[str, list[float]]) -> list[str]:
    """Return the list of slow tests after some were measured; the others do not change."""
    slow = {test for test, times in seconds.items() if mean(times) > LIMIT_S}
    return sorted({*known} - {*seconds} | slow)


class Measuring:
    """Measures the tests of a run, in one process, and writes the list anew.

    A test is charged with all fixtures that it uses, as if it were the only one: the first test of a shared
    fixture is then no slower than the others.
    """

    def __init__(self) -> None:
        self._seconds: dict[str, list[float]] = defaultdict(list)
        self._shared: dict[str, float] = {}
        self._apart = 0.0

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: pytest.FixtureDef[Any]) -> Generator[None, object, object]:
        """Measure a shared fixture by itself."""
        before = _processor_s()
        result = yield
        if fixturedef.scope != "function":
            self._shared[fixturedef.argname] = _processor_s() - before
            self._apart += self._shared[fixturedef.argname]
        return result

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        """Measure a test with its setup and teardown."""
        before, self._apart = _processor_s(), 0.0
        result = yield
        own = _processor_s() - before - self._apart
        shared = sum(self._shared.get(name, 0) for name in getattr(item, "fixturenames", ()))
        self._seconds[name_without_parameters(item.nodeid)].append(own + shared)
        return result

    def pytest_sessionfinish(self) -> None:
        """Write the list."""
        lines = measured(slow_tests(), self._seconds)
        LIST.write_text("".join(f"{test}\n" for test in lines), encoding="utf-8")


def _processor_s() -> float:
    """Seconds of this process and of those it waited for."""
    used = [resource.getrusage(of) for of in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)
