"""The list of slow tests names tests that exist, and is brought up to date by measuring some of them."""

from pathlib import Path

import pytest

from tests.support.slow_tests import LIMIT_S, LIST, measured, name_without_parameters, slow_tests

ROOT = Path(__file__).parents[1]
LITTLE, MUCH = LIMIT_S / 2, LIMIT_S * 2


@pytest.mark.parametrize(
    ("seconds", "listed"),
    [
        ({}, ["a.py::kept"]),
        ({"a.py::new": [MUCH]}, ["a.py::kept", "a.py::new"]),
        ({"a.py::quick": [LITTLE]}, ["a.py::kept"]),
        ({"a.py::kept": [LITTLE]}, []),
        ({"a.py::some": [LITTLE, MUCH, 0]}, ["a.py::kept"]),
        ({"a.py::some": [LITTLE, MUCH, MUCH]}, ["a.py::kept", "a.py::some"]),
    ],
)
def test_measured_tests_are_listed_if_they_are_slow(
    seconds: dict[str, list[float]], listed: list[str]
) -> None:
    assert measured(["a.py::kept"], seconds) == listed


def test_parameters_are_left_out_of_a_name() -> None:
    assert name_without_parameters("tests/test_a.py::test_b[c::d[0]]") == "tests/test_a.py::test_b"


def test_every_slow_test_is_there() -> None:
    lines = LIST.read_text(encoding="utf-8").splitlines()
    assert lines == sorted(set(lines))
    gone = []
    for test in slow_tests():
        path, _, name = test.partition("::")
        file = ROOT / path
        # The name of a docstring's example ends in the name of its object.
        if not file.is_file() or name.rpartition(".")[2].rpartition("::")[2] not in file.read_text("utf-8"):
            gone.append(test)
    assert gone == []
