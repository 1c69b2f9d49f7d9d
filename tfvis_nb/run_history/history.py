"""`history`: the kept runs of traced cells, as a table and a chart."""

from __future__ import annotations

import sys
import weakref
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np
import pandas as pd

from tfvis_nb.analysis.steps.difference import RunSpread
from tfvis_nb.analysis.unavailable import cannot_say, dtypes, why_not
from tfvis_nb.core.display_options import TimelineOptions
from tfvis_nb.core.format import UNKNOWN, format_amount, format_bytes, format_duration, format_percent
from tfvis_nb.core.labels import printable
from tfvis_nb.core.metadata import RUNS, table_of
from tfvis_nb.core.options import only_known_options
from tfvis_nb.core.row_numbers import number_rows
from tfvis_nb.core.trace import Trace
from tfvis_nb.display.charts import CannotSayError
from tfvis_nb.display.charts.style import CURVES, coloured, legend_below, plot, shown, time_unit, unlike
from tfvis_nb.run_history.cell import Cell, notebook_of
from tfvis_nb.run_history.files import history_folder, keep, read_all
from tfvis_nb.run_history.sentence import Change, change_of, change_text, known_runs, sentence, usual_spread
from tfvis_nb.run_history.summary import Summary, summary_of
from tfvis_nb.texts import Text

if TYPE_CHECKING:
    from bokeh.plotting import figure

    from tfvis_nb.display.comparison import Comparison, Steps

_traces: weakref.WeakValueDictionary[tuple[str, str, int], Trace] = weakref.WeakValueDictionary()
"""The traces of runs in this process (weak references)."""

_newest: dict[tuple[str, str, int], Trace] = {}
"""The traces of the last two runs of each cell, which a rerun would delete with the variable it sets."""

_MOST_EVENTS = 500_000
"""The traces in `_newest` have at most this many events in all, some 100 MB; the oldest leave first."""

_CHANGE = ("ratio", "ratio_low", "ratio_high")
_SPREAD = ("spread_ratio", "spread_runs")
_COLUMNS = {
    "notebook": "str",
    "cell": "str",
    "title": "str",
    "time": "datetime64[ns, UTC]",
    "recording_ns": "Int64",
    "steps": "int64",
    "step_ns": "Int64",
    "first_ns": "Int64",
    "compared": "str",
    "same_code": "boolean",
    **dict.fromkeys(_CHANGE, "float64"),
    "spread_ratio": "float64",
    "spread_runs": "Int64",
    "kernels": "Int64",
    "ops": "Int64",
    "busy_share": "float64",
    "peak_bytes": "Int64",
    "step_joules": "float64",
    "step_bytes": "Int64",
    "options": "str",
    "code": "str",
    "tfvis_nb": "str",
    "tensorflow": "str",
}
_MIDDLE = (0.05, 0.95)


