"""Read bytes or objects as a `tfvis_nb.Trace`. Nothing here imports tensorflow."""

from __future__ import annotations

import os
import string
from collections.abc import Mapping
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tfvis_nb.core.errors import EmptyTraceError, TraceFormatError
from tfvis_nb.core.options import check_title, only_known_options
from tfvis_nb.core.progress import progress_after
from tfvis_nb.core.trace import Trace

if TYPE_CHECKING:
    from tfvis_nb.reading.collect import Collection
    from tfvis_nb.reading.stepstats.recorded_step import RecordedStep
    from tfvis_nb.reading.xspace.reader import RecordedHost

__all__ = ["EmptyTraceError", "TraceFormatError", "read_trace"]


@only_known_options
def read_trace(
    source: Any,
    *,
    title: str | None = None,
    threadpool: bool = False,
    max_unpacked_bytes: int | None = None,
    storage_options: Mapping[str, Any] | None = None,
    allow_http: bool = False,
) -> Trace:
    """Read one or more traced steps.

    Parameters
    ----------
    source
        A path, including a folder or a pattern such as ``"logs/*.pb"``; a URL of a file system known to
        fsspec, such as ``"s3://bucket/logs"`` or ``"gs://bucket/*.pb"``; bytes; a ``RunMetadata`` or
        ``StepStats`` message of any TensorFlow; a `Trace`; an open binary file; or an iterable of those, one
        step each. With several files, a step without its own label is named after its file. Files may be
        binary, text or pickled messages, TensorBoard event files, Chrome traces of several programs, SQLite
        exports of Nsight Systems, or files of `Trace.to_parquet`, optionally packed with xz, gzip or tar. A
        profile of TensorFlow 2 or JAX, ``*.xplane.pb``, contains its steps; files of several hosts profiled
        at the same time become one trace with a task each. So do files of workers and ranks of one job, by
        the tasks that they name, and files of Horovod ranks, if they are named ``rank0...`` and so on. A
        HOROVOD_TIMELINE file given with traces adds Horovod's activity in their steps to rank 0.
    title
        A short name for the picture; by default the name of the file or folder.
    threadpool
        Whether to keep the events that thread pools record about themselves in a profile, about half of a
        host's events.
    max_unpacked_bytes
        The total number of bytes that packed files (xz, gzip, tar, Parquet) may unpack to. None for 8 GiB,
        where each file may unpack to 128 times its size or 64 MiB, whichever is larger. Also what a URL,
        or an open pipe or stream, may send without stating a size; None for 64 MiB.
    storage_options
        Options that fsspec passes to the file system of a URL, such as ``{"anon": True}`` for a public
        bucket.
    allow_http
        Whether URLs may use HTTP, such as ``https://``, ``webhdfs://`` and ``zip://a.pb::https://``.

    Returns
    -------
    Trace
        Its ``notes`` list repairs, merged and estimated data, and data left out.

    Raises
    ------
    TraceFormatError
        If the bytes are truncated, corrupt or of another format, or unpack to more than allowed. The message
        names the source, the formats tried and the first offending byte or field.
    EmptyTraceError
        If the source is well-formed but contains no traced run.
    TypeError
        If `source` has an unsupported type, or `max_unpacked_bytes` is not a number.
    ValueError
        If `max_unpacked_bytes` is negative, or a URL needs `allow_http` or has layers that are not read.
    OSError
        If a file cannot be read, or the file system of a URL has no credentials.
    ImportError
        If the driver of a URL's file system is not installed.

    Examples
    --------
    >>> import tfvis_nb as tv
    >>> text = b'''dev_stats {
    ...   device: "/job:localhost/replica:0/task:0/cpu:0"
    ...   node_stats {
    ...     node_name: "a" timeline_label: "a = Const()" all_start_micros: 7 all_end_rel_micros: 2
    ...   }
    ... }'''
    >>> trace = tv.read_trace(text)
    >>> trace.events[["name", "op", "start_ns", "duration_ns"]].values.tolist()
    [['a', 'Const', 7000, 2000]]
    """
    check_title(title)
    if isinstance(source, Trace) and title is None:
        return source
    return read_with_hosts(
        source,
        title,
        threadpool=threadpool,
        max_unpacked_bytes=max_unpacked_bytes,
        storage_options=storage_options,
        allow_http=allow_http,
    )[0]


