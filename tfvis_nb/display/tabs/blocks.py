"""The blocks that tabs are made of: charts, and tables whose columns all have a definition."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd

from tfvis_nb.core.labels import printable

if TYPE_CHECKING:
    from tfvis_nb.core.trace import Trace

MOST_ROWS = 200
"""Of a longer table the rows that matter most are shown."""
LONGEST_TEXT = 400
"""Characters of a text in a table; names of nodes can have thousands."""

UNITS = ("ns", "time", "bytes", "bytes/s", "count", "number", "share", "ratio", "text", "name")
"""What the figures of a column can be: durations and times (ns, from the trace's first event), bytes,
numbers of things, numbers that count nothing (a step's), parts of 1, other ratios, texts, names of nodes."""

KEYS: Mapping[str, str] = {
    "step": "Number of the traced step, from 0; -1 is what belongs to no step.",
    "task": "The process of a distributed run.",
    "device": "What it ran on.",
    "op": "Type of the op.",
    "name": "Name of the graph's node.",
    "scope": "Name scope: the name of a node up to one of its slashes.",
}
"""What columns are that say what a row is about."""


class Column(NamedTuple):
    """A column of a table: which one of the analysis, its head, its unit of `UNITS`, and what it is."""

    name: str
    label: str
    unit: str
    definition: str


def key(name: str, label: str, unit: str = "text") -> Column:
    """Return a column of `KEYS`.

    Examples
    --------
    >>> from tfvis_nb.display.tabs.blocks import key
    >>> key("op", "Op").definition
    'Type of the op.'
    """
    return Column(name, label, unit, KEYS[name])


def step_key(trace: Trace) -> list[Column]:
    """Return the column of the step, of a trace that has several: of another it would always say the same.

    Examples
    --------
    >>> from tfvis_nb import Trace, events
    >>> from tfvis_nb.display.tabs.blocks import step_key
    >>> table = events.build({"start_ns": [0, 9], "duration_ns": [5, 5], "kind": ["op"] * 2, "step": [0, 1]})
    >>> [column.label for column in step_key(Trace(table))]
    ['Step']
    """
    return [key("step", "Step", "number")] if (trace.steps["step"] >= 0).sum() > 1 else []


def figures(definitions: Mapping[str, str], *columns: tuple[str, str, str]) -> list[Column]:
    """Return columns (name, label, unit) with the definitions that their analysis gives them.

    Examples
    --------
    >>> from tfvis_nb.analysis.steps import utilisation
    >>> from tfvis_nb.display.tabs.blocks import figures
    >>> figures(utilisation.FIGURES, ("utilisation", "Utilisation", "share"))[0].definition
    'busy_ns / step_ns, from 0 to 1.'
    """
    return [Column(name, label, unit, definitions[name]) for name, label, unit in columns]


def table(
    title: str,
    rows: pd.DataFrame,
    columns: Sequence[Column],
    *,
    definition: str = "",
    zoom: Sequence[dict[str, Any] | None] = (),
    light: str | None = None,
    hints: Sequence[str] = (),
    reason: str = "",
    of: int | None = None,
    order: str = "first",
) -> dict[str, Any]:
    """Return a table block.

    Parameters
    ----------
    title, definition
        What it is called, and what it is in a sentence.
    rows
        In the order to show; of more than `MOST_ROWS` the first ones are shown.
    columns
        What is shown of them.
    zoom
        For each row where it is in the timeline (see `tfvis_nb.display.tabs.zoom_targets`);
        nowhere where nothing is given.
    light
        The column with what the timeline can light: an op type, a node or a scope.
    hints
        For each row what it is about, where its first text does not tell.
    reason
        Why there is nothing to say, as `tfvis_nb.analysis.unavailable.why_not` gives it.
    of
        How many rows there would be, where `rows` are not all.
    order
        What the rows shown are among all, such as ``longest``.

    Raises
    ------
    ValueError
        If a unit is none, or a column has no definition.

    Examples
    --------
    >>> import pandas as pd
    >>> from tfvis_nb.display.tabs.blocks import key, table
    >>> made = table("Ops", pd.DataFrame({"op": ["MatMul"]}), [key("op", "Op")])
    >>> made["rows"], made["zoom"], made["total"]
    ([['MatMul']], [None], 1)
    """
    for column in columns:
        if column.unit not in UNITS or not column.definition:
            raise ValueError(f"the column {column.name!r} lacks a unit or a definition")
    total = len(rows) if of is None else of
    shown = rows.head(MOST_ROWS)
    places = list(zoom[: len(shown)]) or [None] * len(shown)
    cells = [_cells(shown[column.name]) for column in columns]
    return {
        "kind": "table",
        "title": title,
        "definition": definition,
        "cannot_say": reason,
        "columns": [column._asdict() for column in columns],
        "rows": [list(row) for row in zip(*cells, strict=True)],
        "zoom": places,
        "light": None if light is None else [column.name for column in columns].index(light),
        "hints": list(hints),
        "total": total,
        "note": f"The {len(shown):,} {order} of {total:,} rows." if total > len(shown) else "",
    }


def chart(trace: Trace, name: str, definition: str) -> dict[str, Any]:
    """Return the block of a chart of `tfvis_nb.display.charts.Charts`, or why there is none.

    Examples
    --------
    >>> from tfvis_nb import Trace, events
    >>> from tfvis_nb.display.tabs.blocks import chart
    >>> table = events.build({"start_ns": [0], "duration_ns": [5], "kind": ["op"]})
    >>> chart(Trace(table), "steps", "")["cannot_say"]
    'there is one step only'
    """
    from tfvis_nb.display.charts import Charts

    charts = Charts(trace)
    block: dict[str, Any] = {
        "kind": "chart",
        "title": name.replace("_", " ").capitalize(),
        "definition": definition,
        "cannot_say": charts.why_not(name),
        "item": None,
        "legend": [],
        "wide": False,
    }
    if block["cannot_say"]:
        return block
    from bokeh.embed import json_item

    from tfvis_nb.display.charts.style import TIME

    made = getattr(charts, name)()
    # The page says it above the chart, where it can be selected and read out.
    block["title"] = made.title.text
    made.title.visible = False
    legend = _legend(made)
    return block | {"item": json_item(made), "legend": legend, "wide": made.name == TIME}


def _legend(made: Any) -> list[dict[str, str]]:
    """Take the legend out of a figure: the page writes it, as it knows how wide it is."""
    from tfvis_nb.display.charts.style import COLOUR_COLUMN, COLOUR_TAG

    found = []
    for legend in made.legend:
        legend.visible = False
        for entry in legend.items:
            (drawn,) = entry.renderers
            glyph, rows = drawn.glyph, drawn.data_source.data
            colour = glyph.fill_color if "fill_color" in glyph.properties() else glyph.line_color
            name = next((tag.removeprefix(COLOUR_TAG) for tag in glyph.tags), "")
            # Where rows have colours of their own, the entry stands for one of them.
            if colour in rows:
                colour, name = rows[colour][entry.index], rows[COLOUR_COLUMN][entry.index]
            found.append({"label": entry.label.value, "colour": colour, "name": name})
    return found


def _cells(column: pd.Series) -> list[Any]:
    """Return values that JSON has: None where one is not known."""
    if isinstance(column.dtype, pd.CategoricalDtype) or not pd.api.types.is_numeric_dtype(column.dtype):
        return [None if pd.isna(value) else printable(str(value), LONGEST_TEXT) for value in column]
    known = np.isfinite(column.to_numpy("f8", na_value=np.nan))
    return [value if is_known else None for value, is_known in zip(column.tolist(), known, strict=True)]
