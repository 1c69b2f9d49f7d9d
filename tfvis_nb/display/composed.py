"""Several widgets in one: hosts such as marimo and Shiny show single anywidgets, and no boxes of them.

Each part keeps its own traits and messages. The whole has the traits of all, with the part's name before
theirs, and passes messages on in both directions.
"""

import itertools
import threading
import uuid
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import suppress
from types import MappingProxyType
from typing import Any

import anywidget
import ipywidgets
import traitlets
from ipywidgets.widgets.widget import _instances

from tfvis_nb.display.after_cell import after_cell
from tfvis_nb.display.bundles import bundle, bundle_path, widget_bundle
from tfvis_nb.display.comm_thread import answer_on_own_thread
from tfvis_nb.display.pages.page import PageTooLargeError
from tfvis_nb.display.stored_output import KEPT_BYTES, KeptPage

_NUMBERS = itertools.count(1)
_OF_EVERY_WIDGET = {*anywidget.AnyWidget.class_traits(sync=True), "_esm", "_css", "_anywidget_id"}


class _Outlet:
    """What a part has instead of a comm."""

    whole: "ComposedWidget | None" = None
    name = ""

    def __init__(self) -> None:
        self.comm_id = uuid.uuid4().hex

    def on_msg(self, callback: Any) -> None:
        """Messages come from the whole."""

    def send(self, data: Any = None, metadata: Any = None, buffers: Any = None) -> None:  # noqa: ARG002
        """Pass a message of the part on."""
        if self.whole is not None:
            self.whole._pass_on(self.name, data, buffers)

    def close(self, *_: Any, **__: Any) -> None:
        """Pass nothing on any more."""
        self.whole = None


class PartOfWidget(anywidget.AnyWidget):
    """A widget that is shown as part of a `ComposedWidget`."""

    comm: Any

    def __init__(self, *args: Any, **options: Any) -> None:
        # Shiny and marimo give each new widget, and the layout in it, a comm of theirs.
        callback = ipywidgets.Widget._widget_construction_callback
        ipywidgets.Widget.on_widget_constructed(None)
        try:
            super().__init__(*args, **options)
        finally:
            ipywidgets.Widget.on_widget_constructed(callback)

    def open(self) -> None:
        """Connect to the whole, once there is one, instead of the front end."""
        if self.comm is None:
            self.comm = _Outlet()
            # Hosts such as Panel show all widgets of this list, and parts are no widgets of theirs.
            _instances.pop(self.model_id)

    @property
    def _whole(self) -> "ComposedWidget | None":
        """The widget that it is part of."""
        return getattr(self.comm, "whole", None)

    def _repr_mimebundle_(self, **kwargs: Any) -> Any:
        return None if self._whole is None else self._whole._repr_mimebundle_(**kwargs)


