"""The stored part of a timeline in a notebook file after running it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

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


def outputs(*cells: str) -> list[NotebookNode]:
    """Run cells; the outputs of the last one."""
    import nbformat
    from nbclient import NotebookClient

    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    NotebookClient(notebook, store_widget_state=False, timeout=300).execute()
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


@pytest.mark.thorough
def test_a_large_timeline_is_kept_only_if_asked_for() -> None:
    stored, _ = outputs(LARGE, "tv.show_timeline(source)")
    assert "<img" in stored.data["text/html"]
    assert "<iframe" not in stored.data["text/html"]
    stored, _ = outputs(LARGE, "tv.show_timeline(source, keep=True)")
    assert len(stored.data["text/html"]) > 2_000_000
    assert "<iframe" in stored.data["text/html"]
