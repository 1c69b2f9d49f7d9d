"""The blocks of tabs: charts, and tables whose columns all have a definition."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Annotated, Any, Literal, NamedTuple, NotRequired, TypedDict

import numpy as np
import pandas as pd

from tfvis_nb.core.format import without_unit
from tfvis_nb.core.labels import printable
from tfvis_nb.core.trace import Trace
from tfvis_nb.display.bokehjs import BokehItem
from tfvis_nb.display.overview.card import OverviewCard
from tfvis_nb.display.overview.findings_block import FindingsBlock, Zoom
from tfvis_nb.events import NO_STEP

MOST_ROWS = 200
"""Longer tables are cut to the most important rows."""
LONGEST_TEXT = 400
"""Maximum characters of a text in a table; names of nodes can have thousands."""

ColumnUnit = Literal[
    "ns", "change", "time", "bytes", "bytes/s", "operations", "operations/s", "count",
    "number", "step", "share", "ratio", "text", "name",
]  # fmt: skip
"""Durations, their changes, times (ns since the first event), bytes, rates, floating-point operations, their
rates, counts, other numbers, those of steps, fractions of 1, other ratios, texts, names."""

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


class ColumnHead(TypedDict):
    """A column of a table: its name in the analysis, its head, its unit, and its definition."""

    name: str
    label: str
    unit: ColumnUnit
    definition: str


class TableColumn(NamedTuple):
    """A column of a table, as in `ColumnHead`."""

    name: str
    label: str
    unit: ColumnUnit
    definition: str

    def head(self) -> ColumnHead:
        """Return the column for the front end."""
        definition = without_unit(self.definition)
        return {"name": self.name, "label": self.label, "unit": self.unit, "definition": definition}


class EventIds(TypedDict):
    """Events by id; in the tables of a fleet, a cell of its heat map by number."""

    events: list[int]


class HistogramBins(TypedDict):
    """Durations of a row's events on a logarithmic axis, in ns."""

    edges: list[int]  # One more than there are bins
    counts: list[int]
    events: list[list[int]]  # Of each bin, or the longest of them


Cell = str | float | None


class _Headed(TypedDict):
    title: str
    definition: str
    cannot_say: str  # Why nothing is available, as the rest of "Not available:"; else empty


class TableBlock(_Headed):
    """A table of figures."""

    kind: Literal["table"]
    columns: list[ColumnHead]
    rows: list[list[Cell]]  # None if unknown
    zoom: list[Zoom | EventIds | None]  # Of each row
    light: int | None  # Index of the column that the timeline can highlight: an op type, a node or a scope
    bar: int | None  # Index of the column with bars, relative to the largest value
    colours: list[str]  # Palette names of the bars, empty for rows without one
    hints: list[str]  # Explanations of the rows' first texts; empty without any
    total: int  # The number of all rows, of which the first are here
    note: str  # Which part of a longer table is shown
    absent: list[str]  # Labels of columns without values
    histograms: NotRequired[list[HistogramBins]]
    # How a selected range makes the rows: sums of its events, or the rows of these
    range: NotRequired[Literal["op", "name", "route", "events"]]


class LegendEntry(TypedDict):
    """The meaning of a colour; `name` is its entry of the palette, empty without one."""

    label: str
    colour: str
    name: str


class ChartBlock(_Headed):
    """A chart."""

    kind: Literal["chart"]
    item: BokehItem | None
    legend: list[LegendEntry]
    wide: bool  # Set of charts along the run's time


class Stage(TypedDict):
    """A stage of a tf.data pipeline; times in ns."""

    label: str
    depth: int
    consumer: int | None  # Index of the stage that takes its elements; None for a root
    self_ns: int
    calls: int
    mean_ns: float
    empty: int | None  # Calls that found no element; None without a buffer, or if unknown
    is_bottleneck: bool
    colour: str  # A palette name
    zoom: Zoom | EventIds | None


class StagesBlock(_Headed):
    """A tf.data pipeline: stages in the order of the tree, each after its consumer."""

    kind: Literal["stages"]
    stages: list[Stage]


class OverviewBlock(OverviewCard):
    """The overview as a block."""

    kind: Literal["overview"]


class FlamePart(TypedDict):
    """The frames of a step, or of all, with their self times and their events, the longest first."""

    step: int | None
    frames: list[int]
    self_ns: list[int]
    events: list[list[int]]
    own_ns: NotRequired[list[list[int]]]  # Self time of each event; missing if not all are listed


class FlameFrames(TypedDict):
    """The largest frames, parents first."""

    labels: list[str]
    parents: list[int]  # -1 for the first frame, which holds all
    colours: list[str]  # Palette names; empty for frames without events
    parts: list[FlamePart]
    base: NotRequired[FlamePart]  # Of A, if the colors show how B differs from it


class FlameGraph(FlameFrames):
    """A flame graph; without frames if it cannot be shown. On the side ``memory``, ``self_ns`` are bytes."""

    by: Literal["scope", "layer", "stack", "thread"]
    side: Literal["device", "host", "memory"]
    cannot_say: str


