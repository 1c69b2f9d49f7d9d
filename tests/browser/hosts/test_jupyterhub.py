"""JupyterHub with a server of a user's own behind its proxy, and a kernel in another environment."""

import shutil
import socket
import sys
from contextlib import ExitStack
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.file_browser import STARTED_WITHIN, FileBrowser
from tests.browser.hosts.elsewhere import kernel_elsewhere, run_all, server_commands, write_notebook
from tests.browser.hosts.server import serving
from tests.browser.probe import CELL, CELLS, folder_of_widgets, widgets_work, works
from tests.browser.timeline import Timeline
from tests.real_traces import DATA
from tests.support.environments import ROOT, npm_packages

pytestmark = pytest.mark.thorough


PROXY = "configurable-http-proxy@5"


@pytest.fixture(scope="module")
def commands(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return server_commands("hub", ["jupyterhub", "jupyterlab"], tmp_path_factory.mktemp("wheel"))


def free_ports(count: int) -> list[int]:
    with ExitStack() as opened:
        probes = [opened.enter_context(socket.socket()) for _ in range(count)]
        for probe in probes:
            probe.bind(("127.0.0.1", 0))
        return [probe.getsockname()[1] for probe in probes]


def test_a_user_of_a_hub(page: Page, commands: Path, tmp_path: Path) -> None:
    home = folder_of_widgets(tmp_path / "home")
    kernel_elsewhere(home / ".local" / "share" / "jupyter")
    where = "import sys; print(sys.executable)"
    write_notebook(home / "timeline.ipynb", CELL, where)
    write_notebook(home / "widgets.ipynb", *CELLS)
    shutil.copy(DATA / "cpu_jax.xplane.pb", home / "jax.xplane.pb")
    proxy = npm_packages("proxy", PROXY) / "configurable-http-proxy" / "bin" / "configurable-http-proxy"
    hub, api = free_ports(2)
    command: list[str | Path] = [
        commands / "jupyterhub",
        "--JupyterHub.bind_url=http://127.0.0.1:{port}",
        f"--JupyterHub.hub_port={hub}",
        "--JupyterHub.authenticator_class=dummy",
        "--JupyterHub.spawner_class=simple",
        f"--SimpleLocalProcessSpawner.home_dir_template={home}",
        f"--Spawner.cmd={commands / 'jupyterhub-singleuser'}",
        "--Spawner.args=--allow-root",
        f"--Spawner.environment=PYTHONPATH={ROOT}",
        "--ConfigurableHTTPProxy.command=node",
        f"--ConfigurableHTTPProxy.command={proxy}",
        f"--ConfigurableHTTPProxy.api_url=http://127.0.0.1:{api}",
    ]
    with serving(command, tmp_path, "hub/login") as address:
        page.goto(address)
        page.get_by_label("Username").fill("ada")
        page.get_by_role("button", name="Sign in").click()
        page.wait_for_url("**/user/ada/lab**", timeout=STARTED_WITHIN)
        lab = page.url.partition("/lab")[0] + "/lab?reset"
        browser = FileBrowser(page, lab)
        browser.open("jax.xplane.pb")
        Timeline(browser.shown.locator(".tfvis-nb")).wait()
        run_all(browser, "timeline.ipynb")
        works(page.locator(".jp-OutputArea .tfvis-nb"), page.locator(".jp-OutputArea .widget-label"))
        expect(page.get_by_text(sys.executable, exact=True)).to_be_visible()
        browser = FileBrowser(page, lab)
        run_all(browser, "widgets.ipynb")
        widgets_work(page, home)
