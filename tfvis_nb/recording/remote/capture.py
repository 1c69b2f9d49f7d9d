"""Record running processes from outside, such as the workers of a cluster, all at the same time."""

from __future__ import annotations

import io
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

from tfvis_nb.core.errors import EmptyTraceError, TraceFormatError
from tfvis_nb.core.labels import printable
from tfvis_nb.core.options import check_title, only_known_options
from tfvis_nb.core.progress import progress_after
from tfvis_nb.core.temporary_folder import TemporaryFolder
from tfvis_nb.reading.sources.damage import briefly
from tfvis_nb.recording.options import TraceOptions
from tfvis_nb.recording.remote.service import Outcome, WorkerResponse, ask
from tfvis_nb.texts import Text

if TYPE_CHECKING:
    from tfvis_nb.core.trace import Trace

_ADDRESS = re.compile(r"(?:grpc://)?([^\s/:]+|\[[0-9a-f:.]+\]):(\d{1,9})/?", re.IGNORECASE)
_MOST_WORKERS = 512
_LONGEST = 200
_SMALL = 1 << 16
"""In bytes; the profile of an idle worker only has facts about its host and is smaller."""


@only_known_options
def capture(
    workers: str | Sequence[str],
    *,
    seconds: float = 2.0,
    tries: int = 3,
    python: bool = False,
    shapes: bool = False,
    device_level: int = 1,
    title: str | None = None,
) -> Trace:
    """Record running TensorFlow processes, on this or other machines, all at the same time.

    Each must run TensorFlow's profiler service: ``tf.profiler.experimental.server.start(6009)`` in its
    code, or the port of a TensorFlow Serving or TPU worker. TensorFlow need not be installed here.

    Parameters
    ----------
    workers
        ``"host:6009"`` or ``"grpc://host:6009"``, or several of them.
    seconds
        How long to record.
    tries
        How often to record again if a worker ran nothing or has another profiler running.
    python, shapes, device_level
        What to record, as in `trace`.
    title
        A short name for the picture; by default the address of the first worker that was recorded.

    Returns
    -------
    Trace
        A trace with a task for each worker, and their clocks aligned as far as possible. A note names each
        worker that could not be recorded.

    Raises
    ------
    ConnectionError
        If no worker could be recorded; the message names each with the reason.
    EmptyTraceError
        If none of them ran anything.
    ImportError
        If the package grpcio is missing.
    TypeError
        If `workers` are not texts, `seconds` is not a number, or `tries` not a whole one.
    ValueError
        If an address, `seconds`, `tries` or an option is wrong, or a worker is given twice.

    Examples
    --------
    >>> import tfvis_nb as tv
    >>> tv.capture("localhost:1", seconds=0.1)
    Traceback (most recent call last):
    ...
    ConnectionError: no worker was recorded. localhost:1 ...
    """
    check_title(title)
    wanted = ((seconds, Real), (tries, Integral))
    if any(isinstance(one, bool) or not isinstance(one, kind) for one, kind in wanted):
        raise TypeError(Text("capture_no_numbers", seconds=seconds, tries=tries))
    if not 0 < seconds <= 3600 or tries < 1:
        raise ValueError(Text("capture_out_of_range", seconds=seconds, tries=tries))
    options = TraceOptions(python=python, shapes=shapes, device_level=device_level)
    addresses = addresses_of([workers] if isinstance(workers, str) else workers)
    trace, missed = _read(_recorded(addresses, seconds, tries, options), title)
    trace.notes += [Text("workers_not_recorded", workers=one) for one in missed]
    return trace


