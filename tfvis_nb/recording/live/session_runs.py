"""Count all runs of all ``tf.compat.v1`` sessions, and trace the requested ones."""

import time
from collections.abc import Callable, Iterable
from typing import Any

from tfvis_nb.core.labels import run_label
from tfvis_nb.recording.live.failed_allocations import failure_of, with_failure
from tfvis_nb.recording.live.requests import RunRegistry, SignatureStats, TraceRequest
from tfvis_nb.recording.options import TraceOptions
from tfvis_nb.recording.patches import Replacements
from tfvis_nb.recording.sessions.callables import CallableTracer
from tfvis_nb.recording.sessions.runs import SessionTracer, session_module
from tfvis_nb.session.file.entries import Recording, Signature, with_type
from tfvis_nb.texts import Text

REMEMBERED = 10_000
"""How many signatures are cached by tensors; a program may create new tensors all the time."""


class _OwnTime:
    """Times a call of TensorFlow's method, without the overhead of tracing."""

    def __init__(self, original: Any) -> None:
        self._original = original
        self.started_ns = self.duration_ns = 0

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        self.started_ns, began = time.time_ns(), time.perf_counter_ns()
        try:
            return self._original(*args, **kwargs)
        finally:
            self.duration_ns = time.perf_counter_ns() - began


