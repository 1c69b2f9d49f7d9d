"""The quick tests with other versions of packages: the lowest, the newest, and those beside a TensorFlow."""

import os
import subprocess

import pytest

from tests.support.environments import ROOT, run
from tests.support.versions import SETS, python_of

pytestmark = pytest.mark.thorough


@pytest.mark.parametrize("versions", SETS)
def test_quick_tests_pass(versions: str) -> None:
    python = python_of(versions)
    outer = ("MAKEFLAGS", "MAKELEVEL", "MFLAGS", "PYTEST_XDIST_WORKER", "PYTEST_XDIST_WORKER_COUNT")
    environment = {name: value for name, value in os.environ.items() if name not in outer}
    # Both exist, but may be older than their sources.
    made = ("-o", ".venv/installed", "-o", "tfvis_nb/static/bundles.json")
    command = ["make", "--no-print-directory", *made, "quick", f"PY={python}"]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-8000:] + done.stderr[-2000:]
    print(done.stdout.splitlines()[-1])  # noqa: T201


@pytest.mark.parametrize("versions", SETS)
def test_doctor_finds_no_fault_in_combination(versions: str) -> None:
    code = "from tfvis_nb.cli import doctor; print(doctor.combinations())"
    assert run(python_of(versions), "-c", code).strip() == "[]"


@pytest.mark.parametrize("versions", SETS)
def test_traces_with_hardly_any_events(versions: str) -> None:
    run(python_of(versions), "-m", "pytest", "-q", "tests/analysis/test_small_traces.py")
