"""The view of a timeline in the next run of its cell."""

import uuid
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from tests.display.test_views import FIRST, TRACE, lanes
from tests.real_traces import real_trace
from tfvis_nb import Trace, events, show_dashboard, show_timeline
from tfvis_nb.display.timeline.timeline_widget import TimelineWidget


def test_the_next_run_of_a_cell_keeps_the_view() -> None:
    def run(first: int, names: tuple[str, ...], length: int = 100) -> TimelineWidget:
        """Return a widget of three steps with some lanes, `length` after another."""
        rows = [(step, name) for step in range(3) for name in names]
        columns: dict[str, Any] = {"start_ns": [first + length * step for step, _ in rows]}
        columns |= {"duration_ns": [length // 2] * len(rows), "kind": ["op"] * len(rows)}
        columns |= {"task": ["/job:worker/task:0"] * len(rows)}
        columns |= {"step": [step for step, _ in rows], "lane": [name for _, name in rows]}
        return show_timeline(Trace(events.build(columns, rows=len(rows))))

    before = run(10**18, ("a", "b", "c"))
    start, (_, two, three) = 10**18, lanes(before.trace)
    before.view = {
        "start_ns": start + 110,
        "end_ns": start + 130,
        "step": 1,
        "selection": [1],
        "hidden": [two],
        "pinned": [three],
        "graph": True,
        "color_by": "op",
        "lane_filter": "worker",
    }
    before.views = {"all": {"start_ns": start, "end_ns": start + 250, "step": None}}
    after = run(2 * 10**18, ("b", "a"), length=1000)
    after._take_over(before)
    expected = {**before.view, "start_ns": 2 * start + 1010, "end_ns": 2 * start + 1030}
    assert after.view == {**expected, "pinned": [], "selection": None}
    assert (after.views["all"]["start_ns"], after.views["all"]["end_ns"]) == (2 * start, 2 * start + 2500)
    # A part that is not there is none.
    short = run(start, ("a",), length=8)
    short._take_over(before)
    assert (short.view["step"], short.view["start_ns"], short.view["end_ns"]) == (1, start + 8, start + 12)
    # A range moves and shrinks until it is in the trace.
    before.view = {"step": None, "start_ns": start + 10, "end_ns": start + 25}
    short._take_over(before)
    assert (short.view["start_ns"], short.view["end_ns"]) == (start + 5, start + 20)
    before.view = {"step": None, "start_ns": start + 10, "end_ns": start + 130}
    short._take_over(before)
    assert (short.view["start_ns"], short.view["end_ns"]) == (start, start + 20)
    before.view = {"step": None}
    short._take_over(before)
    assert (short.view["start_ns"], short.view["end_ns"]) == (start, start + 20)
    # Everything keeps its margins: as many times as long as the run.
    before.view = {"step": None, "start_ns": start - 1, "end_ns": start + 252}
    same = run(start, ("a",))
    for widget, room in ((same, (1, 2)), (after, (10, 20))):
        widget._take_over(before)
        view, origin = widget.view, int(widget.trace.events["start_ns"].min())
        assert (origin - view["start_ns"], view["end_ns"] - origin) == (room[0], room[0] * 250 + room[1])
    single = show_timeline(Trace(short.trace.events.iloc[:1].assign(step=np.int32(events.NO_STEP))))
    before.view = {"step": 1}
    single._take_over(before)
    assert (single.view["step"], single.view["color_by"]) == (None, "op")
    moment = show_timeline(Trace(single.trace.events.assign(duration_ns=0)))
    moment._take_over(single)
    moment._take_over(moment)
    assert moment.view["start_ns"] < moment.view["end_ns"]
    # One that has not been looked at yet.
    fresh = show_timeline(short.trace, group_by="none")
    after._take_over(fresh)
    assert after.view["group_by"] == "none"
    assert not after._view
    assert after.view["hidden"] == []


Run = Callable[..., list[Any]]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Run:
    """Return a function that runs a cell which shows some widgets."""
    request: dict[str, Any] = {}
    notebook = uuid.uuid4().hex
    monkeypatch.setattr("IPython.get_ipython", lambda: SimpleNamespace(get_parent=lambda: request))

    def run_cell(*shown: Any, cell: str) -> list[Any]:
        request.update(metadata={"cellId": f"{notebook} {cell}"}, header={"msg_id": uuid.uuid4().hex})
        for each in shown:
            each._repr_mimebundle_()
        return list(shown)

    return run_cell


def test_a_cell_that_runs_again_keeps_its_timelines(run: Run) -> None:
    trace = real_trace(TRACE)

    def some(**options: Any) -> TimelineWidget:
        return show_timeline(trace, **options)

    first, second = run(some(), some(), cell="some")
    first.view = {"start_ns": FIRST, "end_ns": FIRST + 9, "group_by": "kind", "color_by": "op"}
    first.views = {"mine": {"graph": True}}
    second.view = {"code": True}
    # Each is shown again in its place; options set by the cell stay.
    again, last, new = run(some(color_by="kind"), some(), some(), cell="some")
    assert (again.view["group_by"], again.view["color_by"], list(again.views)) == ("kind", "kind", ["mine"])
    assert (again.view["start_ns"], again.view["end_ns"]) == (FIRST, FIRST + 9)
    assert (last.view["code"], last.view["group_by"]) == (True, "device")
    assert new.view == some().view
    (set_here,) = run(some(view={"group_by": "none", "details": False}, lane_filter="x"), cell="some")
    assert (set_here.view["group_by"], set_here.view["details"]) == ("none", False)
    assert set_here.view["lane_filter"] == "x"
    # A run without timelines, and displaying a timeline twice, change nothing.
    run(cell="some")
    run(again, cell="some")
    assert again.view["color_by"] == "kind"
    # A dashboard does the same; a trace with other lanes is shown whole.
    (dashboard,) = run(show_dashboard(trace), cell="some")
    assert dashboard.view["group_by"] == "kind"
    dashboard.panels.set_trait("_chosen", "Memory")
    change = {"subject": "activities", "name": "launch", "how": 0.5}
    dashboard.panels.set_trait("_what_if", change)
    (dashboard,) = run(show_dashboard(trace), cell="some")
    assert (dashboard.view["group_by"], dashboard.panels._chosen) == ("kind", "Memory")
    assert dashboard.panels._what_if == change
    (elsewhere,) = run(some(), cell="another")
    filtered = {"lane_filter": trace.lanes["lane"].iloc[0]}
    elsewhere.view = {"group_by": "kind", "start_ns": FIRST, "end_ns": FIRST + 9, **filtered}
    elsewhere.views = {"all": {}}
    other = Trace(trace.events.assign(lane=pd.Categorical(["another"] * len(trace.events))))
    (fresh,) = run(show_timeline(other), cell="another")
    assert (fresh.view["group_by"], fresh.view["end_ns"] > FIRST + 9) == ("kind", True)
    assert (fresh.view["lane_filter"], fresh.views["all"]["lane_filter"]) == ("", "")
