"""Trace: the event table of one or more steps, with its lanes, transfers, graphs and nested records.

Everything else in the package takes a `Trace` or returns one.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, SupportsIndex, Unpack, overload

import pandas as pd
import pyarrow as pa

from tfvis_nb import events as event_table
from tfvis_nb.core import annotations as annotation_table
from tfvis_nb.core import clock_bounds as clocks
from tfvis_nb.core import counters as counter_table
from tfvis_nb.core import registry
from tfvis_nb.core.display_options import PictureOptions, TraceHtmlOptions
from tfvis_nb.core.html_export import HtmlExport
from tfvis_nb.core.labels import one_line
from tfvis_nb.core.metadata import Metadata
from tfvis_nb.core.options import check_title, only_known_options
from tfvis_nb.core.output_path import writable
from tfvis_nb.core.picture_export import PictureExport
from tfvis_nb.core.stacks import StackTable
from tfvis_nb.core.step_spans import step_table
from tfvis_nb.core.time_ranges import Time, TimeRange
from tfvis_nb.core.trace_tables import TraceTables
from tfvis_nb.texts import Text

if TYPE_CHECKING:
    import duckdb

    from tfvis_nb.analysis.prediction.predicted import Predicted
    from tfvis_nb.analysis.prediction.what_if import Changes
    from tfvis_nb.display.charts import Charts
    from tfvis_nb.display.pictures.picture import Picture
    from tfvis_nb.writing.chrome_trace import OpTime

_WATCHERS: weakref.WeakKeyDictionary[Trace, list[tuple[weakref.ref[Any], Callable[[Any], object]]]]
_WATCHERS = weakref.WeakKeyDictionary()
"""For each trace, its watchers and their methods; kept outside the traces so that these can be pickled."""


_OMITTED: Any = object()


class Trace(TraceTables, HtmlExport, PictureExport):
    """The recorded events of one or more traced steps.

    Parameters
    ----------
    events
        An ordered event table (see `tfvis_nb.events.COLUMNS`).
    nested
        One Arrow row per event with what does not fit a flat table; its columns are
        ``raw_device`` (dictionary: the lane's name in the source), ``outputs`` and
        ``memory`` (lists of structs), and where the source has them ``referenced`` (tensors
        that an op used) and the rest of ``MemoryStats``. None if the source has no such data.
    graphs
        For each step, its partition graphs as serialised ``GraphDef`` messages, including those of functions.
    run_metadata
        For each step, the rest of its ``RunMetadata``, serialised: ``cost_graph``, ``session_metadata`` and
        in ``function_graphs`` the graphs of functions before and after optimisation.
    notes
        Repairs, merged and estimated data, and data left out while reading.
    sources
        The serialised ``RunMetadata`` of each session run, byte for byte, where it was kept.
    profiles
        The serialised ``XSpace`` of each profile, likewise; recordings add the names of Python's threads.
    title
        A short name for the picture, such as the name of the file.
    step_labels
        The program's own names of steps by number, such as ``train 13``, if known.
    clock_bounds
        For each task with known bounds: the least and the most that its times in the table may be ahead of
        those of the first task, in ns; infinite where nothing bounds them. The first entry is the first task,
        with (0, 0).
    stacks
        The Python stacks that the nested column ``stack`` refers to; None where none were recorded.
    metadata
        Facts other than events, such as devices: tables of `tfvis_nb.core.metadata.SUBJECTS`.
    recorded_counters
        The counters that the source recorded, as `tfvis_nb.core.counters.build` makes them; None for none.
    programs
        The compiled XLA programs that events ran: for each name in the nested column ``program`` the
        serialised ``HloProto``, if the source has it.

    Raises
    ------
    TypeError, ValueError
        If a part has the wrong type or does not fit the event table.

    Examples
    --------
    >>> from tfvis_nb import Trace, events
    >>> columns = {"step": [0, 1], "start_ns": [5, 20], "duration_ns": [3, 9], "kind": ["op", "op"]}
    >>> trace = Trace(events.build(columns), title="mlp")
    >>> trace.steps["duration_ns"].tolist()
    [3, 9]
    """

    @only_known_options
    def __init__(
        self,
        events: pd.DataFrame,
        *,
        nested: pa.Table | None = None,
        graphs: Sequence[Sequence[bytes]] = (),
        run_metadata: Sequence[bytes] = (),
        notes: Sequence[str] = (),
        sources: Sequence[bytes] = (),
        profiles: Sequence[bytes] = (),
        title: str = "",
        step_labels: Mapping[int, str] | None = None,
        clock_bounds: Mapping[str, tuple[float, float]] | None = None,
        stacks: StackTable | None = None,
        metadata: Metadata | None = None,
        recorded_counters: pd.DataFrame | None = None,
        programs: Mapping[str, bytes] | None = None,
    ) -> None:
        event_table.check(events)
        recorded_counters = counter_table.EMPTY if recorded_counters is None else recorded_counters
        counter_table.check(recorded_counters)
        check_title(title)
        if nested is not None and nested.num_rows != len(events):
            raise ValueError(Text("nested_rows_differ", nested=nested.num_rows, events=len(events)))
        self._events = events
        self.nested = nested
        self.graphs = [list(step) for step in graphs]
        self.run_metadata = list(run_metadata)
        self.notes = list(notes)
        self.sources = list(sources)
        self.profiles = list(profiles)
        self.title = title
        self.step_labels = dict(step_labels or {})
        self.clock_bounds = clocks.validate_bounds(clock_bounds or {})
        self.stacks = stacks
        self.metadata = dict(metadata or {})
        self.recorded_counters = recorded_counters
        self.programs = dict(programs or {})
        self.read_from = ""
        """The path or URL that was read; empty for a trace made in memory."""
        self._annotations = annotation_table.EMPTY
        self._by_hand: set[str] = set()

    @property
    def events(self) -> pd.DataFrame:
        """One row per execution, ordered by start; see `tfvis_nb.events.COLUMNS`.

        It cannot be replaced, because `lanes`, `transfers`, `edges` and the timeline derive from it.
        """
        return self._events

    @cached_property
    def steps(self) -> pd.DataFrame:
        """One row per step: step, start_ns, end_ns, duration_ns, events, label, joules.

        Events outside all steps form one row with the step -1 (`tfvis_nb.events.NO_STEP`). Steps of JAX
        follow each other: one starts at the earliest when the one before it ends. ``joules`` is the energy
        that the GPUs used from start to end; NaN if it was not recorded.
        """
        table = step_table(self.events, self.step_labels)
        edges = (table[name].to_numpy("int64") for name in ("start_ns", "end_ns"))
        return table.assign(joules=counter_table.growth(self.recorded_counters, counter_table.ENERGY, *edges))

    @property
    def charts(self) -> Charts:
        """Bokeh charts of the trace; see `tfvis_nb.display.charts.Charts`."""
        return registry.Charts(self)

    @only_known_options
    def what_if(
        self,
        *,
        ops: Changes | None = None,
        kernels: Changes | None = None,
        layers: Changes | None = None,
        lines: Changes | None = None,
        activities: Changes | None = None,
        on_time: str | None = None,
        between_steps: float | None = None,
    ) -> Predicted:
        """Predict the steps if some events took longer or shorter: `tfvis_nb.analysis.what_if`.

        ``ops``, ``kernels``, ``layers``, ``lines`` and ``activities`` are dicts from a name to a factor of
        its time, ``"hidden"`` or ``"gpu"``; ``on_time`` names a task or
        device, and ``between_steps`` is a factor.
        """
        return registry.what_if(
            self,
            ops=ops,
            kernels=kernels,
            layers=layers,
            lines=lines,
            activities=activities,
            on_time=on_time,
            between_steps=between_steps,
        )

    @only_known_options
    def sql(self, query: str, *, against: Trace | None = None) -> pd.DataFrame:
        """Return the result of a SELECT over the tables of the trace, with DuckDB.

        Each table is named like its attribute: ``events``, ``steps``, ``transfers``, ``source_lines`` and so
        on. ``events`` also has ``event``, the number of the row, to which columns of other tables refer. It
        needs the extra ``sql``.

        Parameters
        ----------
        query
            One SELECT of DuckDB's SQL.
        against
            A trace to compare with: its tables are in ``a``, as in ``a.events``, those of this one in ``b``.

        Returns
        -------
        pandas.DataFrame
            Times are in ns, sizes in bytes, as in the tables.

        Raises
        ------
        ValueError
            If the query is not one SELECT; ``duckdb.Error`` if it is wrong.
        ImportError
            Without DuckDB.

        Examples
        --------
        >>> import tfvis_nb as tv
        >>> from tfvis_nb import events
        >>> columns = {"start_ns": [5, 9, 20], "duration_ns": [3, 2, 4], "kind": ["op"] * 3}
        >>> trace = tv.Trace(events.build(columns | {"op": ["MatMul", "Add", "MatMul"]}))
        >>> trace.sql("SELECT op, sum(duration_ns) AS ns FROM events GROUP BY op ORDER BY ns DESC")
               op  ns
        0  MatMul   7
        1     Add   2
        """
        return registry.trace_sql(self, query, against)

    @only_known_options
    def report(self, *, against: Trace | None = None) -> str:
        """Return a report in Markdown of at most 1,000 words, for pull requests and assistants.

        It has an overview, the findings with advice, the lines of code with the most time, and the notes.
        Texts are escaped, so names from the trace cannot form links, images or HTML. Files are named without
        their folders.

        Parameters
        ----------
        against
            A trace to compare with: the report adds the change of the step time, whether it is clear, and
            the ops that changed most.

        Examples
        --------
        >>> import tfvis_nb as tv
        >>> from tfvis_nb import events
        >>> columns = {"start_ns": [5], "duration_ns": [3], "kind": ["op"], "op": ["MatMul"]}
        >>> print(tv.Trace(events.build(columns)).report())
        # 1 event, 1 device, ...
        """
        return registry.report(self, against)

    @only_known_options
    def connect(self, *, against: Trace | None = None) -> duckdb.DuckDBPyConnection:
        """Return a DuckDB connection to the tables of the trace, for programs that bring their own SQL.

        Each table is a view, computed when it is first read. The connection cannot read or write files, load
        extensions or use variables of Python, and may use a quarter of the machine's memory. It needs the
        extra ``sql``.

        Parameters
        ----------
        against
            As in `sql`.

        Raises
        ------
        ImportError
            Without DuckDB.

        Examples
        --------
        >>> import tfvis_nb as tv
        >>> from tfvis_nb import events
        >>> trace = tv.Trace(events.build({"start_ns": [5], "duration_ns": [3], "kind": ["op"]}))
        >>> with trace.connect() as connection:
        ...     connection.sql("SELECT step, duration_ns FROM steps").fetchall()
        [(0, 3)]
        """
        return registry.trace_connection(self, against)

    @property
    def annotations(self) -> pd.DataFrame:
        """User annotations of events, ranges and times: a copy of the table, ordered by start.

        Timelines of the trace show them, and annotations added there with the key N appear here immediately.
        `to_parquet` and `to_html` keep them. Set it to a table or a list of mappings with some of its
        columns, or to None to remove all: ``name`` and ``event`` (a row of `events`), or ``name``,
        ``start_ns`` and for a range ``end_ns``, in epoch nanoseconds; also ``text`` for a comment and
        ``lanes``, a list of (task, device, lane). See `tfvis_nb.core.annotations.COLUMNS`.

        Examples
        --------
        >>> import tfvis_nb as tv
        >>> from tfvis_nb import events
        >>> table = events.build({"start_ns": [5], "duration_ns": [3], "kind": ["op"], "name": ["MatMul"]})
        >>> trace = tv.Trace(table)
        >>> trace.annotations = [{"event": 0, "name": "slow", "text": "why?"}, {"start_ns": 6, "name": "x"}]
        >>> trace.annotations[["kind", "start_ns", "end_ns", "name", "text"]].values.tolist()
        [['event', 5, 8, 'slow', 'why?'], ['mark', 6, 6, 'x', '']]
        """
        return self._annotations.copy()

    @annotations.setter
    def annotations(self, values: Any) -> None:
        self._annotations = annotation_table.build(values, self._events)
        for watcher, changed in _WATCHERS.get(self, []):
            if (alive := watcher()) is not None:
                changed(alive)

    def _annotate_by_hand(self, values: Any) -> None:
        """Set `annotations` as changed in a timeline; those that differ count as made by hand."""
        before = {row["id"]: row for row in annotation_table.to_json(self._annotations)}
        self.annotations = values
        after = annotation_table.to_json(self._annotations)
        self._by_hand |= {row["id"] for row in after if before.get(row["id"]) != row}

    def _take_over_annotations(self, other: Trace) -> list[str]:
        """Add the annotations that were made by hand on another reading of this trace.

        Code that runs again sets its own again. Returns the names of those that do not fit.
        """
        rows = annotation_table.to_json(other._annotations)
        rows = [row for row in rows if row["id"] in other._by_hand]
        if other is self or not rows:
            return []
        fitting, others = annotation_table.divided(rows, other.events, self.events)
        if fitting:
            ids = {row["id"] for row in fitting}
            kept = [row for row in annotation_table.to_json(self._annotations) if row["id"] not in ids]
            room = annotation_table.MOST - len(kept)
            self._annotate_by_hand([*kept, *fitting[:room]])
            others += fitting[room:]
        return [row["name"] for row in others]

    def _watch_annotations(self, watcher: Any, changed: Callable[[Any], object]) -> None:
        """Call ``changed(watcher)`` whenever `annotations` is set, as long as `watcher` exists."""
        alive = [each for each in _WATCHERS.get(self, []) if each[0]() is not None]
        _WATCHERS[self] = [*alive, (weakref.ref(watcher), changed)]

    @overload
    def to_html(
        self, path: None = None, title: str | None = None, **options: Unpack[TraceHtmlOptions]
    ) -> str: ...
    @overload
    def to_html(
        self, path: str | Path, title: str | None = None, **options: Unpack[TraceHtmlOptions]
    ) -> Path: ...
    @only_known_options
    def to_html(
        self, path: str | Path | None = None, title: str | None = None, **options: Unpack[TraceHtmlOptions]
    ) -> str | Path:
        """Write one HTML file that opens offline.

        Parameters
        ----------
        path
            Where to write: a name that ends in ``.html`` or ``.htm``, or a pipe; None to return the text.
        title
            The title of the page, by default that of the trace.
        **options
            ``max_bytes`` limits the size of the page, 50 MB by default; None for any size. ``source=False``
            leaves out the code: file names, lines and stacks. ``anonymize=True`` replaces names and leaves
            out code, like `anonymized`; an explicit ``title`` stays. ``time_range``, such as ``"10ms:25ms"``,
            as in `between`: the page contains only the events that overlap it. ``view``: a dict with some
            keys of `tfvis_nb.TimelineWidget.view`; the page opens there. ``selection``, ``tracks``,
            ``height``, ``group_by``, ``color_by`` and ``lane_filter`` as in `tfvis_nb.show_timeline`.
            ``against``, another trace: overview and findings have their differences from that base.

        Returns
        -------
        pathlib.Path or str
            The path written, or the text.

        Raises
        ------
        TypeError, ValueError
            If an option is unknown or has an invalid value, the name does not end in ``.html`` or
            ``.htm``, or the page would be larger than ``max_bytes``.
        OSError
            If the file cannot be written; FileNotFoundError if the folder does not exist.
        """
        return self._written_html(path, title, options)

    def _html(self, title: str | None, **options: Any) -> str:
        """Return the page that `to_html` writes."""
        return registry.html_page(self, title, **options)

    def _picture(self, **options: Unpack[PictureOptions]) -> Picture:
        """Return the picture that `to_svg` writes."""
        return registry.picture(self, **options)

    # Without it, Python would ask for step 0, 1, ... until there is none.
    __iter__ = None

    def __getitem__(self, steps: SupportsIndex | slice) -> Trace:
        """Return a step, or several, as a trace: ``trace[3]``, ``trace[2:5]``, by the numbers in `steps`.

        Edges, transfers, waits and the memory in use are those of the whole trace. Events outside steps are
        kept if they start and end during one of the steps: longer ones would make it longer than in `steps`,
        and `between` keeps them. Step numbers stay, and a note states the cut.

        Raises
        ------
        IndexError
            If there is no such step; it says which there are.
        TypeError
            If `steps` is no number or slice.

        Examples
        --------
        >>> import tfvis_nb as tv
        >>> from tfvis_nb import events
        >>> columns = {"step": [0, 1, 2], "start_ns": [5, 20, 40], "duration_ns": [3, 9, 4]}
        >>> trace = tv.Trace(events.build(columns | {"kind": ["op"] * 3}))
        >>> trace[1].steps["duration_ns"].tolist(), trace[1:].steps["step"].tolist()
        ([9], [1, 2])
        """
        return registry.of_steps(self, steps)

    @overload
    def between(self, start: Time | None, end: Time | None) -> Trace: ...
    @overload
    def between(self, start: TimeRange) -> Trace: ...
    @only_known_options
    def between(self, start: Any, end: Any = _OMITTED) -> Trace:
        """Return the events that overlap a time range as a trace, with a note.

        Parameters
        ----------
        start, end
            ``between("10ms", "25ms")`` or ``between("10ms:25ms")``, as on the command line. A text with a
            unit (ns, us, ms, s) or a timedelta counts from the first event, an int is in epoch nanoseconds,
            as in `events`. None stands for the start or end of the trace.

        Raises
        ------
        ValueError
            If it is no range, or no event overlaps it.

        Examples
        --------
        >>> import tfvis_nb as tv
        >>> from tfvis_nb import events
        >>> columns = {"start_ns": [5, 20, 40], "duration_ns": [3, 9, 4], "kind": ["op"] * 3}
        >>> trace = tv.Trace(events.build(columns))
        >>> trace.between("10ns", "20ns").events["start_ns"].tolist()
        [20]
        >>> trace.between("10ns:20ns").notes[0]
        '1 of 3 events: those that overlap 10 ns to 20 ns of the run'
        """
        return registry.between(self, start if end is _OMITTED else (start, end))

    def anonymized(self) -> Trace:
        """Return the trace without the names and code of its program, for sharing.

        Numbers, shapes, op types, library kernels and names made by TensorFlow stay, so analyses give the
        same figures. All other names are replaced consistently, and scopes stay scopes. Source lines, values
        of constants, titles and TensorFlow's own messages are left out. The earliest event starts a second
        after 1970. Rows keep their order: event 7 is still event 7.

        Returns
        -------
        Trace
            A trace that can be written in every format; see docs/sharing.md.

        Examples
        --------
        >>> import tfvis_nb as tv
        >>> from tfvis_nb import events
        >>> columns = {"start_ns": [5], "duration_ns": [3], "kind": ["op"], "name": ["fraud/dense_1/MatMul"]}
        >>> tv.Trace(events.build(columns)).anonymized().events["name"].tolist()
        ['layer1/layer2_1/MatMul']
        """
        return registry.anonymized([self])[0]

    @overload
    def to_chrome_trace(
        self,
        path: None = None,
        *,
        arrows: bool = True,
        show_memory: bool = False,
        op_time: OpTime = "schedule",
    ) -> str: ...
    @overload
    def to_chrome_trace(
        self,
        path: str | Path,
        *,
        arrows: bool = True,
        show_memory: bool = False,
        op_time: OpTime = "schedule",
    ) -> Path: ...
    @only_known_options
    def to_chrome_trace(
        self,
        path: str | Path | None = None,
        *,
        arrows: bool = True,
        show_memory: bool = False,
        op_time: OpTime = "schedule",
    ) -> str | Path:
        """Write Chrome trace events, which Perfetto, chrome://tracing and speedscope open.

        Bars have the names, times and arguments that TensorFlow's ``timeline.py``
        gives them; see `tfvis_nb.writing.chrome_trace`.

        Parameters
        ----------
        path
            Where to write, compressed if it ends in ``.gz``; None to return the text.
        arrows
            Whether to draw an arrow for each of `edges`; without arrows the file is smaller. Reading it back
            restores the edges in either case.
        show_memory
            Whether to add an object for each tensor, with its dtype, shape, bytes and number of readers, from
            the start of its op to the end of the last op that reads it, as in ``timeline.py``.
            chrome://tracing shows them. Counters of memory are always written.
        op_time
            The times of ops that launched kernels: ``"schedule"``, on the host, as recorded; ``"gpu"``, from
            their first kernel to the end of the last one; ``"all"``, from their start to the end of their
            last kernel. Reading the file back restores the recorded times.

        Returns
        -------
        pathlib.Path or str
            The path written, or the JSON text.

        Raises
        ------
        OSError
            If the file cannot be written.
        ValueError
            If `op_time` is none of these.
        """
        if path is None:
            return registry.chrome_trace_text(self, arrows=arrows, show_memory=show_memory, op_time=op_time)
        file = writable(path)
        return registry.write_chrome_trace(
            self, file, arrows=arrows, show_memory=show_memory, op_time=op_time
        )

    def to_parquet(self, path: str | Path) -> Path:
        """Write the whole trace as a Parquet file, which `tfvis_nb.read_trace` reads back unchanged.

        Other programs read the file as a table of the events; see `tfvis_nb.reading.parquet`.

        Parameters
        ----------
        path
            Where to write.

        Returns
        -------
        pathlib.Path
            The path written.

        Raises
        ------
        OSError
            If the file cannot be written.

        Examples
        --------
        >>> import tempfile
        >>> import tfvis_nb as tv
        >>> from tfvis_nb import events
        >>> table = events.build({"start_ns": [5], "duration_ns": [3], "kind": ["op"], "name": ["a"]})
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     again = tv.read_trace(tv.Trace(table).to_parquet(f"{folder}/step.parquet"))
        >>> again.events["name"].tolist()
        ['a']
        """
        path = writable(path)
        registry.write_parquet(self, path)
        return path

    def __repr__(self) -> str:
        return f"<Trace {one_line(self)}>"

    def _repr_html_(self) -> str:
        return registry.static_html(self)


def replaced(trace: Trace, events: pd.DataFrame, **parts: Any) -> Trace:
    """Return `trace` with other events; the given parameters of `Trace` replace its other parts."""
    names = (
        *("nested", "graphs", "run_metadata", "notes", "sources", "profiles"),
        *("title", "step_labels", "clock_bounds", "stacks", "metadata", "recorded_counters", "programs"),
    )
    made = Trace(events, **{name: getattr(trace, name) for name in names} | parts)
    # If times changed, they would refer to something else.
    if events["start_ns"].equals(trace.events["start_ns"]):
        made.annotations = annotation_table.carried([trace.annotations], events)
    return made
