"""Waits and stragglers of Horovod's timelines. The oracle reads the JSON, one negotiation at a time."""

import json
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import tfvis_nb as tv
from tests.real_traces import DATA
from tests.support.texts import figures_of
from tfvis_nb.analysis import late_ranks, late_tasks, stragglers
from tfvis_nb.core.format import format_duration

EPOCH = 1_603_210_000_000_000
SPACE = 1_000_000
OPERATIONS = ("ALLREDUCE", "ALLGATHER", "BROADCAST", "ALLTOALL")
STRAGGLER = "hvd/hvd_straggler_timeline.json"

Event = dict[str, Any]


class Negotiation(NamedTuple):
    """One tensor: when it is announced, how long after that each rank is ready, and who has no row."""

    tensor: int
    begin: int
    delays: tuple[int, ...]
    unnamed: frozenset[int]
    operation: str

    def events(self) -> list[Event]:
        end = self.begin + max(self.delays)
        ranks = sorted(set(range(len(self.delays))) - self.unnamed, key=lambda rank: self.delays[rank])
        found: list[Event] = [
            {"ph": "B", "name": f"NEGOTIATE_{self.operation}", "ts": self.begin},
            *(
                {"ph": "X", "name": str(rank), "ts": self.begin + self.delays[rank], "dur": 0}
                for rank in ranks
            ),
            {"ph": "E", "ts": end},
            {"ph": "B", "name": self.operation, "ts": end},
            {"ph": "B", "name": f"NCCL_{self.operation}", "ts": end + 2},
            {"ph": "E", "ts": end + 8},
            {"ph": "E", "ts": end + 10},
        ]
        return [event | {"pid": self.tensor + 1} for event in found]


