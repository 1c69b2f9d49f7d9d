"""The dashboard of a fleet: slow steps and tasks of a dataset, since when, and why."""

import html
import uuid
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple, Unpack, overload

import pandas as pd
import traitlets

from tfvis_nb.anonymizing.anonymized import anonymized
from tfvis_nb.anonymizing.names import Names
from tfvis_nb.core.display_options import FleetHtmlOptions
from tfvis_nb.core.format import UNKNOWN, format_duration, format_file_size, format_ratio
from tfvis_nb.core.html_export import MAX_BYTES, HtmlExport
from tfvis_nb.core.labels import printable
from tfvis_nb.core.options import check_title, only_known_options
from tfvis_nb.core.trace import Trace
from tfvis_nb.display.bundles import bundle
from tfvis_nb.display.composed import ComposedWidget, PartOfWidget
from tfvis_nb.display.dashboard.computed_tabs import ComputedTabs
from tfvis_nb.display.messages import Replies, answer_messages, message
from tfvis_nb.display.pages.page import PageTooLargeError, packed_parts, packed_tabs
from tfvis_nb.display.pages.template import framed
from tfvis_nb.display.shaping.gap_compression import compress_gaps
from tfvis_nb.display.stored_output import StoredWidget
from tfvis_nb.display.tabs.blocks import Part
from tfvis_nb.display.timeline.linked import OpenedTimeline
from tfvis_nb.display.timeline.timeline_widget import TimelineWidget
from tfvis_nb.display.wire.code import without_code
from tfvis_nb.fleet.analysis.drift import fleet_drift
from tfvis_nb.fleet.analysis.grid import DURATION, ordered
from tfvis_nb.fleet.analysis.outliers import fleet_outliers
from tfvis_nb.fleet.analysis.slower_ops import slower_ops
from tfvis_nb.fleet.dataset import TraceDataset, open_traces
from tfvis_nb.fleet.widget import tables
from tfvis_nb.fleet.widget.cells import LONGEST_NAME, Cells
from tfvis_nb.texts import Text, text_of

TIMELINES = 3
"""Maximum timelines in a page by default."""
_HEIGHT = 380
"""Height of the tables, in CSS pixels."""


Shown = tuple[int, Trace, str]
"""The number of a cell, its trace, and the title of its timeline."""
TIMELINES_BYTES = 8_000_000
"""The timelines in a page are no larger together, unless the first one is."""
_STILL_ROWS = 5
_STYLE = """\
html { background: light-dark(#ffffff, #16181d); }
#tfvis-root { height: auto; }
.tfvis-timeline { height: 62vh; min-height: 380px; border-block: 1px solid light-dark(#e3e6ea, #2e323b); }
.tfvis-timeline[hidden] { display: none; }
"""
_HEAT_MAP_HEIGHT = 480


class SharedFleet(NamedTuple):
    """A fleet with replaced names, for a page; the cell numbers are those of `cells`."""

    cells: Cells
    ops: pd.DataFrame
    timelines: list[Shown]
    since: int


def shared_fleet(cells: Cells, ops: pd.DataFrame, timelines: Iterable[Shown], since: int) -> SharedFleet:
    """Replace the names of a fleet as `tfvis_nb.Trace.anonymized` does, equal names by equal ones.

    `since` is the index of a step, which may change as names are replaced. The drift's first period starts in
    1970.
    """
    names = Names()
    # Traces first: they know which names are kernels', in which more words are public.
    traces = [(cell, anonymized([trace], names)[0]) for cell, trace, _ in timelines]
    steps = cells.grid.table
    others = {
        column: {name: names.replaced(name, role) for name in ordered(steps, column)[0]}
        for column, role in (("run", "run"), ("task", "job"))
    }
    table = steps.assign(**{column: steps[column].map(other) for column, other in others.items()})
    table["start_ns"] -= _first_ns(steps)
    shared = Cells(table.drop(columns="time", errors="ignore"))
    ops = ops.assign(
        run=ops["run"].map(others["run"]), op=[names.replaced(op, "op") for op in ops["op"].astype(str)]
    )
    shown = []
    for cell, trace in traces:
        task, column = divmod(cell, len(cells.grid.steps))
        run, step = cells.step(column)
        place = others["run"][run], step, others["task"][cells.grid.tasks[task]]
        shown.append((shared.number(*place), trace, shared.title(*place)))
    run, step = cells.step(since)
    return SharedFleet(shared, ops, shown, shared.place((others["run"][run], step)))


