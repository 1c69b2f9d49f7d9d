"""Measure step times the same way with and without tracing, so that their ratio is the cost of tracing."""

import sys
import threading
from collections.abc import Sequence
from functools import partial
from itertools import pairwise
from time import perf_counter_ns
from types import TracebackType
from typing import Any, Self

from tfvis_nb.analysis.steps.tracing_cost import tracing_cost, tracing_cost_text
from tfvis_nb.core.metadata import TRACING_COST, table_of
from tfvis_nb.core.trace import Trace
from tfvis_nb.recording.imports import Imports
from tfvis_nb.recording.patches import Replacements
from tfvis_nb.recording.profiler.keras_steps import MODULE, PHASES
from tfvis_nb.recording.sessions.runs import session_module
from tfvis_nb.texts import Text


class StepTimes:
    """Measures session runs, Keras batches, calls of functions and JAX's marks of steps in a ``with`` block.

    Calls of JAX's jitted functions cannot be measured, because they run no Python. Nested calls do not count.
    A step lasts from its start to the start of the next one of its kind, because accelerators continue after
    a call has returned. The last step is left out because it has no next one; a single step lasts as long as
    its call.
    """

    def __init__(self) -> None:
        self._replacements = Replacements()
        self._imports = Imports({})
        self._calls: dict[str, list[tuple[int, int]]] = {}
        self._open = threading.local()

    def __enter__(self) -> Self:
        measured = {"tensorflow": self._measure_tensorflow, "jax": self._measure_jax}
        self._imports = Imports(measured | {"keras": self._measure_keras})
        self._imports.watch()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._imports.end()
        self._replacements.undo()

    def _measure_tensorflow(self) -> None:
        from tensorflow.python.eager.polymorphic_function.polymorphic_function import Function

        base, put = session_module().BaseSession, self._replacements.put
        put(base, "_call_tf_sessionrun", partial(self._measuring, "session"))
        put(base._Callable, "__call__", partial(self._measuring, "session"))  # noqa: SLF001
        put(Function, "__call__", partial(self._measuring, "function"))

    def _measure_jax(self) -> None:
        from jax.profiler import StepTraceAnnotation

        self._replacements.put(StepTraceAnnotation, "__init__", self._marking)

    def _measure_keras(self) -> None:
        callbacks = getattr(sys.modules.get(MODULE), "CallbackList", None)
        for phase in PHASES if callbacks is not None else ():
            self._replacements.put(callbacks, f"on_{phase}_batch_begin", partial(self._begins, phase))
            self._replacements.put(callbacks, f"on_{phase}_batch_end", partial(self._ends, phase))

    @property
    def by_kind(self) -> dict[str, list[int]]:
        """The step times of each kind, in ns, ordered by start."""
        durations = {}
        for kind, calls in self._calls.items():
            starts = sorted(start for start, _ in calls)
            (first, end), *more = calls
            if more or end > first:
                durations[kind] = (
                    [after - before for before, after in pairwise(starts)] if more else [end - first]
                )
        return durations

    def _measuring(self, kind: str, original: Any) -> Any:
        def measured(*args: Any, **kwargs: Any) -> Any:
            if getattr(self._open, "kind", ""):
                return original(*args, **kwargs)
            self._open.kind, start = kind, perf_counter_ns()
            try:
                return original(*args, **kwargs)
            finally:
                self._end(kind, start)

        return measured

    def _marking(self, original: Any) -> Any:
        def init(mark: Any, *args: Any, **kwargs: Any) -> None:
            if not getattr(self._open, "kind", ""):
                now = perf_counter_ns()
                self._calls.setdefault("mark", []).append((now, now))
            original(mark, *args, **kwargs)

        return init

    def _begins(self, phase: str, original: Any) -> Any:
        def on_batch_begin(callbacks: Any, batch: Any, logs: Any = None) -> Any:
            # Replaces one that never ended because its data set was exhausted.
            self._open.kind, self._open.start = phase, perf_counter_ns()
            return original(callbacks, batch, logs)

        return on_batch_begin

    def _ends(self, phase: str, original: Any) -> Any:
        def on_batch_end(callbacks: Any, batch: Any, logs: Any = None) -> Any:
            result = original(callbacks, batch, logs)
            if getattr(self._open, "kind", "") == phase:
                self._end(phase, self._open.start)
            return result

        return on_batch_end

    def _end(self, kind: str, start: int) -> None:
        self._open.kind = ""
        self._calls.setdefault(kind, []).append((start, perf_counter_ns()))


def put_tracing_cost(trace: Trace, untraced: Sequence[StepTimes], traced: StepTimes) -> Text:
    """Give a trace the times of its kind of steps without tracing and with it; return what they show.

    If there are several kinds, the one that took most time counts.
    """
    with_it = traced.by_kind
    without = {kind: [one.by_kind.get(kind, []) for one in untraced] for kind in with_it}
    known = [kind for kind, runs in without.items() if any(runs)]
    if not known:
        return Text("nothing_calibrated")
    longest = max(known, key=lambda kind: sum(with_it[kind]))
    measured = [(0, number, run) for number, run in enumerate(without[longest])]
    rows = [
        {"is_traced": is_traced, "run": run, "step": step, "duration_ns": duration, "runs": 1}
        for is_traced, run, durations in [*measured, (1, 0, with_it[longest])]
        for step, duration in enumerate(durations)
    ]
    trace.metadata[TRACING_COST] = table_of(TRACING_COST, rows)
    cost = tracing_cost(trace)
    if cost is None:
        return Text("nothing_calibrated")
    note = tracing_cost_text(cost)
    trace.notes.insert(0, note)
    return note
