"""The blocks of tabs: charts, and tables whose columns all have a definition."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from tfvis_nb.core.format import without_unit
from tfvis_nb.core.labels import printable
from tfvis_nb.core.trace import Trace
from tfvis_nb.events import NO_STEP

MOST_ROWS = 200
"""Longer tables are cut to the most important rows."""
LONGEST_TEXT = 400
"""Maximum characters of a text in a table; names of nodes can have thousands."""

UNITS = (
    *("ns", "change", "time", "bytes", "bytes/s", "operations", "operations/s", "count", "number", "step"),
    *("share", "ratio", "text", "name"),
)
"""Units of a column: durations, their changes, times (ns since the first event), bytes, rates, floating-point
operations, their rates, counts, other numbers, those of steps, fractions of 1, other ratios, texts, names."""

KEYS: Mapping[str, str] = {
    "step": "Number of the traced step, from 0. Copied as data, -1 stands for events outside steps.",
    "task": "The process of a distributed run.",
    "device": "The device or host.",
    "op": "Type of the op.",
    "name": "Name of the node in the graph.",
    "scope": "Name scope: the name of a node up to one of its slashes.",
    "layer": "Layer of the model, or name scope; empty for events of no layer.",
    "line": "Line of your code that made the events, as file:line; empty for events of no line.",
}
"""Definitions of the columns that identify a row."""


class TableColumn(NamedTuple):
    """A column of a table: its name in the analysis, its head, its unit of `UNITS`, and its definition."""

    name: str
    label: str
    unit: str
    definition: str


def key(name: str, label: str, unit: str = "text") -> TableColumn:
    """Return a column of `KEYS`."""
    return TableColumn(name, label, unit, KEYS[name])


def step_key(trace: Trace) -> list[TableColumn]:
    """Return the step column, if the trace has several steps."""
    return [key("step", "Step", "step")] if (trace.steps["step"] != NO_STEP).sum() > 1 else []


def figures(definitions: Mapping[str, str], *columns: tuple[str, str, str]) -> list[TableColumn]:
    """Return columns (name, label, unit) with the definitions from their analysis."""
    return [TableColumn(name, label, unit, definitions[name]) for name, label, unit in columns]


def table(
    title: str,
    rows: pd.DataFrame,
    columns: Sequence[TableColumn],
    *,
    definition: str = "",
    zoom: Sequence[dict[str, Any] | None] = (),
    light: str | None = None,
    bar: str | None = None,
    colours: Sequence[str] = (),
    hints: Sequence[str] = (),
    reason: str = "",
    whys: Mapping[str, str] = MappingProxyType({}),
    row_count: int | None = None,
    order: str = "first",
) -> dict[str, Any]:
    """Return a table block.

    `rows` are in display order. If they are not all, `row_count` is the total and `order` how the shown ones
    were chosen, such as ``longest``. `zoom` has the place of each row in the timeline (see
    `tfvis_nb.display.tabs.zoom_targets`), `light` is the column that the timeline can highlight: an op type,
    a node or a scope. `bar` is the column with bars, relative to the largest value; such a table has the full
    width. `colours` are palette names of the bars, empty for rows without one. `hints` explain rows whose
    first text needs it. `reason` explains why there is nothing to show. Columns without values are not shown,
    but listed in ``absent``, with the reason from `whys` by name.
    """
    for column in columns:
        if column.unit not in UNITS or not column.definition:
            raise ValueError(f"the column {column.name!r} lacks a unit or a definition")
    total = len(rows) if row_count is None else row_count
    shown = rows.head(MOST_ROWS)
    targets = list(zoom[: len(shown)]) or [None] * len(shown)
    cells_of = {column.name: _cells(shown[column.name]) for column in columns}
    absent = [
        column
        for column in columns
        if column.name not in (light, bar) and len(shown) and _is_blank(rows[column.name])
    ]
    columns = [column for column in columns if column not in absent]
    cells = [cells_of[column.name] for column in columns]
    return {
        "kind": "table",
        "title": title,
        "definition": definition,
        "cannot_say": reason,
        "columns": [column._asdict() | {"definition": without_unit(column.definition)} for column in columns],
        "rows": [list(row) for row in zip(*cells, strict=True)],
        "zoom": targets,
        "light": None if light is None else [column.name for column in columns].index(light),
        "bar": None if bar is None else [column.name for column in columns].index(bar),
        "colours": list(colours),
        "hints": [without_unit(hint) for hint in hints],
        "total": total,
        "note": f"The {len(shown):,} {order} of {total:,} rows." if total > len(shown) else "",
        "absent": [
            f"{column.label} ({whys[column.name]})" if column.name in whys else column.label
            for column in absent
        ],
    }


def _is_blank(column: pd.Series) -> bool:
    return bool((column.isna() | (column.astype(object) == "")).all())


def chart(trace: Trace, name: str, definition: str) -> dict[str, Any]:
    """Return the block of a chart of `tfvis_nb.display.charts.Charts`, or the reason why there is none."""
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
    from tfvis_nb.display.charts.figure import chart_item
    from tfvis_nb.display.charts.style import TIME

    made = getattr(charts, name)()
    # The page shows it above the chart, where it can be selected and read out.
    block["title"] = made.title.text
    made.title.visible = False
    legend = _legend(made)
    return block | {"item": chart_item(made), "legend": legend, "wide": made.name == TIME}


def _legend(made: Any) -> list[dict[str, str]]:
    """Remove the legend from a figure: the page draws it, because the page knows its width."""
    from tfvis_nb.display.charts.style import COLOUR_TAG

    entries = []
    for legend in made.legend:
        legend.visible = False
        for entry in legend.items:
            (drawn,) = entry.renderers
            glyph = drawn.glyph
            colour = glyph.fill_color if "fill_color" in glyph.properties() else glyph.line_color
            name = next((tag.removeprefix(COLOUR_TAG) for tag in glyph.tags), "")
            entries.append({"label": entry.label.value, "colour": colour, "name": name})
    return entries


def _cells(column: pd.Series) -> list[Any]:
    """Return JSON values, None if unknown."""
    if isinstance(column.dtype, pd.CategoricalDtype) or not pd.api.types.is_numeric_dtype(column.dtype):
        return [None if pd.isna(value) else printable(str(value), LONGEST_TEXT) for value in column]
    known = np.isfinite(column.to_numpy("f8", na_value=np.nan))
    return [value if is_known else None for value, is_known in zip(column.tolist(), known, strict=True)]
