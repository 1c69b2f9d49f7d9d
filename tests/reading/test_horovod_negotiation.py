"""Negotiation in Horovod's timelines: how long ranks wait, and for which. The oracle is plain arithmetic."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

import tfvis_nb as tv
from tests.support.texts import figures_of
from tfvis_nb.core.format import format_duration

EPOCH = 1_603_210_000_000_000
SPACE = 1_000_000


def negotiation(
    begin: int, delays: list[int], pid: int = 1, name: str = "NEGOTIATE_ALLREDUCE"
) -> list[dict[str, Any]]:
    end = begin + max(delays)
    ranks = sorted(range(len(delays)), key=lambda rank: delays[rank])
    return [
        {"ph": "B", "name": name, "ts": begin, "pid": pid},
        *({"ph": "X", "name": str(rank), "ts": begin + delays[rank], "pid": pid, "dur": 0} for rank in ranks),
        {"ph": "E", "ts": end, "pid": pid},
        {"ph": "B", "name": "ALLREDUCE", "ts": end, "pid": pid},
        {"ph": "E", "ts": end + 10, "pid": pid},
    ]


def read(events: list[dict[str, Any]]) -> tv.Trace:
    began = {"ph": "M", "name": "process_name", "pid": 0, "args": {"start_time_since_epoch_in_micros": EPOCH}}
    named = {"ph": "M", "name": "process_name", "pid": 1, "args": {"name": "grad"}}
    # Horovod leaves the array open.
    return tv.read_trace(
        ("[\n" + "".join(json.dumps(event) + ",\n" for event in [began, named, *events])).encode()
    )


@given(
    delays=st.integers(2, 4).flatmap(
        lambda ranks: st.lists(
            st.lists(st.integers(1, SPACE // 2), min_size=ranks, max_size=ranks, unique=True),
            min_size=1,
            max_size=6,
        )
    )
)
def test_the_last_rank_is_named(delays: list[list[int]]) -> None:
    trace = read([event for at, one in enumerate(delays) for event in negotiation(at * SPACE, one)])
    latest = Counter(one.index(max(one)) for one in delays)
    (last,) = figures_of(trace.notes, "horovod_last_rank")
    assert last["all"] == len(delays)
    assert last["times"] == max(latest.values()) == latest[int(last["rank"])]
    waited = sum(map(max, delays)) * 1000
    (found,) = figures_of(trace.notes, "horovod_negotiation")
    assert found["time"] == format_duration(waited)
    assert trace.breakdown["communication_ns"].iloc[0] == waited + 10_000 * len(delays)


def test_a_broken_name_is_still_a_negotiation() -> None:
    events = negotiation(5, [9, 1], name="NEGOTIATE\n_ALLREDUCE")
    text = "[\n" + ",\n".join(json.dumps(event) for event in events).replace("\\n", "\n")
    trace = tv.read_trace(text.encode())
    assert trace.events["lane"].astype(str).value_counts().to_dict() == {
        "negotiate": 1,
        "rank ready": 2,
        "collective": 1,
    }
    assert figures_of(trace.notes, "json_raw_controls") == [{"values": 1}]
