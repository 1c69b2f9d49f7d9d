"""Checks of a timeline in all hosts: it is drawn, clicked and exported, and the kernel gets the selection."""

from __future__ import annotations

import json
from pathlib import Path

from playwright.sync_api import Locator, expect

import tfvis_nb
from tests.browser.timeline import Timeline
from tests.real_traces import DATA

TRACE = DATA / "gpu_tf221_mlp.pb.xz"

CELL = f"""
import ipywidgets, tfvis_nb
timeline = tfvis_nb.show_timeline({str(TRACE)!r})
said = ipywidgets.Label("nothing selected")
timeline.on_selection(lambda rows: setattr(said, "value", "selected: " + " ".join(rows["name"])))
ipywidgets.VBox([said, timeline])
"""
"""A timeline, with the selection received by the kernel above it."""

ALONE = f"import tfvis_nb\ntfvis_nb.show_timeline({str(TRACE)!r}, height=460)"
"""The timeline as the output itself, which a saved notebook keeps."""


def select_longest(timeline: Timeline) -> str:
    """Click the longest event of `TRACE`, and return its name once the details have it."""
    events = tfvis_nb.read_trace(TRACE).events
    event = int(events["duration_ns"].to_numpy().argmax())
    name = str(events["name"][event])
    # As a click on its bar, wherever the host has the rest of the page.
    timeline.host.scroll_into_view_if_needed()
    timeline.click(event)
    expect(timeline.title).to_have_text(name)
    return name


def export(timeline: Timeline) -> None:
    """Make the kernel create a file, and read the file saved by the browser."""
    with timeline.page.expect_download() as saved:
        timeline.host.get_by_role("button", name="Export").click()
        timeline.host.get_by_role("menuitem", name="Chrome trace").click()
    assert json.loads(Path(saved.value.path()).read_text())["traceEvents"]


def works(host: Locator, said: Locator) -> Timeline:
    """Run all checks; `said` is the element in which `CELL` shows the messages to the kernel."""
    timeline = Timeline(host).wait()
    name = select_longest(timeline)
    expect(said).to_have_text(f"selected: {name}")
    export(timeline)
    return timeline