class History:
    """The kept runs of traced cells, oldest first; `tfvis_nb.history` returns it.

    Attributes
    ----------
    table : pandas.DataFrame
        One row per run, by its number: ``notebook``, ``cell``, ``title``, ``time`` (UTC);
        ``recording_ns``, how long the recording took; ``steps``, their number, 0 if nothing
        divides the recording; ``step_ns``, the time of the median step without a first one that is set apart;
        ``first_ns`` of that first step; ``compared``, the times that are compared with the cell's previous
        run: ``steps``, ``loops`` (each step and the time until the next), ``iterations`` of a loop without
        marked steps, or ``recordings``; ``same_code``, whether the previous run has the same ``code``;
        ``ratio``, the typical time (the mean without the longest and the shortest fifth) divided by that in
        the previous run, with its 95 % interval ``ratio_low`` and ``ratio_high``;
        ``spread_ratio``, how much two earlier runs of the same code differ: the slower one takes more than
        that many times as long in 5 % of pairs; ``spread_runs``, the number of runs that show it; ``kernels``
        and ``ops``, the median numbers per step, ``ops`` only if cheap ones are recorded as well;
        ``busy_share`` of the accelerators; ``peak_bytes``; ``step_joules``, the median energy of a step on
        the GPUs; ``step_bytes``, by how much memory grows per step, 0 if it does not; ``options`` of the
        recording; ``code``, a digest of what ran; and the versions of ``tfvis_nb`` and ``tensorflow``.
        Unknown values are NA or NaN.

    Notes
    -----
    ``spread_ratio`` is exp(t s √2), from the comparable runs before this one and the one that it is compared
    with: s is the standard deviation of the logarithms of their typical times around the mean of the runs
    with the same ``code``, with one degree of freedom fewer than runs for each code, and t the 97.5 %
    quantile of Student's t with these degrees of freedom. It needs three runs of one code.

    Runs have the same ``code`` if the cell has the same text; if the functions, classes and settings
    (numbers, texts, and containers of them) that it uses from other cells and from your own modules are the
    same; if its arrays, tensors and datasets have the same shapes, types and batch sizes; if TensorFlow has
    the same version; and if a repeated step runs equally many ops and kernels of each type. Numbers, texts
    and containers that the cell itself changes do not count.
    """

    def __init__(self, runs: Sequence[Summary], reason: Text) -> None:
        self._runs = list(runs)
        self._reason = reason

    @cached_property
    def table(self) -> pd.DataFrame:
        """The runs as a table."""
        if not self._runs:
            return cannot_say(_COLUMNS, self._reason)
        rows = []
        for number, run in enumerate(self._runs):
            before = self._before(number)
            change = self._change(number)
            main = run.main
            rows.append(
                vars(run)
                | {"time": pd.Timestamp(run.time_ns, tz="UTC"), "recording_ns": run.whole_ns}
                | {"kernels": None, "ops": None}
                | ({} if main is None else vars(main) | {"step_ns": main.median_ns})
                | {"steps": sum(kind.steps for kind in run.kinds.values())}
                | {"compared": "" if change is None else change.times}
                | {"same_code": None if before is None else self._runs[before].code == run.code}
                | dict(zip(_CHANGE, () if change is None else change.difference[:3], strict=False))
                | dict(zip(_SPREAD, self._spread(number, change) or (), strict=False))
            )
        return pd.DataFrame(rows, columns=list(_COLUMNS)).astype(dtypes(_COLUMNS))

    def chart(self) -> figure:
        """Return a chart of step times by run, a line for each cell, as a ``bokeh.plotting.figure``.

        Whiskers extend from the 5th to the 95th percentile of the steps. Recordings without steps have lines
        of their own.

        Raises
        ------
        CannotSayError
            If no run is kept.
        """
        if not self._runs:
            raise CannotSayError(f"not available: {self._reason}")
        return history_chart(self._runs)

    @only_known_options
    def compare(
        self,
        before: int | None = None,
        after: int | None = None,
        *,
        steps: Steps | None = None,
        titles: tuple[str, str] | None = None,
        **options: Unpack[TimelineOptions],
    ) -> Comparison:
        """Show the traces of two runs, one above the other, while both are in memory.

        Parameters
        ----------
        before, after
            Numbers of runs in `table`; by default the last run and the previous one of the same cell.
        steps, titles, **options
            As in `tfvis_nb.show_comparison`.

        Raises
        ------
        KeyError
            If there is no such run, or no earlier run to compare with.
        ValueError
            If a trace is no longer in memory. The history keeps the last two of each cell, unless they are
            large or the kernel was restarted; variables may keep others.
        """
        from tfvis_nb.display.comparison import show_comparison

        if not self._runs:
            raise KeyError(self._reason)
        after = len(self._runs) - 1 if after is None else after
        self._check(after)
        before = self._before(after) if before is None else before
        if before is None:
            raise KeyError(Text("no_run_before", number=after))
        self._check(before)
        traces = []
        for number in (before, after):
            trace = _traces.get(_key(self._runs[number]))
            if trace is None:
                raise ValueError(Text("trace_of_run_gone", number=number))
            traces.append(trace)
        return show_comparison(*traces, steps=steps, titles=titles, **options)

    def _check(self, number: int) -> None:
        if not 0 <= number < len(self._runs):
            raise KeyError(Text("no_such_run", number=number))

    def _before(self, number: int) -> int | None:
        """Return the number of the run with which a run is compared."""
        earlier = range(number - 1, -1, -1)
        return next((one for one in earlier if self._runs[one].is_comparable(self._runs[number])), None)

    def _change(self, number: int) -> Change | None:
        before = self._before(number)
        return None if before is None else change_of(self._runs[before], self._runs[number])

    def _spread(self, number: int, change: Change | None) -> RunSpread | None:
        if change is None:
            return None
        now = self._runs[number]
        earlier = [one for one in self._runs[:number] if one.is_comparable(now)]
        # The last one is compared with this run.
        return usual_spread(earlier[:-1], change.times, change.kinds[1])

    def __len__(self) -> int:
        return len(self._runs)

    def __repr__(self) -> str:
        return repr(self._readable())

    def _repr_html_(self) -> str | None:
        shown: str | None = self._readable()._repr_html_()  # type: ignore[operator]
        return shown

    def _readable(self) -> pd.DataFrame:
        """Return the table for display: columns of all runs, and those with a value in any run."""
        table = self.table
        if why_not(table):
            return table
        changes = [self._change(number) for number in range(len(self))]
        cells, _ = number_rows(table["notebook"], table["cell"])
        several = len({run.notebook for run in self._runs}) > 1
        shown = pd.DataFrame(
            {
                "notebook": table["notebook"].map(lambda path: printable(path, 60)) if several else None,
                "cell": cells + 1 if cells.any() else None,
                "recorded": table["title"].map(lambda title: printable(title, 60)),
                "time": table["time"].dt.tz_convert(None).dt.strftime("%Y-%m-%d %H:%M UTC"),
                "whole recording": table["recording_ns"].map(format_duration, na_action="ignore"),
                "median step": table["step_ns"].map(format_duration, na_action="ignore"),
                "compared with the run before": [one and change_text(one) for one in changes],
                "code": table["same_code"].map({True: "same", False: "changed"}),
                "equal code differs by": (table["spread_ratio"] - 1).map(
                    lambda share: f"up to {format_percent(share)}", na_action="ignore"
                ),
                "kernels per step": table["kernels"],
                "ops per step": table["ops"],
                "device busy": table["busy_share"].map(format_percent, na_action="ignore"),
                "energy of a step": table["step_joules"].map(
                    lambda joules: format_amount(joules, "J"), na_action="ignore"
                ),
                "peak memory": table["peak_bytes"].map(format_bytes, na_action="ignore"),
                "memory per step": table["step_bytes"].map(
                    lambda size: f"+{format_bytes(size)}" if size else pd.NA, na_action="ignore"
                ),
            }
        )
        shown = shown.dropna(axis="columns", how="all").astype(object)
        return shown.where(shown.notna(), UNKNOWN)


