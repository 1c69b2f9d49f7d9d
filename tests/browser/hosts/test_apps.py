"""Voila, marimo, Panel and Solara, in their dark themes: pages of a running Python that are no notebook."""

import re
from pathlib import Path

import nbformat
import pytest
from playwright.sync_api import Page, Route, expect

from tests.browser.hosts.server import serving
from tests.browser.probe import CELL, SHOWN_WITHIN, TABBED, TRACE, select_longest, tabs_work, works
from tests.browser.timeline import Timeline
from tests.browser.watched import Watched
from tests.support.environments import environment
from tests.support.fleet_dataset import fleet_dataset
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

PANEL_TABBED = f"""
import panel as pn
import tfvis_nb

pn.extension("ipywidgets")
shown = [tfvis_nb.show_dashboard({str(TRACE)!r}), tfvis_nb.show_comparison({str(TRACE)!r}, {str(TRACE)!r})]
shown.append(tfvis_nb.show_fleet("fleet"))
pn.Column(*[pn.pane.IPyWidget(each, sizing_mode="stretch_width") for each in shown]).servable()
"""

MARIMO_TABBED = f"""
import marimo
app = marimo.App()

@app.cell
def _():
    import marimo as mo
    import tfvis_nb
    tabbed = mo.ui.anywidget(tfvis_nb.show_dashboard({str(TRACE)!r}))
    tabbed
    return mo, tabbed, tfvis_nb

@app.cell
def _(mo, tfvis_nb):
    both = mo.ui.anywidget(tfvis_nb.show_comparison({str(TRACE)!r}, {str(TRACE)!r}))
    both
    return (both,)

@app.cell
def _(mo, tfvis_nb):
    fleet = mo.ui.anywidget(tfvis_nb.show_fleet("fleet"))
    fleet
    return (fleet,)
"""

SHINY = f"""
import tfvis_nb
from shiny import App, ui
from shinywidgets import output_widget, render_widget

app_ui = ui.page_fluid(*map(output_widget, ("tabbed", "both", "fleet", "alone")))

def server(input, output, session):
    @render_widget
    def tabbed():
        return tfvis_nb.show_dashboard({str(TRACE)!r})

    @render_widget
    def both():
        return tfvis_nb.show_comparison({str(TRACE)!r}, {str(TRACE)!r})

    @render_widget
    def fleet():
        return tfvis_nb.show_fleet("fleet")

    @render_widget
    def alone():
        return tfvis_nb.show_timeline({str(TRACE)!r})

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
    tabbed = solara.use_memo(lambda: tfvis_nb.show_dashboard({str(TRACE)!r}), [])
    both = solara.use_memo(lambda: tfvis_nb.show_comparison({str(TRACE)!r}, {str(TRACE)!r}), [])
    fleet = solara.use_memo(lambda: tfvis_nb.show_fleet("fleet"), [])
    solara.HTML(tag="p", unsafe_innerHTML=said, attributes={{"id": "said"}})
    solara.Column(children=[timeline, tabbed, both, fleet])
"""


def dark(timeline: Timeline) -> None:
    expect(timeline.root).to_have_attribute("data-theme", "dark")
    colour = timeline.root.evaluate("root => getComputedStyle(root).color")
    assert min(map(int, re.findall(r"\d+", colour)[:3])) > 200, colour


@pytest.fixture(scope="module")
def commands() -> Path:
    """The programs, with what our package requires; the package is this checkout's."""
    apps = ["voila>=0.5", "marimo", "panel", "ipywidgets_bokeh", "ipykernel", "solara[assets]"]
    return environment("apps", [*requirements("fleet"), *apps, "shiny", "shinywidgets"])


def test_voila(page: Page, commands: Path, tmp_path: Path) -> None:
    notebook = nbformat.v4.new_notebook(cells=[*map(nbformat.v4.new_code_cell, (CELL, *TABBED))])
    nbformat.write(notebook, tmp_path / "probe.ipynb")
    fleet_dataset(tmp_path)
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
        tabs_work(page)


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


def test_tabs_in_marimo(page: Page, commands: Path, tmp_path: Path) -> None:
    (tmp_path / "probe.py").write_text(MARIMO_TABBED)
    fleet_dataset(tmp_path)
    options = ("--headless", "--no-token", "--port", "{port}", "probe.py")
    with serving([commands / "marimo", "run", *options], tmp_path) as address:
        page.goto(address)
        tabs_work(page)


def test_tabs_in_shiny(page: Page, commands: Path, tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text(SHINY)
    fleet_dataset(tmp_path)
    with serving([commands / "shiny", "run", "--port", "{port}", "app.py"], tmp_path) as address:
        page.goto(address)
        tabs_work(page)
        select_longest(Timeline(page.locator(".tfvis-nb").last).wait())


def test_solara_without_the_network(page: Page, commands: Path, tmp_path: Path) -> None:
    (tmp_path / "probe.py").write_text(SOLARA)
    fleet_dataset(tmp_path)
    options = ("--no-open", "--production", "--host", "127.0.0.1", "--port", "{port}")
    with serving([commands / "solara", "run", "probe.py", *options], tmp_path) as address:
        watch = Watched(page, own=address)
        page.goto(address)
        dark(works(page.locator(".tfvis-nb").first, page.locator("#said")))
        tabs_work(page)
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


def test_tabs_in_panel(page: Page, commands: Path, tmp_path: Path) -> None:
    (tmp_path / "probe.py").write_text(PANEL_TABBED)
    fleet_dataset(tmp_path)
    serve_anywidget(page, commands)
    with serving([commands / "panel", "serve", "probe.py", "--port", "{port}"], tmp_path, "probe") as address:
        page.goto(address, timeout=SHOWN_WITHIN)
        tabs_work(page)
