"""Horovod timelines of all kinds of jobs with the traces of their ranks: generated, killed, damaged."""

import io
import json
import tarfile
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tfvis_nb as tv
from tests.mutants.attack import at_most
from tests.mutants.raw_bytes import mutant
from tests.support.examples import examples, sample
from tests.support.horovod_rows import FILES, RANKS, TEXT, of_horovod, of_ranks, same_rows
from tfvis_nb import events as event_table
from tfvis_nb.analysis.subset import subset

EPOCH_US = 1_795_214_630_000_000
PHASES = {"ALLREDUCE": "HorovodAllreduce", "ALLGATHER": "HorovodAllgather"}


@st.composite
def jobs(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Steps of a job of two ranks: when they begin, which are traced, and the collectives of each."""
    steps = []
    time = draw(st.integers(0, 50))
    for _ in range(draw(st.integers(1, 5))):
        begin = time
        collectives = []
        for _ in range(draw(st.integers(0, 4))):
            arrivals = [time + draw(st.integers(1, 30)) for _ in RANKS]
            moving = max(arrivals) + draw(st.integers(0, 3))
            end = moving + draw(st.integers(1, 20))
            # Two tensors, so that one is used again in a step and in others.
            name = draw(st.sampled_from(["a", "b"]))
            collectives.append((name, draw(st.sampled_from(sorted(PHASES))), arrivals, moving, end))
            time = end + draw(st.integers(1, 5))
        time += draw(st.integers(1, 9))
        traced = draw(st.tuples(st.booleans(), st.booleans()))
        steps.append({"begin": begin, "end": time, "traced": traced, "collectives": collectives})
        time += draw(st.integers(1, 9))
    return steps


def negotiations(steps: list[dict[str, Any]], negotiated: bool) -> list[dict[str, Any]]:
    """Return the timeline that rank 0 writes for a job."""
    events: list[dict[str, Any]] = [
        {"ph": "M", "name": "process_name", "pid": 0, "args": {"start_time_since_epoch_in_micros": EPOCH_US}},
        *({"ph": "M", "name": "process_name", "pid": 1 + n, "args": {"name": "ab"[n]}} for n in (0, 1)),
    ]
    for step in steps:
        for name, phase, arrivals, moving, end in step["collectives"]:
            pid = 1 + "ab".index(name)
            first, last = min(arrivals), max(arrivals)
            if negotiated:
                events.append({"ph": "B", "name": f"NEGOTIATE_{phase}", "pid": pid, "ts": first})
                events += [
                    {"ph": "X", "name": str(rank), "pid": pid, "ts": at, "dur": 0}
                    for at, rank in sorted(zip(arrivals, (0, 1), strict=True))
                ]
                events.append({"ph": "E", "pid": pid, "ts": last})
            events.append({"ph": "B", "name": phase, "pid": pid, "ts": moving})
            events.append({"ph": "B", "name": f"GLOO_{phase}", "pid": pid, "ts": moving})
            events += [{"ph": "E", "pid": pid, "ts": end}] * 2
    return events


def traced(steps: list[dict[str, Any]]) -> bytes:
    """The traces of a job's ranks, a file each, in an archive."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as tar:
        for number, step in enumerate(steps):
            for rank in (0, 1):
                rows = [
                    ("first", "NoOp", step["begin"], step["begin"]),
                    ("last", "NoOp", step["end"], step["end"]),
                ]
                rows += [
                    (name, PHASES[phase], arrivals[rank], end)
                    for name, phase, arrivals, _, end in step["collectives"]
                ]
                stats = "".join(
                    f'node_stats {{ node_name: "{name}" timeline_label: "{name} = {op}(x)" '
                    f"all_start_micros: {EPOCH_US + start} all_end_rel_micros: {end - start} }} "
                    for name, op, start, end in rows
                )
                text = (
                    f'dev_stats {{ device: "/job:localhost/replica:0/task:0/device:CPU:0" {stats} }}'.encode()
                )
                if step["traced"][rank]:
                    info = tarfile.TarInfo(f"rank{rank}_step{number}.pbtxt")
                    info.size = len(text)
                    tar.addfile(info, io.BytesIO(text))
    return packed.getvalue()


@settings(max_examples=examples(60))
@given(jobs().filter(lambda steps: any(any(step["traced"]) for step in steps)), st.booleans())
def test_every_collective_of_a_traced_step_is_there_once(
    steps: list[dict[str, Any]], negotiated: bool
) -> None:
    if not any(step["collectives"] for step in steps):
        return
    trace = tv.read_trace([traced(steps), json.dumps(negotiations(steps, negotiated)).encode()])
    event_table.check(trace.events)
    numbers = {label: step for step, label in trace.step_labels.items()}
    expected = sorted(
        (numbers.get(f"step{number}", 0), name, phase, (EPOCH_US + moving) * 1000, (end - moving) * 1000)
        for number, step in enumerate(steps)
        for name, phase, _, moving, end in step["collectives"]
        if any(step["traced"])
    )
    rows = of_horovod(trace)
    moved = rows[rows["lane"] == "collective"]
    found = moved[["step", "name", "op", "start_ns", "duration_ns"]].astype(object).to_numpy().tolist()
    assert sorted(map(tuple, found)) == expected
    assert (rows["lane"] == "negotiate").sum() == (len(expected) if negotiated else 0)
    assert (rows["lane"] == "rank ready").sum() == (2 * len(expected) if negotiated else 0)
    assert (rows["lane"] == "activities").sum() == len(expected)

    ops = trace.events[trace.events["kind"] == "collective"]
    for event in ops.index.tolist():
        op = ops.loc[event]
        edges = trace.edges[trace.edges["source"] == event]
        targets = trace.events.iloc[edges["target"]]
        assert (targets["name"] == op["name"]).all()
        assert (targets["step"] == op["step"]).all()
        own = op["task"] == RANKS[0]
        waits = ["negotiate"] if negotiated else ["collective"]
        phases = [*(["negotiate"] if negotiated else []), "collective", "activities"]
        assert sorted(targets["lane"].astype(str)) == sorted(phases if own else waits)
        assert set(edges["kind"]) == {"launch" if own else "control"}
        end = int(op["start_ns"] + op["duration_ns"])
        # Of several of the same name, those within its own time.
        assert (targets["start_ns"] + targets["duration_ns"]).max() <= end


@pytest.fixture(scope="module")
def whole() -> tv.Trace:
    return tv.read_trace([FILES[0], TEXT])


@settings(max_examples=examples(40))
@given(cut=st.integers(TEXT.index(b"CYCLE_START") + 60, len(TEXT) - 1))
def test_the_timeline_of_a_job_that_was_killed(whole: tv.Trace, cut: int) -> None:
    trace = tv.read_trace([FILES[0], TEXT[:cut]])
    event_table.check(trace.events)
    assert same_rows(of_ranks(trace), of_ranks(whole))
    kept = {tuple(row) for row in of_horovod(trace)[["name", "op", "start_ns"]].astype(str).to_numpy()}
    all_rows = {tuple(row) for row in of_horovod(whole)[["name", "op", "start_ns"]].astype(str).to_numpy()}
    # An unfinished negotiation counts to the end of the job, which was not written.
    assert all(op.startswith("NEGOTIATE_") for _, op, _ in kept - all_rows)
    assert len(trace.notes) >= 2


@pytest.mark.parametrize("seed", sample(range(30), range(8)))
def test_damaged_timelines(seed: int, whole: tv.Trace) -> None:
    ranks = subset(whole, np.setdiff1d(np.arange(len(whole.events)), of_horovod(whole).index))
    text = json.dumps([event for event in json.loads(TEXT) if event.get("name") != "CYCLE_START"]).encode()
    try:
        with at_most(60):
            trace = tv.read_trace([ranks, mutant(text, TEXT, seed)])
    except tv.TraceFormatError:
        return
    event_table.check(trace.events)
    assert same_rows(of_ranks(trace), ranks.events)
    assert trace.edges["source"].max() < len(trace.events)
