"""Jupyter servers in an environment of their own, with kernels in that of the tests."""

import json
import subprocess
import sys
from pathlib import Path

import nbformat
from playwright.sync_api import expect

from tests.browser.file_browser import STARTED_WITHIN, FileBrowser
from tests.browser.hosts.server import wheel
from tests.support.environments import environment
from tests.support.requirements import requirements

NAME = "Elsewhere"


def server_commands(name: str, servers: list[str], folder: Path) -> Path:
    """Return the folder with the commands of an environment of servers, in which only our wheel is installed.

    The wheel, which is built in `folder`, must make the servers ready.
    """
    home = environment(name, [*servers, *requirements()])
    install = ("-m", "pip", "install", "--quiet", "--force-reinstall", "--no-deps", wheel(folder))
    subprocess.run([home / "python", *install], check=True)
    return home


def kernel_elsewhere(data: Path) -> None:
    """Add a kernel with the Python of the tests to a folder of Jupyter's data."""
    kernel = data / "kernels" / "elsewhere" / "kernel.json"
    kernel.parent.mkdir(parents=True)
    argv = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    kernel.write_text(json.dumps({"argv": argv, "display_name": NAME, "language": "python"}))


def write_notebook(path: Path, *cells: str) -> None:
    """Write a notebook for that kernel."""
    facts = {"kernelspec": {"name": "elsewhere", "display_name": NAME, "language": "python"}}
    notebook = nbformat.v4.new_notebook(cells=[*map(nbformat.v4.new_code_cell, cells)], metadata=facts)
    nbformat.write(notebook, path)


def run_all(browser: FileBrowser, name: str) -> None:
    """Open a notebook and run its cells."""
    browser.open(name)
    page = browser.page
    # Or else it asks which kernel to start.
    expect(page.get_by_text(f"{NAME} | Idle")).to_be_visible(timeout=STARTED_WITHIN)
    page.get_by_role("menuitem", name="Run", exact=True).click()
    page.get_by_text("Run All Cells", exact=True).click()
