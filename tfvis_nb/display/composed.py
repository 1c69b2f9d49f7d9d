"""Several widgets in one: hosts such as marimo and Shiny show single anywidgets, and no boxes of them.

Each part keeps its own traits and messages. The whole has the traits of all, with the part's name before
theirs, and passes messages on in both directions.
"""

import threading
import uuid
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import anywidget
import ipywidgets
import traitlets
from ipywidgets.widgets.widget import _instances

from tfvis_nb.display.bundles import bundle, bundle_path, widget_bundle
from tfvis_nb.display.comm_thread import answer_on_own_thread

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
            self.whole._pass_on(self.name, data, buffers)  # noqa: SLF001

    def close(self, *_: Any, **__: Any) -> None:
        """Pass nothing on any more."""
        self.whole = None


class PartOfWidget(anywidget.AnyWidget):
    """A widget that is shown as part of a `ComposedWidget`."""

    comm: Any

    def __init__(self, *args: Any, **options: Any) -> None:
        # Shiny and marimo give each new widget, and the layout in it, a comm of theirs.
        callback = ipywidgets.Widget._widget_construction_callback  # noqa: SLF001
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
    """A widget of `parts`, by name; `later` are the classes of parts that come later, by name."""

    if bundle_path("composed.js").is_file():
        _esm = widget_bundle("composed.js")

    _timelines = traitlets.List(traitlets.Unicode()).tag(sync=True)
    """The names of the timelines: one, or two that are compared."""
    _predicted = traitlets.Int(0).tag(sync=True)
    """How many predicted timelines there have been."""
    _stored = traitlets.Unicode().tag(sync=True)

    # `close` is also called for a widget that could not be created.
    _parts: Mapping[str, PartOfWidget] = MappingProxyType({})
    _place: Mapping[str, tuple[str, str]] = MappingProxyType({})

    def __init__(
        self,
        parts: Mapping[str, PartOfWidget],
        *,
        timelines: list[str],
        later: Mapping[str, type[PartOfWidget]] | None = None,
    ) -> None:
        if not hasattr(ComposedWidget, "_esm"):
            bundle("composed.js")
        self._passing = threading.RLock()
        self._parts = {}
        self._place = place = {}
        values: dict[str, Any] = {}
        mirrored: dict[str, Any] = {}
        for name, kind in {**(later or {}), **{name: type(part) for name, part in parts.items()}}.items():
            part = parts.get(name)
            own = kind.class_traits(sync=True) if part is None else part.traits(sync=True)
            for key in own.keys() - _OF_EVERY_WIDGET:
                trait = f"_{name}_{key}"
                place[trait] = (name, key)
                values[trait] = None if part is None else getattr(part, key)
                echoes = own[key].metadata.get("echo_update", True)
                mirrored[trait] = traitlets.Any().tag(sync=True, echo_update=echoes)
        self.add_traits(**mirrored)
        super().__init__(_timelines=timelines, _stored=values[f"_{timelines[0]}__stored"], **values)
        answer_on_own_thread(self.comm)
        self.on_msg(self._pass_message)
        self.observe(self._pass_value, names=list(self._place))
        for name, part in parts.items():
            self._attach(name, part)

    def _attach(self, name: str, part: PartOfWidget) -> None:
        """Make a widget the part of that name; the one before is closed."""
        before = self._parts.get(name)
        if before is not None:
            before.close()
        self._parts = {**self._parts, name: part}
        part.comm.name, part.comm.whole = name, self
        with self._passing, self.hold_sync():
            for trait, (of, key) in self._place.items():
                if of == name:
                    self.set_trait(trait, getattr(part, key))

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
            part._handle_custom_msg(content.get("content"), buffers)  # noqa: SLF001

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
        parts, self._parts = self._parts, {}
        for part in parts.values():
            part.close()
        for trait in self._place:
            self.set_trait(trait, None)
