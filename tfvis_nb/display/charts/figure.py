"""A chart that draws itself in a notebook, and its JSON for a dashboard."""

import html
from typing import Any, ClassVar

from bokeh.core.serialization import Serializer
from bokeh.document import Document
from bokeh.model import Model
from bokeh.models.annotations import Title
from bokeh.plotting import figure

from tfvis_nb.core.labels import printable
from tfvis_nb.display.bokehjs import BokehItem


class _Shown(figure):
    """A figure that draws itself as the last expression of a cell, without ``output_notebook`` or a network.

    Otherwise it is an ordinary Bokeh figure. The underscore keeps it out of Bokeh's registry of models by
    name, where Bokeh's own figure has this name.
    """

    __view_model__: ClassVar[str] = figure.__view_model__
    __view_module__: ClassVar[str] = figure.__view_module__
    __qualified_model__: ClassVar[str] = figure.__qualified_model__

    def __repr__(self) -> str:
        return f"<chart {self.called!r}>"

    @property
    def called(self) -> str:
        """Its title, empty if the user has removed it."""
        return str(self.title.text) if isinstance(self.title, Title) and self.title.text else "Chart"

    def _display_(self) -> Any:
        """Return a widget that draws the current figure: marimo shows Bokeh's own only with a network."""
        from tfvis_nb.display.charts.chart_widget import ChartWidget

        return ChartWidget(self, title=self.called)

    def _repr_mimebundle_(self, **kwargs: Any) -> Any:
        """Return that widget, and a text for front ends without widgets."""
        bundled: Any = self._display_()._repr_mimebundle_(**kwargs)
        data, metadata = bundled if isinstance(bundled, tuple) else (bundled, {})
        title = html.escape(printable(self.called, 200))
        static = f"<p><b>{title}</b></p><p>Run the notebook to see this chart.</p>"
        return {**data, "text/plain": repr(self), "text/html": static}, metadata


def new_figure(**options: Any) -> figure:
    """Return an empty figure that notebooks can draw."""
    return _Shown(**options)


def chart_item(made: figure) -> BokehItem:
    """Return the JSON of a new figure like `bokeh.embed.json_item`, in a fifth of the time."""
    document = Document(title="")
    header = document.to_json(deferred=False)
    document.add_root(made)
    doc = {**header, "roots": _SetProperties(deferred=False).encode([made])}
    return {"target_id": None, "root_id": made.id, "doc": doc, "version": header["version"]}


class _SetProperties(Serializer):
    """Writes only properties that are set; Bokeh's serializer also computes and checks all defaults."""

    def encode(self, obj: Any) -> Any:
        if not isinstance(obj, Model) or self.has_ref(obj):
            return super().encode(obj)
        self.add_ref(obj, obj.ref)
        # Defaults that are models count as set once the document has looked for them.
        names = {*obj._property_values, *obj._unstable_default_values}  # noqa: SLF001 - nothing public lists them
        names.update(obj.themed_values() or ())
        values = obj.query_properties_with_values(
            lambda one: one.serialized and one.name in names, include_defaults=False
        )
        written: dict[str, Any] = {"type": "object", "name": obj.__qualified_model__, "id": obj.id}
        if values:
            written["attributes"] = {name: self.encode(value) for name, value in values.items()}
        return written