class RunObserver:
    """Counts the session runs between `install` and `remove`, in all threads."""

    def __init__(self, book: RunRegistry, options: TraceOptions) -> None:
        self._book = book
        self._tracer = SessionTracer(options, lambda: False)
        self._level = options.trace_level
        self._callables = CallableTracer(self._tracer)
        self._module = session_module()
        self._client = self._module.tf_session
        self._known: dict[Any, SignatureStats] = {}
        self._replacements = Replacements()

    def install(self) -> None:
        """Replace TensorFlow's methods by counting ones."""
        base, put = self._module.BaseSession, self._replacements.put
        self._tracer.users.install(self._replacements)
        self._book.allocations.install(self._replacements)
        put(base, "_call_tf_sessionrun", self._counting_run)
        put(base, "_make_callable_from_options", self._callables.remembering)
        put(base._Callable, "__call__", self._counting_call)  # noqa: SLF001

    def remove(self) -> None:
        """Restore TensorFlow's methods."""
        self._replacements.undo()
        self._callables.release()
        self._known.clear()

    def _counting_run(self, original: Any) -> Any:
        book, known, client = self._book, self._known, self._client
        clock = time.perf_counter_ns

        def call_tf_sessionrun(
            session: Any, options: Any, feeds: Any, fetches: Any, targets: Any, metadata: Any
        ) -> Any:
            if not book.open or session._session is None:  # noqa: SLF001
                return original(session, options, feeds, fetches, targets, metadata)
            options_bytes = b"" if options is None else bytes(client.TF_GetBuffer(options))
            # By tensor objects, which are unique in TensorFlow: names would be slower.
            key = (tuple(fetches), tuple(targets), tuple(feeds), options_bytes)
            counted = known.get(key) or self._new(key, session.graph)
            if counted is None:
                return original(session, options, feeds, fetches, targets, metadata)
            began = clock()
            if began >= book.look_at:
                book.look(began)
                began = clock()
            number = book.begin(counted)
            if counted.wanted:
                order = book.order(counted, number)
                if order is not None:
                    arguments = (session, options, feeds, fetches, targets, metadata)
                    own = _OwnTime(original)
                    return self._traced(
                        counted,
                        number,
                        order,
                        own,
                        lambda: self._run(own, options_bytes, *arguments),
                        session.graph,
                    )
                began = clock()
            try:
                result = original(session, options, feeds, fetches, targets, metadata)
            except BaseException as error:
                self._failed(counted, number, error, began, session.graph)
                raise
            ended = clock()
            book.ran(counted, time.time_ns() - (ended - began), ended - began)
            return result

        return call_tf_sessionrun

    def _run(self, original: Any, options_bytes: bytes, *arguments: Any) -> tuple[Any, bytes]:
        metadata = arguments[-1]
        if metadata is not None and self._module.config_pb2.RunOptions.FromString(options_bytes).trace_level:
            # Already traced by the program or an enclosing recording: only one at a time can have the
            # profiler.
            result = original(*arguments)
            return result, bytes(self._client.TF_GetBuffer(metadata))
        return self._tracer.run(original, *arguments)

    def _counting_call(self, original: Any) -> Any:
        def call(made: Any, *args: Any, **kwargs: Any) -> Any:
            book, options = self._book, self._callables.options(made)
            # The fetches of one made earlier are unknown.
            if not book.open or options is None:
                return original(made, *args, **kwargs)
            counted = book.counted(self._signature(options.fetch, options.target, options.feed, b""))
            if counted is None:
                return original(made, *args, **kwargs)
            began = time.perf_counter_ns()
            book.look(began)
            number, graph = book.begin(counted), made._session.graph  # noqa: SLF001
            order = book.order(counted, number) if counted.wanted else None
            if order is not None:
                own, traced = _OwnTime(original), self._callables.call
                return self._traced(
                    counted, number, order, own, lambda: traced(own, made, options, args, kwargs), graph
                )
            try:
                result = original(made, *args, **kwargs)
            except BaseException as error:
                self._failed(counted, number, error, began, graph)
                raise
            book.ran(counted, _epoch_of(began), time.perf_counter_ns() - began)
            return result

        return call

    def _traced(
        self,
        counted: SignatureStats,
        number: int,
        order: TraceRequest,
        own: _OwnTime,
        run: Callable[[], tuple[Any, bytes]],
        graph: Any,
    ) -> Any:
        lowered = self._tracer.slot.lowered
        before = dict(lowered)
        began = time.perf_counter_ns()
        try:
            result, metadata = run()
        except BaseException as error:
            self._failed(counted, number, error, began, graph, order)
            raise
        tracing = time.perf_counter_ns() - began - own.duration_ns
        # TensorFlow writes fields in order, so step_stats comes first if it is not empty.
        if metadata[:1] == b"\n" and metadata[1:2] != b"\0":
            new = [why for why, count in lowered.items() if count > before.get(why, 0)]
            note = "; ".join(Text("run_without_gpu_rows", why=Text(why)) for why in new)
            recording = Recording(
                "run_metadata",
                metadata,
                number,
                own.started_ns,
                own.duration_ns,
                note=note,
                tracing_ns=tracing,
            )
            self._book.traced(counted, order, recording)
        else:
            self._book.not_traced(order)
        self._book.ran(counted, own.started_ns, own.duration_ns, traced=True)
        return result

    def _failed(
        self,
        counted: SignatureStats,
        number: int,
        error: BaseException,
        began: int,
        graph: Any,
        order: TraceRequest | None = None,
    ) -> None:
        """Count a run that raised, and keep the facts if it ran out of memory."""
        duration = time.perf_counter_ns() - began
        self._book.failed(counted, order)
        if failure := failure_of(error, [graph], dict):
            recording = Recording("run_metadata", b"", number, _epoch_of(began), duration)
            kept = with_failure(recording, failure, counted.signature.label)
            if kept is not None:
                self._book.traced(counted, TraceRequest(), kept)

    def _new(self, key: Any, graph: Any) -> SignatureStats | None:
        fetches, targets, feeds, options_bytes = key
        operation = self._client.TF_OperationName
        counted = self._book.counted(
            self._signature(
                (f"{operation(tensor.oper)}:{tensor.index}" for tensor in fetches),
                map(operation, targets),
                (f"{operation(tensor.oper)}:{tensor.index}" for tensor in feeds),
                options_bytes,
                graph,
            )
        )
        if counted is not None:
            if len(self._known) >= REMEMBERED:
                self._known.clear()
            self._known[key] = counted
        return counted

    def _signature(
        self,
        fetches: Iterable[str],
        targets: Iterable[str],
        feeds: Iterable[str],
        options_bytes: bytes,
        graph: Any = None,
    ) -> Signature:
        """Describe a run; the types of its tensors are those in a `graph`."""
        fetched, ran = list(fetches), list(targets)
        options = str(self._module.config_pb2.RunOptions.FromString(options_bytes)).strip()
        return Signature(
            "session",
            run_label(fetched, ran),
            "\n".join(_typed(graph, name) for name in fetched),
            "\n".join(ran),
            "\n".join(_typed(graph, name) for name in sorted(feeds)),
            options,
        )


def _typed(graph: Any, name: str) -> str:
    """Return the line of a tensor; its shape is the static one."""
    try:
        tensor = graph.get_tensor_by_name(name)
    except (AttributeError, KeyError, ValueError):
        return name
    return with_type(name, tensor.dtype.name, None if tensor.shape.dims is None else tensor.shape.as_list())


def _epoch_of(perf_ns: int) -> int:
    """Convert a reading of ``perf_counter_ns`` to epoch nanoseconds."""
    return time.time_ns() - (time.perf_counter_ns() - perf_ns)
