"""The pytest fixture ``tfvis_trace``, in a separate run of pytest."""

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import tfvis_nb as tv
from tfvis_nb.analysis import gate_metrics

REPOSITORY = Path(__file__).parents[1]

TESTS = """
import sys

assert not {"numpy", "pandas", "tensorflow"} & {*sys.modules}

import pytest
import tensorflow as tf

square = tf.function(lambda x: tf.matmul(x, x))


def test_within(tfvis_trace):
    square(tf.ones((2, 2)))
    with tfvis_trace() as trace:
        square(tf.ones((2, 2)))
    tfvis_trace.check(retraces=0)
    assert tfvis_trace.trace is trace


def test_beyond(tfvis_trace):
    @tfvis_trace(source=False)
    def run():
        for size in (3, 4, 5):
            square(tf.ones((size, size)))

    run()
    tfvis_trace.check(retraces=0)


def test_unrecorded(tfvis_trace):
    with pytest.raises(RuntimeError):
        tfvis_trace.check(retraces=0)
"""


def test_the_entry_point_is_the_module() -> None:
    with (REPOSITORY / "pyproject.toml").open("rb") as file:
        entry_points = tomllib.load(file)["project"]["entry-points"]
    assert entry_points == {"pytest11": {"tfvis_nb": "tfvis_nb.pytest_plugin"}}


@pytest.mark.tensorflow
@pytest.mark.slow
def test_the_run_of_a_test_is_checked_and_saved(tmp_path: Path) -> None:
    (tmp_path / "test_steps.py").write_text(TESTS)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "tfvis_nb.pytest_plugin", "--basetemp=kept"]
    environment = os.environ | {
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        "PYTEST_ADDOPTS": "",
        "TF_CPP_MIN_LOG_LEVEL": "3",
    }
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert re.findall(r"^FAILED test_steps.py::(\w+)", done.stdout, re.MULTILINE) == ["test_beyond"], (
        done.stdout
    )
    (saved,) = (tmp_path / "kept").rglob("*.parquet")
    assert str(saved) in done.stdout
    table = gate_metrics(tv.read_trace(saved)).set_index("metric")
    assert table.loc["retraces", "value"] == 3
