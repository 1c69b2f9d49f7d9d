"""Where random gestures are done: a live notebook, an exported page, a file opened in JupyterLab."""

from __future__ import annotations

import ast
import json
import lzma
import re
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from playwright.sync_api import (
    Browser,
    BrowserContext,
    Locator,
    Page,
    ViewportSize,
    expect,
    sync_playwright,
)

import tfvis_nb
from tests.browser.conftest import Lab, launched
from tests.browser.file_browser import FileBrowser
from tests.browser.jupyter_server import JupyterServer
from tests.browser.timeline import Timeline
from tests.browser.watched import Watched
from tests.real_traces import DATA

if TYPE_CHECKING:
    from tests.browser.notebook import Notebook

TRACE = DATA / "gpu_tf218_function.xplane.pb.xz"
"""Six steps; 96 % of its 1,455 events are narrower than 3 px."""

SIZE: ViewportSize = {"width": 1280, "height": 900}
HEIGHT = 560
AFTER = "untouched = 1"

# Every command that JupyterLab runs from now on.
_NOTE_COMMANDS = """() => {
    const isNoted = window.monkeyCommands !== undefined;
    window.monkeyCommands = [];
    if (isNoted) return;
    window.jupyterapp.commands.commandExecuted.connect((_, { id }) => window.monkeyCommands.push(id));
}"""

# Without a question whether to save.
_CLOSE_ALL = "() => [...window.jupyterapp.shell.widgets('main')].forEach((each) => each.dispose())"

_READ = """async (seen) => {
    const kernel = window.jupyterapp.shell.currentWidget.sessionContext.session.kernel;
    const asked = kernel.requestExecute({ code: '', silent: true, user_expressions: { seen } });
    const { seen: answer } = (await asked.done).content.user_expressions;
    return answer.data?.['text/plain'] ?? answer.evalue;
}"""
_SEEN = (
    "__import__('json').dumps([widget.view, len(widget.selection), "
    "widget.selection['name'].iloc[:1].tolist(), int(trace.events.start_ns.min())], default=str)"
)
_UNITS = {"ns": 1.0, "µs": 1e3, "ms": 1e6, "s": 1e9}


class Host(ABC):
    """One place where a timeline is shown.

    Attributes
    ----------
    element
        Holds everything that the walk may press.
    events
        Their number.
    reruns
        How often the cell is run again, as a weight among the gestures.
    """

    name = ""
    reruns = 0
    element: Locator
    watch: Watched

    def __init__(self, page: Page) -> None:
        self.page = page
        self.events = len(tfvis_nb.read_trace(TRACE).events)

    @abstractmethod
    def fresh(self) -> None:
        """Show the timeline as a user finds it."""

    def _quiet(self) -> None:
        # Without glides, each gesture has its whole effect in the next frame.
        self.page.emulate_media(reduced_motion="reduce")
        self.page.set_viewport_size(SIZE)
        self.page.evaluate("() => document.fullscreenElement && document.exitFullscreen()")

    def rerun(self) -> str:
        """Run the cell again, if there is one; return how the view differs from before."""
        return ""

    def differs(self, now: dict[str, Any]) -> str:  # noqa: ARG002
        """The differences between Python's values and the drawn ones."""
        return ""

    def takes(self, keys: str) -> bool:
        """Whether JupyterLab may run a command of its own after these keys."""
        return keys.startswith("Control+")

    def picture(self, name: str) -> Path:
        """Save a picture of a failure."""
        path = Path(tempfile.mkdtemp(prefix="monkey-")) / f"{name}.png"
        self.page.screenshot(path=path)
        return path


class PageHost(Host):
    """An exported page over ``file://``."""

    name = "page"

    def __init__(self, context: BrowserContext, file: Path) -> None:
        super().__init__(context.new_page())
        self._file = file

    def fresh(self) -> None:
        # A page with annotations asks before it goes elsewhere, but not before it is closed.
        self.page.close()
        self.page = self.page.context.new_page()
        self._quiet()
        self.watch = Watched(self.page, own=self._file.as_uri())
        self.page.goto(self._file.as_uri())
        self.element = self.page.locator("body")
        Timeline(self.element).wait()

    def resize(self, wider: float, higher: float) -> None:
        """Make the window larger by so many pixels."""
        now = self.page.viewport_size or SIZE
        size = ViewportSize(width=now["width"] + round(wider), height=now["height"] + round(higher))
        self.page.set_viewport_size(size)


