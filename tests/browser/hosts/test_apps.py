"""Voila, marimo, Shiny, Solara, Streamlit and Panel: pages of a running Python that are no notebook."""

import re
from pathlib import Path

import nbformat
import pytest
from playwright.sync_api import Page, Route, expect

from tests.browser.comparison import Both
from tests.browser.dashboard import Dashboard
from tests.browser.fleet import FleetView
from tests.browser.hosts.server import serving
from tests.browser.monitor import Monitor
from tests.browser.probe import (
    CELL,
    CELLS,
    CHART,
    COMPARISON,
    DASHBOARD,
    FLEET,
    MONITOR,
    SHOWN_WITHIN,
    TRACE,
    bokeh_draws,
    export_picture,
    finds,
    folder_of_widgets,
    monitor_works,
    tabs_work,
    widgets_work,
    works,
)
from tests.browser.timeline import Timeline
from tests.browser.watched import Watched
from tests.support.environments import environment
from tests.support.requirements import requirements

pytestmark = pytest.mark.thorough

MARIMO = f"""
# /// script
# [tool.marimo.display]
# theme = "dark"
# ///
import marimo
app = marimo.App()

@app.cell
def _():
    import marimo as mo
    import tfvis_nb
    timeline = tfvis_nb.show_timeline({str(TRACE)!r})
    shown = mo.ui.anywidget(timeline)
    shown
    return mo, shown, timeline

@app.cell
def _(mo, shown, timeline):
    shown.value
    mo.Html('<p id="said">selected: ' + " ".join(timeline.selection["name"]) + "</p>")
    return
"""

PANEL = f"""
import html
import panel as pn
import tfvis_nb

pn.extension("ipywidgets", theme="dark")
timeline = tfvis_nb.show_timeline({str(TRACE)!r})
said = pn.pane.HTML("nothing selected")
def say(rows):
    said.object = '<p id="said">selected: ' + " ".join(rows["name"]) + "</p>"
timeline.on_selection(say)
page = html.escape(timeline.to_html())
sandbox = 'sandbox="allow-scripts allow-downloads"'
frame = f'<iframe srcdoc="{{page}}" {{sandbox}} width="1000" height="600"></iframe>'
widget = pn.pane.IPyWidget(timeline, sizing_mode="stretch_width")
pn.Column(said, widget, pn.pane.HTML(frame)).servable()
"""

PANEL_WIDGETS = f"""
import panel as pn
import tfvis_nb

pn.extension("ipywidgets")
shown = [{DASHBOARD}, {COMPARISON}, {FLEET}, {MONITOR}]
pn.Column(*[pn.pane.IPyWidget(each, sizing_mode="stretch_width") for each in shown], {CHART}).servable()
"""

MARIMO_WIDGETS = f"""
import marimo
app = marimo.App()

@app.cell
def _():
    import marimo as mo
    import tfvis_nb
    dashboard = mo.ui.anywidget({DASHBOARD})
    dashboard
    return mo, tfvis_nb

@app.cell
def _(mo, tfvis_nb):
    comparison = mo.ui.anywidget({COMPARISON})
    comparison
    return

@app.cell
def _(mo, tfvis_nb):
    fleet = mo.ui.anywidget({FLEET})
    fleet
    return

@app.cell
def _(mo, tfvis_nb):
    monitor = mo.ui.anywidget({MONITOR})
    monitor
    return

@app.cell
def _(tfvis_nb):
    {CHART}
    return
"""

SHINY = f"""
import tfvis_nb
from bokeh.embed import file_html
from shiny import App, reactive, render, ui
from shinywidgets import output_widget, render_widget

page = file_html({CHART}, "inline", "Chart")
widgets = map(output_widget, ("dashboard", "comparison", "fleet", "monitor", "timeline"))
chart = ui.tags.iframe(srcdoc=page, width=700, height=400)
app_ui = ui.page_fluid(ui.input_dark_mode(mode="dark"), ui.output_text("said"), *widgets, chart)

def server(input, output, session):
    names = reactive.value(["nothing"])

    @render.text
    def said():
        return "selected: " + " ".join(names())

    @render_widget
    def dashboard():
        return {DASHBOARD}

    @render_widget
    def comparison():
        return {COMPARISON}

    @render_widget
    def fleet():
        return {FLEET}

    @render_widget
    def monitor():
        return {MONITOR}

    @render_widget
    def timeline():
        shown = tfvis_nb.show_timeline({str(TRACE)!r})
        shown.on_selection(lambda rows: names.set(list(rows["name"])))
        return shown

app = App(app_ui, server)
"""

