"""Trace every run of every ``tf.compat.v1`` session, no matter who calls it.

``Session.run``, ``Tensor.eval``, ``Operation.run``, ``make_callable``, savers,
initialisers and ``MonitoredSession`` all end in one method,
``BaseSession._call_tf_sessionrun``. While a recording is on, that method is
replaced; hooks and a wrapped ``run`` would each miss some of these.
"""

from __future__ import annotations

import itertools
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any
from weakref import WeakKeyDictionary

from tfvis_nb.core.labels import run_label
from tfvis_nb.recording.options import TraceOptions
from tfvis_nb.recording.patches import Replacements
from tfvis_nb.recording.profiler.lock import SOFTWARE, ProfilerSlot
from tfvis_nb.recording.sessions.callables import CallableTracer
from tfvis_nb.recording.sessions.run_options import tensorflow_module
from tfvis_nb.recording.sessions.user_run_metadata import UsersMetadata, as_requested


@dataclass(frozen=True)
class Run:
    """One traced run: its position, the names of its ops, its serialised ``RunMetadata``, its end.

    `requested` has the result of `RequestedDevices` for `graph`, the session's.
    """

    number: int
    label: str
    metadata: bytes
    returned_ns: int = 0
    requested: bytes = b""
    graph: Any = None


class SessionTracer:
    """Traces the session runs between `install` and `remove`, in all threads.

    The user's own ``RunOptions`` keep their effect. With `profiled`, a profile is recorded during the runs.
    """

    def __init__(self, options: TraceOptions, profiled: Callable[[], bool]) -> None:
        self.missed: Counter[str] = Counter()
        self.slot = ProfilerSlot(options.trace_level, profiled)
        self._options = options
        self._records = options.mode != "profiler"
        self._module = session_module()
        self._client = self._module.tf_session
        self._callables = CallableTracer(self)
        self.users = UsersMetadata(self._client)
        self._requested = RequestedDevices(self._module.config_pb2)
        self._lock = threading.Lock()
        self._numbers = itertools.count()
        self._running = 0
        self._open = False
        self._runs: list[Run] = []
        self._replacements = Replacements()

    def install(self) -> None:
        """Replace TensorFlow's methods by tracing ones."""
        base, put = self._module.BaseSession, self._replacements.put
        self._open = True
        self.users.install(self._replacements)
        put(base, "_call_tf_sessionrun", self._tracing_run)
        put(base, "_call_tf_sessionprun", self._counting_partial_run)
        put(base, "_make_callable_from_options", self._callables.making)
        put(base._Callable, "__call__", self._callables.calling)  # noqa: SLF001

    def remove(self) -> None:
        """Restore TensorFlow's methods; a run still in progress is not recorded."""
        with self._lock:
            self._open = False
            if self._running:
                self.missed["runs_unfinished"] += self._running
        self._replacements.undo()
        self._callables.release()

    def take(self, other: SessionTracer) -> None:
        """Add the runs of another tracer, which recorded since `remove`."""
        for run in other.runs:
            self._runs.append(replace(run, number=next(self._numbers)))
        self.missed += other.missed
        self.slot.lowered += other.slot.lowered
        self.slot.beside += other.slot.beside

    def leave(self) -> None:
        """Restore TensorFlow's methods in a forked process."""
        self._lock = threading.Lock()
        self._open = False
        self._replacements.undo()

    @property
    def active(self) -> bool:
        """Whether runs are being recorded now."""
        return self._open and self._records

    @property
    def runs(self) -> list[Run]:
        """The recorded runs, ordered by start."""
        with self._lock:
            return sorted(self._runs, key=lambda run: run.number)

    def raised_options(self, requested: Any, level: int, *, exact: bool = False) -> Any:
        """Return a copy of the program's ``RunOptions`` that asks for a trace at `level`.

        With `exact`, the program traces the run itself: it gets exactly what it requests, and so does the
        recording.
        """
        raised = type(requested)()
        raised.CopyFrom(requested)
        raised.trace_level = level
        if not exact:
            raised.output_partition_graphs |= self._options.partition_graphs and self._records
        return raised

    def new_metadata(self) -> Any:
        """Return an empty ``RunMetadata`` message."""
        return self._module.config_pb2.RunMetadata()

    def label(self, fetches: Iterable[str], targets: Iterable[str]) -> str:
        """Name a run by its ops and fetches, see `run_label`."""
        return run_label(fetches, targets)

    def miss(self, why: str) -> None:
        """Count a run that could not be recorded."""
        with self._lock:
            self.missed[why] += self.active

    def record(self, label: str, run: Callable[[], tuple[Any, bytes]], graph: Any = None) -> Any:
        """Execute `run`, keep the ``RunMetadata`` it returns under `label`, and return its result.

        `graph` is that of the session, if known.
        """
        with self._lock:
            number = next(self._numbers)
            self._running += 1
        try:
            result, metadata = run()
        except BaseException:
            self.miss("runs_failed")
            with self._lock:
                self._running -= 1
            raise
        asked = graph is not None and self._options.partition_graphs
        requested = self._requested.of(graph) if asked else b""
        with self._lock:
            self._running -= 1
            if self._open:
                self._runs.append(Run(number, label, metadata, time.time_ns(), requested, graph))
        return result

    def _tracing_run(self, original: Any) -> Any:
        def call_tf_sessionrun(
            session: Any, options: Any, feeds: Any, fetches: Any, targets: Any, metadata: Any
        ) -> Any:
            if not self._open or session._session is None:  # noqa: SLF001
                return original(session, options, feeds, fetches, targets, metadata)
            if not self._records:
                return self._unrecorded(original, session, options, feeds, fetches, targets, metadata)
            label = self.label(self._fetched(fetches), map(self._client.TF_OperationName, targets))
            return self.record(
                label,
                lambda: self.run(original, session, options, feeds, fetches, targets, metadata),
                session.graph,
            )

        return call_tf_sessionrun

    def _unrecorded(
        self, original: Any, session: Any, options: Any, feeds: Any, fetches: Any, targets: Any, metadata: Any
    ) -> Any:
        """Run as the user requested, but at a level compatible with the profile; a higher one would fail."""
        if options is not None:
            requested = self._module.config_pb2.RunOptions.FromString(self._client.TF_GetBuffer(options))
            if requested.trace_level > SOFTWARE:
                return self.run(original, session, options, feeds, fetches, targets, metadata)[0]
        return original(session, options, feeds, fetches, targets, metadata)

    def run(
        self, original: Any, session: Any, options: Any, feeds: Any, fetches: Any, targets: Any, metadata: Any
    ) -> tuple[Any, bytes]:
        """Run with raised options. `options` and `metadata` are C buffers or None."""
        client = self._client
        requested = self._module.config_pb2.RunOptions()
        if options is not None:
            requested.ParseFromString(client.TF_GetBuffer(options))
        blocking = not fetches and all("Enqueue" in client.TF_OperationOpType(target) for target in targets)
        exact = metadata is not None and bool(requested.trace_level)
        with self.slot.level(session, requested.trace_level, blocking=blocking, exact=exact) as level:
            raised = self.raised_options(requested, level, exact=exact)
            sent = client.TF_NewBufferFromString(raised.SerializeToString())
            filled = metadata if exact else client.TF_NewBuffer()
            try:
                result = original(session, sent, feeds, fetches, targets, filled)
                recorded = bytes(client.TF_GetBuffer(filled))
            finally:
                client.TF_DeleteBuffer(sent)
                if filled is not metadata:
                    client.TF_DeleteBuffer(filled)
        if metadata is not None and not exact:
            message = as_requested(self._module.config_pb2.RunMetadata.FromString(recorded), requested)
            self.users.put(metadata, message.SerializeToString())
        return result, recorded

    def _fetched(self, fetches: Sequence[Any]) -> list[str]:
        return [f"{self._client.TF_OperationName(output.oper)}:{output.index}" for output in fetches]

    def _counting_partial_run(self, original: Any) -> Any:
        def call_tf_sessionprun(session: Any, handle: Any, feeds: Any, fetches: Any) -> Any:
            self.miss("runs_partial")
            return original(session, handle, feeds, fetches)

        return call_tf_sessionprun