class NotebookHost(Host):
    """The output of a cell in JupyterLab; `shown` is the call that shows it."""

    reruns = 1

    def __init__(self, lab: Lab, shown: str) -> None:
        self._lab = lab
        self.name = shown
        self._cell = "\n".join(
            [
                "import tfvis_nb as tv",
                f"trace = tv.read_trace({str(TRACE)!r})",
                f"widget = tv.{shown}(trace, height={HEIGHT})",
                "widget",
            ]
        )
        self._book = self._open()
        super().__init__(self._book.page)
        self._is_used = False

    def _open(self) -> Notebook:
        book = self._lab.open("monkey", [self._cell, AFTER])
        book.run_all()
        book.timeline(0)
        book.page.evaluate(_NOTE_COMMANDS)
        self.element = book.output(0)
        (self.watch,) = self._lab.shown
        return book

    def fresh(self) -> None:
        if self._is_used:
            self._lab.tidy(keep=True)
            self._book = self._open()
            self.page = self._book.page
        self._is_used = True
        self._quiet()

    def _seen(self) -> Any:
        text = self.page.evaluate(_READ, _SEEN)
        try:
            return json.loads(ast.literal_eval(text))
        except (SyntaxError, ValueError):
            return text

    def rerun(self) -> str:
        # The last change reaches the kernel with a delay.
        before = self._seen()
        for _ in range(20):
            self.page.wait_for_timeout(200)
            if before == (before := self._seen()):
                break
        self._book.run(0)
        self._book.timeline(0)
        self.page.evaluate("() => void window.monkeyCommands.splice(0)")
        after = self._seen()
        if not isinstance(before, list) or not isinstance(after, list):
            return f"{before} -> {after}"
        # docs/timeline.md: the selection is not kept, nor a filter that matches no lane. Times are rounded.
        one, other = ({**view, "selection": None} for view, *_ in (before, after))
        if not other["lane_filter"]:
            one["lane_filter"] = ""
        for time in ("start_ns", "end_ns"):
            if abs(one.get(time, 0) - other.get(time, 0)) <= 1:
                other[time] = one.get(time, 0)
        return "" if one | other == one else f"{before[0]} -> {after[0]}"

    def differs(self, now: dict[str, Any]) -> str:
        seen = self._seen()
        if isinstance(seen, str):
            return seen
        view, count, names, origin = seen
        drawn = times(now["axis"])
        # Aligned steps have times of their own.
        if len(drawn) == 2 and "start_ns" in view and "align" not in now["steps"]:
            # A view that nothing has changed is the trace, which is drawn with 1 % more on both sides.
            room = (view["end_ns"] - view["start_ns"]) / 100 if view["start_ns"] == origin else 0
            for (shown, unit), key in zip(drawn, ("start_ns", "end_ns"), strict=True):
                if abs(view[key] - origin - shown) > 1.5 * unit + 1 + room:
                    return f"{key} is {view[key] - origin:.0f} ns from the start, the axis {now['axis']}"
        title, selection = now["title"], view.get("selection")
        if title is None:
            return ""
        if several := re.match(r"([\d,]+) events selected", title):
            wrong = count != int(several[1].replace(",", ""))
        elif title.endswith("selected"):
            wrong = selection is None
        elif isinstance(selection, list) and len(selection) == 1 and count == 1:
            wrong = title != names[0]
        else:
            wrong = title == "Whole run" and count > 0
        return f"{count} events selected, first {names}; the details say {title!r}" if wrong else ""


class FileHost(Host):
    """A trace file opened by a double click in JupyterLab's file browser."""

    name = "file"

    def __init__(self, page: Page, server: JupyterServer) -> None:
        super().__init__(page)
        self._server = server
        self._file = TRACE.name.removesuffix(".xz")
        (server.root / self._file).write_bytes(lzma.decompress(TRACE.read_bytes()))
        self.watch = Watched(page, own=server.url)
        self._browser: FileBrowser | None = None

    def fresh(self) -> None:
        self._quiet()
        if self._browser is None:
            self._browser = FileBrowser(self.page, f"{self._server.url}/lab?reset")
        else:
            self.page.evaluate(_CLOSE_ALL)
        self._browser.open(self._file)
        self.element = self._browser.shown
        Timeline(self.element.locator(".tfvis-nb")).wait()
        # Memory arrives after the lanes, which then move down.
        self.element.get_by_role("button", name="GPU_0_bfc").first.wait_for()
        self.page.evaluate(_NOTE_COMMANDS)
        self.watch.forget()


def times(axis: str) -> list[tuple[float, float]]:
    """The times of an axis in ns, each with the unit of its last digit."""
    found = re.findall(r"([+-])([\d,]+)(?:\.(\d+))? (ns|µs|ms|s)\b", axis.replace("\u2212", "-"))
    return [
        (float(f"{sign}{whole.replace(',', '')}.{rest}0") * _UNITS[unit], _UNITS[unit] * 10.0 ** -len(rest))
        for sign, whole, rest, unit in found
    ]


def page_file(folder: Path, shown: str) -> Path:
    """Export a timeline or a dashboard of the trace."""
    widget = getattr(tfvis_nb, shown)(tfvis_nb.read_trace(TRACE), height=HEIGHT)
    path: Path = widget.to_html(folder / f"{shown}.html")
    return path


HOSTS = {
    "notebook": "show_timeline",
    "notebook-dashboard": "show_dashboard",
    "page": "show_timeline",
    "page-dashboard": "show_dashboard",
    "file": "",
}
"""Names of the hosts on the command line, and the calls that show them."""


@contextmanager
def opened(name: str) -> Iterator[Host]:
    """Start the processes of a host of this name."""
    # Without pytest nobody else gives a busy machine the time.
    expect.set_options(timeout=20_000)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="monkey-")))
        browser: Browser = launched(stack.enter_context(sync_playwright()))
        stack.callback(browser.close)
        context = stack.enter_context(browser.new_context(viewport=SIZE))
        context.set_default_timeout(20_000)
        shown = HOSTS[name]
        if name.startswith("page"):
            yield PageHost(context, page_file(folder, shown))
            return
        server = JupyterServer(folder)
        stack.callback(server.close)
        yield NotebookHost(Lab(context, server), shown) if shown else FileHost(context.new_page(), server)
