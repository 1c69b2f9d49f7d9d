"""Other notebook front ends: Notebook 7 and nbclassic, with a kernel each."""

import re
from functools import partial

import nbformat
import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.clicked import corner
from tests.browser.jupyter_server import JupyterServer
from tests.browser.notebook import READY, save
from tests.browser.probe import ALONE, CELL, CELLS, folder_of_widgets, widgets_work, works
from tests.browser.timeline import Timeline, press_in_view_menu

STARTED_WITHIN, RUN_WITHIN = 90_000, 120_000
"""Milliseconds until a kernel is idle, and until a new one has imported everything and run all cells."""

CLASSIC_READY = """() => {
    const kernel = window.Jupyter?.notebook?.kernel;
    return kernel?.info_reply?.status && kernel.comm_manager.targets["jupyter.widget"];
}"""


def write(jupyter: JupyterServer, name: str, *cells: str) -> str:
    """Write a notebook of the cells that are tried, and return the path in its address."""
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    notebook = nbformat.v4.new_notebook(
        cells=[*map(nbformat.v4.new_code_cell, cells or [CELL])], metadata={"kernelspec": kernel}
    )
    nbformat.write(notebook, jupyter.root / name)
    return f"notebooks/{name}"


def run_in_seven(page: Page, name: str) -> None:
    # Notebook 7.6 shows a kernel as idle before it has asked for one, and runs nothing then.
    page.wait_for_function(READY, arg=name, timeout=STARTED_WITHIN, polling=100)
    page.get_by_role("menuitem", name="Run", exact=True).click()
    page.get_by_text("Run All Cells", exact=True).click()
    has_run(page.locator(".jp-InputPrompt"))


def run_in_classic(page: Page, _: str) -> None:
    page.wait_for_function(CLASSIC_READY, timeout=STARTED_WITHIN)
    # ipywidgets 8 asks a new kernel for widgets, then renders outputs again; a view made meanwhile is lost.
    page.evaluate("Jupyter.notebook.kernel.widget_manager._loadFromKernel()")
    page.evaluate("Jupyter.notebook.execute_all_cells()")
    has_run(page.locator(".input_prompt"))


def has_run(prompts: Locator) -> None:
    """Wait until all cells have a number, so that the kernel has finished importing."""
    expect(prompts.filter(has_text=re.compile(r"\[\d+\]"))).to_have_count(prompts.count(), timeout=RUN_WITHIN)


def test_notebook_7_its_dark_theme_and_keys(page: Page, jupyter: JupyterServer) -> None:
    page.goto(f"{jupyter.url}/{write(jupyter, 'seven.ipynb')}")
    run_in_seven(page, "seven.ipynb")
    timeline = works(page.locator(".tfvis-nb"), page.locator(".jp-OutputArea .widget-label"))
    keys_stay(timeline, page.locator(".jp-Notebook .jp-Cell"))
    page.get_by_role("menuitem", name="Settings", exact=True).click()
    page.locator(".lm-Menu-item:visible", has_text="Theme").first.click()
    page.locator(".lm-Menu-item:visible", has_text="JupyterLab Dark").first.click()
    expect(timeline.root).to_have_attribute("data-theme", "dark")


def test_nbclassic_whose_keys_stay_the_timelines(page: Page, jupyter: JupyterServer) -> None:
    page.goto(f"{jupyter.url}/nbclassic/{write(jupyter, 'classic.ipynb')}")
    run_in_classic(page, "classic.ipynb")
    timeline = works(page.locator(".tfvis-nb"), page.locator(".output_area .widget-label"))
    keys_stay(timeline, page.locator("#notebook-container .cell"))


def keys_stay(timeline: Timeline, cells: Locator) -> None:
    """Press keys that insert and delete cells of a notebook, in several places of a timeline."""
    before = cells.count()
    fit = partial(press_in_view_menu, timeline.root, "Fit")
    for click in (timeline.lanes.focus, fit, corner(timeline.root.locator(".toolbar"))):
        click()
        for key in ("b", "d", "d", "a", "x"):
            timeline.page.keyboard.press(key)
        expect(cells).to_have_count(before)


@pytest.mark.thorough
@pytest.mark.parametrize("front_end", ["", "nbclassic/"])
def test_all_other_widgets_work(page: Page, jupyter: JupyterServer, front_end: str) -> None:
    folder = folder_of_widgets(jupyter.root / f"widgets{len(front_end)}")
    name = f"{folder.name}/all.ipynb"
    page.goto(f"{jupyter.url}/{front_end}{write(jupyter, name, *CELLS)}")
    (run_in_classic if front_end else run_in_seven)(page, name)
    widgets_work(page, folder)


@pytest.mark.thorough
@pytest.mark.parametrize("front_end", ["", "nbclassic/"])
def test_a_saved_timeline_is_there_without_its_kernel(
    page: Page, jupyter: JupyterServer, front_end: str
) -> None:
    name = f"kept{len(front_end)}.ipynb"
    path = write(jupyter, name, ALONE)
    page.goto(f"{jupyter.url}/{front_end}{path}")
    (run_in_classic if front_end else run_in_seven)(page, name)
    Timeline(page.locator(".tfvis-nb")).wait()
    kept = page.locator("iframe[title=Timeline]")
    expect(kept).to_have_count(1)
    expect(kept).to_be_hidden()
    words = page.locator(".jp-OutputArea .jp-RenderedMarkdown, .output_area .output_markdown")
    expect(words).to_have_count(0)
    save(page, name)
    assert "text/markdown" in (jupyter.root / name).read_text()
    (session,) = [each for each in jupyter.api("GET", "/api/sessions") if each["path"] == name]
    jupyter.api("POST", f"/api/kernels/{session['kernel']['id']}/restart")
    page.goto("about:blank")
    page.goto(f"{jupyter.url}/{front_end}{path}")
    timeline = Timeline(kept.content_frame.locator("#tfvis-root")).wait()
    timeline.find("op:MatMul")
    expect(timeline.title).to_contain_text("MatMul")
    expect(words).to_have_count(0)