SOLARA = f"""
import solara
import solara.lab
import tfvis_nb

@solara.component
def Page():
    solara.lab.theme.dark = True
    said, say = solara.use_state("nothing selected")

    def make():
        timeline = tfvis_nb.show_timeline({str(TRACE)!r})
        timeline.on_selection(lambda rows: say("selected: " + " ".join(rows["name"])))
        return timeline

    timeline = solara.use_memo(make, [])
    dashboard = solara.use_memo(lambda: {DASHBOARD}, [])
    comparison = solara.use_memo(lambda: {COMPARISON}, [])
    fleet = solara.use_memo(lambda: {FLEET}, [])
    monitor = solara.use_memo(lambda: {MONITOR}, [])
    chart = solara.use_memo(lambda: {CHART}, [])
    solara.HTML(tag="p", unsafe_innerHTML=said, attributes={{"id": "said"}})
    solara.Column(children=[timeline, dashboard, comparison, fleet, monitor])
    solara.display(chart)
"""


STREAMLIT = f"""
import streamlit as st
import streamlit.components.v1 as components
import tfvis_nb
from bokeh.embed import file_html

components.html(tfvis_nb.read_trace({str(TRACE)!r}).to_html(), height=600)
for widget in ({DASHBOARD}, {COMPARISON}, {FLEET}):
    st.iframe(widget.to_html(), height=1000)
st.iframe(file_html({CHART}, "inline", "Chart"), height=400)
"""


def dark(timeline: Timeline) -> None:
    expect(timeline.root).to_have_attribute("data-theme", "dark")
    colour = timeline.root.evaluate("root => getComputedStyle(root).color")
    assert min(map(int, re.findall(r"\d+", colour)[:3])) > 200, colour


@pytest.fixture(scope="module")
def commands() -> Path:
    """The programs, with what our package requires; the package is this checkout's."""
    apps = ["voila>=0.5", "marimo", "panel", "ipywidgets_bokeh", "ipykernel", "solara[assets]"]
    return environment("apps", [*requirements("fleet"), *apps, "shiny", "shinywidgets", "streamlit"])


def test_voila(page: Page, commands: Path, tmp_path: Path) -> None:
    notebook = nbformat.v4.new_notebook(cells=[*map(nbformat.v4.new_code_cell, (CELL, *CELLS))])
    nbformat.write(notebook, tmp_path / "probe.ipynb")
    folder_of_widgets(tmp_path)
    command: list[str | Path] = [
        commands / "voila",
        "--no-browser",
        "--port={port}",
        "--Voila.ip=127.0.0.1",
        "--theme=dark",
        "probe.ipynb",
    ]
    with serving(command, tmp_path) as address:
        # Voila ends the page when all cells have run.
        page.goto(address, timeout=SHOWN_WITHIN)
        dark(works(page.locator(".tfvis-nb").first, page.locator(".widget-label")))
        widgets_work(page, tmp_path)


def test_marimo(page: Page, commands: Path, tmp_path: Path) -> None:
    (tmp_path / "probe.py").write_text(MARIMO)
    command: list[str | Path] = [
        commands / "marimo",
        "run",
        "--headless",
        "--no-token",
        "--port",
        "{port}",
        "probe.py",
    ]
    with serving(command, tmp_path) as address:
        page.goto(address)
        dark(works(page.locator(".tfvis-nb").first, page.locator("#said")))


def test_widgets_in_marimo(page: Page, commands: Path, tmp_path: Path) -> None:
    (tmp_path / "probe.py").write_text(MARIMO_WIDGETS)
    folder_of_widgets(tmp_path)
    options = ("--headless", "--no-token", "--port", "{port}", "probe.py")
    with serving([commands / "marimo", "run", *options], tmp_path) as address:
        page.goto(address)
        widgets_work(page, tmp_path)


