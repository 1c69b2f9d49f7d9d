"""The efficiency with which communication hides behind computing."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.real_traces import real_trace
from tests.support.bitmaps import painted
from tfvis_nb import Trace, events
from tfvis_nb.analysis import scheduling_efficiency, why_not

ROW = st.tuples(
    st.integers(0, 40),
    st.integers(0, 15),
    st.sampled_from(["op", "kernel", "transfer", "collective", "memcpy", "host"]),
    st.sampled_from(["/task:0", "/task:1"]),
    st.integers(-1, 1),
)


@given(st.lists(ROW, min_size=1, max_size=15))
def test_figures_are_those_counted_moment_by_moment(rows: list[tuple[int, int, str, str, int]]) -> None:
    rows = sorted(rows, key=lambda row: (row[0], -row[1]))
    names = ("start_ns", "duration_ns", "kind", "task", "step")
    table = scheduling_efficiency(Trace(events.build(dict(zip(names, zip(*rows, strict=True), strict=True)))))
    found = {(row["step"], row["task"]): row for row in table.to_dict("records")}
    expected = set()
    for task in ("/task:0", "/task:1"):
        for step in (0, 1):
            group = [row for row in rows if row[3:] == (task, step)]
            if not group:
                continue
            window = min(row[0] for row in group), max(row[0] + row[1] for row in group)

            def length(*kinds: str) -> int:
                chosen = [(row[0], row[0] + row[1]) for row in group if row[2] in kinds]  # noqa: B023
                return int(painted(window, [chosen])[1])  # noqa: B023

            m, p, u = length("transfer", "collective"), length("op", "kernel"), window[1] - window[0]
            if not m or not p:
                continue
            expected.add((step, task))
            row = found[step, task]
            assert (row["communication_ns"], row["computation_ns"], row["makespan_ns"]) == (m, p, u)
            assert (row["cost_max_ns"], row["cost_min_ns"], row["ratio"]) == (m + p, max(m, p), m / p)
            assert row["efficiency"] == pytest.approx((m + p - u) / (m + p - max(m, p)))
            assert row["possible_speedup"] == pytest.approx((m + p - max(m, p)) / max(m, p))
            assert row["bounded"] == (max(m, p) <= u <= m + p)
            assert not row["bounded"] or 0 <= row["efficiency"] <= 1
    assert set(found) == expected
    assert bool(why_not(table)) == (not expected)


def test_all_or_nothing_hidden() -> None:
    for start, efficiency in ((0, 1.0), (100, 0.0)):
        columns = {"start_ns": [0, start], "duration_ns": [100, 50], "kind": ["op", "transfer"]}
        found = scheduling_efficiency(Trace(events.build(columns))).iloc[0]
        assert (found["efficiency"], found["possible_speedup"], found["bounded"]) == (efficiency, 0.5, True)


def test_why_nothing_can_be_said() -> None:
    lone = {"start_ns": [0], "duration_ns": [5]}
    alone = scheduling_efficiency(Trace(events.build({**lone, "kind": ["op"]})))
    assert why_not(alone).id == "no_communication"
    other = scheduling_efficiency(Trace(events.build({**lone, "kind": ["transfer"]})))
    assert why_not(other).id == "no_overlap"
    both = events.build({"start_ns": [0, 0], "duration_ns": [5, 5], "kind": ["op", "transfer"]})
    assert alone.dtypes.astype(str).to_dict() == (
        scheduling_efficiency(Trace(both)).dtypes.astype(str).to_dict()
    )


@pytest.mark.collection("hvd/hvd_straggler_rank0_step3.pb", "hvd/hvd_straggler_rank1_step3.pb")
def test_the_rank_that_waits_has_no_speedup_to_gain(shared: Path) -> None:
    trace = real_trace([shared / f"hvd/hvd_straggler_rank{rank}_step3.pb" for rank in (0, 1)])
    found = scheduling_efficiency(trace)
    assert found["possible_speedup"].tolist()[0] < 0.05
    assert found["ratio"].tolist()[0] > 10 > found["ratio"].tolist()[1]