def _first_ns(steps: pd.DataFrame) -> int:
    """Return the start (epoch ns) of the first period of a fleet's drift, or of its first step."""
    periods = fleet_drift(steps, DURATION).attrs.get("periods")
    return pd.Timestamp(periods[0]).value if periods else int(steps["start_ns"].min())


class FleetTables(ComputedTabs):
    """The tabs below a heat map."""

    def __init__(self, dataset: TraceDataset, cells: Cells, since: int, *, link: str) -> None:
        self._dataset = dataset
        self._cells = cells
        self._column = since
        """The index of the step since which ops are compared."""
        self._ops: pd.DataFrame | None = None
        super().__init__(list(tables.TABS), link=link, height=_HEIGHT)

    def _ops_of_steps(self) -> pd.DataFrame:
        """Return the ops of each step."""
        if self._ops is None:
            self._ops = self._dataset.step_ops
        return self._ops

    def _compare_since(self, column: int) -> None:
        """Compare ops since a step, given its index in the grid; returns when the result is shown."""
        with self._computing:
            self._column = column
            self._made.pop(tables.OPS, None)
        self._show(tables.OPS)

    def _parts_there(self) -> list[tuple[str, str]]:
        return [(title, title) for title in tables.TABS]

    def _compute(self, title: str) -> Part:
        return tables.contents(title, self._cells, self._ops_of_steps, self._column)


class Fleet(HtmlExport, ComposedWidget):
    """The steps and tasks of a dataset as a heat map, with tables of what stands out.

    A click on a cell, or Enter, shows its timeline below the heat map, read from the dataset.

    Parameters
    ----------
    dataset
        The dataset of traces.
    since
        Compare ops since this step: its number, or a pair of run and number. By default the middle step.
    title
        Shown above the heat map instead of the dataset's name.

    Attributes
    ----------
    map
        The heat map.
    panels
        The tabs; ``panels.height`` is theirs in CSS pixels.
    """

    # Reading traces would keep the kernel busy.
    _kept_options = MappingProxyType({"timelines": 0})

    @only_known_options
    def __init__(self, dataset: TraceDataset, *, since: Any = None, title: str | None = None) -> None:
        check_title(title)
        self._dataset = dataset
        self._cells = Cells(dataset.steps)
        self._title = dataset.title if title is None else title
        start = self._cells.place(since)
        self.map = HeatMapWidget(self._cells, title=self._summary(), since=start)
        self.panels = FleetTables(dataset, self._cells, start, link=self.map._link)
        self.map._opens = self._open_cell
        self.map._closes = partial(self._open, None)
        self.map._compares = self._compare
        super().__init__({"map": self.map, "panels": self.panels}, opens=OpenedTimeline)

    @property
    def timeline(self) -> TimelineWidget | None:
        """The timeline of the last opened cell; None if there is none."""
        opened = self._parts.get("opened")
        return opened if isinstance(opened, OpenedTimeline) else None

    @only_known_options
    def open_timeline(self, task: str, step: int, run: str | None = None) -> TimelineWidget:
        """Show the timeline of a step and task below the heat map, and return it.

        Parameters
        ----------
        task
            The task, such as ``"/job:worker/replica:0/task:1"`` or ``"worker 1"``.
        step
            Its number.
        run
            The run; None if there is only one.

        Raises
        ------
        ValueError
            If the dataset has no such step.
        """
        trace = self._dataset.trace(run, task, step)
        shown = OpenedTimeline(trace, title=self._cells.title(run, step, task))
        self._open(shown)
        return shown

    @only_known_options
    def slower_ops(self, since: Any = None) -> pd.DataFrame:
        """Return how much longer each op takes since a step; see `tfvis_nb.fleet.slower_ops`."""
        return slower_ops(self.panels._ops_of_steps(), self._cells.step(self._cells.place(since)))

    def _open_cell(self, task: int, column: int) -> str:
        run, step = self._cells.step(column)
        self.open_timeline(self._cells.grid.tasks[task], step, run)
        return Text("fleet_opened")

    def _compare(self, column: int) -> None:
        self.map.set_trait("_since", column)
        self.panels._compare_since(column)

    def _summary(self, cells: Cells | None = None, title: str | None = None) -> str:
        """Return the title with the numbers of runs, tasks and steps."""
        cells = self._cells if cells is None else cells
        counts = {"run": len(cells.runs), "task": len(cells.tasks), "step": len(cells.grid.steps)}
        shown = [f"{count:,} {noun}{'s' * (count != 1)}" for noun, count in counts.items()]
        return f"{printable(self._title if title is None else title, 80)}: {', '.join(shown)}"

    @overload
    def to_html(
        self, path: None = None, title: str | None = None, **options: Unpack[FleetHtmlOptions]
    ) -> str: ...
    @overload
    def to_html(
        self, path: str | Path, title: str | None = None, **options: Unpack[FleetHtmlOptions]
    ) -> Path: ...
    @only_known_options
    def to_html(
        self, path: str | Path | None = None, title: str | None = None, **options: Unpack[FleetHtmlOptions]
    ) -> str | Path:
        """Write one HTML file that opens offline, with the heat map and all tabs.

        Options are ``max_bytes``, ``source`` and ``anonymize``, as in `tfvis_nb.Trace.to_html`, which also
        lists the errors, and ``timelines``: the number of timelines of the slowest steps, by default 3.
        """
        return self._written_html(path, title, options)

    def _html(self, title: str | None, **options: Any) -> str:
        """Return the page that `to_html` writes."""
        check_title(title)
        most = options.get("timelines", TIMELINES)
        if isinstance(most, bool) or not isinstance(most, int) or most < 0:
            raise ValueError(Text("timelines_no_count", timelines=most))
        cells, column, name = self._cells, self.panels._column, self._dataset.title
        timelines: Iterable[tuple[int, Trace, str]] = self._longest(most)
        if options.get("anonymize"):
            ops = self.panels._ops_of_steps()
            cells, ops, timelines, column = shared_fleet(cells, ops, timelines, column)
            name = "dataset"
            title = "Fleet" if title is None else title
            tabs = [tables.contents(tab, cells, lambda: ops, column) for tab in tables.TABS]
        else:
            tabs = self.panels.tabs()
        summary = self._summary(cells, title)
        parts = {"fleet": cells.packed(summary)}
        for at, metric in enumerate(cells.metrics):
            parts[f"values-{at}"] = cells.packed_values(metric.name)
        return fleet_page(
            parts,
            tabs,
            timelines,
            title=self._title if title is None else title,
            summary=summary,
            options={
                "since": column,
                "dataset": name,
                "tasks": [printable(task, LONGEST_NAME) for task in cells.grid.tasks],
            },
            max_bytes=options.get("max_bytes", MAX_BYTES),
            source=options.get("source", True),
        )

    def _longest(self, most: int) -> Iterator[tuple[int, Trace, str]]:
        """Yield the cells of the longest steps, each with its trace and the title of its timeline."""
        longest = fleet_outliers(self._cells.grid.table).head(most)
        for run, step, held_up_by in zip(longest["run"], longest["step"], longest["task"], strict=True):
            task = self._cells.task(run, step, held_up_by)
            title = self._cells.title(run, step, task)
            try:
                trace = self._dataset.trace(run or None, task, step)
            except OSError as error:
                reason = text_of(error)
                warnings.warn(Text("fleet_timeline_left_out", title=title, reason=reason), stacklevel=2)
                continue
            yield self._cells.number(run, step, task), trace, title

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self._summary()}>"

    def _still(self) -> str:
        return fleet_still(self._summary(), [self.panels.tab(tables.OUTLIERS)])


