"""Steps of JAX on a CPU, where calls are made ahead of the runs of their programs."""

import pytest

import tfvis_nb as tv
from tests.protobuf_bytes import field, number
from tfvis_nb.analysis.steps.breakdown import PARTS

STATS = ("step_num", "run_id", "hlo_op", "hlo_module")
CALL, LOWERING = "PjitFunction(f)", "lower_sharding_computation"
START, STOP = "ThreadpoolListener::StartRegion", "ThreadpoolListener::StopRegion"

Row = tuple[str, int, int, dict[str, int | str]]


def step(place: int, start: int, end: int) -> Row:
    return "train", start, end, {"step_num": place}


def run(number_of_run: int, start: int, end: int) -> Row:
    return "dot", start, end, {"run_id": number_of_run, "hlo_op": "dot", "hlo_module": "jit_f"}


def steps_of(*threads: list[Row]) -> tv.Trace:
    """Return a trace of rows (name, start, end, stats) of threads, with times in us."""
    names = sorted({row[0] for thread in threads for row in thread})
    stats = b"".join(
        field(5, number(1, place) + field(2, number(1, place) + field(2, name.encode())))
        for place, name in enumerate(STATS, 1)
    )
    meta = b"".join(
        field(4, number(1, place) + field(2, number(1, place) + field(2, name.encode())))
        for place, name in enumerate(names, 1)
    )
    lines = b""
    for place, thread in enumerate(threads, 1):
        events = b""
        for name, start, end, facts in thread:
            one = number(1, names.index(name) + 1)
            one += number(2, start * 1_000_000) + number(3, (end - start) * 1_000_000)
            for key, value in facts.items():
                known = number(4, value) if isinstance(value, int) else field(5, value.encode())
                one += field(4, number(1, STATS.index(key) + 1) + known)
            events += field(4, one)
        lines += field(3, number(1, place) + field(2, b"thread") + events)
    return tv.read_trace(field(1, field(2, b"/host:CPU") + lines + meta + stats))


def spans(trace: tv.Trace) -> list[tuple[int, int]]:
    """Return the start and end of each step (us)."""
    steps = trace.steps[trace.steps["step"] >= 0]
    times = (steps[["start_ns", "end_ns"]] - trace.events["start_ns"].min()) // 1000
    return [(int(start), int(end)) for start, end in times.to_numpy()]


def loop(*inside: Row) -> list[Row]:
    """Return three steps called one after the other; the last one has `inside`."""
    calls = [step(place, 4 * place, 4 * place + 3) for place in range(2)] + [step(2, 8, 60)]
    made: list[Row] = [(CALL, 4 * place + 1, 4 * place + 2, {}) for place in range(2)]
    return [*calls, *made, (CALL, 9, 59 if inside else 10, {}), *inside]


RUNS = [run(1, 5, 20), run(2, 21, 40), run(3, 62, 70)]


def test_a_compiling_step_starts_after_the_previous_step() -> None:
    trace = steps_of(loop((LOWERING, 12, 30, {})), RUNS)
    assert spans(trace) == [(0, 20), (21, 40), (40, 70)]
    assert trace.events.loc[trace.events["name"] == LOWERING, "step"].tolist() == [2]


def test_a_blocked_call_does_not_lengthen_earlier_steps() -> None:
    steps = [step(0, 0, 2), step(1, 2, 4), step(2, 4, 35)]
    calls: list[Row] = [(CALL, 0, 1, {}), (CALL, 2, 3, {}), (CALL, 4, 34, {})]
    trace = steps_of([*steps, *calls], RUNS)
    assert spans(trace) == [(0, 20), (20, 40), (62, 70)]
    assert trace.events.loc[trace.events["name"] == CALL, "step"].tolist() == [0, 0, 1]


@pytest.mark.parametrize("inside", [(), ((LOWERING, 12, 30, {}),)])
def test_parts_add_up_to_steps_that_follow_each_other(inside: tuple[Row, ...]) -> None:
    trace = steps_of(loop(*inside), RUNS)
    steps = trace.steps.set_index("step")["duration_ns"]
    table = trace.breakdown
    assert (table[list(PARTS)].fillna(0).sum(axis=1) == table["step"].map(steps)).all()
    used = trace.utilization
    assert (used["busy_ns"] + used["idle_ns"] == used["step"].map(steps)).all()
    assert trace.critical_path.groupby("step")["duration_ns"].sum().to_dict() == steps.to_dict()
    assert trace.what_if(ops={}).times["recorded_ns"].tolist() == steps.tolist()


def test_other_steps_start_when_they_run() -> None:
    steps = [step(place, 2 * place, 2 * place + 2) for place in range(3)]
    calls: list[Row] = [(CALL, 2 * place, 2 * place + 1, {}) for place in range(3)]
    assert spans(steps_of([*steps, *calls], RUNS)) == [(0, 20), (21, 40), (62, 70)]


def test_a_late_end_report_belongs_to_the_running_step() -> None:
    steps = [step(place, 2 * place, 2 * place + 2) for place in range(3)]
    calls: list[Row] = [(CALL, 2 * place, 2 * place + 1, {}) for place in range(3)]
    pool: list[Row] = [(START, 4, 4, {}), run(1, 5, 20), ("end: dot", 30, 31, {}), (STOP, 32, 32, {})]
    trace = steps_of([*steps, *calls], pool, RUNS[1:])
    assert trace.events.loc[trace.events["name"] == "end: dot", "step"].tolist() == [1]
    assert spans(trace) == [(0, 20), (21, 40), (62, 70)]
