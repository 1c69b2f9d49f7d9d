"""Predictions for traces of several steps, and refused ones."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

from tests.real_traces import DATA, real_trace
from tests.support.h200_traces import read_h200
from tests.support.made_steps import built, op
from tests.support.texts import raises_id
from tfvis_nb import Trace, events
from tfvis_nb.analysis import what_if
from tfvis_nb.display.tabs import tab


@pytest.mark.parametrize("change", [{"host_compute": 0}, {"launch": "hidden"}, {"launch": 0}])
def test_steps_with_pauses_between_them_change_as_one_alone_does(change: dict[str, Any]) -> None:
    one = real_trace(DATA / "gpu_tf221_mlp.pb.xz")
    times = ["start_ns", "scheduled_ns", "compute_start_ns", "compute_end_ns"]
    parts = [
        one.events.assign(
            step=np.int32(step), **{name: one.events[name] + step * 20_000_000 for name in times}
        )
        for step in range(4)
    ]
    table, _ = events.order(pd.concat(parts, ignore_index=True).astype(one.events.dtypes.to_dict()))
    found = what_if(Trace(table), activities=change).times
    (alone,) = what_if(Trace(one.events), activities=change).times["predicted_ns"]
    assert found["predicted_ns"].to_numpy() == pytest.approx(alone, rel=0.02)


def test_task_on_time_is_on_time_in_every_step() -> None:
    """Each step starts when the one before it ends, so what one saves moves all later ones."""
    task = "/job:worker/replica:0/task:{}"
    rows = [
        op(f"{name}{number}", 200 * step + start, length, *inputs, step=step, **more)
        for step in range(6)
        for number, work in ((0, 40), (1, 160))
        for more in ({"task": task.format(number), "device": f"{task.format(number)}/device:CPU:0"},)
        for name, start, length, inputs in (
            ("first", 0, 10, []),
            ("work", 10, work - 10, [f"first{number}"]),
        )
    ]
    rows += [
        op(
            "reduce",
            200 * step + work,
            180 - work,
            f"work{number}",
            step=step,
            task=task.format(number),
            device=f"{task.format(number)}/device:CPU:0",
            kind="collective",
            op="CollectiveReduceV2",
            lane="collective",
        )
        for step in range(6)
        for number, work in ((0, 40), (1, 160))
    ]
    found = what_if(built(rows), on_time="worker 1").times
    assert found["recorded_ns"].tolist() == [180] * 6
    assert found["predicted_ns"].tolist() == pytest.approx([60] * 6, abs=2)


def test_sessions_start_each_step_after_the_last_one_ended() -> None:
    """The first task starts the next step only when the second one, which ends last, is done."""
    task = "/job:worker/replica:0/task:{}"
    rows = [
        op("a", step * 200, work, step=step, op=kind)
        | {"task": task.format(number), "device": f"{task.format(number)}/device:CPU:0"}
        for step in range(4)
        for number, kind, work in ((0, "Short", 20), (1, "Long", 180))
    ]
    found = what_if(built(rows), ops={"Long": 0.5})
    assert found.times["predicted_ns"].tolist() == [90] * 4
    assert found.steps["start_ns"].diff().dropna().tolist() == [110] * 3


@pytest.mark.collection(*(f"h200/mwms_straggler_worker{number}.xplane.pb" for number in range(2)))
def test_less_work_that_makes_steps_longer_is_no_prediction() -> None:
    """The profile has no dependency of ops after a collective on it."""
    trace = read_h200([f"mwms_straggler_worker{number}.xplane.pb" for number in range(2)])
    with raises_id(ValueError, "replay_lacks_dependencies"):
        what_if(trace, on_time="/job:worker/replica:0/task:1")
    assert trace.findings.set_index("id")["gain"].filter(like="straggler").isna().all()


def test_steps_of_synchronisation_alone_cannot_be_predicted() -> None:
    """As the first seconds of a Horovod timeline, which has only negotiations."""
    table = events.build(
        {"start_ns": [0, 5], "duration_ns": [0, 7], "kind": ["sync"] * 2, "lane": ["negotiate"] * 2}
    )
    trace = Trace(table)
    with raises_id(ValueError, "steps_without_work"):
        what_if(trace)
    (control,) = tab(trace, "What if")["blocks"]
    assert control["cannot_say"]
