"""The stored part of a timeline in a notebook file after running it."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import tfvis_nb as tv
from tests.support.fleet_dataset import fleet_dataset
from tfvis_nb.core.markup import markdown_text

if TYPE_CHECKING:
    from nbformat import NotebookNode

VIEW = "application/vnd.jupyter.widget-view+json"
LARGE = """
import numpy as np
import tfvis_nb as tv
from tfvis_nb import events
chance = np.random.default_rng(0)
count = 400_000
source = tv.Trace(events.build({
    "start_ns": np.sort(chance.integers(0, 10**12, count)), "duration_ns": chance.integers(1, 10**6, count),
    "kind": ["op"] * count, "op": ["MatMul"] * count,
}))
"""


def outputs(*cells: str, sent: list[dict[str, Any]] | None = None) -> list[NotebookNode]:
    """Run cells; return the outputs of the last one. Messages of the kernel are added to `sent`."""
    import nbformat
    from nbclient import NotebookClient

    class Client(NotebookClient):
        def process_message(self, msg: dict[str, Any], cell: NotebookNode, cell_index: int) -> Any:
            if sent is not None:
                sent.append(msg)
            return super().process_message(msg, cell, cell_index)

    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    Client(notebook, store_widget_state=False, timeout=300).execute()
    found: list[NotebookNode] = notebook.cells[-1].outputs
    return found


@pytest.mark.parametrize("show", ["show_timeline", "show_dashboard"])
def test_a_picture_and_the_timeline_are_beside_the_widget(show: str, data: Path) -> None:
    stored, widget = outputs(f"import tfvis_nb as tv\ntv.{show}({str(data / 'local_mlp_step1.pb')!r})")
    html = stored.data["text/html"]
    assert '<img alt="Activity of each lane' in html
    assert html.count('<iframe sandbox="allow-scripts allow-downloads"') == 1
    assert "allow-same-origin" not in html
    assert VIEW in widget.data
    assert widget.data["text/html"] == ""


@pytest.mark.parametrize("show", ["show_timeline", "show_dashboard"])
def test_the_widget_is_sent_before_what_takes_longer(show: str, data: Path) -> None:
    sent: list[dict[str, Any]] = []
    outputs(f"import tfvis_nb as tv\ntv.{show}({str(data / 'local_mlp_step1.pb')!r})", sent=sent)
    (widget,) = (number for number, each in enumerate(sent) if each["msg_type"] == "execute_result")
    # JupyterLab draws nothing before it has loaded the typesetter of the first HTML.
    assert not any(each["content"].get("data", {}).get("text/html") for each in sent[: widget + 1])
    later = [each["msg_type"] for each in sent[widget + 1 :]]
    assert later.index("comm_msg") < later.index("update_display_data")


def test_a_dashboard_keeps_its_tabs_once_they_are_computed(data: Path) -> None:
    show = f"import tfvis_nb as tv\nshown = tv.show_dashboard({str(data / 'local_mlp_step1.pb')!r})\nshown"
    sent: list[dict[str, Any]] = []
    outputs(show, "shown.panels._start()\nshown.panels._worker.join()", sent=sent)
    updates = [
        each["content"]["data"]["text/html"] for each in sent if each["msg_type"] == "update_display_data"
    ]
    hint = "Run the cell again to see them."
    assert ["tfvis-tabs" in each for each in updates] == [False, True]
    assert [hint in each for each in updates] == [True, False]
    assert len(updates[1]) < 2_000_000


@pytest.mark.parametrize("show", ["show_timeline({})", "show_dashboard({})", "show_comparison({0}, {0})"])
def test_the_file_has_the_cause_in_words(show: str, data: Path) -> None:
    path = data / "gpu_tf221_mlp.pb.xz"
    (stored, widget) = outputs(f"import tfvis_nb as tv\ntv.{show.format(repr(str(path)))}")
    head = stored.data["text/markdown"]
    trace = tv.read_trace(path)
    assert markdown_text(trace.overview["headline"]) in head
    assert f"**{markdown_text(trace.findings['title'][0])}**" in head
    assert len(head.encode()) <= 2000
    assert stored.data["text/plain"] == ""
    assert widget.data["text/plain"].count("\n") == ("comparison" in show)
    assert "text/markdown" not in widget.data


@pytest.mark.parametrize(
    "call", ["%%trace --no-report\nlen('')", "tv.show_timeline({}, report=False)", "tv.show_fleet({})"]
)
def test_the_file_has_no_cause_if_not_asked_for(call: str, data: Path, tmp_path: Path) -> None:
    path = fleet_dataset(tmp_path).path if "fleet" in call else data / "local_mlp_step1.pb"
    load = "import tfvis_nb as tv\n%load_ext tfvis_nb"
    found = outputs(load, call.format(repr(str(path))))
    assert found
    assert not any("text/markdown" in each.get("data", {}) for each in found)


def test_no_front_end_prefers_the_words_to_the_picture(data: Path) -> None:
    import nbformat
    from nbconvert import HTMLExporter, MarkdownExporter

    found = outputs(f"import tfvis_nb as tv\ntv.show_timeline({str(data / 'local_mlp_step1.pb')!r})")
    with_words = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("", outputs=found)])
    without = copy.deepcopy(with_words)
    del without.cells[0].outputs[0]["data"]["text/markdown"]
    exporters: tuple[Any, ...] = (HTMLExporter, MarkdownExporter)  # which have no types
    for exporter in exporters:
        assert exporter().from_notebook_node(with_words)[0] == exporter().from_notebook_node(without)[0]


@pytest.mark.thorough
def test_a_large_timeline_is_kept_only_if_asked_for() -> None:
    stored, _ = outputs(LARGE, "tv.show_timeline(source)")
    assert "<img" in stored.data["text/html"]
    assert "<iframe" not in stored.data["text/html"]
    stored, _ = outputs(LARGE, "tv.show_timeline(source, keep=True)")
    assert len(stored.data["text/html"]) > 2_000_000
    assert "<iframe" in stored.data["text/html"]


def test_an_interrupt_after_the_cell_prints_nothing() -> None:
    interrupted = """
from tfvis_nb.display.after_cell import after_cell
def work():
    print("is interrupted")
    raise KeyboardInterrupt
after_cell(work)
"""
    (printed,) = outputs(interrupted)
    assert printed.text == "is interrupted\n"
