"""A double click on a trace file in a real JupyterLab."""

import json
import lzma
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.audit import WCAG, violations
from tests.browser.file_browser import STARTED_WITHIN, FileBrowser
from tests.browser.jupyter_server import JupyterServer
from tests.browser.monitor import Monitor
from tests.browser.timeline import Timeline, asks_before_it_goes
from tests.browser.watched import Watched
from tests.file_view.server import workers
from tests.reading.test_refused_sources import SAVED_MODEL
from tests.real_traces import DATA
from tests.serving.conftest import write_session
from tfvis_nb import open_session, read_trace
from tfvis_nb.texts import Text

XSPACE, METADATA, SESSION, DAMAGED = "jax.xplane.pb", "step.pb", "run.tfvis", "damaged.trace.json"
OLD_SESSION = "old.tfvis"
MODEL, TEXT, TABLE = "saved_model.pb", "stats.pbtxt", "rows.parquet"
ICON = "[data-icon='tfvis-nb:timeline']"


@pytest.fixture(scope="module")
def files(jupyter: JupyterServer) -> Path:
    shutil.copy(DATA / "cpu_jax.xplane.pb", jupyter.root / XSPACE)
    shutil.copy(DATA / "local_mlp_step1.pb", jupyter.root / METADATA)
    write_session(jupyter.root / SESSION)
    old = lzma.decompress((DATA / "sessions/version1.tfvis.xz").read_bytes())
    (jupyter.root / OLD_SESSION).write_bytes(old)
    (jupyter.root / MODEL).write_bytes(SAVED_MODEL)
    shutil.copy(DATA / "simple_stepstats.pbtxt", jupyter.root / TEXT)
    (jupyter.root / TABLE).write_bytes(b"PAR1")
    (jupyter.root / DAMAGED).write_text('{"traceEvents": [{"name": "<img src=x onerror=alert(1)>", ')
    return jupyter.root


def tabs(jupyter: JupyterServer) -> list[str]:
    (workspace,) = jupyter.api("GET", "/lab/api/workspaces")["workspaces"]["values"]
    dock = workspace["data"]["layout-restorer:data"]["main"]["dock"]
    return [name for name in dock["widgets"] if not name.startswith("launcher")]


def annotate(timeline: Timeline, name: str) -> None:
    timeline.lanes.click()
    timeline.page.keyboard.press("n")
    timeline.page.keyboard.type(name)
    timeline.page.keyboard.press("Enter")
    expect(timeline.lanes).to_be_focused()


def stored(path: Path) -> list[str]:
    """The names of the annotations that a session has of its first trace."""
    with open_session(path) as session:
        names: list[str] = session.read(1).annotations["name"].tolist()
    return names


def wait_until(page: Page, holds: Callable[[], bool]) -> None:
    for _ in range(200):
        if holds():
            return
        page.wait_for_timeout(50)
    raise AssertionError("this did not come about within some seconds")