def session_module() -> Any:
    """Import TensorFlow's session module, and TensorFlow with it."""
    return tensorflow_module("tensorflow.python.client.session")


class RequestedDevices:
    """Describes the graph of each session once per version."""

    def __init__(self, config_pb2: Any) -> None:
        self._config_pb2 = config_pb2
        self._known: WeakKeyDictionary[Any, tuple[int, bytes]] = WeakKeyDictionary()
        self._lock = threading.Lock()

    def of(self, graph: Any) -> bytes:
        """Return a serialised RunMetadata with the names, op types and devices of a ``tf.Graph``.

        They are stored as a function's graph before optimisation. Empty if the program requested no device.
        """
        with self._lock:
            version, described = self._known.get(graph, (-1, b""))
            if version != graph.version:
                version = graph.version
                described = self._described(graph)
                self._known[graph] = version, described
            return described

    def _described(self, graph: Any) -> bytes:
        every = [(op.name, op.type, op.device) for op in graph.get_operations()]
        if not any(device for _, _, device in every):
            return b""
        metadata = self._config_pb2.RunMetadata()
        before = metadata.function_graphs.add().pre_optimization_graph
        for name, op, device in every:
            before.node.add(name=name, op=op, device=device)
        described: bytes = metadata.SerializeToString()
        return described
