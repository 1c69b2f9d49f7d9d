"""The code that pages are sent: files, lines with their times, stacks of events."""

import base64
import gzip
import re
from collections.abc import Callable

import pyarrow as pa
import pytest

from tests.analysis.test_findings_of_lock import RUNS, loop
from tests.large_traces import answers_of, layout_of
from tests.support.coded_trace import LIBRARY, SECRET, coded
from tests.wire_reader import read_container
from tfvis_nb import Trace, events
from tfvis_nb.analysis.events.lane_order import order_lanes
from tfvis_nb.core.html_export import HtmlExport
from tfvis_nb.core.stacks import Frame, StackBuilder, joined
from tfvis_nb.core.trace_tables import Table, TraceTables
from tfvis_nb.display.comparison import show_comparison
from tfvis_nb.display.dashboard.dashboard_widget import show_dashboard
from tfvis_nb.display.timeline.timeline_widget import as_trace, show_timeline
from tfvis_nb.display.wire.code import without_code
from tfvis_nb.display.wire.details import details
from tfvis_nb.texts import Text


def show_itself_beside(trace: Trace) -> HtmlExport:
    return show_comparison(trace, trace)


def contents(page: str) -> list[bytes]:
    return [gzip.decompress(base64.b64decode(data)) for data in re.findall(r"H4sI[A-Za-z0-9+/=]+", page)]


def test_only_what_events_refer_to_is_sent() -> None:
    header, columns = read_container(details(coded()))
    assert [(file["name"], file["text"], file["mark"]) for file in header["code"]["files"]] == [
        ("Cell [7]", SECRET, "edited"),
        ("/lib/f.py", None, None),
    ]
    assert sorted(zip(columns["code_line"], columns["code_frame"], strict=True)) == [(2, 0), (90, 1)]
    (line,) = header["code"]["lines"]
    assert line == [0, 2, 1 + header["code"]["phases"].index("backward"), 30, 8, 0, 2, 0]


def test_cells_whose_functions_are_defined_again_are_marked() -> None:
    texts = {
        "Cell [3]": "def load(i):\n    return i\n\nclass Model: ...\n",
        "Cell [12]": "async def load(i):\n    return 2 * i\n",
        "Cell [9]": "def load(i):\n    def Model(): ...\n    return i\n",
        "Cell [20]": "for i in data:\n    load(i)\n",
        "train.py": "def load(i):\n    return i\n",
    }
    builder = StackBuilder()
    for name, text in texts.items():
        builder.file(name, text)
    stacks = pa.array([builder.stack([Frame(name, 2)]) for name in texts], pa.int32())
    table = events.build({"start_ns": range(5), "duration_ns": [1] * 5, "kind": ["op"] * 5})
    header, _ = read_container(
        details(Trace(table, nested=pa.table({"stack": stacks}), stacks=builder.table()))
    )
    assert {file["name"]: file["note"] for file in header["code"]["files"] if file["mark"] == "older"} == {
        name: Text("code_file_older", file=name, names="load", cell="Cell [12]")
        for name in ("Cell [3]", "Cell [9]")
    }


def test_events_without_a_line_equal_source_lines() -> None:
    builder = StackBuilder()
    own = builder.stack([Frame("Cell [7]", 2), LIBRARY])
    library = builder.stack([LIBRARY])
    stacks = [own, library, None, None, library, None]
    table = events.build(
        {
            "start_ns": range(0, 600, 100),
            "duration_ns": [8, 16, 32, 64, 1, 2],
            "kind": ["op", "kernel", "host", "op", "memcpy", "transfer"],
            "lane": ["ops", "stream:1", "thread", "ops", "memcpy", "recv"],
            "bytes": [None, None, None, 5, 7, 9],
        }
    )
    nested = pa.table({"stack": pa.array(stacks, pa.int32())})
    trace = Trace(table, nested=nested, stacks=builder.table())
    assert reasons(trace) == {"library", "no stack", "runtime"}
    waiting = loop(in_step_ms=5, samples=(RUNS,))
    stacks = [own, *[None] * (len(waiting.events) - 1)]
    nested = pa.table({"stack": pa.array(stacks, pa.int32())})
    trace = Trace(waiting.events, nested=nested, metadata=waiting.metadata, stacks=builder.table())
    assert "waiting" in reasons(trace)