def test_files_open_in_timelines_and_monitors(page: Page, jupyter: JupyterServer, files: Path) -> None:
    watch = Watched(page, own=jupyter.url)
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    browser = FileBrowser(page, f"{jupyter.url}/lab?reset")

    browser.open(XSPACE)
    timeline = Timeline(browser.shown.locator(".tfvis-nb")).wait()
    # It fills its tab, and has no handle for another height.
    tab, root = browser.shown.bounding_box(), timeline.root.bounding_box()
    assert tab
    assert root
    assert root["height"] == pytest.approx(tab["height"], abs=2)
    expect(timeline.host.get_by_role("separator", name="Height of the timeline")).to_have_count(0)
    page.emulate_media(reduced_motion="reduce")
    assert violations(page, ".tfvis-nb", WCAG) == []
    page.emulate_media(reduced_motion="no-preference")
    longest = read_trace(files / XSPACE).events.nlargest(1, "duration_ns")
    timeline.click(int(longest.index[0]))
    expect(timeline.title).to_have_text(longest["name"].item())
    # JupyterLab itself neither loads the file nor writes over or copies it.
    page.keyboard.press("Control+s")
    expect(page.get_by_role("dialog")).to_have_count(0)
    assert not [url for url in asked if XSPACE in url and "content=1" in url]
    # It saves annotations, as a page.
    annotate(timeline, "slow")
    unsaved = page.locator(".lm-TabBar-tab.jp-mod-dirty")
    expect(unsaved).to_have_count(1)
    with page.expect_download() as saved:
        page.keyboard.press("Control+s")
    assert "<li>slow</li>" in Path(saved.value.path()).read_text()
    expect(unsaved).to_have_count(0)

    # The icon says that a double click opens the file here.
    for name in (XSPACE, METADATA, SESSION, MODEL):
        expect(browser.file(name).locator(ICON)).to_have_count(1)
    for name in (TEXT, TABLE):
        expect(browser.file(name).locator(ICON)).to_have_count(0)
    browser.open(METADATA)
    # Until its tab is in front, the first file is the one that is shown.
    expect(page.locator(".lm-TabBar-tab.lm-mod-current", has_text=METADATA)).to_be_visible()
    second = Timeline(browser.shown.locator(".tfvis-nb")).wait()
    with page.expect_download() as saved:
        second.host.get_by_role("button", name="Export").click()
        second.host.get_by_role("menuitem", name="Chrome trace").click()
    assert json.loads(Path(saved.value.path()).read_text())["traceEvents"]
    # Another view of the file, as of any document.
    page.evaluate("() => { window.jupyterapp.commands.execute('docmanager:clone'); }")
    tabs_of_file = page.locator(".lm-TabBar-tab", has_text=METADATA)
    expect(tabs_of_file).to_have_count(2)
    expect(page.locator(".tfvis-nb-file [data-drawn]")).to_have_count(3)
    tabs_of_file.last.locator(".lm-TabBar-tabCloseIcon").click()
    expect(tabs_of_file).to_have_count(1)
    wait_until(page, lambda: len(workers(jupyter.process.pid)) == 2)

    browser.open(SESSION)
    monitor = Monitor(browser.shown.locator(".tfvis-nb-monitor"))
    expect(monitor.host.get_by_role("region", name=f"Monitor of {SESSION}")).to_be_visible()
    monitor.traces.first.click()
    annotate(monitor.opened(), "late")
    wait_until(page, lambda: stored(files / SESSION) == ["late"])
    expect(unsaved).to_have_count(0)
    page.locator(".lm-TabBar-tab", has_text=SESSION).locator(".lm-TabBar-tabCloseIcon").click()

    # Where the session has no place for it, it is saved as other notes are.
    browser.open(OLD_SESSION)
    monitor = Monitor(browser.shown.locator(".tfvis-nb-monitor"))
    monitor.traces.first.click()
    annotate(monitor.opened(), "late")
    expect(monitor.region).to_contain_text("has no place for annotations")
    expect(unsaved).to_have_count(1)
    page.locator(".lm-TabBar-tab", has_text=OLD_SESSION).locator(".lm-TabBar-tabCloseIcon").click()
    page.get_by_role("button", name="Cancel").click()
    with page.expect_download() as saved:
        page.keyboard.press("Control+s")
    assert '"name":"late"' in Path(saved.value.path()).read_text()
    expect(unsaved).to_have_count(0)

    wait_until(page, lambda: len(workers(jupyter.process.pid)) == 3)
    browser.open(DAMAGED)
    problem = browser.shown.get_by_role("alert")
    expect(problem).to_contain_text(f"{DAMAGED} cannot be shown")
    expect(problem.locator("img")).to_have_count(0)

    browser.open(MODEL)
    expect(page.locator(".lm-TabBar-tab.lm-mod-current", has_text=MODEL)).to_be_visible()
    expect(browser.shown.get_by_role("alert")).to_contain_text(Text("is_saved_model"))
    browser.open(TEXT)
    expect(page.locator(".jp-FileEditor:visible")).to_contain_text("dev_stats")
    browser.open_with(TEXT, "Timeline")
    Timeline(browser.shown.locator(".tfvis-nb")).wait()
    for tab_of_text in page.locator(".lm-TabBar-tab", has_text=TEXT).all()[::-1]:
        tab_of_text.locator(".lm-TabBar-tabCloseIcon").click()
    for name in (MODEL, DAMAGED, OLD_SESSION, METADATA):
        page.locator(".lm-TabBar-tab", has_text=name).locator(".lm-TabBar-tabCloseIcon").click()
    wait_until(page, lambda: len(workers(jupyter.process.pid)) == 1)
    # A reload brings back the tab, once JupyterLab has saved its layout.
    wait_until(page, lambda: tabs(jupyter) == [f"tfvis-nb-trace:{XSPACE}"])
    page.goto(f"{jupyter.url}/lab")
    expect(page.locator(".tfvis-nb-file .tfvis-nb")).to_be_visible(timeout=STARTED_WITHIN)
    Timeline(page.locator(".tfvis-nb-file .tfvis-nb")).wait()
    watch.end()
    # Neither the page nor the tab takes notes with it unasked.
    annotate(timeline, "other")
    expect(unsaved).to_have_count(1)
    asks_before_it_goes(page)
    close = page.locator(".lm-TabBar-tab", has_text=XSPACE).locator(".lm-TabBar-tabCloseIcon")
    close.click()
    page.get_by_role("button", name="Cancel").click()
    expect(timeline.details).to_contain_text("other")
    close.click()
    page.get_by_role("button", name="Discard").click()
    expect(browser.shown).to_have_count(0)
    for name in (XSPACE, METADATA):
        assert not [*(files / ".ipynb_checkpoints").glob(f"{Path(name).stem}*")]
    assert (files / XSPACE).read_bytes() == (DATA / "cpu_jax.xplane.pb").read_bytes()


def test_files_open_in_notebook_7(page: Page, jupyter: JupyterServer, files: Path) -> None:
    browser = FileBrowser(page, f"{jupyter.url}/tree")
    with page.expect_popup() as opened:
        browser.open(XSPACE)
    Timeline(opened.value.locator(".tfvis-nb-file .tfvis-nb")).wait()
    with page.expect_popup() as opened:
        browser.open(METADATA)
    Timeline(opened.value.locator(".tfvis-nb-file .tfvis-nb")).wait()
    assert (files / METADATA).read_bytes() == (DATA / "local_mlp_step1.pb").read_bytes()
