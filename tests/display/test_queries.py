"""Answers of the kernel about a trace too large for a browser agree with the table."""

import json
from typing import Any

import numpy as np
import pandas as pd
import pytest

from tests.analysis.test_operand_links import CHAIN, of, ran
from tests.large_traces import answers_of, decoded, layout_of, made_up, range_statistics
from tests.real_traces import DATA, real_trace
from tests.support.clauses import clauses
from tests.support.texts import raises_id
from tests.wire_reader import read_container, signed, texts
from tfvis_nb import Trace
from tfvis_nb import events as tv_events
from tfvis_nb.analysis import op_statistics
from tfvis_nb.analysis.communication.waits import tails
from tfvis_nb.analysis.dataflow.edges import KINDS
from tfvis_nb.analysis.events.lane_order import order_lanes
from tfvis_nb.core.palette import CATEGORIES
from tfvis_nb.display.large import trace_store
from tfvis_nb.display.large.level_of_detail import Entries
from tfvis_nb.display.shaping.selection import selected_rows
from tfvis_nb.display.store.answers import Answers
from tfvis_nb.display.store.totals import BINS
from tfvis_nb.display.timeline.delivery import Delivery


def asked(monkeypatch: pytest.MonkeyPatch, trace: Trace, **limits: int) -> Answers[Entries]:
    for name, value in limits.items():
        monkeypatch.setattr(trace_store, name, value)
    return answers_of(layout_of(trace))


def answered(
    asking: Answers[Entries], start: int, end: int, bucket: int, text: str = ""
) -> tuple[dict[str, Any], pd.DataFrame]:
    question = {
        "kind": "window",
        "start": start,
        "end": end,
        "bucket": bucket,
        "clauses": clauses(text),
        "step": None,
    }
    _, (part,) = asking.answer(
        json.loads(json.dumps({**question, "clauses": clauses(text) if text else None}))
    )
    return decoded(part)