def reasons(trace: Trace) -> set[str]:
    """Return the reasons in the details, whose figures are those of `source_lines`."""
    header, _ = read_container(details(trace))
    lines = trace.source_lines
    rows = lines[lines["reason"] != ""][["reason", "device_ns", "host_ns", "copy_bytes", "events"]]
    sent = [
        [row[name] for name in ("reason", "device", "host", "copied", "events")]
        for row in header["code"]["unattributed"]
    ]
    assert sorted(sent) == sorted(rows.to_numpy().tolist())
    return {row[0] for row in sent}


def test_a_trace_without_stacks_has_no_code() -> None:
    trace = coded()
    header, columns = read_container(details(Trace(trace.events)))
    assert "code" not in header
    assert not [name for name in columns if name.startswith("code_")]


def test_a_deep_chain_of_callers_is_sent_whole() -> None:
    trace = coded()
    builder = StackBuilder()
    builder.stack([Frame("other.py", 1)])
    stack = builder.stack([Frame("deep.py", 1 + line % 7) for line in range(5000)])
    nested = pa.table({"stack": pa.array([stack] * 4, pa.int32())})
    _, columns = read_container(details(Trace(trace.events, nested=nested, stacks=builder.table())))
    assert len(columns["code_caller"]) == 5000
    assert columns["code_caller"] == [1] * 5000


def test_files_of_one_name_are_told_apart() -> None:
    trace = coded()
    builder = StackBuilder()
    builder.stack([Frame("Cell [7]", 1)])
    builder.file("Cell [7]", "y")
    stacks, (_, first) = joined([trace.stacks, builder.table()])
    nested = pa.table({"stack": pa.array([1, first, None, None], pa.int32())})
    header, _ = read_container(details(Trace(trace.events, nested=nested, stacks=stacks)))
    assert [(file["name"], file["text"]) for file in header["code"]["files"]] == [
        ("Cell [7]", SECRET),
        ("Cell [7] (2)", "y"),
    ]


def test_the_kernel_sends_the_code_of_a_large_trace() -> None:
    trace = coded()
    windows = answers_of(layout_of(trace))
    _, (data,) = windows.answer({"kind": "code"})
    header, columns = read_container(data)
    assert header["code"] == read_container(details(trace, order_lanes(trace.events)))[0]["code"]
    assert len(columns["code_stack"]) == 0
    _, parts = windows.answer({"kind": "events", "events": [1]})
    header, columns = read_container(parts[1])
    assert "lines" not in header["code"]
    assert len(columns["code_stack"]) == header["count"]
    _, (data,) = answers_of(layout_of(Trace(trace.events))).answer({"kind": "code"})
    assert read_container(data)[0]["code"] is None


def test_no_table_that_was_computed_with_code_stays_without_it() -> None:
    trace = coded()
    names = [name for name, made in vars(TraceTables).items() if isinstance(made, Table)]
    tables = {name: getattr(trace, name) for name in names}
    assert any("Cell [7]" in str(table.to_dict()) for table in tables.values())
    kept = vars(without_code(trace))
    assert {"edges", "lanes", "nested"} <= kept.keys()
    for name in kept.keys() & {*tables}:
        assert not any(text in str(kept[name].to_dict()) for text in ("a secret", "Cell [7]")), name
    assert "Cell [7]" not in str(kept["nested"].to_pydict())


@pytest.mark.parametrize(
    "show",
    [
        show_dashboard,
        *(
            pytest.param(show, marks=pytest.mark.thorough)
            for show in (as_trace, show_timeline, show_itself_beside)
        ),
    ],
)
def test_pages_have_the_code_unless_it_is_left_out(show: Callable[[Trace], HtmlExport]) -> None:
    trace = coded()
    assert trace.findings["figures"][0]["after"] == "a secret"
    shown = show(trace)
    assert any(b"a secret" in each for each in contents(shown.to_html()))
    page = shown.to_html(source=False)
    parts = [page.encode(), *contents(page)]
    assert not any(text in each for each in parts for text in (b"a secret", b"Cell [7]"))
