"""Parameters of the verbs that read traces or sessions: the sources and the part to read."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from tfvis_nb.cli.errors import Failure, unreadable
from tfvis_nb.cli.parameters import FILE, size, together
from tfvis_nb.core.format import format_duration
from tfvis_nb.core.time_ranges import range_ends
from tfvis_nb.core.trace import Trace
from tfvis_nb.texts import Text, text_of

ABOUT_TRACES = """
A TRACE is a file, a folder or a pattern, in any format that tfvis_nb.read_trace reads, or the URL of one,
such as s3://bucket/logs. Several traces, or those in the file of a TraceSession, are steps, ranks or hosts
of one run.
"""

Source = Path | str
"""A path or a URL."""

_ALLOW_HTTP = "tfvis_nb.allow_http"


class _Source(click.Path):
    """A file name or a URL, which would lose a slash as a path."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Source:
        """Return a URL unchanged, anything else as a path."""
        from tfvis_nb.reading.sources.remote import is_url

        return str(value) if is_url(value) else FILE.convert(value, param, ctx)


SOURCE = _Source()


def _allow_http(ctx: click.Context, _param: click.Parameter, value: bool) -> None:
    ctx.meta[_ALLOW_HTTP] = value


ANONYMIZE = click.option(
    "--anonymize",
    is_flag=True,
    help="Replace the names of ops, layers, tasks, functions and files, and leave out code and dates.",
)

MAX_UNPACKED = click.option(
    "--max-unpacked",
    metavar="SIZE",
    type=size,
    help="Limit for unpacked data in all, such as 20GiB, regardless of file sizes. By default 8 GiB, and"
    " for each file 64 MiB or 128 times its size, whichever is more.",
)
TRACES = together(
    click.argument("traces", metavar="TRACE...", nargs=-1, required=True, type=SOURCE),
    MAX_UNPACKED,
    click.option(
        "--allow-http",
        is_flag=True,
        expose_value=False,
        callback=_allow_http,
        help="Read URLs that begin with http:// or https://.",
    ),
)
PART = together(
    click.option("--title", help="Title of the timeline; the file's name by default."),
    click.option(
        "--time-range",
        metavar="START:END",
        help="Keep only events that overlap it. A time with a unit (ns, us, ms, s) counts from the first"
        " event, such as 10ms:25ms or -1ms:1ms. A time without a unit is in epoch nanoseconds. Either end may"
        " be left out.",
    ),
    click.option("--no-source", is_flag=True, help="Leave out your code: file names, lines and stacks."),
    ANONYMIZE,
)


def read(
    paths: Sequence[Source],
    title: str | None = None,
    max_unpacked: int | None = None,
    *,
    keep_messages: bool = False,
) -> Trace:
    """Read the traces given on the command line; `max_unpacked` is in bytes.

    With `keep_messages`, traces of sessions and messages keep TensorFlow's messages, which takes memory.
    """
    from tfvis_nb.reading import TraceFormatError, read_trace
    from tfvis_nb.reading.sources.public_urls import public_url

    names = ", ".join(public_url(str(path)) for path in paths)
    try:
        sources = [
            source for path in paths for source in _sources(path, max_unpacked, keep_messages=keep_messages)
        ]
        if title is None and len(paths) == 1 and len(sources) > 1:
            title = Path(paths[0]).name
        one_or_more = sources[0] if len(sources) == 1 else sources
        allow_http = click.get_current_context().meta.get(_ALLOW_HTTP, False)
        return read_trace(one_or_more, title=title, max_unpacked_bytes=max_unpacked, allow_http=allow_http)
    except FileNotFoundError as error:
        key = (
            "pattern_matches_nothing"
            if text_of(error).id == "pattern_without_files"
            else "no_such_trace_file"
        )
        raise Failure(Text(key, path=error.filename)) from None
    except OSError as error:
        raise unreadable(error.filename or names, error) from None
    except TraceFormatError as error:
        named = any(public_url(str(path)) in str(error) for path in paths)
        raise Failure(text_of(error) if named else text_of(error).named(names)) from None
    except (ImportError, ValueError) as error:
        if text_of(error).id not in ("http_not_allowed", "remote_driver_missing"):
            raise
        raise Failure(text_of(error)) from None