def read_with_hosts(
    source: Any,
    title: str | None,
    *,
    threadpool: bool,
    max_unpacked_bytes: int | None,
    storage_options: Mapping[str, Any] | None,
    allow_http: bool,
) -> tuple[Trace, list[str]]:
    """Like `read_trace`, but also return the names of the hosts whose profiles were read."""
    from tfvis_nb.reading.collect import collect
    from tfvis_nb.reading.gate import gate
    from tfvis_nb.reading.sources.drivers import Remote
    from tfvis_nb.reading.sources.unpacking import Budget
    from tfvis_nb.reading.xspace.reader import RecordedHost

    budget, remote = Budget(max_unpacked_bytes), Remote(storage_options or {}, allow_http)
    with progress_after("reading") as progress:
        collection = collect(source, threadpool, budget, remote, progress)
    hosts = [item.hostname for item in collection.steps if isinstance(item, RecordedHost)]
    # Only here, where the bytes have been released.
    with gate(_source_label(source, collection.titles)):
        trace = _put_together(collection, _title(source, collection.titles) if title is None else title)
    if isinstance(source, (str, os.PathLike)):
        trace.read_from = _source_label(source, [])
    return trace, hosts


def _put_together(collection: Collection, title: str) -> Trace:
    """Merge everything that was read into one trace."""
    from tfvis_nb.clocks.alignment import aligned
    from tfvis_nb.reading.concat import concatenate
    from tfvis_nb.reading.horovod.overlay import overlay
    from tfvis_nb.reading.stepstats.assemble import assemble
    from tfvis_nb.reading.stepstats.recorded_step import RecordedStep
    from tfvis_nb.reading.unlike import days_apart, simultaneous_steps, unlike_programs, unlike_runs
    from tfvis_nb.reading.unrecorded_devices import unrecorded_device_notes

    read = _runs_merged(collection.steps)
    steps = [item for item in read if isinstance(item, RecordedStep)]
    if len(steps) == len(read):
        trace = assemble(steps, title)
    else:
        trace = concatenate([item if isinstance(item, Trace) else assemble([item]) for item in read], title)
    if (collection.ranked or collection.merged or len(steps) == len(read)) and trace.events[
        "task"
    ].nunique() > 1:
        trace = aligned(trace)
    if len(collection.titles) > 1:
        trace.notes += unlike_runs(trace)
        # The traces of a session are of one job, however long it runs.
        trace.notes += days_apart(trace) + unlike_programs(trace) if len({*collection.titles}) > 1 else []
        if len(steps) == len(read):
            trace.notes += simultaneous_steps(trace)
    if collection.timelines:
        trace = overlay(trace, collection.timelines, ranked=collection.ranked)
    trace.notes += collection.notes
    trace.notes += unrecorded_device_notes(trace)
    return trace


def _source_label(source: Any, titles: list[str]) -> str:
    """Return the name of a whole source in errors."""
    if isinstance(source, (str, os.PathLike)):
        from tfvis_nb.reading.sources.public_urls import public_url

        return public_url(os.fsdecode(source))
    return next(filter(None, titles), f"this {type(source).__name__}")


def _title(source: Any, titles: list[str]) -> str:
    """Return the title of a trace of files, if the caller gives none."""
    first, *others = titles
    names = [*dict.fromkeys(filter(None, titles))]
    if not others or not names:
        return first
    if isinstance(source, (str, os.PathLike)):
        path = Path(os.fspath(source)).expanduser()
        # The name of an archive is better than that of its first file.
        if path.is_file():
            return path.name
        if path.is_dir():
            return f"{len(titles)} traces: {path.resolve().name}"
    return f"{len(titles)} traces: {_in_braces(names)}"


def _in_braces(names: list[str]) -> str:
    """Return names as a shell abbreviates them: ``worker{0,1}.pb``, or ``step{1,…,20}.pb`` if they are many.

    >>> _in_braces(["step1.pb", "step12.pb"])
    'step{1,12}.pb'
    """
    if len(names) == 1:
        return names[0]
    # A number stays in one piece.
    start = _shared_start(names).rstrip(string.digits)
    end = _shared_start([name[len(start) :][::-1] for name in names])[::-1].lstrip(string.digits)
    parts = [name[len(start) : len(name) - len(end)] for name in names]
    if len(parts) > 3:
        parts[1:-1] = ["…"]
    return f"{start}{{{','.join(parts)}}}{end}"


def _shared_start(texts: list[str]) -> str:
    alike = takewhile(lambda letters: len({*letters}) == 1, zip(*texts, strict=False))
    return "".join(letters[0] for letters in alike)


def _runs_merged(read: list[RecordedStep | RecordedHost | Trace]) -> list[RecordedStep | Trace]:
    """Merge the hosts of each run into one trace, at the position of its first host."""
    from tfvis_nb.reading.xspace.hosts import merged, runs
    from tfvis_nb.reading.xspace.reader import RecordedHost

    hosts = [item for item in read if isinstance(item, RecordedHost)]
    first = {id(group[0]): group for group in runs(hosts)}
    return [
        merged(first[id(item)]) if isinstance(item, RecordedHost) else item
        for item in read
        if not isinstance(item, RecordedHost) or id(item) in first
    ]