def _read(answers: Mapping[str, WorkerResponse], title: str | None) -> tuple[Trace, list[str]]:
    """Return the trace of the profiles, and why other workers have none; one error if all are such."""
    from tfvis_nb.reading import read_trace

    profiles = {address: one.profile for address, one in answers.items() if one.outcome is Outcome.RECORDED}
    missed = [_why(address, one) for address, one in answers.items() if one.outcome is not Outcome.RECORDED]
    if not profiles:
        idle = all(one.outcome is Outcome.EMPTY for one in answers.values())
        raise (EmptyTraceError if idle else ConnectionError)(
            Text("no_worker_recorded", workers="; ".join(missed))
        )
    try:
        trace = read_trace(
            [_Profile(address, content) for address, content in profiles.items()],
            title=title or (f"{len(profiles)} workers: " if len(profiles) > 1 else "") + next(iter(profiles)),
        )
    except TraceFormatError:
        # One damaged profile is not to cost those of all others.
        checked = {address: _checked(address, one) for address, one in answers.items()}
        if checked == answers:
            raise
        return _read(checked, title)
    trace.profiles = list(profiles.values())
    return trace, missed


class _Profile(io.BytesIO):
    """A profile as a file named after its worker."""

    def __init__(self, name: str, content: bytes) -> None:
        super().__init__(content)
        self.name = name


def addresses_of(workers: Any) -> list[str]:
    """Return the workers as ``host:port``; TypeError or ValueError for invalid or repeated ones."""
    if not isinstance(workers, Iterable) or not all(isinstance(worker, str) for worker in workers):
        raise TypeError(Text("workers_no_text", workers=workers))
    matches = [(worker, _ADDRESS.fullmatch(worker.strip())) for worker in workers]
    for worker, match in matches:
        if match is None:
            raise ValueError(Text("no_worker_address", address=worker))
        if not 0 < int(match[2]) < 1 << 16:
            raise ValueError(Text("worker_port_out_of_range", address=worker))
    addresses = [f"{match[1]}:{int(match[2])}" for _, match in matches if match]
    if not 0 < len(addresses) <= _MOST_WORKERS:
        raise ValueError(Text("worker_count", workers=len(addresses), most=_MOST_WORKERS))
    # Names of hosts have no case.
    counts = Counter(map(str.lower, addresses))
    for address in addresses:
        if counts[address.lower()] > 1:
            raise ValueError(Text("worker_given_twice", address=address))
    return addresses


def _recorded(
    addresses: Sequence[str], seconds: float, tries: int, options: TraceOptions
) -> dict[str, WorkerResponse]:
    """Record all workers at once until each has something, and return the best try."""
    best: dict[str, WorkerResponse] = {}
    subject = f"recording {len(addresses)} worker{'s' * (len(addresses) > 1)} for {seconds:g} s"
    with progress_after(subject) as progress, ThreadPoolExecutor(len(addresses)) as pool:
        for number in range(tries):
            if number:
                progress.what = f"{subject}, try {number + 1} of {tries}"
            answers = dict(
                zip(addresses, pool.map(lambda one: _ask(one, seconds, options), addresses), strict=True)
            )
            best = max(answers, best, key=_count) if best else answers
            outcomes = {one.outcome for one in answers.values()}
            if not outcomes & {Outcome.EMPTY, Outcome.FAILED}:
                break
    return best


def _ask(address: str, seconds: float, options: TraceOptions) -> WorkerResponse:
    """Record a worker; a profile without events counts as none."""
    with TemporaryFolder() as folder:
        answer = ask(address, seconds, options, folder.path)
    return _checked(address, answer) if len(answer.profile) < _SMALL else answer


def _checked(address: str, answer: WorkerResponse) -> WorkerResponse:
    """Return the answer of a worker, or what is wrong with its profile."""
    from tfvis_nb.reading.xspace.reader import read

    if answer.outcome is not Outcome.RECORDED:
        return answer
    try:
        read(answer.profile, address)
    except EmptyTraceError:
        return WorkerResponse(Outcome.EMPTY)
    except TraceFormatError as error:
        return WorkerResponse(Outcome.FAILED, reason=briefly(error, address))
    return answer


def _count(answers: dict[str, WorkerResponse]) -> int:
    return sum(one.outcome is Outcome.RECORDED for one in answers.values())


def _why(address: str, answer: WorkerResponse) -> str:
    port = address.rpartition(":")[2]
    # A worker may send escape codes for terminals.
    reason = printable(" ".join(answer.reason.split()), _LONGEST)
    return Text(answer.outcome.value, address=address, port=port, reason=reason)