class FlameBlock(_Headed):
    """Flame graphs by scope, layer, line of code and thread."""

    kind: Literal["flame"]
    graphs: list[FlameGraph]


class TimedPart(TypedDict):
    """A part of a step: the name of an activity, and its time."""

    name: str
    ns: int


class PredictedTime(TypedDict):
    """A recorded and a predicted time in ns, with the range of the prediction; None for few steps."""

    recorded_ns: float
    predicted_ns: float
    range: tuple[float, float] | None


class Outcome(PredictedTime):
    """The recorded and predicted time of the median step."""

    step: str
    task: str  # Whose parts these are; empty if there is only one
    loop: PredictedTime | None  # A mean step with the time until the next; None if not recorded
    all_steps: tuple[str, float] | None  # What several steps are called, and the share that they save
    parts: list[TimedPart]  # Predicted
    drift: str  # How far off the steps are without a change
    doubt: str  # Why the prediction is not trusted; else empty


class Choice(TypedDict):
    """What can change: names and ways besides a factor, each with its text."""

    subject: str
    label: str
    names: list[tuple[str, str]]
    how: list[tuple[str, str]]


class WhatIfBlock(TypedDict):
    """The control of predictions; `now` is without a change."""

    kind: Literal["what_if"]
    title: str
    definition: str
    choices: list[Choice]
    now: Outcome


Block = TableBlock | ChartBlock | StagesBlock | OverviewBlock | FindingsBlock | FlameBlock | WhatIfBlock


class Part(TypedDict):
    """A part of a tab: only JSON values, and no infinite or undefined numbers."""

    tab: str
    title: str
    blocks: Annotated[list[Any], "readonly Block[]"]


def key(name: str, label: str, unit: ColumnUnit = "text") -> TableColumn:
    """Return a column of `KEYS`."""
    return TableColumn(name, label, unit, KEYS[name])


def step_key(trace: Trace) -> list[TableColumn]:
    """Return the step column, if the trace has several steps."""
    return [key("step", "Step", "step")] if (trace.steps["step"] != NO_STEP).sum() > 1 else []


Figure = tuple[str, str, ColumnUnit]
"""Name, label and unit of a column whose definition is in its analysis."""


def figures(definitions: Mapping[str, str], *columns: Figure | None) -> list[TableColumn]:
    """Return columns with the definitions from their analysis; None for columns that a table lacks."""
    return [TableColumn(*column, definitions[column[0]]) for column in columns if column is not None]


def table(
    title: str,
    rows: pd.DataFrame,
    columns: Sequence[TableColumn],
    *,
    definition: str = "",
    zoom: Sequence[Zoom | EventIds | None] = (),
    light: str | None = None,
    bar: str | None = None,
    colours: Sequence[str] = (),
    hints: Sequence[str] = (),
    reason: str = "",
    whys: Mapping[str, str] = MappingProxyType({}),
    row_count: int | None = None,
    order: str = "first",
) -> TableBlock:
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
        if not column.definition:
            raise ValueError(f"the column {column.name!r} lacks a definition")
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
        "columns": [column.head() for column in columns],
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


def chart(trace: Trace, name: str, definition: str, **options: Any) -> ChartBlock:
    """Return the block of a chart of `tfvis_nb.display.charts.Charts`, or the reason why there is none."""
    from tfvis_nb.display.charts import Charts

    charts = Charts(trace)
    block: ChartBlock = {
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

    made = getattr(charts, name)(**options)
    # The page shows it above the chart, where it can be selected and read out.
    block["title"] = made.title.text
    made.title.visible = False
    legend = _legend(made)
    block |= {"item": chart_item(made), "legend": legend, "wide": made.name == TIME}
    return block


def _legend(made: Any) -> list[LegendEntry]:
    """Remove the legend from a figure: the page draws it, because the page knows its width."""
    from tfvis_nb.display.charts.style import COLOUR_TAG

    entries: list[LegendEntry] = []
    for legend in made.legend:
        legend.visible = False
        for entry in legend.items:
            (drawn,) = entry.renderers
            glyph = drawn.glyph
            colour = glyph.fill_color if "fill_color" in glyph.properties() else glyph.line_color
            name = next((tag.removeprefix(COLOUR_TAG) for tag in glyph.tags), "")
            entries.append({"label": entry.label.value, "colour": colour, "name": name})
    return entries


def _cells(column: pd.Series) -> list[Cell]:
    """Return JSON values, None if unknown."""
    if isinstance(column.dtype, pd.CategoricalDtype) or not pd.api.types.is_numeric_dtype(column.dtype):
        return [None if pd.isna(value) else printable(str(value), LONGEST_TEXT) for value in column]
    known = np.isfinite(column.to_numpy("f8", na_value=np.nan))
    return [value if is_known else None for value, is_known in zip(column.tolist(), known, strict=True)]
