"""Every file of the collection is read, or rejected with an error that names it and the reason."""

from pathlib import Path

import pytest

import tfvis_nb as tv
from tests.real_traces import all_files, name_of
from tests.support.texts import raises_id
from tfvis_nb import events as event_table

FILES = all_files()
REFUSED = {
    "LICENSE": "foreign_format",
    "README.md": "foreign_format",
    "INDEX.md": "foreign_format",
    "graph.pbtxt": "foreign_format",
    "corrupt-utf8.xplane.pb.xz": "not_utf8_any_more",
}
"""File to the id of its error."""

EMPTY = {"partition_graphs_only": "graphs_without_run"}


def expected(path: Path, reasons: dict[str, str]) -> str:
    return next((reason for part, reason in reasons.items() if part in path.name), "")


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_every_file_opens_or_is_refused_clearly(path: Path) -> None:
    if reason := expected(path, REFUSED) or expected(path, EMPTY):
        with raises_id(tv.TraceFormatError, reason) as caught:
            tv.read_trace(path)
        assert path.name in str(caught.value)
        assert isinstance(caught.value, tv.EmptyTraceError) == bool(expected(path, EMPTY))
        return
    trace = tv.read_trace(path)
    event_table.check(trace.events)
    assert len(trace.events) > 0
    assert int(trace.lanes["events"].sum()) == len(trace.events)
    assert (trace.steps["duration_ns"] >= 0).all()
    assert len(set(trace.notes)) == len(trace.notes)
    assert len(trace.notes) <= 12
