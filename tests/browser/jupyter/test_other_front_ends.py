"""The notebooks beside JupyterLab: Notebook 7 and nbclassic, with a kernel each."""

from __future__ import annotations

import nbformat
from playwright.sync_api import Page, expect

from tests.browser.jupyter_server import JupyterServer
from tests.browser.probe import CELL, works

STARTED_WITHIN = 90_000
READY = """() => {
    const kernel = window.Jupyter?.notebook?.kernel;
    return kernel?.info_reply?.status && kernel.comm_manager.targets["jupyter.widget"];
}"""


def write(jupyter: JupyterServer, name: str) -> str:
    """Write a notebook of the cell that is tried, and return the path in its address."""
    cell = nbformat.v4.new_code_cell(CELL)
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    notebook = nbformat.v4.new_notebook(cells=[cell], metadata={"kernelspec": kernel})
    nbformat.write(notebook, jupyter.root / name)
    return f"notebooks/{name}"


def test_notebook_7_and_its_dark_theme(page: Page, jupyter: JupyterServer) -> None:
    page.goto(f"{jupyter.url}/{write(jupyter, 'seven.ipynb')}")
    # Or else it asks which kernel to start.
    expect(page.locator(".jp-Notebook-ExecutionIndicator[data-status=idle]")).to_be_visible(
        timeout=STARTED_WITHIN
    )
    page.get_by_role("menuitem", name="Run", exact=True).click()
    page.get_by_text("Run All Cells", exact=True).click()
    timeline = works(page.locator(".tfvis-nb"), page.locator(".jp-OutputArea .widget-label"))
    page.get_by_role("menuitem", name="Settings", exact=True).click()
    page.locator(".lm-Menu-item:visible", has_text="Theme").first.click()
    page.locator(".lm-Menu-item:visible", has_text="JupyterLab Dark").first.click()
    expect(timeline.root).to_have_attribute("data-theme", "dark")


def test_nbclassic_whose_keys_stay_the_timelines(page: Page, jupyter: JupyterServer) -> None:
    page.goto(f"{jupyter.url}/nbclassic/{write(jupyter, 'classic.ipynb')}")
    page.wait_for_function(READY, timeout=STARTED_WITHIN)
    page.evaluate("Jupyter.notebook.execute_all_cells()")
    timeline = works(page.locator(".tfvis-nb"), page.locator(".output_area .widget-label"))
    # In a notebook "b" inserts a cell, and "d" twice deletes one.
    cells = page.locator("#notebook-container .cell")
    before = cells.count()
    timeline.lanes.focus()
    for key in ("b", "d", "d", "a"):
        page.keyboard.press(key)
    expect(cells).to_have_count(before)