@only_known_options
def show_fleet(dataset: Any, *, since: Any = None, title: str | None = None) -> Fleet:
    """Show which steps and tasks of a dataset are slow, in a notebook as the last expression of a cell.

    A heat map has a cell for each step and task, coloured by its time, an activity, a wait or its memory. A
    click on a cell, or Enter, shows its timeline. Tabs rank slow steps and stragglers, and compare days, and
    ops before and since a step.

    Parameters
    ----------
    dataset
        A `TraceDataset`, or a source for `tfvis_nb.open_traces`: the folder of a dataset, or traces.
    since
        Compare ops since this step: its number, or a pair of run and number; by default the middle one. You
        can also choose it in the heat map.
    title
        Shown instead of the dataset's name.

    Returns
    -------
    Fleet
        With ``timeline``, ``open_timeline``, ``slower_ops`` and ``to_html``.

    Raises
    ------
    TypeError, ValueError
        If an argument is invalid, or the dataset has no steps, or too many for a browser.

    Examples
    --------
    >>> import tempfile
    >>> import tfvis_nb as tv
    >>> from tfvis_nb import events
    >>> columns = {"start_ns": [0, 9, 18], "duration_ns": [5, 3, 7], "kind": ["op"] * 3, "step": [0, 1, 2]}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = tv.Trace(events.build(columns)).to_parquet(f"{folder}/mlp.parquet")
    ...     dataset = tv.open_traces(f"{folder}/fleet")
    ...     done = dataset.ingest(f"{folder}/mlp.parquet")
    ...     shown = tv.show_fleet(dataset)
    >>> shown
    <Fleet fleet: 1 run, 1 task, 3 steps>
    """
    opened = dataset if isinstance(dataset, TraceDataset) else open_traces(dataset)
    return Fleet(opened, since=since, title=title)