def _sources(path: Source, max_unpacked: int | None, *, keep_messages: bool) -> Sequence[Source | Trace]:
    """Return the traces of a session, or the path if it is not a session."""
    if isinstance(path, str):
        return [path]
    from tfvis_nb.cli.sessions import is_session, session_traces, tftracer_traces
    from tfvis_nb.reading.sources.files import check_local_kind

    check_local_kind(path)
    if is_session(path):
        return session_traces(path, keep_messages=keep_messages)
    kept = (tftracer_traces(path) or kept_messages(path, max_unpacked)) if keep_messages else []
    return kept or [path]


def read_part(
    paths: Sequence[Source],
    title: str | None,
    range_text: str | None,
    max_unpacked: int | None,
    *,
    no_source: bool,
    anonymize: bool,
    keep_messages: bool = False,
) -> Trace:
    """Read the part of the traces selected by the options in `PART`."""
    trace = read(paths, title, max_unpacked, keep_messages=keep_messages)
    if no_source:
        from tfvis_nb.display.wire.code import without_code

        trace = without_code(trace)
    recorded = trace.events
    if anonymize:
        trace = trace.anonymized()
        trace.title = title or ""
    if range_text is None:
        return trace
    ends = int(recorded["start_ns"].iloc[0]), int((recorded["start_ns"] + recorded["duration_ns"]).max())
    first, last = time_range(range_text, *ends)
    subject = f"{', '.join(map(str, paths))}: --time-range {range_text}"
    length = format_duration(ends[1] - ends[0])
    if first > ends[1] or last < ends[0]:
        raise Failure(Text("range_outside_trace", subject=subject, length=length))
    # Anonymizing changes the dates.
    later = int(trace.events["start_ns"].iloc[0]) - ends[0]
    try:
        return trace.between(first + later, last + later)
    except ValueError:
        raise Failure(Text("range_overlaps_nothing", subject=subject, length=length)) from None


def time_range(text: str, origin_ns: int, latest_ns: int) -> tuple[int, int]:
    """Return the ends of a range ``START:END`` in epoch nanoseconds.

    Each end is a time with a unit (since the first event), a number without one (epoch nanoseconds), or left
    out. `origin_ns` and `latest_ns` are the first start and the last end of all events.

    >>> time_range("1.5us:2ms", 10**18, 10**19)
    (1000000000000001500, 1000000000002000000)
    >>> time_range("7:", 0, 9)
    (7, 9)
    """
    try:
        return range_ends(text, origin_ns, latest_ns)
    except ValueError as error:
        is_reversed = text_of(error).id == "range_reversed"
        key = "time_range_reversed" if is_reversed else "no_time_range"
        raise click.UsageError(Text(key, text=text)) from None


def kept_messages(path: Path, max_unpacked: int | None) -> list[Trace]:
    """Read a file of RunMetadata or XSpace as a trace that keeps its messages; nothing for other data."""
    from tfvis_nb.reading import read_trace
    from tfvis_nb.reading.chrome.reader import is_json
    from tfvis_nb.reading.parquet import is_parquet
    from tfvis_nb.reading.sources.archive import is_tar
    from tfvis_nb.reading.sources.unpacking import Budget, unpack
    from tfvis_nb.reading.tensorboard import is_event_file
    from tfvis_nb.reading.xspace.planes import is_xspace

    if not path.is_file():
        return []
    packed = path.read_bytes()
    data = unpack(packed, str(path), Budget(max_unpacked).of_file(len(packed)))
    if any(matches(data) for matches in (is_tar, is_parquet, is_json, is_event_file)):
        return []
    trace = read_trace(path, max_unpacked_bytes=max_unpacked)
    if is_xspace(data):
        trace.profiles = [bytes(data)]
    else:
        trace.sources = _run_metadata(bytes(data), str(path))
    return [trace]


def _run_metadata(data: bytes, label: str) -> list[bytes]:
    """Return each RunMetadata in a pickle, a text or a binary file; a StepStats becomes one."""
    from tfvis_nb.reading.gate import gate
    from tfvis_nb.reading.pickles.reader import is_pickle, messages
    from tfvis_nb.reading.protobuf.wire import delimited
    from tfvis_nb.reading.stepstats.recognition import kind_of
    from tfvis_nb.reading.stepstats.text_messages import is_text, to_binary

    if is_pickle(data):
        with gate(label):
            runs = [(bytes(run.data), run.message) for run in messages(data, label, [])]
    else:
        binary = to_binary(data, label)[0] if is_text(data) else data
        runs = [(binary, kind_of(binary))]
    return [run if message == "RunMetadata" else delimited(1, run) for run, message in runs]
