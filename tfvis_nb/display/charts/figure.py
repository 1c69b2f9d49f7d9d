"""A chart that a notebook draws by itself: a Bokeh figure that brings BokehJS with it into a cell."""

import html
from typing import Any, ClassVar

from bokeh.models.annotations import Title
from bokeh.plotting import figure

from tfvis_nb.core.labels import printable


class _Shown(figure):
    """A figure that shows itself as the last expression of a cell, without ``output_notebook`` or a network.

    Everything else about it is Bokeh's: to a browser it is a figure like any other. The underscore keeps
    it out of the models that Bokeh knows by name, where its own figure has this one.
    """

    __view_model__: ClassVar[str] = figure.__view_model__
    __view_module__: ClassVar[str] = figure.__view_module__
    __qualified_model__: ClassVar[str] = figure.__qualified_model__

    def __repr__(self) -> str:
        return f"<chart {self.called!r}>"

    @property
    def called(self) -> str:
        """Its title; a user may have taken that away."""
        return str(self.title.text) if isinstance(self.title, Title) and self.title.text else "Chart"

    def _repr_mimebundle_(self, **kwargs: Any) -> Any:
        """Return a widget that draws the figure as it is now, and a text for where none can be."""
        from tfvis_nb.display.charts.widget import ChartWidget

        bundled: Any = ChartWidget(self, title=self.called)._repr_mimebundle_(**kwargs)
        data, metadata = bundled if isinstance(bundled, tuple) else (bundled, {})
        title = html.escape(printable(self.called, 200))
        static = f"<p><b>{title}</b></p><p>Run the notebook to see this chart.</p>"
        return {**data, "text/plain": repr(self), "text/html": static}, metadata


def new_figure(**options: Any) -> figure:
    """Return an empty figure that a notebook shows."""
    return _Shown(**options)