@pytest.mark.parametrize("seed", range(4))
def test_a_part_and_the_outline_around_it_are_every_event_once(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    trace = made_up(6000, 3, seed, longest=60_000)
    asking = asked(monkeypatch, trace, OUTLINE_BUCKETS=64, MOST_ENTRIES=600, MOST_EXACT=200)
    _, outline = decoded(asking.outline_bytes("", "windows"))
    random = np.random.default_rng(seed)
    for _ in range(12):
        start, end = sorted(random.integers(0, 240_000, 2).tolist())
        header, part = answered(asking, start, end, 64)
        replaced = (outline["end"] > start) & (outline["start"] < end)
        together = pd.concat([outline[~replaced], part])
        assert together["count"].sum() == 6000
        assert together["busy"].sum() == trace.events["duration_ns"].sum()
        ordered = together.sort_values(["lane", "row", "start", "end"])
        following = ordered.groupby(["lane", "row"])["start"].shift(-1).fillna(np.inf)
        assert (following >= ordered["end"]).all()
        fine = part[(part["end"] > start) & (part["start"] < end)]
        assert (fine["count"] == 1).all() or header["bucket"] > 1


def test_a_part_in_full_is_the_slice_of_the_table(monkeypatch: pytest.MonkeyPatch) -> None:
    trace = made_up(5000, 3, 9)
    asking = asked(monkeypatch, trace, OUTLINE_BUCKETS=64, MOST_ENTRIES=600)
    header, part = answered(asking, 50_000, 60_000, 1)
    assert header["bucket"] == 1
    table = trace.events
    start = table["start_ns"] - int(table["start_ns"].iloc[0])
    end = start + table["duration_ns"]
    inside = table.index[(end > 50_000) & (start < 60_000)]
    singles = part[part["count"] == 1].set_index("event")
    assert set(inside) <= set(singles.index)
    chosen = singles.loc[inside]
    assert chosen["start"].tolist() == start[inside].tolist()
    assert chosen["end"].tolist() == end[inside].tolist()
    assert chosen["lane"].tolist() == order_lanes(table).of_event[inside].tolist()
    assert chosen["step"].tolist() == table["step"][inside].tolist()


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("op_3", "name.str.contains('op_3')"),
        ("op:op1", "op == 'Op1'"),
        ("lane:2", "lane == 'stream:2'"),
        ("kind:kernel", "kind == 'kernel'"),
        ("SCOPE_1 >=30ns", "name.str.contains('scope_1') and duration_ns >= 30"),
        ("<3ns", "duration_ns < 3"),
        ("stream:1", "lane == 'stream:1'"),
        ("name:", "step < 0"),
        ("nothing", "step < 0"),
    ],
)
def test_a_search_finds_the_same_events_as_the_front_end(
    text: str, query: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    trace = made_up(2000, 3, 3)
    asking = asked(monkeypatch, trace, OUTLINE_BUCKETS=64, MOST_ENTRIES=300)
    wanted = trace.events.astype({"op": "str", "lane": "str", "kind": "str"}).query(query).index
    answer, (ids, lit) = asking.answer({"kind": "search", "clauses": clauses(text), "step": None})
    assert np.frombuffer(ids, "u4").tolist() == wanted.tolist()
    durations = trace.events["duration_ns"].loc[wanted]
    longest = answer.pop("longest")
    starts = trace.events["start_ns"].loc[wanted] - trace.events["start_ns"].iloc[0]
    span = {"start": starts.min(), "end": (starts + durations).max()} if len(wanted) else None
    assert answer.pop("span") == span
    covered = {
        ns for start, length in zip(starts, durations, strict=True) for ns in range(start, start + length)
    }
    assert answer == {"count": len(wanted), "total": durations.sum(), "busy": len(covered)}
    assert [each["duration"] for each in longest] == sorted(durations, reverse=True)[:50]
    assert [each["name"] for each in longest] == [
        trace.events["name"].iloc[each["event"]] for each in longest
    ]
    _, outline = decoded(asking.outline_bytes("", "windows"))
    assert len(lit) == len(outline)
    assert outline["count"][np.frombuffer(lit, "?")].sum() >= len(wanted)
    _, part = answered(asking, 10_000, 30_000, 1, text)
    single = part[part["count"] == 1]
    assert single["lit"].astype(bool).tolist() == single["event"].isin(wanted).tolist()


def test_a_search_in_one_step() -> None:
    trace = made_up(900, 2, 5)
    _, (ids, _) = answers_of(layout_of(trace)).answer({"kind": "search", "clauses": clauses("op"), "step": 1})
    assert np.frombuffer(ids, "u4").tolist() == np.flatnonzero(trace.events["step"] == 1).tolist()


def test_a_step_is_searched_with_the_events_that_run_during_it() -> None:
    # The first and the fourth row end with a step or start after it.
    columns = {
        "step": [-1, -1, 0, -1, -1, 1],
        "start_ns": [0, 5, 10, 18, 20, 30],
        "duration_ns": [10, 10, 10, 9, 5, 5],
        "kind": ["op"] * 6,
        "op": ["op"] * 6,
        "lane": ["ops"] * 6,
    }
    trace = Trace(tv_events.build(columns))
    layout = layout_of(trace)
    asking = answers_of(layout)
    for step, shown in ((0, [1, 2, 3]), (1, [5]), (-1, [0, 1, 3, 4])):
        _, (ids, _) = asking.answer({"kind": "search", "clauses": clauses("op"), "step": step})
        assert np.frombuffer(ids, "u4").tolist() == shown
    assert range_statistics(layout, 10, 20, None, 0, "op")["count"] == 3
    assert [step["events"] for step in layout.steps] == [4, 3, 1]
    selection = {"start": 10, "end": 20, "lanes": None, "step": 0}
    assert selected_rows(trace.events, layout.lanes, selection).index.tolist() == [1, 2, 3]


def test_statistics_are_those_of_the_selected_rows() -> None:
    trace = made_up(3000, 3, 8)
    layout = layout_of(trace)
    start = trace.events["start_ns"] - layout.origin
    end = start + trace.events["duration_ns"]
    inside = (end > 20_000) & (start < 70_000) & (trace.events["lane"] != "stream:1")
    inside &= (trace.events["step"] == 2) & ((end > start) | (start >= 20_000))
    lanes = np.flatnonzero(layout.lanes.table["lane"] != "stream:1").tolist()
    rows = trace.events[inside]
    for by in ("op", "name"):
        got = range_statistics(layout, 20_000, 70_000, lanes, 2, by)
        assert got["count"] == len(rows)
        assert got["total"] == rows["duration_ns"].sum()
        # An op on the host and its kernels are apart.
        labels = rows[by].astype("str") + " " + rows["kind"].astype("str")
        grouped = rows.groupby(labels)["duration_ns"].agg(["size", "sum", "min", "max", "idxmax"])
        table = pd.DataFrame(got["rows"])
        assert got["distinct"] == len(grouped) == len(table)
        assert table["busy"].is_monotonic_decreasing
        table.index = table["label"] + " " + kinds_of(table)
        names = {"count": "size", "total": "sum", "min": "min", "max": "max", "longest": "idxmax"}
        for column, of_pandas in names.items():
            assert table.loc[grouped.index, column].tolist() == grouped[of_pandas].tolist()
        durations = rows["duration_ns"].groupby(labels)
        for column, share in (("p50", 0.5), ("p99", 0.99)):
            for label, own in durations:
                assert table.loc[label, column] == np.quantile(own, share, method="inverted_cdf")
        for label, own in durations:
            low, high = own.min(), own.max()
            place = (own - low) * BINS // max(high - low, 1)
            wanted = place.clip(upper=BINS - 1).value_counts().reindex(range(BINS), fill_value=0)
            assert table.loc[label, "bins"] == wanted.tolist()
        assert got["busy"] == _covered(start[inside], end[inside])
        for label, own in labels.groupby(labels):
            assert table.loc[label, "busy"] == _covered(start[own.index], end[own.index])
    part = range_statistics(layout, 20_000.25, 70_000, lanes, 2, "op")
    assert got["busy"] - 1 < part["busy"] <= got["busy"]
    assert all(row["busy"] <= part["busy"] for row in part["rows"])


def nested() -> Trace:
    """Calls in calls on a thread, ops that only overlap, and a kernel; each with a line of code or none."""
    start, duration = [0, 10, 20, 20, 60, 0, 5, 30], [100, 50, 20, 10, 30, 40, 90, 7]
    return Trace(
        tv_events.order(
            tv_events.build(
                {
                    "start_ns": start,
                    "duration_ns": duration,
                    "op": ["run", "call", "inner", "leaf", "call", "A", "B", "K"],
                    "name": [f"n{at % 3}" for at in range(8)],
                    "kind": ["host"] * 5 + ["op"] * 2 + ["kernel"],
                    "lane": ["python"] * 5 + ["ops"] * 2 + ["stream:1"],
                    "device": ["/device:CPU:0"] * 7 + ["/device:GPU:0"],
                }
            )
        )[0]
    )


@pytest.mark.parametrize(("start", "end"), [(0, 100), (15, 65), (25, 25)])
def test_self_time_is_without_nested_events(start: int, end: int) -> None:
    trace = nested()
    events = trace.events
    begin = (events["start_ns"] - events["start_ns"].min()).to_numpy()
    until = begin + events["duration_ns"].to_numpy()
    own = dict.fromkeys(events["op"], 0)
    for ns in range(start, end):
        running = events[(begin <= ns) & (ns < until)]
        thread = running[running["lane"] == "python"]
        # The innermost call began last; of two that began together it is the shorter one.
        innermost = thread.sort_values(["start_ns", "duration_ns"], ascending=[False, True])["op"].head(1)
        for op in [*innermost, *running["op"][running["lane"] != "python"]]:
            own[op] += 1
    rows = range_statistics(layout_of(trace), start, end, None, None, "op")["rows"]
    assert {row["label"]: row["self"] for row in rows} == {row["label"]: own[row["label"]] for row in rows}
    if (start, end) == (0, 100):
        table = op_statistics(trace)
        assert {row["label"]: row["self"] for row in rows} == dict(
            zip(table["op"], table["self_ns"], strict=True)
        )


def kinds_of(rows: pd.DataFrame) -> pd.Series:
    return rows["category"].map([each.split()[0] for each in CATEGORIES].__getitem__)


@pytest.mark.parametrize("by", ["op", "name"])
@pytest.mark.parametrize("name", ["gpu_tf221_mlp.pb.xz", "gpu_tf221_dist.pb.xz"])
def test_rows_of_the_whole_range_match_op_statistics(name: str, by: Any) -> None:
    trace = real_trace(DATA / name)
    table = op_statistics(trace, by=by)
    end = int((trace.events["start_ns"] + trace.events["duration_ns"]).max())
    end -= int(trace.events["start_ns"].min())
    rows = pd.DataFrame(range_statistics(layout_of(trace), 0, end, None, None, by)["rows"])
    rows.index = rows["label"] + " " + kinds_of(rows)
    table.index = table[by] + " " + table["kind"].astype("str")
    assert sorted(rows.index) == sorted(table.index)
    assert rows["count"].tolist() == table["count"][rows.index].tolist()
    for column in ("total", "self", "mean", "min", "max", "p50", "p99"):
        assert rows[column].tolist() == table[f"{column}_ns"][rows.index].tolist(), column


def test_self_times_match_op_statistics() -> None:
    columns = {
        "start_ns": [0, 10, 20, 30, 0, 5],
        "duration_ns": [90, 60, 40, 20, 90, 5],
        "op": ["run", "MatMul", "ParallelFor", "leaf", "StatefulPartitionedCall", "Relu"],
        "kind": ["host", "op", "host", "host", "op", "op"],
        "lane": ["python"] * 4 + ["ops"] * 2,
        "device": ["/device:CPU:0"] * 6,
    }
    trace = Trace(tv_events.order(tv_events.build(columns))[0])
    rows = range_statistics(layout_of(trace), 0, 90, None, None, "op")["rows"]
    # The time of a loop over threads is its op's, and that of a function beside its ops is unknown.
    own = {row["label"]: row["self"] for row in rows}
    assert own == {
        "run": 30,
        "MatMul": 40,
        "ParallelFor": 0,
        "leaf": 20,
        "StatefulPartitionedCall": None,
        "Relu": 5,
    }
    table = op_statistics(trace)
    assert pd.Series(own, dtype="Int64").equals(table.set_index("op")["self_ns"][list(own)])


def test_ranges_are_summed_up_by_lane() -> None:
    trace = nested()
    rows = range_statistics(layout_of(trace), 0, 100, None, None, "lane")["rows"]
    counts = trace.events.groupby("lane", observed=True).size()
    assert {row["label"]: row["count"] for row in rows} == {
        "CPU:0 · python": counts["python"],
        "CPU:0 · ops": counts["ops"],
        "GPU:0 · stream 1": counts["stream:1"],
    }


def test_ranges_are_summed_up_by_layer() -> None:
    trace = real_trace(DATA / "gpu_tf221_mlp.pb.xz")
    end = int((trace.events["start_ns"] + trace.events["duration_ns"]).max())
    rows = pd.DataFrame(range_statistics(layout_of(trace), 0, end, None, None, "layer")["rows"])
    table = trace.layers.groupby("layer")[["device_ns", "host_ns"]].sum().sum(axis=1)
    assert len(table) > 2
    assert rows.groupby("label")["self"].sum().to_dict() == table.to_dict()


def _covered(starts: pd.Series, ends: pd.Series) -> int:
    """Count the nanoseconds from 20,000 to 70,000 in which at least one event ran."""
    busy = np.zeros(50_000, bool)
    for a, b in zip(starts, ends, strict=True):
        busy[max(a - 20_000, 0) : max(b - 20_000, 0)] = True
    return int(busy.sum())


def test_one_event_comes_with_the_events_around_it() -> None:
    trace = real_trace(DATA / "local_mlp_step1.pb")
    asking = answers_of(layout_of(trace))
    edges = trace.edges
    event = int(edges["target"].mode()[0])
    answer, (drawn, details) = asking.answer({"kind": "events", "events": [event]})
    linked = edges[(edges["source"] == event) | (edges["target"] == event)]
    assert set(answer["events"]) == {event, *linked["source"], *linked["target"]}
    own = trace.events.loc[event]
    named = trace.events[(trace.events["name"] == own["name"]) & (trace.events["kind"] == own["kind"])]
    assert answer["same"] == {"count": len(named), "total": named["duration_ns"].sum()}
    assert answer["lanes"] == order_lanes(trace.events).of_event[answer["events"]].tolist()
    header, columns = read_container(details)
    assert header["count"] == len(answer["events"])
    ends = edges[["source", "target"]].isin(answer["events"])
    assert columns["edge_offsets"][-1] == ends.all(axis=1).sum()
    assert read_container(drawn)[0]["count"] == len(answer["events"])
    names = texts(read_container(drawn)[1]["parts_bytes"], read_container(drawn)[1]["parts_offsets"])
    assert trace.events["name"][event].rpartition("/")[2] in names


@pytest.mark.parametrize("hops", [1, 2, 3])
def test_neighbours_of_an_event_are_some_edges_away(hops: int) -> None:
    trace = real_trace(DATA / "local_mlp_step1.pb")
    edges = trace.edges
    event = int(edges["target"].mode()[0])
    expected = {event}
    for here, there in (("target", "source"), ("source", "target")):
        reached = {event}
        for _ in range(hops):
            reached |= set(edges[there][edges[here].isin(reached)])
        expected |= reached
    answer, _ = answers_of(layout_of(trace)).answer({"kind": "events", "events": [event], "hops": hops})
    assert answer["events"] == sorted(expected)
    for each, degree in zip(answer["events"], answer["degrees"], strict=True):
        assert degree == {
            "inputs": (edges["target"] == each).sum(),
            "consumers": (edges["source"] == each).sum(),
        }
    json.dumps(answer)


def test_neighbours_of_an_event_made_its_operands() -> None:
    trace = ran(of(CHAIN), ["a.1", "b.1", "a.2", "b.2"])
    answer, (_, buffer) = answers_of(layout_of(trace)).answer({"kind": "events", "events": [1], "hops": 1})
    assert answer["events"] == [0, 1, 2]
    assert answer["degrees"] == [{"inputs": ends > 0, "consumers": 1} for ends in range(3)]
    header, columns = read_container(buffer)
    assert columns["operand_offsets"] == [0, 0, 1, 2]
    assert signed(header, columns, "operand_distance") == [1, 1]


def test_of_too_many_events_around_one_the_nearest_are_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tfvis_nb.display.large.trace_store.MOST_LISTED", 6)
    ends = {"source": [0] * 9 + [1], "target": range(1, 11)}
    edges = pd.DataFrame(ends | {"kind": pd.Categorical(["data"] * 10, KINDS)})
    trace = made_up(20, 1, 1)
    trace.edges = edges
    ask = answers_of(layout_of(trace)).answer
    answer, _ = ask({"kind": "events", "events": [0], "hops": 1})
    assert answer["events"] == [0, 1, 2, 3, 4, 5, 6]
    assert answer["degrees"][0] == {"inputs": 0, "consumers": 9}
    answer, _ = ask({"kind": "events", "events": [0], "hops": 2})
    assert answer["events"] == [0, 1, 2, 3, 10]


def test_users_of_buffers_are_sent_and_the_last_readers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("tfvis_nb.display.large.trace_store.MOST_LISTED", 3)
    ends = [(0, 2), (0, 19), (2, 11), (2, 12), (2, 13), (11, 14)]
    kinds = pd.Categorical(["data", "control", "data", "data", "transfer", "data"], KINDS)
    trace = made_up(20, 1, 1)
    trace.edges = pd.DataFrame(ends, columns=["source", "target"]).assign(kind=kinds)
    question = {"kind": "events", "events": [0], "hops": 1, "holders": [0, 2]}
    answer, _ = answers_of(layout_of(trace)).answer(question)
    end = (trace.events["start_ns"] + trace.events["duration_ns"]).to_list()
    last = sorted([2, 11, 12, 13], key=end.__getitem__)[1:]
    assert answer["events"] == sorted({0, 2, 19, *last})
    assert answer["holders"] == [0, 2]


@pytest.mark.parametrize(
    "question",
    [
        {"kind": "everything"},
        {"kind": "events", "events": []},
        {"kind": "events", "events": [-1]},
        {"kind": "events", "events": [10**9]},
        {"kind": "events", "events": [0], "holders": [20]},
    ],
)
def test_a_question_that_cannot_be_answered(question: dict[str, Any]) -> None:
    asking = answers_of(layout_of(made_up(20, 1, 1)))
    with raises_id(ValueError, "no_such_events" if "events" in question else "unknown_question"):
        asking.answer(question)


def test_the_sent_form_depends_on_the_size(monkeypatch: pytest.MonkeyPatch) -> None:
    trace = made_up(2000, 2, 6)
    lanes = order_lanes(trace.events)
    whole = Delivery(trace, lanes, "")
    assert whole.rest == ""
    with raises_id(ValueError, "sent_whole"):
        whole.answer({"kind": "events", "events": [1]})
    monkeypatch.setattr("tfvis_nb.display.timeline.delivery.WHOLE_BYTES", 1000)
    monkeypatch.setattr("tfvis_nb.display.timeline.delivery.CHUNK_BYTES", 900)
    chunked = Delivery(trace, lanes, "")
    assert chunked.rest == "chunks"
    pieces = list(chunked.chunks("drawn"))
    assert [said["index"] for said, _ in pieces] == list(range(pieces[0][0]["of"]))
    assert all(len(data) <= 900 for _, (data,) in pieces)
    assert b"".join(data for _, (data,) in pieces) == whole.first
    assert b"".join(data for _, (data,) in chunked.chunks("details")) == whole.details()
    monkeypatch.setattr("tfvis_nb.display.timeline.delivery.MOST_HELD", 1000)
    assert Delivery(trace, lanes, "").rest == "windows"


@pytest.mark.parametrize(
    "clauses",
    [
        None,
        "op",
        [{}],
        [{"terms": [{"type": "text", "field": "weather", "text": "a"}], "negated": False}],
        [{"terms": [{"type": "bound", "of": "mass", "longer": 1, "inclusive": 1, "value": 1}], "negated": 0}],
        [{"terms": [{"type": "steps", "first": "x", "last": 1}], "negated": False}],
    ],
)
def test_malformed_searches_are_refused(clauses: Any) -> None:
    asking = answers_of(layout_of(made_up(20, 1, 1)))
    with raises_id(ValueError, "unknown_question"):
        asking.answer({"kind": "search", "clauses": clauses, "step": None})


def test_a_step_beyond_all_numbers_finds_nothing() -> None:
    asking = answers_of(layout_of(made_up(20, 1, 1)))
    # What JSON makes of an infinite number.
    term = {"type": "steps", "first": None, "last": None}
    question = {"kind": "search", "clauses": [{"terms": [term], "negated": False}], "step": None}
    assert asking.answer(question)[0]["count"] == 0


def test_parts_have_the_turns_of_tensors() -> None:
    trace = real_trace(DATA / "gpu_tf221_dist.pb.xz")
    asking = answers_of(layout_of(trace))
    _, bars = answered(asking, 0, asking.store.span, 1)
    bars = bars.set_index("event").sort_index()
    assert bars["tail"].tolist() == tails(trace).tolist()
    assert bars["tail"].any()


def test_parts_mark_the_changes_of_a_prediction() -> None:
    trace = real_trace(DATA / "gpu_tf218_mlp.pb.xz")
    changed = trace.what_if(ops={"MatMul": 2.0})
    _, bars = answered(asking := answers_of(layout_of(changed)), 0, asking.store.span, 1)
    marked = changed.events.loc[bars["event"][bars["changed"] == 1]]
    assert set(marked["op"]) == {"MatMul"}
