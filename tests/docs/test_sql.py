"""The queries of the guide give the figures that pandas gives, for traces of many kinds."""

import re
from collections.abc import Callable

import pandas as pd
import pytest

import tfvis_nb as tv
from tests.docs.test_howto import ROOT
from tests.real_traces import DATA, real_trace
from tests.sql.test_sql import FILES, plain

_PAGE = (ROOT / "docs" / "howto" / "sql.md").read_text("utf-8")
CHANGED = "Which ops changed?"
QUERIES = dict(re.findall(r"^([^\n]*\?)\n\n```sql\n(.*?)^```$", _PAGE, re.MULTILINE | re.DOTALL))
"""Question to query."""


def sums(table: pd.DataFrame, by: list[str], *, ordered: bool = True) -> pd.DataFrame:
    """Return count and total time of each group, those with the most first."""
    found = table.groupby(by, observed=True)["duration_ns"].agg(n="size", ns="sum").reset_index()
    found[by] = found[by].astype(object)
    return found.sort_values(["ns", *by], ascending=[False] + [True] * len(by)) if ordered else found


def first(table: pd.DataFrame, by: str, columns: list[str], most: int = 10) -> pd.DataFrame:
    """Return the rows with the largest values, those earlier in the table first."""
    return table.sort_values(by, ascending=False, kind="stable")[columns].head(most)


def numbered(trace: tv.Trace) -> pd.DataFrame:
    return trace.events.reset_index(names="event")


def top_ops(trace: tv.Trace) -> pd.DataFrame:
    events = trace.events
    return sums(events[events["kind"] == "op"], ["op"])[["op", "n", "ns"]].head(10)


def variation(trace: tv.Trace) -> pd.DataFrame:
    ops = trace.events[trace.events["kind"] == "op"]
    grouped = ops.groupby(ops["op"].astype(object))["duration_ns"]
    return pd.DataFrame(
        {
            "n": grouped.size(),
            "least": grouped.min(),
            "p50": grouped.quantile(0.5, interpolation="lower"),
            "most": grouped.max(),
        }
    ).reset_index()


def step_ratios(trace: tv.Trace) -> pd.DataFrame:
    steps = trace.steps[trace.steps["step"] >= 0].sort_values("step")
    return steps[["step", "duration_ns"]].assign(ratio=steps["duration_ns"] / steps["duration_ns"].median())


def slowest_step(trace: tv.Trace) -> pd.DataFrame:
    steps = trace.steps[trace.steps["step"] >= 0]
    if steps.empty:
        return pd.DataFrame({"kind": [], "op": [], "ns": []})
    step = steps.sort_values(["duration_ns", "step"], ascending=[False, True])["step"].iloc[0]
    return sums(trace.events[trace.events["step"] == step], ["kind", "op"])[["kind", "op", "ns"]].head(10)


def waits(trace: tv.Trace) -> pd.DataFrame:
    whole = trace.breakdown[trace.breakdown["device"] == ""]
    columns = ["input_ns", "communication_ns", "host_compute_ns", "step_ns"]
    return whole[columns].sum(min_count=1).to_frame().T


def lines(trace: tv.Trace) -> pd.DataFrame:
    table = trace.source_lines
    table = table.assign(ns=table["device_ns"] + table["host_ns"])
    table = table.sort_values(["ns", "file", "line"], ascending=[False, True, True], kind="stable")
    return table[["file", "line", "function", "device_ns", "host_ns"]].head(5)


def lanes(trace: tv.Trace) -> pd.DataFrame:
    table = trace.lanes.astype({"task": object, "device": object, "lane": object})
    table = table.sort_values(["busy_ns", "task", "device", "lane"], ascending=[False, True, True, True])
    return table[["task", "device", "lane", "events", "busy_ns"]]


def kernels(trace: tv.Trace) -> pd.DataFrame:
    table = trace.kernels.sort_values(["total_ns", "name"], ascending=[False, True])
    return table[["name", "count", "total_ns", "occupancy"]].head(10)


def queued(trace: tv.Trace) -> pd.DataFrame:
    events = numbered(trace)
    events = events.assign(queued_ns=events["start_ns"] - events["scheduled_ns"])
    return first(events[(events["queued_ns"] > 0).fillna(False)], "queued_ns", ["event", "name", "queued_ns"])


def threads(trace: tv.Trace) -> pd.DataFrame:
    known = trace.events[(trace.events["kind"] == "op") & trace.events["thread"].notna()]
    return known.groupby("step")["thread"].nunique().reset_index()