class ComposedWidget(anywidget.AnyWidget):
    """A widget of `parts`, by name: its `panels` are tabs, and the first one stays in the notebook's file.

    A timeline of the class `opens` can be opened in it later.
    """

    if bundle_path("composed.js").is_file():
        _esm = widget_bundle("composed.js")

    _timelines = traitlets.List(traitlets.Unicode()).tag(sync=True)
    """The names of the timelines: one, two that are compared, or none in a fleet."""
    _opened = traitlets.Int(0).tag(sync=True)
    """The number of the timeline opened last; 0 for none."""
    _stored = traitlets.Unicode().tag(sync=True)

    _kept_options: Mapping[str, Any] = MappingProxyType({})
    """Options of the page in the notebook's file."""

    # `close` is also called for a widget that could not be created.
    _parts: Mapping[str, PartOfWidget] = MappingProxyType({})
    _place: Mapping[str, tuple[str, str]] = MappingProxyType({})

    def __init__(
        self,
        parts: Mapping[str, Any],
        *,
        timelines: Sequence[str] = (),
        opens: type[PartOfWidget] | None = None,
    ) -> None:
        if not hasattr(ComposedWidget, "_esm"):
            bundle("composed.js")
        self._passing = threading.RLock()
        self._parts = {}
        self._place = place = {}
        values: dict[str, Any] = {}
        mirrored: dict[str, Any] = {}
        traits = {name: part.traits(sync=True) for name, part in parts.items()}
        if opens is not None:
            traits["opened"] = opens.class_traits(sync=True)
        for name, own in traits.items():
            part = parts.get(name)
            for key in own.keys() - _OF_EVERY_WIDGET:
                trait = f"_{name}_{key}"
                place[trait] = (name, key)
                values[trait] = None if part is None else getattr(part, key)
                echoes = own[key].metadata.get("echo_update", True)
                mirrored[trait] = traitlets.Any().tag(sync=True, echo_update=echoes)
        self.add_traits(**mirrored)
        first, *_ = parts
        super().__init__(_timelines=list(timelines), _stored=values[f"_{first}__stored"], **values)
        answer_on_own_thread(self.comm)
        self.on_msg(self._pass_message)
        self.observe(self._pass_value, names=list(self._place))
        parts["panels"]._finished = parts[first]._store_again
        for name in timelines[1:]:
            parts[name]._stored_in = parts[first]
        for name, part in parts.items():
            self._attach(name, part)

    def _attach(self, name: str, part: PartOfWidget | None) -> None:
        """Make a widget the part of that name, or none; the one before is closed."""
        parts = dict(self._parts)
        before = parts.pop(name, None)
        if before is not None:
            before.close()
        if part is not None:
            parts[name] = part
            part.comm.name, part.comm.whole = name, self
        self._parts = parts
        with self._passing, self.hold_sync():
            for trait, (of, key) in self._place.items():
                if of == name:
                    self.set_trait(trait, None if part is None else getattr(part, key))

    def _open(self, timeline: PartOfWidget | None) -> None:
        """Show a timeline in place of the one opened before, or none."""
        with self._passing:
            # First, because a view of the timeline before would follow values of another one.
            self._opened = 0
            if self.comm is not None:
                self._attach("opened", timeline)
                self._opened = 0 if timeline is None else next(_NUMBERS)
            elif timeline is not None:
                timeline.close()  # this was closed while the trace was read

    def _pass_on(self, name: str, message: Mapping[str, Any], buffers: Any) -> None:
        """Pass a message of a part to the front end."""
        if message["method"] == "custom":
            self.send({"part": name, "content": message["content"]}, buffers)
        elif message["method"] == "update":
            keys = {*message["state"], *(path[0] for path in message["buffer_paths"])}
            # Threads that compute send as well.
            with self._passing, self.hold_sync():
                for key in keys - _OF_EVERY_WIDGET:
                    self.set_trait(f"_{name}_{key}", getattr(self._parts[name], key))

    def _pass_message(self, _: Any, content: Any, buffers: Any) -> None:
        """Pass a message of the front end to a part."""
        part = self._parts.get(str(content.get("part"))) if isinstance(content, dict) else None
        if part is not None:
            part._handle_custom_msg(content.get("content"), buffers)

    def _pass_value(self, change: Any) -> None:
        """Pass a value that the front end has set to a part, which may refuse or change it."""
        name, key = self._place[change["name"]]
        part = self._parts.get(name)
        if part is None or part.comm is None or getattr(part, key) == change["new"]:
            return
        try:
            part.set_state({key: change["new"]})
        finally:
            self.set_trait(change["name"], getattr(part, key))

    def close(self) -> None:
        """Remove the widget from the notebook and free its memory."""
        super().close()
        if not self._parts:
            return
        with self._passing:
            parts, self._parts = self._parts, {}
        for part in parts.values():
            part.close()
        for trait in self._place:
            self.set_trait(trait, None)

    def _repr_mimebundle_(self, **kwargs: Any) -> Any:
        parts: Mapping[str, Any] = self._parts
        if not parts:
            return super()._repr_mimebundle_(**kwargs)
        first, panels = next(iter(parts.values())), parts["panels"]
        timelines = [parts[name] for name in self._timelines]
        for timeline in timelines:
            timeline._show_as_before()
        bundled: Any = super()._repr_mimebundle_(**kwargs)
        after_cell(panels._start_first)
        for timeline in timelines:
            timeline._send_details_soon()
        after_cell(panels._start_later)
        data, metadata = bundled if isinstance(bundled, tuple) else (bundled, {})
        return {**data, "text/html": first._store(self._still, self._page_to_keep, self._report)}, metadata

    @abstractmethod
    def _still(self) -> str:
        """Return the HTML that the notebook's file keeps."""

    def _report(self) -> str:
        """Return the Markdown that the notebook's file keeps; empty for none."""
        return ""

    @abstractmethod
    def _html(self, title: str | None, **options: Any) -> str:
        """Return the page that `to_html` writes."""

    def _page_to_keep(self) -> KeptPage:
        """Return the page to store in the notebook's file, if it is small and all tabs are computed."""
        parts: Mapping[str, Any] = self._parts
        page = ""
        is_large = any(parts[name]._delivery.rest for name in self._timelines if parts)
        # A closed widget has no parts.
        if parts and parts["panels"]._is_complete and not is_large:
            with suppress(PageTooLargeError):
                page = self._html(None, max_bytes=KEPT_BYTES, **self._kept_options)
        height = sum(part.height for name, part in parts.items() if name != "opened")
        return KeptPage(page if len(page) <= KEPT_BYTES else "", height)
