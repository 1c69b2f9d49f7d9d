"""Shared by all charts: colours by activity, sizes, and safe texts."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from tfvis_nb.core.labels import printable
from tfvis_nb.core.palette import COLOURS

if TYPE_CHECKING:
    from bokeh.plotting import figure

TIME = "tfvis-time"
"""The name of figures whose x axis is the time since the first event; their tag is the unit in ns."""

ROWS = "tfvis-rows"
"""The name of data sources whose rows can be shown in the timeline."""

COLOUR_TAG = "colour:"
"""Prefix of the tag of a glyph or line in a palette colour; the name of the palette entry follows."""

COLOUR_COLUMN = "colour_name"
"""The column of a data source with each row's palette entry, whose colour is in ``colour``."""

CURVES = ("device_compute", "host_compute", "d2h", "communication", "h2d", "compile", "input", "allocator")
"""Palette entries that tell curves apart, in order of use."""

_FONT = "11px"


def shown(text: str, most: int = 60) -> str:
    r"""Make a text from a trace safe for a chart, where ``$$`` and ``\(`` would start a formula.

    For a formula, BokehJS fetches a library from the network. A tooltip is a template that BokehJS treats as
    HTML, so it must not contain text from a trace. Instead it refers to a column, or to the glyph's name as
    ``$name``, whose text BokehJS escapes.
    """
    text = re.sub(r"\$(?=\$)", "$ ", printable(text, most))
    for bracket in "()[]":
        text = text.replace(f"\\{bracket}", f"\\ {bracket}")
    return text


def coloured(name: str, option: str = "color") -> dict[str, Any]:
    """Return the arguments of a glyph in a palette colour, which adapts to dark pages."""
    return {option: COLOURS[name], "tags": [f"{COLOUR_TAG}{name}"]}


def coloured_parts(names: Sequence[str]) -> dict[str, Any]:
    """Return the same for the parts of a stack."""
    each = [coloured(name) for name in names]
    return {option: [one[option] for one in each] for option in ("color", "tags")}


class Unit(NamedTuple):
    """The unit of a chart's values: its symbol, and its size in ns or bytes."""

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
    """Return the largest unit that is at most `highest`; otherwise the smallest."""
    return next((unit for unit in units if highest >= unit.size), units[-1])


def unlike(names: Sequence[str]) -> list[str]:
    """Number repeated names, because an axis can have each name only once."""
    taken: dict[str, int] = {}
    distinct: list[str] = []
    for name in names:
        number = taken.get(name, 1)
        one = name
        while one in taken:
            number += 1
            one = f"{name} ({number})"
        taken[name] = number
        taken.setdefault(one, 1)
        distinct.append(one)
    return distinct


def plot(title: str, *, height: int = 240, from_0: str = "", **options: Any) -> figure:
    """Return an empty figure in our style; a title names its content and its unit.

    Backgrounds are transparent and the front end sets the colours of texts and grids, because the notebook's
    theme can change at any time. Axes in `from_0`, ``"x"`` or ``"y"``, start at 0.
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
        # A drag zooms and a double click resets, as in the timeline.
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
        # Inside, they would cover the bars.
        axis.major_tick_in = 0
    return made


def legend_below(made: figure) -> None:
    """Put a figure's legend, if any, below it, in our style."""
    for legend in list(made.legend):
        legend.orientation = "horizontal"
        legend.ncols = 6
        legend.label_text_font_size = _FONT
        legend.background_fill_color = None
        legend.border_line_color = None
        legend.update(glyph_width=12, glyph_height=12, spacing=8, padding=0, margin=2, location="top_left")
        made.center.remove(legend)
        made.add_layout(legend, "below")
