"""A notebook open in JupyterLab: its cells, outputs and kernel."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from playwright.sync_api import Locator, Page, Response
from playwright.sync_api import TimeoutError as Late

from tests.browser.comparison import Both
from tests.browser.dashboard import Dashboard
from tests.browser.fleet import FleetView
from tests.browser.monitor import Monitor
from tests.browser.timeline import Timeline

if TYPE_CHECKING:
    from tests.browser.jupyter_server import JupyterServer

SHOWN_WITHIN, LOADED_WITHIN = 30_000, 90_000
"""Milliseconds until a notebook is shown and its kernel idle, on a page that has JupyterLab and on a new one.

On a quiet machine it takes less than two seconds.
"""

ANSWERED_WITHIN = 180_000
"""Timeout in milliseconds for answers of the kernel, longer than any test needs."""

# JupyterLab started with expose_app_in_browser: its commands are surer than menus and keys.
READY = """(path) => {
    const app = window.jupyterapp;
    const panel = app?.shell.currentWidget;
    const kernel = panel?.sessionContext?.session?.kernel;
    const shown = panel?.context?.path === path && app.commands.hasCommand('notebook:run-cell');
    return shown && kernel?.status === 'idle';
}"""
"""Whether the notebook at a path is shown and its kernel idle, in JupyterLab and in Notebook 7."""

# Not awaited, because a call that never ends would block the test.
_SHOW = """([path, id]) => {
    const kernel = id === null ? undefined : { id };
    window.jupyterapp.commands.execute('docmanager:open', { path, factory: 'Notebook', kernel });
}"""

# A kernel's status is not enough: answering a view makes it idle while it still runs a cell.
_RUNNING = """(panel) =>
    [...panel.node.querySelectorAll('.jp-InputPrompt')].some((prompt) => prompt.textContent.includes('*'))
"""

_INTERRUPT = f"""() => {{
    const running = {_RUNNING};
    for (const panel of [...window.jupyterapp.shell.widgets('main')].filter(running)) {{
        panel.sessionContext.session?.kernel?.interrupt();
    }}
}}"""

_AT_REST = f"""() => {{
    const running = {_RUNNING};
    return [...window.jupyterapp.shell.widgets('main')].every((panel) => {{
        const kernel = panel.sessionContext?.session?.kernel;
        return !kernel || (kernel.status === 'idle' && !running(panel));
    }});
}}"""

# What tests set in the package goes with its modules; numpy, pandas and pyarrow stay.
_FORGET = """
import sys
if "ipywidgets" in sys.modules:
    sys.modules["ipywidgets"].Widget.close_all()
for name in [name for name in sys.modules if name.partition(".")[0] == "tfvis_nb"]:
    del sys.modules[name]
