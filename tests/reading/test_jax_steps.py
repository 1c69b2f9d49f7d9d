"""Steps of JAX on a CPU, where calls are made ahead of the runs of their programs."""

from __future__ import annotations

import pandas as pd

import tfvis_nb as tv
from tests.protobuf_bytes import field, number

STATS = ("step_num", "run_id", "hlo_op", "hlo_module")
CALL, LOWERING = "PjitFunction(f)", "lower_sharding_computation"
START, STOP = "ThreadpoolListener::StartRegion", "ThreadpoolListener::StopRegion"

Row = tuple[str, int, int, dict[str, int | str]]


def step(place: int, start: int, end: int) -> Row:
    return "train", start, end, {"step_num": place}


def run(number_of_run: int, start: int, end: int) -> Row:
    return "dot", start, end, {"run_id": number_of_run, "hlo_op": "dot", "hlo_module": "jit_f"}


def steps_of(*threads: list[Row]) -> pd.DataFrame:
    """Return the events, with times in us from the start, of rows (name, start, end, stats) of threads."""
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
    found = tv.read_trace(field(1, field(2, b"/host:CPU") + lines + meta + stats)).events
    start = (found["start_ns"] - found["start_ns"].min()) // 1000
    return found.assign(start=start, end=start + found["duration_ns"] // 1000)


def spans(events: pd.DataFrame) -> list[tuple[int, int]]:
    """Return the start and end of each step (us)."""
    steps = events[events["step"] >= 0].groupby("step").agg(start=("start", "min"), end=("end", "max"))
    return [(int(start), int(end)) for start, end in steps.to_numpy()]


def loop(*inside: Row) -> list[Row]:
    """Return three steps called one after the other; the last one has `inside`."""
    calls = [step(place, 4 * place, 4 * place + 3) for place in range(2)] + [step(2, 8, 60)]
    made: list[Row] = [(CALL, 4 * place + 1, 4 * place + 2, {}) for place in range(2)]
    return [*calls, *made, (CALL, 9, 59 if inside else 10, {}), *inside]


RUNS = [run(1, 5, 20), run(2, 21, 40), run(3, 62, 70)]


def test_a_step_that_compiles_starts_with_its_call() -> None:
    assert spans(steps_of(loop((LOWERING, 12, 30, {})), RUNS)) == [(0, 20), (21, 40), (8, 70)]


def test_other_steps_start_when_they_run() -> None:
    steps = [step(place, 2 * place, 2 * place + 2) for place in range(3)]
    calls: list[Row] = [(CALL, 2 * place, 2 * place + 1, {}) for place in range(3)]
    assert spans(steps_of([*steps, *calls], RUNS)) == [(0, 20), (21, 40), (62, 70)]


def test_a_late_report_of_an_end_belongs_to_the_step_that_runs_then() -> None:
    steps = [step(place, 2 * place, 2 * place + 2) for place in range(3)]
    calls: list[Row] = [(CALL, 2 * place, 2 * place + 1, {}) for place in range(3)]
    pool: list[Row] = [(START, 4, 4, {}), run(1, 5, 20), ("end: dot", 30, 31, {}), (STOP, 32, 32, {})]
    events = steps_of([*steps, *calls], pool, RUNS[1:])
    assert events.loc[events["name"] == "end: dot", "step"].tolist() == [1]
    assert spans(events) == [(0, 20), (21, 40), (62, 70)]
