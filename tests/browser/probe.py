"""Checks of a timeline in all hosts: it is drawn, clicked and exported, and the kernel gets the selection."""

import json
from pathlib import Path

from playwright.sync_api import Locator, Page, expect

import tfvis_nb
from tests.browser.comparison import Both
from tests.browser.dashboard import Dashboard
from tests.browser.fleet import FleetView
from tests.browser.timeline import Timeline
from tests.real_traces import DATA

TRACE = DATA / "gpu_tf221_mlp.pb.xz"

SHOWN_WITHIN = 120_000
"""Milliseconds until a program has read the traces and made all widgets."""

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


TABBED = (
    f"import tfvis_nb\ntfvis_nb.show_dashboard({str(TRACE)!r})",
    f"tfvis_nb.show_comparison({str(TRACE)!r}, {str(TRACE)!r})",
    "tfvis_nb.show_fleet('fleet')",
)
"""The cells of a dashboard, a comparison and a fleet, whose dataset is in the host's folder."""


def select_longest(timeline: Timeline, title: Locator | None = None, path: Path = TRACE) -> str:
    """Click the longest event of a trace, and return its name once the `title` of the details has it."""
    events = tfvis_nb.read_trace(path).events
    event = int(events["duration_ns"].to_numpy().argmax())
    name = str(events["name"][event])
    # As a click on its bar, wherever the host has the rest of the page.
    timeline.host.scroll_into_view_if_needed()
    timeline.click(event)
    expect(title or timeline.title).to_have_text(name)
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


def tabs_work(page: Page) -> None:
    """Check the tabs and the details of a dashboard, a comparison and a fleet below each other."""
    composed = page.locator(".tfvis-nb-composed")
    # Shiny shows the first one when all are made.
    expect(composed).to_have_count(3, timeout=SHOWN_WITHIN)
    for index, (tab, title) in enumerate((("Breakdown", "Total over steps"), ("Ops", "Differences by op"))):
        parts = [composed.nth(index).locator(name) for name in (".tfvis-nb", ".tfvis-nb-panels")]
        both = Both(*parts).wait() if index else None
        shown = both.a if both else Dashboard(*parts).wait()
        expect(shown.tabs).not_to_have_count(1)
        expect(shown.table(tab, title).locator("tbody tr").first).to_be_visible()
        shown.tabs.last.click()
        expect(shown.panels.get_by_role("progressbar")).to_have_count(0)
        select_longest(shown.timeline, both.title if both else None)
    fleet = composed.nth(2)
    view = FleetView(fleet.locator(".tfvis-nb-fleet"), fleet.locator(".tfvis-nb-panels")).wait()
    view.table("Outliers", "Slowest steps").locator("tbody tr").first.get_by_role("button").click()
    opened = Timeline(fleet.locator(".tfvis-nb")).wait()
    expect(opened.root.locator(".toolbar .title")).to_have_text("step 5 · worker 1 · day2")
