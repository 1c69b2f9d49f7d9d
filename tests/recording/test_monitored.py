"""The monitor of a job that runs in the same process."""

import json
import threading
import time
from pathlib import Path
from typing import Any

import pytest

import tfvis_nb as tv
from tests.wire_reader import read_container

pytestmark = pytest.mark.tensorflow


class Asked(tv.MonitorWidget):
    """Is asked as by a front end, from another thread than the one that trains."""

    def __init__(self, session: tv.SavedSession) -> None:
        self.answers: list[tuple[Any, list[bytes]]] = []
        super().__init__(session)

    def send(self, content: Any, buffers: Any = None) -> None:
        self.answers.append((content, list(buffers or [])))

    def ask(self, kind: str, **content: Any) -> tuple[Any, list[bytes]]:
        message = {"kind": kind, "id": "1", **content}
        thread = threading.Thread(target=lambda: self._handle_custom_msg(message, []))
        thread.start()
        thread.join()
        return self.answers[-1]

    @property
    def state(self) -> Any:
        return json.loads(self._state)


def test_a_trace_is_ordered_while_the_job_runs(session: Any, tmp_path: Path) -> None:
    loss = session.graph.get_tensor_by_name("loss:0")
    with tv.TraceSession(tmp_path / "run.tfvis") as recorded:
        widget = recorded.monitor()
        assert recorded.monitor() is widget
        widget.close()
        widget = Asked(recorded)
        session.run(loss)
        widget.ask("watch")
        (signature,) = widget.state["signatures"]
        assert (signature["label"], signature["runs"]) == ("loss", 1)
        answer, _ = widget.ask("command", command={"do": "trace_next", "signature": signature["signature"]})
        assert "error" not in answer
        assert widget.state["signatures"][0]["requested"] == 1
        until = time.monotonic() + 30
        while not widget.state["traces"]:
            assert time.monotonic() < until, "no trace has come"
            session.run(loss)
            widget._look()
        assert widget.state["signatures"][0]["requested"] == 0
        answer, (drawn, details) = widget.ask("open", trace=1)
        assert answer["title"].startswith("loss, run ")
        assert read_container(drawn)[0]["count"] == read_container(details)[0]["count"] > 0
        widget.close()
        session.run(loss)
        assert recorded.recording
    recorded.close()
    assert not list(tmp_path.glob("run.tfvis-*"))


def test_why_nothing_is_recorded_is_said(session: Any, tmp_path: Path) -> None:
    with tv.TraceSession(tmp_path / "missing" / "run.tfvis") as recorded:
        session.run(session.graph.get_tensor_by_name("loss:0"))
        widget = Asked(recorded)
        assert recorded.problem
        assert widget.state["problem"] == recorded.problem
        widget.close()