@st.composite
def jobs(draw: st.DrawFn) -> list[Negotiation]:
    """Tensors that are negotiated at once and again, some without the rows of their ranks."""
    ranks, tensors = draw(st.integers(2, 5)), draw(st.integers(1, 3))
    delays = st.lists(st.integers(1, SPACE // 2), min_size=ranks, max_size=ranks, unique=True).map(tuple)
    missing = st.sampled_from([frozenset(), frozenset(range(ranks)), frozenset([0]), frozenset([ranks - 1])])
    found = [
        Negotiation(
            tensor,
            turn * SPACE + draw(st.integers(0, SPACE // 4)),
            draw(delays),
            draw(missing),
            draw(st.sampled_from(OPERATIONS)),
        )
        for turn in range(draw(st.integers(1, 4)))
        for tensor in range(tensors)
    ]
    # One negotiation names all ranks, so that the file says how many there are.
    return [found[0]._replace(unnamed=frozenset()), *found[1:]]


def text_of(negotiations: list[Negotiation]) -> str:
    names = {0: {"start_time_since_epoch_in_micros": EPOCH}} | {
        one.tensor + 1: {"name": f"grad_{one.tensor}"} for one in negotiations
    }
    named = [{"ph": "M", "name": "process_name", "pid": pid, "args": args} for pid, args in names.items()]
    # Rows of several tensors mix; those of one keep their order.
    events = sorted((event for one in negotiations for event in one.events()), key=lambda event: event["ts"])
    # Horovod leaves the array open.
    return "[\n" + "".join(json.dumps(event) + ",\n" for event in [*named, *events])


def read(negotiations: list[Negotiation]) -> tv.Trace:
    return tv.read_trace(text_of(negotiations).encode())


def findings_of(trace: tv.Trace) -> dict[str, dict[str, Any]]:
    rows: list[dict[Any, Any]] = trace.findings.to_dict("records")
    return {row["kind"]: row for row in rows}


def said(finding: dict[str, Any]) -> str:
    """Text of a finding, with how it was measured."""
    return f"{finding['text']} {finding['how']}"


def complete(negotiations: list[Negotiation]) -> list[Negotiation]:
    return [one for one in negotiations if not one.unnamed]


def covered(spans: list[tuple[int, int]]) -> int:
    """The length of a union, moment by moment between the ends."""
    ends = sorted({end for span in spans for end in span})
    return sum(to - at for at, to in pairwise(ends) if any(one <= at and to <= other for one, other in spans))


@given(job=jobs())
def test_the_rows_of_ready_ranks_give_their_waits(job: list[Negotiation]) -> None:
    trace = read(job)
    expected = {
        (f"grad_{one.tensor}", one.begin, f"rank {rank}", f"rank {one.delays.index(max(one.delays))}"): (
            max(one.delays) - delay,
            10,
            max(one.delays) - min(one.delays),
        )
        for one in complete(job)
        for rank, delay in enumerate(one.delays)
    }
    begun = {(f"grad_{one.tensor}", one.begin + delay): one.begin for one in job for delay in one.delays}
    found = {}
    for row in trace.collective_waits.to_dict("records"):
        begin = begun[row["name"], row["start_ns"] // 1000 - EPOCH]
        times = tuple(int(row[name]) // 1000 for name in ("wait_ns", "transfer_ns", "spread_ns"))
        found[row["name"], begin, row["task"], row["last"]] = times
        assert trace.events["detail"].iloc[row["event"]] == row["task"]
    assert found == expected


@given(job=jobs())
def test_each_moment_of_waiting_counts_once(job: list[Negotiation]) -> None:
    trace = read(job)
    named = complete(job)
    for row in late_ranks(trace).to_dict("records"):
        rank = int(row["task"].removeprefix("rank "))
        waits = [(one.begin + one.delays[rank], one.begin + max(one.delays)) for one in named]
        alone = [
            (one.begin + sorted(one.delays)[-2], one.begin + max(one.delays))
            for one in named
            if one.delays[rank] == max(one.delays)
        ]
        assert (row["collectives"], row["last"]) == (len(named), len(alone))
        assert row["waited_ns"] == 1000 * covered(waits)
        assert row["sole_wait_ns"] == 1000 * covered(alone)
    assert late_tasks(trace).set_index("task")["last"].sum() == len(named)
    assert stragglers(trace)["certain"].all()


@given(job=jobs(), at=st.floats(0.2, 1))
def test_a_cut_file_keeps_the_waits_before_the_cut(job: list[Negotiation], at: float) -> None:
    text = text_of(job)
    whole = tv.read_trace(text.encode()).collective_waits
    cut = tv.read_trace(text[: max(int(len(text) * at), text.index('"E"') + 40)].encode())
    columns = ["name", "task", "start_ns", "last", "wait_ns"]
    known = {tuple(row) for row in whole[columns].astype(object).to_numpy().tolist()}
    if {row["task"] for row in whole.to_dict("records")} == {
        row["task"] for row in cut.collective_waits.to_dict("records")
    }:
        assert {
            tuple(row) for row in cut.collective_waits[columns].astype(object).to_numpy().tolist()
        } <= known


@given(job=jobs())
def test_communication_consists_of_its_phases(job: list[Negotiation]) -> None:
    trace = read(job)
    found = findings_of(trace)
    assume("communication" in found)
    spans = [(one.begin, one.begin + max(one.delays)) for one in job]
    phases = {one["op"]: one["ns"] for one in found["communication"]["figures"]["phases"]}
    expected = {"negotiation": covered(spans)} | {
        f"NCCL_{operation}": covered(
            [
                (end + 2, end + 8)
                for (_, end), one in zip(spans, job, strict=True)
                if one.operation == operation
            ]
        )
        for operation in {one.operation for one in job}
    }
    assert phases == {name: 1000 * time for name, time in expected.items()}
    assert f"{max(phases, key=lambda name: phases[name])} takes" in said(found["communication"])


def late(order: list[int], ranks: int = 2) -> tv.Trace:
    """A job in which one tensor a turn waits for these ranks in turn."""
    delays = [tuple(SPACE // 3 if rank == last else 1 + rank for rank in range(ranks)) for last in order]
    return read(
        [Negotiation(0, turn * SPACE, each, frozenset(), "ALLREDUCE") for turn, each in enumerate(delays)]
    )


@pytest.mark.parametrize(
    "order",
    [[0, 1] * 5, [0, 1, 1] * 4, [0, 1, 2, 3] * 4, [1, 1, 0, 1]],
    ids=["in turn", "two of three", "four in turn", "three of four"],
)
def test_ranks_that_are_late_in_turn_are_no_straggler(order: list[int]) -> None:
    trace = late(order, max(order) + 1)
    assert "late task" not in set(trace.findings["kind"])
    assert len(trace.collective_waits)


@pytest.mark.parametrize(
    "order", [[1] * 3, [1] * 11 + [0], [3] * 9 + [0, 1, 2]], ids=["all", "most", "of four"]
)
def test_a_rank_that_is_regularly_late_is_a_straggler(order: list[int]) -> None:
    found = findings_of(late(order, max(order) + 1))["late task"]
    assert found["figures"]["task"] == f"rank {order[0]}"
    assert (found["figures"]["last"], found["figures"]["barriers"]) == (order.count(order[0]), len(order))
    assert found["title"].startswith(f"Rank {order[0]} ")
    assert f"last at {order.count(order[0])} of {len(order)} collectives" in found["text"]


@pytest.mark.parametrize(
    ("first", "named_later", "delay"),
    [
        ("BROADCAST", True, 2),
        ("BROADCAST", True, SPACE // 2),
        ("ALLREDUCE", False, 2),
        ("ALLREDUCE", False, SPACE // 2),
    ],
)
def test_a_late_start_makes_no_straggler(first: str, named_later: bool, delay: int) -> None:
    others = frozenset[int]() if named_later else frozenset([0, 1])
    start = Negotiation(0, 0, (1, SPACE // 2), frozenset(), first)
    turns = [Negotiation(1, turn * SPACE, (1, delay), others, "ALLREDUCE") for turn in range(1, 4)]
    found = findings_of(read([start, *turns]))
    assert ("late task" in found) == (delay > 2)


def test_tensors_of_one_turn_count_once_as_evidence() -> None:
    # Rank 1 is late in three of five turns, to eight tensors each.
    turns = [(5, SPACE // 3) if late else (SPACE // 3, 5) for late in (1, 0, 1, 0, 1)]
    trace = read(
        [
            Negotiation(tensor, turn * SPACE, delays, frozenset(), "ALLREDUCE")
            for turn, delays in enumerate(turns)
            for tensor in range(8)
        ]
    )
    assert len(trace.collective_waits) == 80
    assert "late task" not in set(trace.findings["kind"])


def expected_of(path: Path) -> tuple[int, int, int, dict[int, int], int]:
    """Return the us of negotiations, the file and waits, how often a rank is last, and how many name none."""
    text = path.read_text().rstrip().rstrip(",")
    events = [event for event in json.loads(text if text.endswith("]") else f"{text}]") if event]
    times = [event["ts"] for event in events if "ts" in event]
    open_: dict[Any, list[Event]] = {}
    spans, alone = [], []
    last: dict[int, int] = {}
    unnamed = 0
    for event in events:
        stack = open_.setdefault(event.get("pid"), [])
        if event["ph"] == "B":
            stack.append(event | {"ready": []})
        elif event["ph"] == "X" and event["name"].isdecimal():
            stack[-1]["ready"].append((event["ts"], int(event["name"])))
        elif event["ph"] == "E":
            one = stack.pop()
            if one["name"].startswith("NEGOTIATE_"):
                spans.append((one["ts"], event["ts"]))
                unnamed += not one["ready"]
                if one["ready"]:
                    came = sorted(one["ready"])
                    last[came[-1][1]] = last.get(came[-1][1], 0) + 1
                    alone.append((came[-2][0], came[-1][0]))
    return covered(spans), max(times) - min(times), covered(alone), last, unnamed


@pytest.mark.collection(STRAGGLER)
def test_the_straggler_of_a_real_job_is_found(shared: Path) -> None:
    negotiated, whole, waited, last, unnamed = expected_of(shared / STRAGGLER)
    assert (round(negotiated, -3), last, unnamed) == (1_685_000, {1: 14}, 40)
    trace = tv.read_trace(shared / STRAGGLER)
    found = findings_of(trace)
    figures = found["late task"]["figures"]
    assert (figures["task"], figures["last"], figures["barriers"]) == ("rank 1", 14, 14)
    assert figures["sole_wait_ns"] == 1000 * waited
    assert figures["share"] == pytest.approx(waited / whole, rel=0.01)
    assert figures["negotiations"]["unnamed"] == unnamed
    assert figures["clocks_ns"] is None
    phases = {one["op"]: one["ns"] for one in found["communication"]["figures"]["phases"]}
    assert phases["negotiation"] == 1000 * negotiated
    assert format_duration(1000 * negotiated) in said(found["communication"])


def test_an_overlay_shows_the_waits_that_its_ops_show() -> None:
    files = [DATA / f"horovod_{name}.xz" for name in ("rank0_step3.pb", "rank1_step3.pb", "timeline.json")]
    ops, both = tv.read_trace(files[:2]), tv.read_trace(files)
    columns = ["step", "name", "task", "wait_ns", "transfer_ns", "last"]
    together = both.collective_waits
    together = together[both.events["kind"].iloc[together["event"]].eq("collective").to_numpy()]
    pd.testing.assert_frame_equal(
        together[columns].astype(object).reset_index(drop=True),
        ops.collective_waits[columns].astype(object).reset_index(drop=True),
    )


def test_a_broken_name_is_still_a_negotiation() -> None:
    events = Negotiation(0, 5, (9, 1), frozenset(), "ALLREDUCE").events()
    broken = json.dumps(events).replace("NEGOTIATE_", "NEGOTIATE\n_")
    trace = tv.read_trace(broken.encode())
    assert trace.events["lane"].astype(str).value_counts().to_dict() == {
        "negotiate": 1,
        "rank ready": 2,
        "collective": 1,
        "activities": 1,
    }
    assert figures_of(trace.notes, "json_raw_controls") == [{"values": 1}]
