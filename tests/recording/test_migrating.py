"""The code of docs/migrating.md runs, in one script, and each detail that works there has a test."""

import lzma
import re
from pathlib import Path

import pytest

import tfvis_nb as tv
from tests.real_traces import DATA
from tests.recording.test_tfvis_timeline import PROLOGUE
from tests.support.recorded_sessions import runs_of
from tests.support.with_tensorflow import run

TESTS = Path(__file__).parents[1]
PAGE = (TESTS.parent / "docs" / "migrating.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```python\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
WORKS = {
    "`Timeline(None, True)`": ("recording/test_tfvis_timeline.py", "test_second_argument_is_horovod"),
    '`step_time("memcpy")`': ("recording/test_tfvis_timeline.py", "test_copies_are_those_of_the_lane_memcpy"),
    "a run without `**timeline.kwargs`": (
        "recording/test_tfvis_timeline.py",
        "test_nothing_recorded_says_what_to_do",
    ),
    "Ctrl-C in `join()`": ("recording/test_migrating.py", "test_code_of_the_page_runs"),
    "`tftracer nosuch.pickle`": ("cli/test_serve.py", "test_what_cannot_be_served"),
    "counts and names in a saved session": (
        "compat/test_tftracer_sessions.py",
        "test_a_session_of_tftracer_is_listed",
    ),
    "shapes and types of feeds and fetches": (
        "session/test_file.py",
        "test_types_of_tensors_distinguish_no_signatures",
    ),
    "a trace in a new tab": ("browser/test_serve.py", "test_each_trace_has_an_address"),
    "objects of tensors": ("writing/test_chrome_trace.py", "test_tensors_are_those_of_timeline_py"),
    "`op_time`": (
        "writing/test_chrome_trace.py",
        "test_ops_have_the_times_of_their_kernels_as_in_timeline_py",
    ),
    "tensors at an allocator's maximum": (
        "analysis/test_memory.py",
        "test_timeline_py_counts_forwarded_buffers_twice",
    ),
    "names of processes and transfers": (
        "writing/test_chrome_trace.py",
        "test_transfers_tell_their_ends_bytes_and_tensor",
    ),
    "`function_graphs`": (
        "reading/test_graph_parts.py",
        "test_graphs_of_functions_alone_are_no_partition_graphs",
    ),
}

CTRL_C = """
import signal
import tfvis_nb

signal.signal(signal.SIGALRM, signal.default_int_handler)

class TracingServer(tfvis_nb.TracingServer):
    def join(self):
        signal.setitimer(signal.ITIMER_REAL, 0.2)
        super().join()

tfvis_nb.TracingServer = TracingServer
"""


@pytest.mark.tensorflow
def test_code_of_the_page_runs(tmp_path: Path) -> None:
    for name in ("rank0_step3.pb", "rank1_step3.pb", "timeline.json"):
        (tmp_path / name).write_bytes(lzma.decompress((DATA / f"horovod_{name}.xz").read_bytes()))
    script = "\n".join([PROLOGUE, CTRL_C, *BLOCKS, "assert len(late_ranks(trace)) == 2"])
    run("-c", script, folder=tmp_path, cwd=tmp_path)
    assert len(tv.read_trace(tmp_path / "example.pickle").events) > 0
    assert 'id="tfvis-drawn"' in (tmp_path / "example.html").read_text()
    with tv.open_session(tmp_path / "session.pickle") as session:
        assert max(runs_of(session).values()) == 200


def test_each_detail_that_works_has_a_test() -> None:
    (table,) = re.findall(r"^## Details of the old tools\n\n(.*?)\n\n", PAGE, re.MULTILINE | re.DOTALL)
    rows = [[cell.strip() for cell in row.strip("|").split(" | ")] for row in table.splitlines()[2:]]
    assert {row[0]: row[1] for row in rows} == dict.fromkeys(WORKS, "works")
    for file, name in WORKS.values():
        assert f"def {name}(" in (TESTS / file).read_text(encoding="utf-8")
