"""`TraceDataset`: the traces of whole jobs as Parquet tables, written and queried with Dask."""

from __future__ import annotations

import errno
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np
import pandas as pd

from tfvis_nb.core import registry
from tfvis_nb.core.display_options import TimelineOptions
from tfvis_nb.core.labels import natural, shown_task
from tfvis_nb.core.options import only_known_options
from tfvis_nb.core.timeline_source import TimelineSource
from tfvis_nb.core.trace import Trace
from tfvis_nb.events import NO_STEP
from tfvis_nb.fleet.dataset import combined, manifest, remote_copy
from tfvis_nb.fleet.dataset.ingest import Ingested, check_version, ingest
from tfvis_nb.fleet.dataset.layout import FORMAT, MANIFEST, key_of
from tfvis_nb.fleet.dataset.manifest import OK, Entry, settled
from tfvis_nb.fleet.dataset.own_files import others
from tfvis_nb.fleet.dataset.parts import Reading
from tfvis_nb.fleet.dataset.read_back import Chosen
from tfvis_nb.fleet.dataset.sources import brief_source
from tfvis_nb.fleet.dataset.tables import TABLES
from tfvis_nb.reading.sources.drivers import Remote
from tfvis_nb.reading.sources.public_urls import public_url
from tfvis_nb.reading.sources.remote import is_url
from tfvis_nb.sql.connection import connect, frame, select
from tfvis_nb.texts import Text

if TYPE_CHECKING:
    import dask.dataframe as dd
    import duckdb

    from tfvis_nb.fleet.timeline.dataset_timeline import DatasetTimeline

_MOST_SHOWN = 8


def _need_dask() -> None:
    try:
        import dask.dataframe  # noqa: F401
    except ImportError as error:
        raise ImportError(Text("dataset_extra_missing", package=error.name or "dask")) from error


