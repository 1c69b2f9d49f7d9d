"""Small files can hold traces that cost the square of their size: those take seconds and little memory."""

import time
from collections.abc import Callable

import pytest

from tests.support.apart import apart, execute
from tests.support.examples import sample
from tfvis_nb import Trace, events
from tfvis_nb.analysis import flame_graph
from tfvis_nb.reading.xspace.events import Line
from tfvis_nb.reading.xspace.table import thread_lanes

pytestmark = pytest.mark.slow

PATIENCE_S = 120
"""Far more than any of these takes, and far less than what grows with the square."""
MOST_BYTES = 4 << 30
"""Bytes of address space, mostly of libraries."""

BEGIN = f"""
import resource
import numpy as np
resource.setrlimit(resource.RLIMIT_AS, ({MOST_BYTES}, {MOST_BYTES}))
from tfvis_nb import Trace, events, show_timeline
from tfvis_nb.clocks.alignment import clock_offsets
from tfvis_nb.analysis.critical_path.backtrack import backtracker
from tfvis_nb.analysis.events.nesting import parents
from tfvis_nb.texts import text_of
"""

CASES = {
    "equal bars of a thread": """
count = 200_000
columns = {"start_ns": [5] * count, "duration_ns": [7] * count, "kind": ["host"] * count}
trace = Trace(events.build(columns))
assert len(backtracker(trace).activity) == count
""",
    "rows that end after many that lie within each other": """
count = 100_000
start = np.arange(2 * count)
end = np.append(3 * count - np.arange(count), 4 * count + np.arange(count))
columns = {"start_ns": start, "duration_ns": end - start, "kind": ["host"] * (2 * count)}
found = parents(events.build(columns))
assert found[:count].tolist() == list(range(-1, count - 1))
assert (found[count:] == -1).all()
""",
    "collectives of very many tasks": """
count = 20_000
tasks = [f"/job:w/task:{number}" for number in range(count)]
columns = {"start_ns": np.arange(count), "duration_ns": [9] * count, "kind": ["collective"] * count}
trace = Trace(events.build({**columns, "task": tasks, "lane": ["collective"] * count}))
assert len(clock_offsets(trace)) == count
""",
    "collectives that few of many tasks share": """
count, tasks = 200_000, 500
number = np.arange(2 * count)
task = [f"/job:w/task:{one}" for one in (number // 2 * 7 + number % 2) % tasks]
name = [f"sum {one}" for one in number // 2]
columns = {"start_ns": number, "duration_ns": [9] * len(number), "kind": ["collective"] * len(number)}
trace = Trace(events.build({**columns, "task": task, "name": name, "lane": ["collective"] * len(number)}))
assert (clock_offsets(trace)["collectives"] > 0).all()
""",
    "tasks of one event each": """
count = 20_000
tasks = [f"/job:w/task:{number}" for number in range(count)]
columns = {"start_ns": np.arange(count), "duration_ns": [9] * count, "kind": ["op"] * count}
devices = [f"{task}/device:CPU:0" for task in tasks]
trace = Trace(events.build({**columns, "task": tasks, "device": devices}))
assert trace.lanes["task"].tolist() == tasks
assert len(trace.to_html()) > count
assert trace._repr_html_()
""",
    "more lanes than a timeline has": """
count = 70_000
lanes = [f"l{number}" for number in range(count)]
columns = {"start_ns": np.arange(count), "duration_ns": [9] * count, "kind": ["host"] * count}
trace = Trace(events.build({**columns, "lane": lanes}))
for show in (trace.to_html, lambda: show_timeline(trace)):
    try:
        show()
    except ValueError as error:
        assert text_of(error).id == "too_many_lanes", error
        assert text_of(error).figures == {"lanes": 70_000, "at_most": 65_536}
    else:
        raise AssertionError
assert trace.lanes["lane"].tolist() == lanes
""",
}


THREAD = Line(7, "python")
GROWING: dict[str, Callable[[int], object]] = {
    "lanes of a flame graph": lambda count: flame_graph(one_event_each(count), by="thread"),
    "lines of equal names": lambda count: thread_lanes([("/host:CPU", dict.fromkeys(range(count), THREAD))]),
}


def one_event_each(tasks: int) -> Trace:
    names = [f"/job:w/task:{number}" for number in range(tasks)]
    return Trace(
        events.build(
            {"start_ns": [*range(tasks)], "duration_ns": [9] * tasks, "task": names, "kind": ["op"] * tasks}
        )
    )


@pytest.mark.parametrize("kind", GROWING)
def test_time_grows_with_the_size(kind: str) -> None:
    def taken(count: int) -> float:
        begin = time.process_time()
        GROWING[kind](count)
        return time.process_time() - begin

    taken(10)
    # With the square of the size it would be 256 times as long.
    assert taken(32_000) < 100 * max(taken(2000), 0.001)


TAKE_LONG = {"equal bars of a thread", "collectives that few of many tasks share", "tasks of one event each"}


@pytest.mark.parametrize("case", sample(CASES, CASES.keys() - TAKE_LONG))
def test_a_crowded_trace_is_analysed_at_once(case: str) -> None:
    assert apart(execute, BEGIN + CASES[case], seconds=PATIENCE_S).raised == ""
