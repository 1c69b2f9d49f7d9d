"""The oldest JupyterLab, in another environment than its kernels, as JupyterHub has it."""

import shutil
import sys
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.file_browser import FileBrowser
from tests.browser.hosts.elsewhere import kernel_elsewhere, run_all, server_commands, write_notebook
from tests.browser.hosts.server import serving
from tests.browser.notebook import save
from tests.browser.probe import ALONE, CELL, works
from tests.browser.timeline import Timeline
from tests.real_traces import DATA

pytestmark = pytest.mark.thorough

OLDEST = "jupyterlab==4.4.0"


@pytest.fixture(scope="module")
def commands(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return server_commands("oldest-lab", [OLDEST], tmp_path_factory.mktemp("wheel"))


def test_a_timeline_and_a_file_in_the_dark_theme(page: Page, commands: Path, tmp_path: Path) -> None:
    kernel_elsewhere(tmp_path / "DATA")
    root = tmp_path / "root"
    root.mkdir()
    write_notebook(root / "probe.ipynb", CELL, "import sys; print(sys.executable)")
    write_notebook(root / "alone.ipynb", ALONE)
    settings = tmp_path / "CONFIG" / "lab" / "user-settings" / "@jupyterlab" / "apputils-extension"
    settings.mkdir(parents=True)
    (settings / "themes.jupyterlab-settings").write_text('{"theme": "JupyterLab Dark"}')
    shutil.copy(DATA / "cpu_jax.xplane.pb", root / "jax.xplane.pb")
    command: list[str | Path] = [
        *(
            commands / "jupyter-lab",
            "--no-browser",
            "--allow-root",
            "--port={port}",
            f"--notebook-dir={root}",
        ),
        *("--IdentityProvider.token=", "--ServerApp.disable_check_xsrf=True", "--LabApp.news_url="),
    ]
    with serving(command, tmp_path, "lab?reset") as address:
        browser = FileBrowser(page, address)
        browser.open("jax.xplane.pb")
        Timeline(browser.shown.locator(".tfvis-nb")).wait()
        run_all(browser, "probe.ipynb")
        timeline = works(
            page.locator(".jp-OutputArea .tfvis-nb"), page.locator(".jp-OutputArea .widget-label")
        )
        expect(timeline.root).to_have_attribute("data-theme", "dark")
        expect(page.get_by_text(sys.executable, exact=True)).to_be_visible()
        # The output in the file, after the kernel has forgotten the widget.
        page.goto(address)
        run_all(browser, "alone.ipynb")
        kept = page.locator("iframe[title=Timeline]")
        expect(kept).to_have_count(1)
        save(page, "alone.ipynb")
        server = address.partition("lab?")[0]
        for kernel in page.request.get(f"{server}api/kernels").json():
            assert page.request.post(f"{server}api/kernels/{kernel['id']}/restart").ok
        page.goto(address)
        browser.open("alone.ipynb")
        restored = Timeline(kept.content_frame.locator("#tfvis-root")).wait()
        restored.find("op:MatMul")
        expect(restored.title).to_contain_text("MatMul")