class TraceDataset(TimelineSource):
    """Traces of any number of runs, tasks and steps. Created by `open_traces`, which describes it."""

    def __init__(self, path: str | Path) -> None:
        # A Path of a URL keeps one of its two slashes.
        url = str(path).replace(":/", "://", 1) if isinstance(path, Path) else path
        if is_url(url):
            raise ValueError(Text("dataset_at_url", url=public_url(url), traces="s3://bucket/logs"))
        self.path = Path(path).expanduser().absolute()
        self._state: tuple[Any, list[Entry], list[Path]] = (None, [], [])
        self._named: set[str] = set()
        if (self.path / FORMAT).is_file():
            check_version(self.path)

    @only_known_options
    def ingest(
        self,
        sources: Any,
        client: Any = None,
        *,
        run: str | None = None,
        threadpool: bool = False,
        max_unpacked_bytes: int | None = None,
        storage_options: Mapping[str, Any] | None = None,
        allow_http: bool = False,
        progress: bool | None = None,
    ) -> Ingested:
        """Read the new and changed files of sources into the dataset, with one Dask task per file.

        You can call it again at any time, even after an interrupted ingest: unchanged files in the dataset
        are not read again.

        Parameters
        ----------
        sources
            A file, folder or pattern, such as ``"logs/**/*.xplane.pb"``, or a URL of one, such as
            ``"s3://bucket/logs"``; or a list of those. All profiles of a log folder are read.
        client
            A ``dask.distributed`` client, whose workers share the folder of the dataset and see the same
            sources. None for the program's current client, or else Dask's local scheduler.
        run
            The run of all these files; None to derive it from their paths.
        threadpool, max_unpacked_bytes, storage_options, allow_http
            As in `tfvis_nb.read_trace`, for each file.
        progress
            Whether to show a progress bar; None to show it only to a person.

        Returns
        -------
        Ingested
            The numbers of sources that were read, unchanged, unreadable, and no longer present.

        Raises
        ------
        TypeError
            If a source is neither a path nor a URL, or `run` is no text.
        OSError
            If a path does not exist, the dataset cannot be written, or another ingest is writing to it.
        TraceFormatError
            If a folder has no traces.
        ValueError
            If the dataset has another version.
        ImportError
            If Dask, which the extra ``fleet`` installs, is missing.
        """
        _need_dask()
        if run is not None and not isinstance(run, str):
            raise TypeError(Text("run_no_text", run=run))
        reading = Reading(threadpool, max_unpacked_bytes, storage_options, allow_http)
        return ingest(self.path, sources, client, run, reading, progress)

    @only_known_options
    def upload(
        self, url: str, *, storage_options: Mapping[str, Any] | None = None, allow_http: bool = False
    ) -> int:
        """Copy the dataset to a URL, such as ``"s3://bucket/dataset"``, which `open_traces` reads.

        A later upload copies only new and changed files, and removes those that the dataset no longer has.

        Parameters
        ----------
        url
            A folder of a file system known to fsspec, for this dataset alone.
        storage_options, allow_http
            As in `tfvis_nb.read_trace`.

        Returns
        -------
        int
            The number of files that were copied.

        Raises
        ------
        FileNotFoundError
            If there is no dataset yet.
        OSError, ImportError, ValueError
            If the URL cannot be written, its driver is not installed, or it needs `allow_http`.

        Examples
        --------
        >>> import tempfile
        >>> import tfvis_nb as tv
        >>> trace = tv.Trace(tv.events.build({"start_ns": [0], "duration_ns": [5], "kind": ["op"]}))
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     file = trace.to_parquet(f"{folder}/run_a_step7.parquet")
        ...     _ = tv.open_traces(file, f"{folder}/dataset").upload("memory://teams/dataset")
        ...     copy = tv.open_traces("memory://teams/dataset", f"{folder}/copy")
        ...     copy.steps[["run", "step"]].values.tolist()
        [['run_a', 7]]
        """
        self._read()
        return remote_copy.upload(self.path, url, Remote(storage_options or {}, allow_http))

    @property
    def title(self) -> str:
        """The name of its folder; for a dataset in the cache folder, the source of its traces."""
        entries, _ = self._entries()
        found_by = {entry.found_by for entry in entries}
        is_cached = self.path.name in map(key_of, found_by)
        return brief_source(*found_by) if is_cached and len(found_by) == 1 else self.path.name

    @property
    def sources(self) -> pd.DataFrame:
        """One row per source: its path, run, tasks, steps, size and number of events, and its problem."""
        entries, _ = self._entries()
        return combined.sources(entries)

    @property
    def problems(self) -> pd.DataFrame:
        """Problems of the dataset: source, id of the reason (``problem``), and ``reason``.

        They are sources that cannot be read, repeat a step of another one, or no longer exist, damaged
        files of the dataset, and files in its folders that are not its own: these are never read or deleted.
        """
        entries, damaged = self._entries()
        # A damaged entry cannot name its parts; they are replaced when its source is read again.
        keys = {file.stem for file in damaged}
        foreign = [file for file in others(self.path, self._named) if file.stem not in keys]
        return combined.problems(entries, damaged, foreign)

    @property
    def events(self) -> dd.DataFrame:
        """The events of all traces, as a Dask DataFrame with `tfvis_nb.events.COLUMNS`, run and source."""
        return self.table("events")

    @property
    def transfers(self) -> dd.DataFrame:
        """The transfers and copies of all traces, as a Dask DataFrame: `tfvis_nb.analysis.transfers`."""
        return self.table("transfers")

    @property
    def lanes(self) -> pd.DataFrame:
        """One row per lane of each source, as in `Trace.lanes`."""
        return self._whole("lanes")

    @property
    def steps(self) -> pd.DataFrame:
        """One row per run, step and task, with `tfvis_nb.fleet.dataset.step_figures.FIGURES`."""
        return combined.by_name(self._whole("steps"), ["run", "step", "task"])

    @property
    def ops(self) -> pd.DataFrame:
        """One row per run, step, task, op type, kind and side; see `tfvis_nb.fleet.dataset.tables.ops`."""
        return combined.by_name(self._whole("ops"), ["run", "step", "task"])

    @property
    def step_ops(self) -> pd.DataFrame:
        """One row per run, step, op type and kind: the sum of ``self_ns`` over the tasks.

        ``tasks`` is the number of tasks that recorded ops in the step. It takes less memory than `ops`, and
        `tfvis_nb.fleet.slower_ops` returns the same for both.
        """
        return combined.step_ops(self.path, self._read())

    @property
    def op_totals(self) -> pd.DataFrame:
        """The figures of `ops` added up over all steps: one row per run, task, op type, kind and side.

        They equal those of `tfvis_nb.analysis.op_statistics` exactly.
        """
        return combined.op_totals(self._whole("ops"))

    @property
    def stacks(self) -> pd.DataFrame:
        """One row per Python stack of each source and task: its caller's number and its innermost frame."""
        return self._whole("stacks")

    def table(self, name: str) -> dd.DataFrame:
        """Return a table of the dataset as a Dask DataFrame, with a partition for each of its files.

        Parameters
        ----------
        name
            One of `tfvis_nb.fleet.dataset.tables.TABLES`.

        Raises
        ------
        ValueError
            If there is no such table.
        """
        if name not in TABLES:
            raise ValueError(Text("dataset_table", tables=", ".join(TABLES), table=name))
        _need_dask()
        return combined.dask_table(self.path, self._read(), name)

    def sql(self, query: str) -> pd.DataFrame:
        """Return the result of a SELECT over the tables of the dataset, which DuckDB reads itself.

        Its tables are those of `table`: ``events``, ``steps``, ``ops`` and so on, with ``run``, ``task`` and
        ``key``, the source. It needs the extra ``sql``.

        Parameters
        ----------
        query
            One SELECT of DuckDB's SQL.

        Raises
        ------
        ValueError
            If the query is not one SELECT; ``duckdb.Error`` if it is wrong.
        FileNotFoundError, ImportError
            If there is no dataset yet; without DuckDB.

        Examples
        --------
        >>> import tempfile
        >>> import tfvis_nb as tv
        >>> trace = tv.Trace(tv.events.build({"start_ns": [0], "duration_ns": [5], "kind": ["op"]}))
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     file = trace.to_parquet(f"{folder}/run_a_step7.parquet")
        ...     print(tv.open_traces(file, f"{folder}/dataset").sql("SELECT run, duration_ns FROM events"))
             run  duration_ns
        0  run_a            5
        """
        with self.reader() as connection:
            return frame(select(connection, query))

    def reader(self) -> duckdb.DuckDBPyConnection:
        """Return a connection for `tfvis_nb.sql.connection.select`; it could also write into the folder."""
        return connect({"main": combined.queries(self.path, self._read())}, self.path)

    @only_known_options
    def trace(
        self, run: str | None = None, task: str | None = None, steps: int | Collection[int] | None = None
    ) -> Trace:
        """Read a run, or a task or some steps of it, as a trace.

        Parameters
        ----------
        run
            One of the runs in `sources`; None if there is only one.
        task
            One of its tasks, such as ``"/job:worker/replica:0/task:1"`` or ``"worker 1"``; None for all
            tasks.
        steps
            The number of a step, or several; None for all, with the events outside steps.

        Returns
        -------
        Trace
            The trace of the source. Several sources become one trace, with steps numbered from 0 and labelled
            with their numbers here.

        Raises
        ------
        TypeError
            If `steps` are not numbers.
        ValueError
            If nothing is selected, or there are several runs and `run` is None.
        OSError
            If a part of the dataset is damaged.
        """
        from tfvis_nb.fleet.dataset.read_back import read_back

        return read_back(self.path, self.choose(run, task, steps))

    @only_known_options
    def show_timeline(
        self,
        run: str | None = None,
        tasks: Collection[str] | str | None = None,
        steps: Collection[int] | int | None = None,
        *,
        selection: Any = None,
        title: str | None = None,
        view: Mapping[str, Any] | None = None,
        **options: Unpack[TimelineOptions],
    ) -> DatasetTimeline:
        """Show the traces as one timeline, which only reads the parts in view.

        Parameters
        ----------
        run
            One of the runs in `sources`; None if there is only one.
        tasks
            Names of tasks, such as ``"worker 1"`` or in full; None for all.
        steps
            The number of a step, or several; None for all, with the events outside steps.
        selection, title, view, **options
            As in `tfvis_nb.show_timeline`.

        Returns
        -------
        DatasetTimeline
            A timeline like that of `tfvis_nb.show_timeline`.

        Raises
        ------
        TypeError, ValueError, OSError
            As in `DatasetTimeline`.

        Examples
        --------
        >>> import tempfile
        >>> import tfvis_nb as tv
        >>> from tfvis_nb import events
        >>> table = events.build({"start_ns": [0, 9], "duration_ns": [5, 3], "kind": ["op"] * 2})
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     _ = tv.Trace(table).to_parquet(f"{folder}/rank0_step7.parquet")
        ...     dataset = tv.open_traces(f"{folder}/dataset")
        ...     done = dataset.ingest(f"{folder}/*.parquet")
        ...     timeline = dataset.show_timeline()
        ...     timeline.selection = (2, 6)
        ...     timeline.selection["duration_ns"].tolist()
        [5]
        """
        return registry.DatasetTimeline(
            self, run=run, tasks=tasks, steps=steps, selection=selection, title=title, view=view, **options
        )

    @only_known_options
    def choose(
        self,
        run: str | None = None,
        tasks: Collection[str] | str | None = None,
        steps: Collection[int] | int | None = None,
    ) -> list[Chosen]:
        """Return the sources of a run, with the selected tasks and steps of each; see `trace`.

        Raises
        ------
        TypeError
            If `steps` are not numbers.
        ValueError
            If nothing is selected, or there are several runs and `run` is None.

        Examples
        --------
        >>> import tfvis_nb as tv
        >>> tv.open_traces("nowhere").choose(tasks="worker 1")
        Traceback (most recent call last):
            ...
        FileNotFoundError: [Errno 2] there is no dataset yet; check the path, or let ingest() put traces ...
        """
        return choose(self._read(), run, tasks, steps)

    def _whole(self, name: str) -> pd.DataFrame:
        return combined.whole_table(self.path, self._read(), name)

    def _read(self) -> Sequence[Entry]:
        """Return the entries of the sources that are in the dataset; FileNotFoundError if there is none."""
        if not self.path.is_dir():
            raise FileNotFoundError(errno.ENOENT, Text("dataset_nowhere"), str(self.path))
        return [entry for entry in self._entries()[0] if entry.status == OK]

    def _entries(self) -> tuple[list[Entry], list[Path]]:
        """Return the entries of all sources, and damaged ones; they are read again after changes."""
        folder = self.path / MANIFEST
        written = folder.stat().st_mtime_ns if folder.is_dir() else None
        if self._state[0] != written:
            found = manifest.read(self.path)
            # An interrupted ingest has not settled them yet.
            self._state = (written, list(settled(found.entries)), found.damaged)
            self._named = found.named
        return self._state[1], self._state[2]

    def __repr__(self) -> str:
        if not self.path.is_dir():
            return f"<TraceDataset {str(self.path)!r}: nothing is there yet>"
        read = self._read()
        events = sum(entry.rows("events") for entry in read)
        counts = {"trace": len(read), "run": len({entry.run for entry in read}), "event": events}
        ids = self.problems["problem"]
        counts["problem"] = int((ids != "dataset_file_of_others").sum())
        shown = ", ".join(f"{count:,} {noun}{'s' * (count != 1)}" for noun, count in counts.items())
        return f"<TraceDataset {str(self.path)!r}: {shown}>"