@only_known_options
def history(cell: str | None = None) -> History:
    """Return the kept runs of ``%%trace`` cells in this notebook.

    In a Python script, return the runs of all notebooks. In IPython without a notebook, or with one whose
    path is unknown, return the runs made this way in the current folder.

    Parameters
    ----------
    cell
        The identity of a cell, as in the column ``cell``, to return only its runs, from any notebook.

    Returns
    -------
    History
        Its ``table`` has a row for each run, ``chart()`` draws the step times, and ``compare()`` shows the
        traces of two runs while they are in memory. Notebooks show it as a table.

    Raises
    ------
    OSError
        If the files cannot be read.

    Examples
    --------
    >>> import tfvis_nb as tv
    >>> list(tv.history("no such cell").table)[:4]
    ['notebook', 'cell', 'title', 'time']
    """
    folder = history_folder()
    if folder is None:
        return History([], Text("history_off"))
    shell = _shell()
    notebook = None if shell is None else notebook_of(shell)
    runs = [
        run
        for run in read_all(folder)
        if (run.cell == cell if cell is not None else notebook in (None, run.notebook))
    ]
    return History(runs, Text("no_runs_kept"))


def remember(trace: Trace, cell: Cell, *, kept: bool = True) -> list[Text]:
    """Save a summary of a trace recorded by a cell; return messages about it.

    They describe the difference from the last run, and a damaged file that was moved aside. The trace gets
    the times of the runs of the same code, which show in comparisons how much these differ. They offer a
    comparison of traces if the last one is kept. If the run is not to be `kept`, or the history is switched
    off, nothing is saved or read, and the trace gets the digest of its own code.

    Raises
    ------
    OSError
        If it cannot be saved.
    """
    run = summary_of(trace, cell)
    if run is None:
        return []
    trace.metadata[RUNS] = table_of(RUNS, known_runs([run]))
    folder = history_folder() if kept else None
    if folder is None:
        return []
    runs, damaged = keep(folder, run)
    _hold(run, trace)
    equal = [one for one in [*runs, run] if run.is_comparable(one) and one.code == run.code]
    trace.metadata[RUNS] = table_of(RUNS, known_runs(equal))
    said = [] if damaged is None else [Text("history_damaged", path=str(damaged))]
    comparable = [one for one in runs if run.is_comparable(one)]
    if comparable and (line := sentence(comparable, run, can_compare=_key(comparable[-1]) in _newest)):
        said.append(line)
    return said


