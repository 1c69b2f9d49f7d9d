"""Bytes or objects -> `tfvis_nb.Trace`. Nothing here imports tensorflow."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tfvis_nb.core.errors import EmptyTraceError, TraceFormatError
from tfvis_nb.core.options import check_title
from tfvis_nb.core.progress import progress_after
from tfvis_nb.core.trace import Trace

if TYPE_CHECKING:
    from tfvis_nb.reading.collect import Collection
    from tfvis_nb.reading.stepstats.recorded_step import RecordedStep
    from tfvis_nb.reading.xspace.reader import RecordedHost

__all__ = ["EmptyTraceError", "TraceFormatError", "read_trace"]


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
        A path, including a folder or a pattern such as ``"logs/*.pb"``; likewise a URL of a file system that
        fsspec knows, such as ``"s3://bucket/logs"`` or ``"gs://bucket/*.pb"``; bytes; a ``RunMetadata`` or
        ``StepStats`` message of any TensorFlow; a `Trace`; an open binary file; or an iterable of
        those, one step each. With several files, a step without another label has the file's name.
        Files may be binary, text or pickled, TensorBoard event files, Chrome traces of several
        programs, or written by `Trace.to_parquet`; packed with xz, gzip or tar.
        A profile of TensorFlow 2 or JAX, ``*.xplane.pb``, contains its steps; the files of several hosts that
        were profiled at the same time become one trace with a task each. So do files of Horovod ranks, if
        they are named ``rank0...`` and so on; a HOROVOD_TIMELINE file given with traces adds Horovod's
        activity in their steps to rank 0.
    title
        A short name for the picture; the file's name when None.
    threadpool
        Whether to keep the events of a profile in which thread pools record themselves, about
        half of what a host records.
    max_unpacked_bytes
        How many bytes packed files (xz, gzip, tar, Parquet) may unpack to in all. None for 8 GiB,
        of which a file may take 128 times its size or 64 MiB, whatever is more.
    storage_options
        What fsspec passes to the file system of a URL, such as ``{"anon": True}`` for a public bucket.
    allow_http
        Whether URLs may begin with ``http://`` or ``https://``.

    Returns
    -------
    Trace
        Its ``notes`` list repairs, merged and estimated data, and data left out.

    Raises
    ------
    TraceFormatError
        When the bytes are truncated, corrupt or of another format, or unpack to more than they may.
        It names the source, the formats tried and the first offending byte or field.
    EmptyTraceError
        When the source is well-formed but no run was traced into it.
    TypeError
        When `source` has an unsupported type, or `max_unpacked_bytes` is not a number.
    ValueError
        When `max_unpacked_bytes` is negative, or a URL needs `allow_http`.
    OSError
        When a file cannot be read, or the file system of a URL has no driver or no credentials.

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
    """Do what `read_trace` does; also return the names of the hosts whose profiles were read."""
    from tfvis_nb.reading.collect import collect
    from tfvis_nb.reading.gate import gate
    from tfvis_nb.reading.sources.remote import Remote
    from tfvis_nb.reading.sources.unpacking import Budget
    from tfvis_nb.reading.xspace.reader import RecordedHost

    budget, remote = Budget(max_unpacked_bytes), Remote(storage_options or {}, allow_http)
    with progress_after("reading") as progress:
        found = collect(source, threadpool, budget, remote, progress)
    hosts = [item.hostname for item in found.steps if isinstance(item, RecordedHost)]
    # Here, where the bytes that were read are no longer held.
    with gate(_source_label(source, found.titles)):
        return _put_together(found, _title(source, found.titles) if title is None else title), hosts


def _put_together(found: Collection, title: str) -> Trace:
    """Make one trace of all that was read."""
    from tfvis_nb.clocks.alignment import aligned
    from tfvis_nb.reading.concat import concatenate
    from tfvis_nb.reading.gpu_rows import gpu_rows_notes
    from tfvis_nb.reading.horovod.overlay import overlay
    from tfvis_nb.reading.stepstats.assemble import assemble
    from tfvis_nb.reading.stepstats.recorded_step import RecordedStep
    from tfvis_nb.reading.unlike import simultaneous_steps, unlike_runs

    read = _runs_merged(found.steps)
    steps = [item for item in read if isinstance(item, RecordedStep)]
    if len(steps) == len(read):
        trace = assemble(steps, title)
    else:
        trace = concatenate([item if isinstance(item, Trace) else assemble([item]) for item in read], title)
    if (found.ranked or len(steps) == len(read)) and trace.events["task"].nunique() > 1:
        trace = aligned(trace)
    if len(found.titles) > 1:
        trace.notes += unlike_runs(trace)
        if len(steps) == len(read):
            trace.notes += simultaneous_steps(trace)
    if found.timelines:
        trace = overlay(trace, found.timelines, ranked=found.ranked)
    trace.notes += found.notes
    trace.notes += gpu_rows_notes(trace)
    return trace


def _source_label(source: Any, titles: list[str]) -> str:
    """Return what errors call the whole of a source."""
    if isinstance(source, (str, os.PathLike)):
        return os.fsdecode(source)
    return next(filter(None, titles), f"this {type(source).__name__}")


def _title(source: Any, titles: list[str]) -> str:
    """Return the title of a trace of some files, if the caller gives none."""
    first, *others = titles
    if not others or not first:
        return first
    if isinstance(source, (str, os.PathLike)):
        path = Path(os.fspath(source)).expanduser()
        # An archive has a name of its own, which is better than its first file's.
        if path.is_file():
            return path.name
    return f"{len(titles)} traces: {first}"


def _runs_merged(read: list[RecordedStep | RecordedHost | Trace]) -> list[RecordedStep | Trace]:
    """Make one trace of the hosts of each run, at the position of its first host."""
    from tfvis_nb.reading.xspace.hosts import merged, runs
    from tfvis_nb.reading.xspace.reader import RecordedHost

    hosts = [item for item in read if isinstance(item, RecordedHost)]
    first = {id(group[0]): group for group in runs(hosts)}
    return [
        merged(first[id(item)]) if isinstance(item, RecordedHost) else item
        for item in read
        if not isinstance(item, RecordedHost) or id(item) in first
    ]
