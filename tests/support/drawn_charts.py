"""The content of charts' figures."""

from bokeh.models import BasicTickFormatter, ColumnDataSource
from bokeh.models.annotations import Title
from bokeh.models.renderers import GlyphRenderer
from bokeh.plotting import figure


def drawn_source(made: figure) -> ColumnDataSource:
    return drawn_sources(made)[0]


def drawn_sources(made: figure) -> list[ColumnDataSource]:
    drawn = [renderer.data_source for renderer in made.renderers if isinstance(renderer, GlyphRenderer)]
    return [source for source in drawn if isinstance(source, ColumnDataSource)]


def chart_title(made: figure) -> str:
    assert isinstance(made.title, Title)
    return str(made.title.text)


def writes_plain_numbers(made: figure) -> bool:
    (axis,) = made.xaxis
    return isinstance(axis.formatter, BasicTickFormatter) and axis.formatter.use_scientific is False
