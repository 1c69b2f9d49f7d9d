"""Shared by all charts: colours by activity, sizes, and text that is only text."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from tfvis_nb.core.labels import printable
from tfvis_nb.core.palette import COLOURS

if TYPE_CHECKING:
    from bokeh.plotting import figure

TIME = "tfvis-time"
"""The name of a figure whose x is the time of the run, from the first event; its tag is the unit, in ns."""

ROWS = "tfvis-rows"
"""The name of a data source whose rows can be found in the timeline."""

COLOUR_TAG = "colour:"
"""Begins the tag of a glyph or line in a colour of the palette; the name of its entry follows."""

COLOUR_COLUMN = "colour_name"
"""The column of a data source with the entry of the palette of each row, whose colour is in ``colour``."""

_FONT = "11px"


def shown(text: str, most: int = 60) -> str:
    r"""Make a text of a trace fit for a chart, where ``$$`` and ``\(`` would begin a formula.

    BokehJS fetches a library from the network for a formula. A tooltip is a template, which BokehJS takes
    as HTML: no text of a trace belongs into one. It names a column, or the name of what was drawn as
    ``$name``, whose text BokehJS escapes.
    """
    text = re.sub(r"\$(?=\$)", "$ ", printable(text, most))
    for bracket in "()[]":
        text = text.replace(f"\\{bracket}", f"\\ {bracket}")
    return text


def coloured(name: str, option: str = "color") -> dict[str, Any]:
    """Return the arguments of a glyph in a colour of the palette; on a dark page it has the dark one."""
    return {option: COLOURS[name], "tags": [f"{COLOUR_TAG}{name}"]}


def coloured_parts(names: Sequence[str]) -> dict[str, Any]:
    """Return the same for the parts of a stack."""
    each = [coloured(name) for name in names]
    return {option: [one[option] for one in each] for option in ("color", "tags")}


class Unit(NamedTuple):
    """The unit of a chart's figures: its symbol, and its size in ns or bytes."""

    name: str
    size: int


TIMES = (Unit("s", 10**9), Unit("ms", 10**6), Unit("\N{MICRO SIGN}s", 10**3), Unit("ns", 1))
BYTES = tuple(Unit(name, 2**power) for name, power in (("GiB", 30), ("MiB", 20), ("KiB", 10), ("B", 0)))
_RATES = (Unit("GB/s", 10**9), Unit("MB/s", 10**6), Unit("kB/s", 10**3), Unit("B/s", 1))


def time_unit(longest_ns: float) -> Unit:
    """Return the unit for durations of up to `longest_ns`."""
    return fitting(TIMES, longest_ns)


def rate_unit(highest: float) -> Unit:
    """Return the unit for rates of up to `highest` bytes a second."""
    return fitting(_RATES, highest)


def fitting(units: Sequence[Unit], highest: float) -> Unit:
    """Return the largest unit of which `highest` is one at least; the smallest where there is none."""
    return next((unit for unit in units if highest >= unit.size), units[-1])


def unlike(names: Sequence[str]) -> list[str]:
    """Number repeated names: an axis has each name once."""
    taken: dict[str, int] = {}
    found: list[str] = []
    for name in names:
        number = taken.get(name, 1)
        one = name
        while one in taken:
            number += 1
            one = f"{name} ({number})"
        taken[name] = number
        taken.setdefault(one, 1)
        found.append(one)
    return found


def plot(title: str, *, height: int = 240, from_0: str = "", **options: Any) -> figure:
    """Return an empty figure in our style; a title names its content and its unit.

    The grounds are clear and the front end sets the colours of texts and grids, because a notebook's theme
    can change at any time. An axis in `from_0`, ``"x"`` or ``"y"``, begins at 0.
    """
    from bokeh.models import DataRange1d
    from bokeh.models.annotations import Title

    from tfvis_nb.display.charts.figure import new_figure

    if from_0:
        options[f"{from_0}_range"] = DataRange1d(start=0, range_padding=0.05)
    options = {"tools": "tap,xbox_zoom", "active_drag": "xbox_zoom", **options}
    made = new_figure(
        title=Title(text=title, text_font_size="12px"),
        height=height,
        sizing_mode="stretch_width",
        # A drag zooms and a double click shows all again, as in the timeline.
        toolbar_location=None,
        background_fill_color=None,
        border_fill_color=None,
        outline_line_color=None,
        **options,
    )
    made.min_border_left = 8
    for axis in (*made.xaxis, *made.yaxis):
        axis.axis_label_text_font_size = axis.major_label_text_font_size = _FONT
        axis.axis_label_text_font_style = "normal"
        axis.minor_tick_line_color = None
        # Inside they would lie over the bars.
        axis.major_tick_in = 0
    return made


def legend_below(made: figure, *, columns: int = 6) -> None:
    """Put a figure's legend, if it has one, below it, in the house's style."""
    for legend in list(made.legend):
        legend.orientation = "horizontal"
        legend.ncols = columns
        legend.label_text_font_size = _FONT
        legend.background_fill_color = None
        legend.border_line_color = None
        legend.update(glyph_width=12, glyph_height=12, spacing=8, padding=0, margin=2, location="top_left")
        made.center.remove(legend)
        made.add_layout(legend, "below")
