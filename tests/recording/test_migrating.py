"""The code of docs/migrating.md runs, in one script."""

import lzma
import re
from pathlib import Path

import pytest

import tfvis_nb as tv
from tests.real_traces import DATA
from tests.recording.test_tfvis_timeline import PROLOGUE
from tests.support.recorded_sessions import runs_of
from tests.support.with_tensorflow import run

PAGE = Path(__file__).parents[2] / "docs" / "migrating.md"
BLOCKS = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)

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