get_ipython().reset()
"""

_PUT_AWAY = """async (code) => {
    const kept = [];
    const late = new Promise((resolve) => setTimeout(resolve, 20_000));
    // TensorFlow keeps memory, and what it was told; an extension keeps the module that it was loaded from.
    const usable =
        "'tensorflow' not in __import__('sys').modules and " +
        "'tfvis_nb' not in get_ipython().extension_manager.loaded";
    for (const panel of [...window.jupyterapp.shell.widgets('main')]) {
        const kernel = panel.sessionContext?.session?.kernel; // a launcher has none
        const asked = kernel?.requestExecute({ code, silent: true, user_expressions: { usable } });
        const answer = await Promise.race([asked?.done, late]);
        if (answer?.content.user_expressions?.usable?.data?.['text/plain'] === 'True') {
            kept.push(kernel.id);
        }
        panel.dispose();
    }
    return kept;
}"""

_STATE = """() => {
    const panels = [...(window.jupyterapp?.shell.widgets('main') ?? [])];
    const shown = panels.map((panel) => {
        const session = panel.sessionContext;
        const kernel = session?.session?.kernel;
        return [panel.title.label, session?.isReady, session?.kernelDisplayStatus, kernel?.id];
    });
    const dialogs = [...document.querySelectorAll('.jp-Dialog')].map((dialog) => dialog.innerText);
    return JSON.stringify({ shown, dialogs });
}"""

# A promise that never resolves would block the test, because playwright sets no limit.
_WITHIN = f"""async (given) => {{
    const late = new Promise((_, fail) => {{
        setTimeout(() => fail(new Error('no answer within {ANSWERED_WITHIN} ms')), {ANSWERED_WITHIN});
    }});
    return await Promise.race([(SCRIPT)(given), late]);
}}"""

_RUN = """async ([name, args]) => await window.jupyterapp.commands.execute(name, args)"""

_APPEND = """async (source) => {
    const panel = window.jupyterapp.shell.currentWidget;
    const cells = panel.model.sharedModel;
    cells.insertCell(cells.cells.length, { cell_type: 'code', source, metadata: {} });
    panel.content.activeCellIndex = cells.cells.length - 1;
    panel.content.deselectAll();
    await window.jupyterapp.commands.execute('notebook:run-cell');
    return cells.cells.length - 1;
}"""

_START = """(index) => {
    const panel = window.jupyterapp.shell.currentWidget;
    panel.content.activeCellIndex = index;
    panel.content.deselectAll();
    window.jupyterapp.commands.execute('notebook:run-cell');
}"""

_RERUN = """async (index) => {
    const panel = window.jupyterapp.shell.currentWidget;
    panel.content.activeCellIndex = index;
    panel.content.deselectAll();
    await window.jupyterapp.commands.execute('notebook:run-cell');
}"""


def save(page: Page, name: str) -> None:
    """Save the notebook of that name by its key; return once the server has written the whole file."""

    def is_written(answer: Response) -> bool:
        return answer.request.method == "PUT" and f"/api/contents/{name}" in answer.url

    with page.expect_response(is_written) as written:
        page.keyboard.press("Control+s")
    assert written.value.ok


class Notebook:
    """A notebook of the given cells, open and with its kernel idle."""

    def __init__(
        self, page: Page, server: JupyterServer, name: str, cells: Sequence[str], kernel: str | None = None
    ) -> None:
        self.page = page
        self._server = server
        self._name = name
        import nbformat

        document = nbformat.v4.new_notebook(
            cells=[nbformat.v4.new_code_cell(source) for source in cells],
            metadata={"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}},
        )
        self.path = server.root / name
        nbformat.write(document, self.path)
        if page.url.startswith(server.url):
            page.evaluate(_SHOW, [name, kernel])
            self._wait(SHOWN_WITHIN)
        else:
            self.open()

    def open(self) -> None:
        """Load the page as after closing the browser: its content comes from the file and the kernel."""
        self.page.goto(f"{self._server.url}/doc/tree/{self._name}?reset")
        self._wait(LOADED_WITHIN)

    def _wait(self, within: int) -> None:
        # Asked by the clock, not at each frame: a page behind another one may draw none.
        self.page.wait_for_function(READY, arg=self._name, timeout=within, polling=100)

    def run_all(self) -> None:
        """Run every cell and wait until the kernel has answered them all."""
        self.command("notebook:run-all-cells")

    def run(self, index: int) -> None:
        """Run one cell again and wait for it."""
        self._answer(_RERUN, index)

    def start(self, index: int) -> None:
        """Run one cell without waiting for its end."""
        self.page.evaluate(_START, index)

    def is_running(self, index: int) -> bool:
        """Whether a cell has been started and has not ended."""
        return "*" in self.cell(index).locator(".jp-InputPrompt").inner_text()

    def ask(self, source: str) -> str:
        """Run `source` in a new last cell; return its output and the text of its value."""
        index = self._answer(_APPEND, source)
        return self.output(index).inner_text().strip()

    def command(self, name: str, arguments: Mapping[str, str] | None = None) -> None:
        """Run a command of JupyterLab's own and wait for its end."""
        self._answer(_RUN, [name, dict(arguments or {})])

    def _answer(self, script: str, given: Any) -> Any:
        return self.page.evaluate(_WITHIN.replace("SCRIPT", script), given)

    def wait_until(self, holds: Callable[[], bool]) -> None:
        """Wait for something that reaches the kernel a little after it was done on the page."""
        for _ in range(100):
            if holds():
                return
            self.page.wait_for_timeout(150)
        raise AssertionError("this did not come about within some seconds")

    def cell(self, index: int) -> Locator:
        """The cell's place on the page."""
        return self.page.locator(".jp-Notebook .jp-CodeCell").nth(index)

    def output(self, index: int) -> Locator:
        """The output of the cell."""
        return self.cell(index).locator(".jp-OutputArea").first

    def timeline(self, index: int, number: int = 0) -> Timeline:
        """The timeline that a cell shows, drawn; the `number`-th if it shows several."""
        return Timeline(self.timelines(index).nth(number)).wait()

    def timelines(self, index: int) -> Locator:
        """All timelines that a cell shows."""
        return self.output(index).locator(".tfvis-nb")

    def dashboard(self, index: int) -> Dashboard:
        """The dashboard that a cell shows."""
        output = self.output(index)
        return Dashboard(output.locator(".tfvis-nb"), output.locator(".tfvis-nb-panels"))

    def comparison(self, index: int) -> Both:
        """The comparison that a cell shows."""
        output = self.output(index)
        return Both(output.locator(".tfvis-nb"), output.locator(".tfvis-nb-panels"))

    def fleet(self, index: int) -> FleetView:
        """The fleet that a cell shows."""
        output = self.output(index)
        return FleetView(output.locator(".tfvis-nb-fleet"), output.locator(".tfvis-nb-panels")).wait()

    def monitor(self, index: int) -> Monitor:
        """The monitor that a cell shows."""
        return Monitor(self.output(index).locator(".tfvis-nb-monitor"))

    @property
    def cells(self) -> int:
        """How many cells the notebook has now."""
        return int(self.page.evaluate("() => window.jupyterapp.shell.currentWidget.content.widgets.length"))


def put_away(page: Page) -> list[str] | None:
    """Close what JupyterLab shows on a page, and return the kernels that another notebook can have.

    None where a kernel cannot be interrupted.
    """
    page.evaluate(_INTERRUPT)
    try:
        page.wait_for_function(_AT_REST, timeout=5_000)
    except Late:
        return None
    kernels: list[str] = page.evaluate(_PUT_AWAY, _FORGET)
    return kernels


def state(page: Page) -> str:
    """Return which notebooks and dialogs a page shows, and how their kernels are."""
    try:
        return f"{page.url}: {page.wait_for_function(_STATE, timeout=5_000, polling=100).json_value()}"
    except Late:
        return f"{page.url}: does not answer"


OpenNotebook = Callable[[Sequence[str]], Notebook]
"""The type of the fixture `notebook`."""