def test_widgets_in_shiny(page: Page, commands: Path, tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text(SHINY)
    folder_of_widgets(tmp_path)
    with serving([commands / "shiny", "run", "--port", "{port}", "app.py"], tmp_path) as address:
        page.goto(address)
        tabs_work(page)
        monitor_works(Monitor(page.locator(".tfvis-nb-monitor")), tmp_path / "run.tfvis")
        dark(works(page.locator(".tfvis-nb").last, page.locator("#said")))
        bokeh_draws(page.frame_locator("iframe"))


def test_solara_without_the_network(page: Page, commands: Path, tmp_path: Path) -> None:
    (tmp_path / "probe.py").write_text(SOLARA)
    folder_of_widgets(tmp_path)
    options = ("--no-open", "--production", "--host", "127.0.0.1", "--port", "{port}")
    with serving([commands / "solara", "run", "probe.py", *options], tmp_path) as address:
        watch = Watched(page, own=address)
        page.goto(address)
        dark(works(page.locator(".tfvis-nb").first, page.locator("#said")))
        widgets_work(page, tmp_path)
        watch.end()


def test_streamlit_without_the_network(page: Page, commands: Path, tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text(STREAMLIT)
    folder_of_widgets(tmp_path)
    settings = ("--server.port={port}", "--server.headless=true", "--browser.gatherUsageStats=false")
    with serving([commands / "streamlit", "run", "app.py", *settings], tmp_path) as address:
        watch = Watched(page, own=address)
        page.goto(address)
        frames = page.locator("iframe")
        expect(frames).to_have_count(5, timeout=SHOWN_WITHIN)
        timeline, dashboard, comparison, fleet, chart = (frames.nth(at).content_frame for at in range(5))
        alone = Timeline(timeline.locator("#tfvis-root")).wait()
        finds(alone, alone.title)
        export_picture(alone)
        page.emulate_media(color_scheme="dark")
        dark(alone)
        shown = Dashboard(dashboard.locator(".tfvis-timeline"), dashboard.locator(".tfvis-panels")).wait()
        expect(shown.table("Breakdown", "Total over steps").locator("tbody tr").first).to_be_visible()
        around = comparison.locator("#tfvis-root")
        both = Both(around, comparison.locator(".tfvis-panels")).wait()
        finds(Timeline(around), both.title)
        view = FleetView(fleet.locator(".tfvis-fleet"), fleet.locator(".tfvis-panels")).wait()
        expect(view.table("Outliers", "Slowest steps").locator("tbody tr").first).to_be_visible()
        bokeh_draws(chart)
        watch.end()


def serve_anywidget(page: Page, commands: Path) -> list[str]:
    """Answer what Panel asks a package host for; return the addresses that will have been asked for."""
    asked: list[str] = []
    anywidget = commands.parent / "share" / "jupyter" / "nbextensions" / "anywidget" / "index.js"

    def answer(route: Route) -> None:
        asked.append(route.request.url)
        # Panel's requests to a package host are answered by the installed package.
        if "/anywidget@" in route.request.url:
            route.fulfill(
                path=anywidget, content_type="text/javascript", headers={"Access-Control-Allow-Origin": "*"}
            )
        else:
            route.abort()

    page.route(lambda url: not url.startswith(("http://127.0.0.1", "ws:")), answer)
    return asked


def test_panel_with_and_without_the_network(page: Page, commands: Path, tmp_path: Path) -> None:
    (tmp_path / "probe.py").write_text(PANEL)
    with serving([commands / "panel", "serve", "probe.py", "--port", "{port}"], tmp_path, "probe") as address:
        # Offline the widget is blank, and the page in a frame works all the same.
        page.goto(address)
        framed = page.frame_locator("iframe").locator("#tfvis-root")
        expect(framed.get_by_role("region", name="Timeline")).to_have_attribute("data-drawn", "true")
        expect(page.locator(".tfvis-nb")).to_have_count(0)
        asked = serve_anywidget(page, commands)
        page.goto(address)
        dark(works(page.locator(".tfvis-nb").first, page.locator("#said")))
        assert [url for url in asked if "/anywidget@" in url]


def test_widgets_in_panel(page: Page, commands: Path, tmp_path: Path) -> None:
    (tmp_path / "probe.py").write_text(PANEL_WIDGETS)
    folder_of_widgets(tmp_path)
    serve_anywidget(page, commands)
    with serving([commands / "panel", "serve", "probe.py", "--port", "{port}"], tmp_path, "probe") as address:
        page.goto(address, timeout=SHOWN_WITHIN)
        tabs_work(page)
        monitor_works(Monitor(page.locator(".tfvis-nb-monitor")), tmp_path / "run.tfvis")
        bokeh_draws(page.locator(".bk-Figure").last)