def fleet_page(
    parts: dict[str, bytes],
    tabs: Sequence[Part],
    timelines: Iterable[tuple[int, Trace, str]],
    *,
    title: str,
    summary: str,
    options: dict[str, Any],
    max_bytes: int | None,
    source: bool,
) -> str:
    """Write a fleet as one HTML text.

    `parts` are the grid and the values of its figures, `timelines` the number of a cell with its trace and
    title, of which the page has as many as fit, and without code unless `source`. PageTooLargeError is raised
    if the rest is larger than `max_bytes`.
    """
    parts = {**parts, "tabs": packed_tabs(tabs)}
    size = _size(parts)
    if max_bytes is not None and size > max_bytes:
        figures = {"size": format_file_size(size), "most": format_file_size(max_bytes)}
        raise PageTooLargeError(Text("fleet_page_too_large", **figures))
    room = TIMELINES_BYTES if max_bytes is None else min(TIMELINES_BYTES, max_bytes - size)
    worst: list[int] = []
    for cell, trace, name in timelines:
        shown = compress_gaps(trace if source else without_code(trace))
        try:
            made = packed_parts(shown, name, max_bytes=room)
        except PageTooLargeError:
            break
        room -= _size(made)
        parts |= {f"{part}-{len(worst)}": data for part, data in made.items()}
        worst.append(cell)
    return framed(
        what="fleet",
        title=printable(title, 200) or "Fleet",
        summary=summary,
        fallback=fleet_still(summary, tabs),
        parts=parts,
        options={**options, "worst": worst},
        code=bundle("fleet_page.js"),
        style=_STYLE,
    )


def fleet_still(summary: str, tabs: Sequence[Part] = ()) -> str:
    """Write a fleet's view without scripts: its size, and the first rows of its first table."""
    lines = [f"<p><b>{html.escape(summary)}</b></p>"]
    for block in [block for tab in tabs[:1] for block in tab["blocks"] if block["kind"] == "table"]:
        columns = block["columns"]
        rows = [
            [_text(cell, column["unit"]) for cell, column in zip(row, columns, strict=True)]
            for row in block["rows"][:_STILL_ROWS]
        ]
        lines.append(f"<p>{html.escape(block['title'])}</p>")
        lines.append(_table([column["label"] for column in columns], rows))
    return "\n".join(lines)


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [("th", heads), *(("td", row) for row in rows)]
    body = "".join(
        f"<tr>{''.join(f'<{tag}>{html.escape(text)}</{tag}>' for text in line)}</tr>" for tag, line in lines
    )
    return f"<table>{body}</table>"


def _text(cell: Any, unit: str) -> str:
    if cell is None:
        return UNKNOWN
    return {"ns": format_duration, "ratio": format_ratio}.get(unit, str)(cell)


def _size(parts: dict[str, bytes]) -> int:
    return sum(map(len, parts.values())) * 4 // 3


class HeatMapWidget(PartOfWidget, StoredWidget):
    """Steps and tasks as coloured cells.

    `_opens` shows the timeline of a task and step, given their indexes in the grid, and returns a message;
    `_closes` removes it; `_compares` compares ops since a step, given its index. All are set by the fleet.
    """

    height = traitlets.Int(_HEAT_MAP_HEIGHT)
    _grid = traitlets.Bytes().tag(sync=True, echo_update=False)
    _values = traitlets.Bytes().tag(sync=True, echo_update=False)
    _since = traitlets.Int(0).tag(sync=True)
    _link = traitlets.Unicode().tag(sync=True)

    _opens: Callable[[int, int], str]
    _closes: Callable[[], None]
    _compares: Callable[[int], None]

    def __init__(self, cells: Cells, *, title: str, since: int) -> None:
        self._cells = cells
        super().__init__(
            _grid=cells.packed(title),
            _values=cells.packed_values(DURATION),
            _since=since,
            _link=uuid.uuid4().hex,
        )
        answer_messages(self)

    @message()
    def _on_values(self, metric: str) -> Replies:
        """Reply with the values of a metric."""
        return [({}, [self._cells.packed_values(str(metric))])]

    @message()
    def _on_open(self, task: int, column: int) -> Replies:
        """Show the timeline of a task and step, given by their indexes; the reply is a text about it."""
        return [({"answer": self._opens(int(task), int(column))}, [])]

    @message()
    def _on_close(self) -> None:
        """Remove the timeline."""
        self._closes()

    @message()
    def _on_since(self, column: int) -> None:
        """Compare ops since a step, given by its index."""
        self._compares(int(column))
