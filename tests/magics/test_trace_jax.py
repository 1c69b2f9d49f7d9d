"""``%%trace`` of cells that use JAX."""

from typing import Any

import pytest

import tfvis_nb as tv
from tests.magics.ran import Ran
from tests.support.texts import says
from tfvis_nb.magics.trace_cell import CALIBRATION_RUNS, CellFailed
from tfvis_nb.texts import id_of

pytestmark = [pytest.mark.slow, pytest.mark.tensorflow]

SETUP = """
import jax, jax.numpy as jnp
array = jnp.ones((50, 50)).block_until_ready()
"""
LOOP = """
@jax.jit
def train_step(x):
    return jnp.tanh(x @ x)

for _ in range(3):
    array = train_step(array)
"""


@pytest.fixture
def shell(shell: Any) -> Any:
    shell.run_cell(SETUP).raise_error()
    return shell


def test_steps_and_lines_are_those_of_the_cell(shell: Any) -> None:
    ran = Ran(shell, f"%%trace t{LOOP}", store_history=True)
    assert ran.error is None
    assert len(ran.views) == 1
    trace = shell.user_ns["t"]
    assert [*trace.step_labels.values()] == ["train_step"] * 3
    (file,) = (one for one in trace.stacks.files.to_pylist() if one["name"].startswith("Cell"))
    assert file["text"].splitlines()[3] == "    return jnp.tanh(x @ x)"
    lines = trace.source_lines.dropna(subset="line")
    assert {*lines["file"]} == {f"Cell [{shell.execution_count - 1}]"}
    assert 4 in {*lines["line"]}


def test_the_second_run_is_compared_with_the_first(shell: Any) -> None:
    cell = "%%trace -q t\nfor number in range(4):\n    _ = jnp.tanh(array)"
    marked = cell.replace("    _", "    with jax.profiler.StepTraceAnnotation('train', step_num=number): _")
    assert Ran(shell, marked).error is None
    again = Ran(shell, marked)
    assert [*shell.user_ns["t"].step_labels.values()] == [f"train {number}" for number in range(4)]
    assert says(again.text, "run_and_last") or again.text == ""


def test_a_failing_cell_shows_what_ran_before(shell: Any) -> None:
    ran = Ran(shell, f"%%trace t{LOOP}1 / 0")
    assert isinstance(ran.error, CellFailed)
    assert "ZeroDivisionError" in ran.text
    trace = shell.user_ns["t"]
    assert [*trace.step_labels.values()] == ["train_step"] * 3
    assert "ended_by_error" in map(id_of, trace.notes)


def test_a_framework_is_chosen(shell: Any) -> None:
    both = f"{LOOP}tf.compat.v2.ones([3]) + 1;"
    assert Ran(shell, f"%%trace -q t --framework jax{both}").error is None
    assert not shell.user_ns["t"].events["name"].str.startswith("TFE_").any()
    assert Ran(shell, f"%%trace -q t --framework tensorflow{both}").error is None
    assert not shell.user_ns["t"].events["name"].str.startswith("Pjit").any()
    for line, named in (("--framework torch", "torch"), ("--framework jax --mode session", "session")):
        ran = Ran(shell, f"%%trace {line}\nran = True")
        assert type(ran.error).__name__ == "UsageError"
        assert named in str(ran.error)
    assert "ran" not in shell.user_ns


def test_calibration_measures_marks(shell: Any) -> None:
    mark = "jax.profiler.StepTraceAnnotation('train', step_num=number)"
    ran = Ran(shell, f"%%trace t --calibrate\nfor number in range(4):\n    with {mark}: jnp.tanh(array)")
    assert ran.error is None
    cost = tv.analysis.tracing_cost(shell.user_ns["t"])
    assert cost is not None
    assert (cost.traced_steps, cost.untraced_steps) == (3, 3 * (CALIBRATION_RUNS - 1))
    unmarked = Ran(shell, f"%%trace -q t --calibrate{LOOP}")
    assert says(unmarked.text, "nothing_calibrated")
