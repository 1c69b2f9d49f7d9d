"""Tabs in a notebook cell, computed on a thread after the cell and pushed one by one."""

import json
import threading
from collections.abc import Callable
from typing import Any

import anywidget
import traitlets

from tfvis_nb.display import bokehjs
from tfvis_nb.display import options as timeline_options
from tfvis_nb.display.bundles import bundle, bundle_path, widget_bundle
from tfvis_nb.display.comm_thread import answer_on_own_thread
from tfvis_nb.display.refusals import refusal_of

HEIGHT = 440

PATIENCE_S = 1.5
"""The linked timeline is surely drawn after this time, or longer if it is large."""
FIRST_S = 3.0
"""How long other tabs wait for the first one."""


class ComputedTabs(anywidget.AnyWidget):
    """Tabs with `titles` whose contents are computed once the timeline of their `link` is drawn.

    `height` is in CSS pixels, 160 to 4000; also an attribute that can be set later.
    """

    if bundle_path("tabs.js").is_file():
        # A path instead of its text, so that anywidget can watch it (ANYWIDGET_HMR) and reload the view.
        _esm = widget_bundle("tabs.js")

    height = timeline_options.Height(HEIGHT).tag(sync=True)
    _titles = traitlets.List(traitlets.Unicode()).tag(sync=True)
    # `kept` for the next run of the cell.
    _chosen = traitlets.Unicode().tag(sync=True, kept=True)
    _link = traitlets.Unicode().tag(sync=True)
    _bokeh = traitlets.Unicode().tag(sync=True)
    _errors = traitlets.Dict().tag(sync=True, echo_update=False)

    finished: Callable[[], object] | None = None
    """Called on the computing thread when all tabs are computed; set by the container."""

    def __init__(self, titles: list[str], *, link: str, height: int = HEIGHT) -> None:
        # First the state for `close`, which is also called for a widget that could not be created.
        self._closing = threading.Event()
        self._wanted = threading.Event()
        self._first_made = threading.Event()
        if not hasattr(type(self), "_esm"):
            bundle("tabs.js")
        timeline_options.validate_option("height", height)
        self._starting = threading.Lock()
        self._computing = threading.Lock()
        self._worker: threading.Thread | None = None
        self._made: dict[str, dict[str, Any]] = {}
        # One trait per tab, so that the others are not sent again.
        texts = {_trait(index): traitlets.Unicode("").tag(sync=True) for index in range(len(titles))}
        self.add_traits(**texts)
        super().__init__(height=height, _titles=titles, _link=link, _bokeh=bokehjs.version())
        answer_on_own_thread(self.comm)
        self.on_msg(self._answer)

    def start(self) -> None:
        """Start computing the tabs, unless already started; returns immediately."""
        self._wanted.set()
        self.start_first()

    def start_first(self) -> None:
        """Start computing the first tab, and the others when `start` is called; returns immediately."""
        with self._starting:
            if self._worker is None and not self._closing.is_set():
                # A daemon, because no process waits for a chart before it ends.
                self._worker = threading.Thread(target=self._push, name="tfvis-nb dashboard", daemon=True)
                self._worker.start()

    def wait_for_first(self) -> None:
        """Wait until the first tab is computed, at most `FIRST_S`; not at all if nothing computes it."""
        if self._worker is not None:
            self._first_made.wait(FIRST_S)

    def start_later(self) -> None:
        """Start computing the tabs after some time if no view requests them; returns immediately.

        A view requests them when the timeline is drawn. But a busy kernel may not receive that, and tabs
        should not wait for the end of all cells.
        """
        timer = threading.Timer(self._patience_s(), self.start)
        timer.daemon = True
        timer.start()

    def tabs(self) -> list[dict[str, Any]]:
        """Compute missing tabs, and return all."""
        return [self.tab(title) for title in self._titles]

    @property
    def is_complete(self) -> bool:
        """Whether all tabs are computed."""
        return len(self._made) == len(self._titles)

    def tab(self, title: str) -> dict[str, Any]:
        """Return one tab, computed if it is missing."""
        # One at a time, because two threads would compute the same tables twice.
        with self._computing:
            if title not in self._made:
                self._made[title] = self._compute(title)
            return self._made[title]

    def take_over(self, other: "ComputedTabs") -> None:
        """Show the tab and the settings that the tabs of another run of the same cell show."""
        for name, value in other.trait_values(kept=True).items():
            self.set_trait(name, value)

    def close(self) -> None:
        """Remove the tabs from the notebook and cancel their computation."""
        self._closing.set()
        self._wanted.set()
        self._first_made.set()
        super().close()

    def _patience_s(self) -> float:
        return PATIENCE_S

    def _compute(self, title: str) -> dict[str, Any]:
        """Return the content of a tab."""
        raise NotImplementedError

    def _push(self, index: int = 0) -> None:
        """Compute the tabs one after the other, starting at `index`."""
        if self._closing.is_set():
            return
        if index == len(self._titles):
            if self.finished is not None and self.is_complete:
                self.finished()
            return
        try:
            self._show(index)
        finally:
            self._first_made.set()
            # The other tabs do not need this one.
            self._wanted.wait()
            self._push(index + 1)

    def _show(self, index: int) -> None:
        """Compute and send one tab, or the reason why it cannot be computed."""
        errors = {at: text for at, text in self._errors.items() if at != str(index)}
        try:
            self.set_trait(_trait(index), json.dumps(self.tab(self._titles[index]), allow_nan=False))
        except BaseException as error:  # noqa: BLE001 - the user waits in the browser
            errors[str(index)] = refusal_of(error, f"the tab {self._titles[index]}").sentence
        self._errors = errors

    def _answer(self, _: Any, content: Any, __: Any) -> None:
        """Answer a message of the front end, in JupyterLab on a separate thread."""
        kind = content.get("kind") if isinstance(content, dict) else None
        if kind == "start":
            self.start()
        elif kind == bokehjs.MESSAGE_KIND:
            bokehjs.answer(self, content)


def _trait(index: int) -> str:
    return f"_tab_{index}"