def moved(trace: tv.Trace) -> pd.DataFrame:
    table = trace.transfers.astype({"source": object, "destination": object})
    grouped = table.groupby(["source", "destination"])["bytes"]
    return pd.DataFrame({"n": grouped.size(), "bytes": grouped.sum(min_count=1)}).reset_index()


def late_transfers(trace: tv.Trace) -> pd.DataFrame:
    table = trace.transfers[(trace.transfers["wait_ns"] > 0).fillna(False)]
    return first(table.sort_values("event"), "wait_ns", ["event", "tensor", "wait_ns"])


def producers(trace: tv.Trace) -> pd.DataFrame:
    events = numbered(trace)
    longest = first(events[events["kind"] == "op"], "duration_ns", ["event"], 1)["event"]
    edges = trace.edges[trace.edges["target"].isin(longest)].sort_values("source")
    names = trace.events["name"].reindex(edges["source"]).to_numpy()
    return pd.DataFrame({"event": edges["source"], "name": names, "kind": edges["kind"].astype(object)})


def consumers(trace: tv.Trace) -> pd.DataFrame:
    counts = trace.edges["source"].value_counts().rename("consumers").rename_axis("event").reset_index()
    counts = counts.sort_values(["consumers", "event"], ascending=[False, True]).head(10)
    return pd.DataFrame(
        {"name": trace.events["name"].reindex(counts["event"]).to_numpy(), "n": counts["consumers"]}
    )


def peaks(trace: tv.Trace) -> pd.DataFrame:
    table = trace.memory.astype({"task": object, "allocator": object})
    return table.groupby(["task", "allocator"])["bytes"].max().reset_index()


def largest(trace: tv.Trace) -> pd.DataFrame:
    table = trace.lifetimes.sort_values(["bytes", "event"], ascending=[False, True])
    return table[["event", "name", "bytes", "lifetime_ns"]].head(10)


EXPECTED: dict[str, Callable[[tv.Trace], pd.DataFrame]] = {
    "Which ops take the most time?": top_ops,
    "Which events are the longest?": lambda trace: first(
        numbered(trace), "duration_ns", ["event", "name", "lane", "duration_ns"]
    ),
    "How much do the durations of an op vary?": variation,
    "How much longer than the median is each step?": step_ratios,
    "Which ops and kernels take the most time in the slowest step?": slowest_step,
    "What do steps wait for?": waits,
    "Which lines of the code take the most time?": lines,
    "How busy is each lane?": lanes,
    "Why were devices idle?": lambda trace: sums(trace.idle_gaps, ["cause"]),
    "Which kernels take the most time, and do they fill the GPU?": kernels,
    "Which ops waited longest until a thread ran them?": queued,
    "How many threads ran ops?": threads,
    "How many bytes moved between devices?": moved,
    "Which transfers waited longest for their tensor?": late_transfers,
    "What does the longest op depend on?": producers,
    "Which ops have the most consumers?": consumers,
    "What is on the critical path?": lambda trace: sums(trace.critical_path, ["category"])[
        ["category", "ns"]
    ],
    "What is the peak of each allocator?": peaks,
    "Which buffers are the largest?": largest,
}


def rows(table: pd.DataFrame) -> list[list[object]]:
    return [[round(value, 9) if isinstance(value, float) else value for value in row] for row in plain(table)]


def test_the_page_has_twenty_questions() -> None:
    assert {*EXPECTED, CHANGED} == set(QUERIES)
    assert len(QUERIES) == 20


@pytest.mark.parametrize("file", FILES)
@pytest.mark.parametrize("question", EXPECTED)
def test_answers_are_those_of_pandas(question: str, file: str) -> None:
    trace = real_trace(DATA / file)
    found = rows(trace.sql(QUERIES[question]))
    expected = rows(EXPECTED[question](trace))
    if question == "What does the longest op depend on?":
        found, expected = sorted(found, key=str), sorted(expected, key=str)
    assert found == expected


@pytest.mark.parametrize("file", FILES)
def test_changed_ops_are_those_of_pandas(file: str) -> None:
    before, after = real_trace(DATA / "gpu_tf218_mlp.pb.xz"), real_trace(DATA / file)
    totals = {
        name: each.events[each.events["kind"] == "op"].groupby("op", observed=True)["duration_ns"].sum()
        for name, each in {"before": before, "after": after}.items()
    }
    both = pd.DataFrame(totals).fillna(0).astype(int).rename_axis("op").reset_index()
    order = (both["after"] - both["before"]).sort_values(ascending=False, kind="stable").index
    assert plain(after.sql(QUERIES[CHANGED], against=before)) == plain(both.loc[order])