def _hold(run: Summary, trace: Trace) -> None:
    """Keep a trace while it is one of the last two of its cell."""
    _traces[_key(run)] = _newest[_key(run)] = trace
    of_cell = [key for key in _newest if key[:2] == _key(run)[:2]]
    for key in of_cell[:-2]:
        del _newest[key]
    while sum(len(one.events) for one in _newest.values()) > _MOST_EVENTS:
        del _newest[next(iter(_newest))]


def _key(run: Summary) -> tuple[str, str, int]:
    return run.notebook, run.cell, run.time_ns


def _shell() -> Any:
    """Return the IPython shell of this process, if any."""
    python = sys.modules.get("IPython")
    return None if python is None else python.get_ipython()


def cell_names(runs: Sequence[Summary]) -> list[str]:
    """Return a name for the cell of each run: the title of its latest run, numbered where cells share one."""
    latest = {(run.notebook, run.cell): run.title for run in runs}
    names = unlike([shown(title or "cell", 40) for title in latest.values()])
    of_cell = dict(zip(latest, names, strict=True))
    return [of_cell[run.notebook, run.cell] for run in runs]


def history_chart(runs: Sequence[Summary]) -> figure:
    """Return a chart of median step times by run number, with a line for each cell.

    A bar behind each point extends from the 5th to the 95th percentile of the steps. Recordings without steps
    have lines of their own, with their whole time.
    """
    from bokeh.models import ColumnDataSource, FixedTicker, HoverTool

    times = [run.main.median_ns if run.main else run.whole_ns or 0 for run in runs]
    unit = time_unit(max(times))
    made = plot(f"Median step of each run ({unit.name})", height=240, from_0="y")
    cells: dict[str, list[int]] = {}
    for number, (run, name) in enumerate(zip(runs, cell_names(runs), strict=True)):
        cells.setdefault(name if run.main else f"{name} (whole recording)", []).append(number)
    for index, (name, numbers) in enumerate(cells.items()):
        colour = coloured(CURVES[index % len(CURVES)])
        own = [runs[number] for number in numbers]
        took = [times[number] for number in numbers]
        steps = [run.main.step_ns if run.main else [ns] for run, ns in zip(own, took, strict=True)]
        ends = np.array([np.quantile(one, _MIDDLE) for one in steps]) / unit.size
        change = [None, *map(change_of, own[:-1], own[1:])]
        source = ColumnDataSource(
            {
                "run": numbers,
                "took": [ns / unit.size for ns in took],
                "low": ends[:, 0],
                "high": ends[:, 1],
                "step": [format_duration(ns) for ns in took],
                "change": ["" if one is None else change_text(one) for one in change],
                "time": [f"{pd.Timestamp(run.time_ns):%Y-%m-%d %H:%M} UTC" for run in own],
            }
        )
        ends_at: dict[str, Any] = {"x0": "run", "x1": "run", "y0": "low", "y1": "high"}
        made.segment(**ends_at, source=source, line_width=9, line_alpha=0.35, **colour)
        made.line("run", "took", source=source, line_width=1.5, legend_label=name, **colour)
        dots = made.scatter("run", "took", source=source, size=6, **colour)
        tooltips = [("run", "@run, @time"), ("time", "@step"), ("compared with the run before", "@change")]
        made.add_tools(HoverTool(renderers=[dots], tooltips=tooltips, visible=False))
    made.xaxis.axis_label = "run (bar: 5th to 95th percentile of its steps)"
    made.xaxis.ticker = FixedTicker(ticks=[*range(0, len(runs), -(-len(runs) // 20))])
    made.xgrid.visible = False
    legend_below(made)
    return made
