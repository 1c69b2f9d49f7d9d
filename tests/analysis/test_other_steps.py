"""A first step that is set apart."""

from tfvis_nb import Trace, events
from tfvis_nb.analysis.steps.other_steps import other_steps
from tfvis_nb.events import NO_STEP

TASKS = [f"/job:worker/replica:0/task:{number}" for number in range(2)]
TOOK = [9_000_000, 1_000_000, 1_000_000]


def test_transfers_of_a_step_that_is_set_apart_are_of_no_step() -> None:
    rows = [
        {"start_ns": step * 10_000_000, "duration_ns": took, "step": step, "kind": kind}
        for step, took in enumerate(TOOK)
        for kind in ("op", "transfer")
    ]
    columns = {name: [row[name] for row in rows] for name in rows[0]}
    ends = {"task": [TASKS[0]] * 6, "source": [TASKS[1]] * 6, "destination": [TASKS[0]] * 6, "bytes": [8] * 6}
    trace = Trace(events.build(columns | ends | {"lane": ["ops", "recv"] * 3}))
    others = other_steps(trace)
    assert trace.transfers["step"].tolist() == [0, 1, 2]
    assert others.transfers["step"].tolist() == others.events["step"].tolist()[1::2] == [NO_STEP, 1, 2]
    assert others.transfers.dtypes.equals(trace.transfers.dtypes)
