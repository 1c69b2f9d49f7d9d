"""TensorFlow's profiler service: requests to workers over gRPC, and their responses.

``tf.profiler.experimental.client.trace`` sends the same request, but lets each worker write its profile to a
shared folder. With ``emit_xspace``, the service of TensorFlow 2.21 returns the profile instead. That of 2.15
always writes it, by default to its working folder.
"""

from __future__ import annotations

import os
import socket
import stat
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from tfvis_nb.reading.protobuf.wire import DamageError, delimited, fields, whole_number
from tfvis_nb.texts import Text

if TYPE_CHECKING:
    from tfvis_nb.recording.options import TraceOptions

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