def choose(
    entries: Sequence[Entry],
    run: str | None,
    tasks: Collection[str] | str | None,
    steps: Collection[int] | int | None,
) -> list[Chosen]:
    """Return the sources of a run, with the selected tasks and steps of each; see `TraceDataset.trace`.

    TypeError if steps are not numbers, ValueError if nothing is selected or several runs are.
    """
    runs = sorted({entry.run for entry in entries}, key=natural)
    if run is None and len(runs) > 1:
        raise ValueError(Text("dataset_runs", runs=len(runs), names=_some(runs)))
    numbers = _numbers(steps)
    # Events outside steps cannot be chosen.
    wanted = None if numbers is None else numbers - {NO_STEP}
    named = None if tasks is None else {tasks} if isinstance(tasks, str) else {*tasks}
    of_run = [entry for entry in entries if run in (None, entry.run)]
    chosen = []
    for entry in of_run:
        own = [task for task in entry.tasks if named is None or {task, shown_task(task)} & named]
        if own:
            chosen.append(Chosen(entry, own, wanted))
    matching = [one for one in chosen if wanted is None or wanted & {*one.entry.steps}]
    if matching:
        return matching
    known: tuple[str, Iterable[object]] = ("runs", runs)
    if chosen:
        known = "steps", sorted({step for one in chosen for step in one.entry.steps})
    elif of_run:
        names = sorted({shown_task(task) for entry in of_run for task in entry.tasks}, key=natural)
        known = "tasks", names
    shown = "all" if numbers is None else ", ".join(map(str, sorted(numbers)[:_MOST_SHOWN])) or "none"
    task = "all" if named is None else ", ".join(sorted(map(str, named))[:_MOST_SHOWN])
    raise ValueError(
        Text("nothing_selected", run=run, task=task, steps=shown, kind=known[0], known=_some(known[1]))
    )


def _numbers(steps: Collection[int] | int | None) -> set[int] | None:
    """Return numbers of steps; TypeError if they are none."""
    if steps is None:
        return None
    numbers = [*steps] if isinstance(steps, Iterable) else [steps]
    if any(isinstance(one, bool) or not isinstance(one, (int, np.integer)) for one in numbers):
        raise TypeError(Text("steps_no_numbers", steps=steps))
    return {int(one) for one in numbers}


def _some(known: Iterable[object]) -> str:
    names = [repr(one) for one in known]
    more = f" and {len(names) - _MOST_SHOWN:,} more" if len(names) > _MOST_SHOWN else ""
    return (", ".join(names[:_MOST_SHOWN]) or "none") + more
