"""Convert a saved tftracer session to a session file."""

import datetime as dt
import statistics
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from tfvis_nb.core.labels import run_label
from tfvis_nb.reading import EmptyTraceError, TraceFormatError, read_trace
from tfvis_nb.reading.gate import gate
from tfvis_nb.reading.pickles.reader import is_pickle, tftracer_session
from tfvis_nb.reading.pickles.tftracer import SavedRun
from tfvis_nb.reading.protobuf.wire import Data
from tfvis_nb.reading.sources.files import check_local_kind
from tfvis_nb.reading.sources.unpacking import unpack
from tfvis_nb.session.file.counters import Counts
from tfvis_nb.session.file.database import Transaction, connect
from tfvis_nb.session.file.entries import Recording, Signature, with_type
from tfvis_nb.session.file.writer import Writer
from tfvis_nb.texts import Text

_QUARTER_US = 15 * 60 * 1_000_000
"""Time zones are whole multiples of this."""

_FARTHEST_US = 15 * 3600 * 1_000_000
_MOST_NS = 1 << 62

GONE = "traces_not_kept"
EMPTY = "traces_without_events"
DAMAGED = "traces_damaged"
"""Ids of notes: why traces were left out."""


def may_be_tftracers(path: Path) -> bool:
    """Return whether a file starts like a tftracer session: as a pickle, or compressed."""
    with path.open("rb") as file:
        head = file.read(64)
    return head.startswith((b"\x1f\x8b", b"\xfd7zXZ")) or is_pickle(head)


def converted(source: Path, target: Path) -> list[str]:
    r"""Write the content of a tftracer session to a new file, as if one process had recorded it.

    Return notes about traces that were left out. Nothing that `source` names is imported or called. tftracer
    does not save the duration of the longest run and the run of a trace: both are 0. It saves times without
    their zone, which is derived from the traces, or is that of this machine if there are no traces.
    """
    label = str(source)
    check_local_kind(source)
    data = unpack(source.read_bytes(), label)
    if not is_pickle(data):
        raise TraceFormatError(Text("neither_session", label=label))
    with gate(label):
        runs = tftracer_session(data, label)
    left = Counter({GONE: sum(message is None for run in runs for _, message in run.traces)})
    traces = [
        (number, ended_us, message, *_span(message, left))
        for number, run in enumerate(runs)
        for ended_us, message in run.traces
        if message is not None
    ]
    zone_us = _zone_us([(ended_us, end_ns) for _, ended_us, _, _, end_ns in traces])
    writer = Writer(target, keep=None)
    counts: dict[int, Counts] = {}
    signatures = []
    for run in runs:
        signature, _ = writer.add_signature(_signature(run))
        signatures.append(signature)
        # tftracer also distinguishes runs by the values fed.
        counts[signature] = _sum(counts.get(signature, Counts()), _counts(run, zone_us))
    for number, _, message, start_ns, end_ns in traces:
        if end_ns:
            recording = Recording("run_metadata", message, 0, start_ns, end_ns - start_ns)
            writer.add_trace(signatures[number], recording, None)
    writer.close(counts)
    _as_recorded_there(target, source.name, [each for each in counts.values() if each.runs])
    total = sum(len(run.traces) for run in runs)
    return [Text(why, lost=count, traces=total) for why, count in left.items() if count]


def _span(message: Data, left: Counter[str]) -> tuple[int, int]:
    """Return the first start and the last end in a trace; zeros if it has no events."""
    try:
        events = read_trace(bytes(message)).events
    except TraceFormatError as error:
        left[EMPTY if isinstance(error, EmptyTraceError) else DAMAGED] += 1
        return 0, 0
    return int(events["start_ns"].iloc[0]), int((events["start_ns"] + events["duration_ns"]).max())


def _zone_us(ended: Sequence[tuple[int | None, int]]) -> int:
    """Return how far the wall clock was ahead of UTC."""
    ahead = [wall_us - end_ns // 1000 for wall_us, end_ns in ended if wall_us is not None and end_ns]
    ahead = [each for each in ahead if abs(each) < _FARTHEST_US]
    if ahead:
        return round(statistics.median(ahead) / _QUARTER_US) * _QUARTER_US
    here = dt.datetime.now().astimezone().utcoffset()
    assert here is not None
    return round(here.total_seconds()) * 1_000_000


def _signature(run: SavedRun) -> Signature:
    return Signature(
        "session",
        run_label(run.fetches, run.targets),
        "\n".join(_typed(run, name) for name in run.fetches),
        "\n".join(run.targets),
        "\n".join(_typed(run, name) for name in sorted(run.feeds)),
        run.options,
    )


def _typed(run: SavedRun, name: str) -> str:
    return with_type(name, *run.types[name]) if name in run.types else name


def _counts(run: SavedRun, zone_us: int) -> Counts:
    if not run.runs:
        return Counts()
    first, last = (0 if wall is None else (wall - zone_us) * 1000 for wall in (run.first_us, run.last_us))
    # The mean is of all runs, so it is taken for traced ones as well.
    traced = min(len(run.traces), run.runs)
    total_ns, traced_ns = (min(runs * run.mean_us * 1000, _MOST_NS) for runs in (run.runs, traced))
    return Counts(run.runs, 0, total_ns, 0, first or last, last, traced, traced_ns)


def _sum(one: Counts, other: Counts) -> Counts:
    began = [counts.first_ns for counts in (one, other) if counts.first_ns]
    return Counts(
        one.runs + other.runs,
        0,
        min(one.total_ns + other.total_ns, _MOST_NS),
        0,
        min(began, default=0),
        max(one.last_ns, other.last_ns),
        one.traced + other.traced,
        min(one.traced_ns + other.traced_ns, _MOST_NS),
    )


def _as_recorded_there(target: Path, name: str, counts: Sequence[Counts]) -> None:
    """Mark the session as recorded by another process."""
    connection = connect(target)
    try:
        with Transaction(connection):
            connection.execute(
                "UPDATE writers SET host = ?, pid = 0, started_ns = ?, ended_ns = ?",
                (
                    f"tftracer, {name}",
                    min((each.first_ns for each in counts if each.first_ns), default=0),
                    max((each.last_ns for each in counts), default=0),
                ),
            )
    finally:
        connection.close()
