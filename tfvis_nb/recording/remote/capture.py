"""Record running processes from outside, such as the workers of a cluster, all at the same time.

``tf.profiler.experimental.client.trace`` sends the same requests over gRPC, but lets each worker write its
profile to a shared folder. With ``emit_xspace``, the service of TensorFlow 2.21 returns the profile instead.
That of 2.15 always writes it, by default to its working folder.
"""

from __future__ import annotations

import io
import os
import re
import socket
import stat
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from enum import Enum
from numbers import Integral, Real
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from tfvis_nb.core.errors import EmptyTraceError, TraceFormatError
from tfvis_nb.core.labels import printable
from tfvis_nb.core.options import check_title, only_known_options
from tfvis_nb.core.progress import progress_after
from tfvis_nb.core.temporary_folder import TemporaryFolder
from tfvis_nb.reading.protobuf.wire import DamageError, delimited, fields, whole_number
from tfvis_nb.reading.sources.damage import briefly
from tfvis_nb.recording.options import TraceOptions
from tfvis_nb.texts import Text

if TYPE_CHECKING:
    from tfvis_nb.core.trace import Trace

_ADDRESS = re.compile(r"(?:grpc://)?([^\s/:]+|\[[0-9a-f:.]+\]):(\d{1,9})/?", re.IGNORECASE)
_MOST_WORKERS = 512
_LONGEST = 200
_SMALL = 1 << 16
"""In bytes; the profile of an idle worker only has facts about its host and is smaller."""
_METHOD = "/tensorflow.ProfilerService/Profile"
_CONNECT_S = 5.0
_COLLECT_S = 60.0
"""How long a worker may take to collect its recording; a large host needs several seconds."""
# ProfileRequest of profiler_service.proto and ProfileOptions of profiler_options.proto, TensorFlow 2.21.
_DURATION_MS, _OPTIONS, _REPOSITORY_ROOT, _EMIT_XSPACE = 1, 4, 5, 9
_OPTION = {
    "device_tracer_level": 3,
    "host_tracer_level": 2,
    "python_tracer_level": 4,
    "version": 5,
    "enable_hlo_proto": 7,
    "duration_ms": 9,
}
_EMPTY_TRACE, _XSPACE = 7, 8


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


class Outcome(Enum):
    """The outcome of a request to a worker."""

    RECORDED = "recorded"
    EMPTY = "worker_idle"
    KEPT = "worker_keeps_profile"
    ABSENT = "worker_absent"
    NO_HOST = "worker_host_unknown"
    OTHER_PROGRAM = "worker_of_other_program"
    NO_SERVICE = "worker_without_service"
    ENDED = "worker_ended"
    SILENT = "worker_silent"
    FAILED = "worker_failed"


class WorkerResponse(NamedTuple):
    """A worker's response: its profile, or the outcome without one; `reason` is gRPC's text."""

    outcome: Outcome
    profile: bytes = b""
    reason: str = ""


def request(seconds: float, options: TraceOptions, folder: Path) -> bytes:
    """Return a ``ProfileRequest``; a worker that does not return its profile writes it to `folder`."""
    duration = round(seconds * 1000)
    # Without version 1, or with the duration only in the request, a worker uses its defaults.
    values = {**options.profiler_levels, "version": 1, "enable_hlo_proto": 1, "duration_ms": duration}
    packed = b"".join(whole_number(_OPTION[name], value) for name, value in values.items())
    parts = [
        whole_number(_DURATION_MS, duration),
        delimited(_OPTIONS, packed),
        delimited(_REPOSITORY_ROOT, os.fsencode(folder)),
        whole_number(_EMIT_XSPACE, 1),
    ]
    return b"".join(parts)


def answered(response: bytes, folder: Path) -> WorkerResponse:
    """Return the content of a ``ProfileResponse``, or of the file that the worker wrote to `folder`."""
    try:
        values = {one.number: response[one.start : one.end] for one in fields(response)}
    except DamageError as error:
        return WorkerResponse(Outcome.FAILED, reason=str(error))
    if values.get(_XSPACE):
        return WorkerResponse(Outcome.RECORDED, values[_XSPACE])
    if any(values.get(_EMPTY_TRACE, b"")):
        return WorkerResponse(Outcome.EMPTY)
    # Only workers on this machine write to this disk.
    for path in folder.rglob("*.xplane.pb"):
        if (content := _regular(path)) is not None:
            return WorkerResponse(Outcome.RECORDED, content)
    return WorkerResponse(Outcome.KEPT)


def _regular(path: Path) -> bytes | None:
    """Return the content of a file; None for a pipe, a device or a link, whose content may never end."""
    try:
        with open(path, "rb", opener=_open_at_once) as file:
            return file.read() if stat.S_ISREG(os.fstat(file.fileno()).st_mode) else None
    except OSError:
        return None


def _open_at_once(path: str, flags: int) -> int:
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOFOLLOW", 0))


def ask(address: str, seconds: float, options: TraceOptions, folder: Path) -> WorkerResponse:
    """Record a worker for some seconds, and return its answer when it has collected everything.

    `folder` is empty and only for this worker.
    """
    grpc = _grpc()
    unlimited = [("grpc.max_receive_message_length", -1)]
    with grpc.insecure_channel(address, options=unlimited) as channel:
        try:
            grpc.channel_ready_future(channel).result(timeout=_CONNECT_S)
        except grpc.FutureTimeoutError:
            return _unconnected(address)
        try:
            response = channel.unary_unary(_METHOD)(
                request(seconds, options, folder), timeout=seconds + _COLLECT_S
            )
        except grpc.RpcError as error:
            return _refused(grpc, error)
    return answered(response, folder)


def _unconnected(address: str) -> WorkerResponse:
    """Return why a worker cannot be reached, which gRPC does not distinguish."""
    host, _, port = address.rpartition(":")
    try:
        # Only now, because gRPC may reach hosts through a proxy that knows more names.
        socket.create_connection((host.strip("[]"), int(port)), timeout=_CONNECT_S).close()
    except socket.gaierror as error:
        return WorkerResponse(Outcome.NO_HOST, reason=str(error.strerror))
    except UnicodeError as error:
        # The name has an empty or too long part.
        return WorkerResponse(Outcome.NO_HOST, reason=str(error))
    except OSError:
        return WorkerResponse(Outcome.ABSENT)
    return WorkerResponse(Outcome.OTHER_PROGRAM)


def _refused(grpc: Any, error: Any) -> WorkerResponse:
    outcomes = {
        grpc.StatusCode.UNIMPLEMENTED: Outcome.NO_SERVICE,
        grpc.StatusCode.UNAVAILABLE: Outcome.ENDED,
        grpc.StatusCode.DEADLINE_EXCEEDED: Outcome.SILENT,
    }
    return WorkerResponse(
        outcomes.get(error.code(), Outcome.FAILED), reason=str(error.details() or error.code())
    )


def _grpc() -> Any:
    try:
        import grpc
    except ImportError:
        raise ImportError(Text("grpc_missing"), name="grpc") from None
    return grpc
