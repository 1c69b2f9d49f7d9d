"""Checks of all widgets in all hosts: they are drawn and clicked, and they and Python exchange messages."""

import json
from pathlib import Path

from playwright.sync_api import FrameLocator, Locator, Page, expect

import tfvis_nb
from tests.browser.comparison import Both
from tests.browser.dashboard import Dashboard
from tests.browser.fleet import FleetView
from tests.browser.monitor import Monitor
from tests.browser.timeline import Timeline
from tests.real_traces import DATA
from tests.support.fleet_dataset import fleet_dataset
from tfvis_nb.session.file.counters import Counts
from tfvis_nb.session.file.entries import Recording, Signature
from tfvis_nb.session.file.writer import Writer

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


DASHBOARD = f"tfvis_nb.show_dashboard({str(TRACE)!r})"
COMPARISON = f"tfvis_nb.show_comparison({str(TRACE)!r}, {str(TRACE)!r})"
FLEET, MONITOR = "tfvis_nb.show_fleet('fleet')", "tfvis_nb.monitor('run.tfvis')"
CHART = f"tfvis_nb.read_trace({str(TRACE)!r}).charts.breakdown()"
WIDGETS = (DASHBOARD, COMPARISON, FLEET, MONITOR, CHART)
"""What shows the other widgets, which read files in the host's folder."""
CELLS = (f"import tfvis_nb\n{DASHBOARD}", *WIDGETS[1:])


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


def finds(timeline: Timeline, title: Locator) -> None:
    """Search for an op of `TRACE`, and check the `title` of the details."""
    timeline.find("op:MatMul")
    expect(title).to_contain_text("MatMul")


def export(timeline: Timeline) -> None:
    """Make the kernel create a file, and read the file saved by the browser."""
    with timeline.page.expect_download() as saved:
        timeline.host.get_by_role("button", name="Export").click()
        timeline.host.get_by_role("menuitem", name="Chrome trace").click()
    assert json.loads(Path(saved.value.path()).read_text())["traceEvents"]


def export_picture(timeline: Timeline) -> None:
    """Save the picture that the page makes without a kernel."""
    with timeline.page.expect_download() as saved:
        timeline.host.get_by_role("button", name="Export").click()
        timeline.host.get_by_role("menuitem", name="Picture of this view").click()
    assert Path(saved.value.path()).read_bytes().startswith(b"\x89PNG")


def works(host: Locator, said: Locator) -> Timeline:
    """Run all checks; `said` is the element in which `CELL` shows the messages to the kernel."""
    timeline = Timeline(host).wait()
    name = select_longest(timeline)
    expect(said).to_have_text(f"selected: {name}")
    export(timeline)
    return timeline


def widgets_work(page: Page, folder: Path) -> None:
    """Check what `WIDGETS` show below each other in a host that runs in `folder`."""
    tabs_work(page)
    monitor_works(Monitor(page.locator(".tfvis-nb-monitor")), folder / "run.tfvis")
    chart_is_drawn(page.locator(".tfvis-nb-chart"))


def monitor_works(monitor: Monitor, path: Path) -> None:
    """Start a job that the page waits for, and check that its runs and a trace arrive."""
    expect(monitor.region).to_contain_text(f"There is no file {path.name} yet")
    writer = Writer(path, keep=None)
    number, slot = writer.add_signature(Signature("session", "train", "loss:0"))
    writer.count(slot, Counts(2, 0, 10_000, 5_000, 10**18, 10**18))
    expect(monitor.runs("train")).to_have_text("2")
    data = (DATA / "local_mlp_step1.pb").read_bytes()
    writer.add_trace(number, Recording("run_metadata", data, 3, 10**18, 5_000), None)
    writer.count(slot, Counts(3, 0, 15_000, 5_000, 10**18, 10**18))
    expect(monitor.runs("train")).to_have_text("3")
    monitor.traces.first.click()
    monitor.opened()
    writer.close({number: Counts(3)})
    expect(monitor.recording).to_contain_text("Ended")


def chart_is_drawn(place: Page | Locator | FrameLocator) -> None:
    """Check that BokehJS has drawn the chart of `CHART`."""
    # The title of the page is that of the chart.
    expect(place.get_by_role("img", name="Step time breakdown (ms)")).to_have_attribute("data-drawn", "true")


def bokeh_draws(place: Locator | FrameLocator) -> None:
    """Check that a host draws a chart itself, as it draws other Bokeh figures."""
    expect(place.locator("canvas").first).to_be_visible()


def folder_of_widgets(folder: Path) -> Path:
    """Make the files that `WIDGETS` read in a folder, and return it."""
    folder.mkdir(exist_ok=True)
    fleet_dataset(folder)
    return folder


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
