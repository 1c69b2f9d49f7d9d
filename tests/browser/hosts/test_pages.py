"""Notebooks that nbconvert, Jupyter Book and papermill run, as pages with the network and without it."""

import os
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from playwright.sync_api import Page, Route, expect

from tests.browser.hosts.elsewhere import kernel_elsewhere
from tests.browser.probe import ALONE, TRACE, export_picture, finds
from tests.browser.timeline import Timeline
from tests.support.environments import ROOT, environment, npm_packages
from tests.support.requirements import requirements

pytestmark = pytest.mark.thorough

SLIDE = {"slideshow": {"slide_type": "slide"}}


def run(command: list[str | Path], folder: Path) -> None:
    where = {**os.environ, "PYTHONPATH": str(ROOT), "JUPYTER_DATA_DIR": str(folder / "DATA")}
    done = subprocess.run(command, cwd=folder, env=where, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    facts = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    cells = [
        nbformat.v4.new_markdown_cell("# A step", metadata=SLIDE),
        nbformat.v4.new_code_cell(ALONE, metadata=SLIDE),
    ]
    nbformat.write(nbformat.v4.new_notebook(cells=cells, metadata=facts), tmp_path / "step.ipynb")
    return tmp_path


def shown(page: Page) -> Timeline:
    timeline = Timeline(page.frame_locator("iframe").locator("#tfvis-root")).wait()
    finds(timeline, timeline.title)
    assert page.locator("iframe").evaluate("frame => frame.offsetHeight") == 460
    return timeline


def test_nbconvert(page: Page, folder: Path) -> None:
    nbconvert = [sys.executable, "-m", "nbconvert", "step.ipynb"]
    run([*nbconvert, "--execute", "--to", "notebook", "--inplace"], folder)
    run([*nbconvert, "--to", "html"], folder)
    run([*nbconvert, "--to", "slides"], folder)
    packages = npm_packages("slides", "reveal.js@4.0.2", "requirejs@2.3.8")
    online = False

    def answer(route: Route) -> None:
        _, _, path = route.request.url.partition("/reveal.js@4.0.2/")
        if online and path:
            origin = {"Access-Control-Allow-Origin": "*"}
            route.fulfill(path=packages / "reveal.js" / path, headers=origin)
        elif online and route.request.url.endswith("/require.min.js"):
            route.fulfill(path=packages / "requirejs" / "require.js")
        else:
            route.abort()

    page.route(lambda url: url.startswith("http"), answer)
    address = (folder / "step.slides.html").as_uri()
    # Without the network the slides are below each other.
    page.goto(address)
    export_picture(shown(page))
    page.goto((folder / "step.html").as_uri())
    shown(page)
    expect(page.get_by_role("heading", name="A step")).to_be_visible()
    online = True
    page.goto(address)
    slide = page.locator(".reveal.ready section.present")
    # Before reveal.js says that it is ready, it may not listen to keys.
    expect(slide.get_by_role("heading", name="A step")).to_be_visible()
    page.keyboard.press("ArrowRight")
    expect(slide.locator("iframe")).to_have_count(1)
    shown(page)


def test_papermill(page: Page, folder: Path) -> None:
    commands = environment("papermill", ["papermill", "ipykernel"])
    notebook = nbformat.read(folder / "step.ipynb", as_version=4)
    tags = {"tags": ["parameters"]}
    notebook.cells.insert(0, nbformat.v4.new_code_cell("path = height = None", metadata=tags))
    notebook.cells[-1].source = "import tfvis_nb\ntfvis_nb.show_timeline(path, height=height)"
    nbformat.write(notebook, folder / "step.ipynb")
    kernel_elsewhere(folder / "DATA")
    options: list[str | Path] = ["-k", "elsewhere", "-p", "path", TRACE, "-p", "height", "460"]
    run([commands / "papermill", "step.ipynb", "run.ipynb", *options], folder)
    run([sys.executable, "-m", "nbconvert", "run.ipynb", "--to", "html"], folder)
    page.route(lambda url: url.startswith("http"), lambda route: route.abort())
    page.goto((folder / "run.html").as_uri())
    export_picture(shown(page))


def test_jupyter_book(page: Page, folder: Path) -> None:
    commands = environment("book", [*requirements(), "jupyter-book<2", "ipykernel"])
    (folder / "_config.yml").write_text("title: Steps\nexecute:\n  execute_notebooks: force\n")
    (folder / "_toc.yml").write_text("format: jb-book\nroot: step\n")
    run([commands / "jupyter-book", "build", "."], folder)
    page.route(lambda url: url.startswith("http"), lambda route: route.abort())
    page.goto((folder / "_build" / "html" / "step.html").as_uri())
    timeline = shown(page)
    export_picture(timeline)
    for theme in ("dark", "light"):
        page.evaluate("theme => { document.documentElement.dataset.theme = theme }", theme)
        expect(timeline.root).to_have_attribute("data-theme", theme)
