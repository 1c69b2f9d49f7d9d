"""``%%trace --calibrate``: what tracing costs, by runs without it."""

from typing import Any

import pytest

import tfvis_nb as tv
from tests.magics.ran import Ran
from tests.support.texts import figures_of, says
from tfvis_nb.magics.trace_cell import CALIBRATION_RUNS, CellFailed

pytestmark = pytest.mark.tensorflow

KERAS = """
import keras
import numpy as np
x = np.ones((16, 4), "float32")
model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1)])
model.compile("sgd", "mse")
"""


@pytest.mark.parametrize("code", ["session.run(total)", "model.fit(x, x[:, :1], batch_size=2, verbose=0)"])
def test_a_calibrated_cell_runs_without_tracing_first(shell: Any, code: str) -> None:
    shell.run_cell(f"ran = []\n{KERAS}").raise_error()
    cell = f"ran.append(1); print('said')\nfor _ in range(3):\n    _ = {code}"
    ran = Ran(shell, f"%%trace t --calibrate\n{cell}")
    assert ran.error is None
    assert says(ran.text, "calibrating", runs=CALIBRATION_RUNS)
    assert ran.text.count("said") == 1
    assert len(shell.user_ns["ran"]) == CALIBRATION_RUNS + 1
    cost = tv.analysis.tracing_cost(shell.user_ns["t"])
    steps = len(shell.user_ns["t"].steps.query("step >= 0")) - 1
    assert cost is not None
    assert (cost.traced_steps, cost.untraced_steps) == (steps, steps * (CALIBRATION_RUNS - 1))
    (note,) = figures_of(shell.user_ns["t"].notes, "tracing_cost")
    assert says(ran.text, "tracing_cost", **note)


def test_what_cannot_be_calibrated_is_traced(shell: Any) -> None:
    ran = Ran(shell, "%%trace t --calibrate\ntf.compat.v2.ones([3]) + 1;")
    assert says(ran.text, "nothing_calibrated")
    assert tv.analysis.tracing_cost(shell.user_ns["t"]) is None
    failed = Ran(shell, "%%trace --calibrate\nprint('sa' + 'id')\n1 / 0")
    assert isinstance(failed.error, CellFailed)
    assert (failed.text.count("said"), failed.text.count("Traceback")) == (1, 1)
