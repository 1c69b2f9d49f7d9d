"""`tfvis_nb.analysis` exports every analysis by its name, each with an example."""

import inspect
import subprocess
import sys

import pytest

from tfvis_nb import analysis
from tfvis_nb.analysis.metrics import MODULES

OF_THE_TRACE = {"critical_path", "findings"}
"""Analyses that packages are named after; a trace has them."""


@pytest.mark.parametrize("name", dir(analysis))
def test_a_public_name_is_a_function_with_an_example(name: str) -> None:
    function = getattr(analysis, name)
    assert inspect.isfunction(function)
    assert function.__name__ == name
    assert f">>> from tfvis_nb.analysis import {name}\n" in str(function.__doc__)


def test_every_analysis_with_definitions_is_exported() -> None:
    assert set(MODULES) - OF_THE_TRACE <= set(dir(analysis))


def test_a_wrong_name_is_an_attribute_error() -> None:
    wrong = "op_statistic"
    with pytest.raises(AttributeError, match=wrong):
        getattr(analysis, wrong)


def test_importing_the_package_imports_no_analysis() -> None:
    said = "import sys, tfvis_nb.analysis; print(*(m for m in sys.modules if 'tfvis_nb.analysis.' in m))"
    ran = subprocess.run([sys.executable, "-c", said], capture_output=True, text=True, check=True)
    assert ran.stdout.split() == []
