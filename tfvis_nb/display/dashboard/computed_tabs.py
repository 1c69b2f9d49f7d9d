"""Tabs in a notebook cell, computed on a thread after the cell and pushed one by one."""

import json
import threading
from abc import abstractmethod
from collections.abc import Callable
from typing import Any

import traitlets

from tfvis_nb.display import bokehjs
from tfvis_nb.display import options as timeline_options
from tfvis_nb.display.comm_thread import may_send_from_threads, start_sending
from tfvis_nb.display.composed import PartOfWidget
from tfvis_nb.display.messages import Replies, answer_messages, message
from tfvis_nb.display.refusals import refusal_of
from tfvis_nb.display.tabs.blocks import Part

HEIGHT = 440

PATIENCE_S = 1.5
"""The linked timeline is surely drawn after this time, or longer if it is large."""
FIRST_S = 3.0
"""How long other tabs wait for the first one."""


class ComputedTabs(PartOfWidget):
    """Tabs whose contents are computed once the timeline of their `link` is drawn.

    `names` are the titles of all parts that tabs may have. The first is there from the start; those of
    `_parts_there` follow once it is computed.

    `height` is in CSS pixels, 160 to 4000; also an attribute that can be set later.
    """

    height = timeline_options.Height(HEIGHT).tag(sync=True)
    _tabs: traitlets.List[Any] = traitlets.List().tag(sync=True)
    """The title of the tab, the title and the trait of each part."""
    # `kept` for the next run of the cell.
    _chosen = traitlets.Unicode().tag(sync=True, kept=True)
    _link = traitlets.Unicode().tag(sync=True)
    _bokeh = traitlets.Unicode().tag(sync=True)
    _errors = traitlets.Dict().tag(sync=True, echo_update=False)
    # The title of the part that is being computed, or was last.
    _current = traitlets.Unicode().tag(sync=True, echo_update=False)

    _finished: Callable[[], object] | None = None
    """Called on the computing thread when all tabs are computed; set by the container."""

    def __init__(self, names: list[str], *, link: str, height: int = HEIGHT) -> None:
        # First the state for `close`, which is also called for a widget that could not be created.
        self._closing = threading.Event()
        self._wanted = threading.Event()
        self._first_made = threading.Event()
        timeline_options.validate_option("height", height)
        self._starting = threading.Lock()
        self._computing = threading.Lock()
        self._worker: threading.Thread | None = None
        self._made: dict[str, Part] = {}
        self._tried: set[str] = set()
        # The titles of the parts that were in front, the last one first.
        self._asked: list[str] = []
        self._parts: list[tuple[str, str]] | None = None
        # One trait per part, so that the others are not sent again.
        self._trait_of = {name: f"_tab_{index}" for index, name in enumerate(names)}
        self.add_traits(**{trait: traitlets.Unicode("").tag(sync=True) for trait in self._trait_of.values()})
        first = [[names[0], names[0], self._trait_of[names[0]]]]
        super().__init__(height=height, _tabs=first, _link=link, _bokeh=bokehjs.version())
        answer_messages(self)

    def _start(self) -> None:
        """Start computing the tabs, unless already started; returns immediately.

        Where no thread may send, this computes the next one, and the view asks again when it has that.
        """
        self._wanted.set()
        if may_send_from_threads(self._sender):
            self._start_first()
        elif not self._closing.is_set():
            self._show_next()

    def _start_first(self) -> None:
        """Start computing the first tab, and the others when `_start` is called; returns immediately."""
        if not may_send_from_threads(self._sender):
            return
        with self._starting:
            if self._worker is None and not self._closing.is_set():
                self._worker = start_sending(self._push, "tfvis-nb dashboard")

    def _wait_for_first(self) -> None:
        """Wait until the first tab is computed, at most `FIRST_S`; not at all if nothing computes it."""
        if self._worker is not None:
            self._first_made.wait(FIRST_S)

    def _start_later(self) -> None:
        """Start computing the tabs after some time if no view requests them; returns immediately.

        A view requests them when the timeline is drawn. But a busy kernel may not receive that, and tabs
        should not wait for the end of all cells.
        """
        if not may_send_from_threads(self._sender):
            return
        timer = threading.Timer(self._patience_s(), self._start)
        timer.daemon = True
        timer.start()

    def titles(self) -> list[str]:
        """Return the titles of all parts."""
        if self._parts is None:
            with self._computing:
                self._parts = self._parts_there()
        return [title for _, title in self._parts]

    def tabs(self) -> list[Part]:
        """Compute missing parts of tabs, and return all."""
        return [self.tab(title) for title in self.titles()]

    @property
    def _is_complete(self) -> bool:
        """Whether all tabs are computed."""
        return self._parts is not None and len(self._made) == len(self._parts)

    def tab(self, title: str) -> Part:
        """Return one part of a tab, computed if it is missing."""
        # One at a time, because two threads would compute the same tables twice.
        with self._computing:
            if title not in self._made:
                self._made[title] = self._compute(title)
            return self._made[title]

    def _take_over(self, other: "ComputedTabs") -> None:
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

    @abstractmethod
    def _compute(self, title: str) -> Part:
        """Return the content of a part of a tab."""

    @abstractmethod
    def _parts_there(self) -> list[tuple[str, str]]:
        """Return the titles of tab and part for each part that there is."""

    def _push(self) -> None:
        """Compute the parts one after the other."""
        self._show_first()
        self._first_made.set()
        self._wanted.wait()
        while not self._closing.is_set() and self._show_next():
            pass

    def _show_first(self) -> None:
        self._show(next(iter(self._trait_of)))

    def _show_next(self) -> bool:
        """Show which parts there are, the one asked for last, or the next; return whether there was one."""
        if not self._tried:
            self._show_first()
        missing = [title for title in self.titles() if title not in self._tried]
        # After the first part, because finding out runs most analyses.
        there = [[tab, title, self._trait_of[title]] for tab, title in self._parts or []]
        if there != self._tabs:
            self._tabs = there
            return True
        if missing:
            self._show(next((title for title in self._asked if title in missing), missing[0]))
        elif self._finished is not None and self._is_complete:
            self._finished()
        return bool(missing)

    @traitlets.observe("_chosen")
    def _ask(self, change: Any) -> None:
        """Put a part before those that were asked for earlier."""
        others = (title for title in self._asked if title != change["new"])
        self._asked = [title for title in (change["new"], *others) if title in self._trait_of]

    @property
    def _sender(self) -> Any:
        """The comm that sends what the tabs show."""
        return None if self._whole is None else self._whole.comm

    def _show(self, title: str) -> None:
        """Compute and send a part, or the reason why it cannot be computed."""
        self._tried.add(title)
        self._current = title
        errors = {at: text for at, text in self._errors.items() if at != title}
        try:
            content = json.dumps(self.tab(title), allow_nan=False)
        except BaseException as error:  # noqa: BLE001 - the user waits in the browser
            errors[title] = refusal_of(error, f"the tab {title}").sentence
        else:
            self.set_trait(self._trait_of[title], content)
        self._errors = errors

    @message()
    def _on_start(self) -> None:
        """The timeline is drawn."""
        self._start()

    @message()
    def _on_bokeh(self) -> Replies:
        return bokehjs.answer()
