"""The Trace that a ``with tfvis_nb.trace()`` block hands out before it has anything to show."""

from __future__ import annotations

import html
import itertools
from collections.abc import Sequence
from functools import cached_property

import pandas as pd

from tfvis_nb._trace import Trace
from tfvis_nb.reading.errors import EmptyTraceError
from tfvis_nb.recording.sessions import Run, SessionTracer

NOTHING_RAN = (
    "no session ran while the trace was on. It records the runs of tf.compat.v1 sessions: Session.run,"
    " Tensor.eval, make_callable, MonitoredSession. Eager code, tf.function and Keras's fit run none;"
    " build the step in a tf.Graph and run it with tf.compat.v1.Session inside the traced cell or block"
)


class RecordedTrace(Trace):
    """A `tfvis_nb.Trace` of what ran in the block; its contents are there when the block has ended.

    Every run of a session is one step. Beyond a Trace read from a file it knows
    what each step was, in the column ``label`` of `steps`.

    Raises
    ------
    AttributeError
        If it is asked for something while the block still runs, or after a
        block in which nothing was recorded.
    """

    def __init__(self) -> None:
        # The Trace's own __init__ is for `fill`: there is no event table yet.
        self._missing = "is there when the `with tfvis_nb.trace()` block has ended"
        self.labels: list[str] = []

    @property
    def ready(self) -> bool:
        """Whether the block has ended and something was recorded."""
        return "events" in vars(self)

    @cached_property
    def steps(self) -> pd.DataFrame:
        """One row per run: step, start_ns, end_ns, duration_ns, events, label (what it fetched and ran)."""
        table = super().steps
        return table.assign(label=[self.labels[step] for step in table["step"]])

    def fill(self, tracer: SessionTracer, remarks: Sequence[str] = ()) -> None:
        """Take over what was recorded, with more `remarks` for the notes.

        Raises
        ------
        EmptyTraceError
            If that is nothing. The message says what to run.
        """
        # TensorFlow writes the fields in order, and step_stats, if not empty, is the first.
        runs = [run for run in tracer.runs if run.metadata[:1] == b"\n" and run.metadata[1:2] != b"\0"]
        remarks = [*remarks, *_remarks(tracer, empty=len(tracer.runs) - len(runs))]
        if not runs:
            reason = "; ".join(remarks) if remarks else NOTHING_RAN
            self._missing = f"was never recorded: {reason}"
            raise EmptyTraceError(f"nothing was recorded: {reason}")
        from tfvis_nb.reading import read_trace  # and with it the decoder, which %load_ext need not wait for

        read = read_trace([run.metadata for run in runs])
        # Whatever a Trace consists of, this one now consists of.
        vars(self).update(vars(read))
        self.sources = [run.metadata for run in runs]
        self.labels = [run.label for run in runs]
        self.title = f"{len(runs)} session runs" if len(runs) > 1 else runs[0].label
        self.notes = [*_step_notes(runs), *remarks, *read.notes]

    def __getattr__(self, name: str) -> object:
        # Only what was not found gets here. IPython looks for many underscored names in vain.
        if name.startswith("_") or self.ready:
            return object.__getattribute__(self, name)  # which raises, also what a property raised inside
        raise AttributeError(f"{name!r} {self._missing}")

    def __repr__(self) -> str:
        return super().__repr__() if self.ready else f"<{type(self).__name__}, not filled yet>"

    def _repr_html_(self) -> str:
        return super()._repr_html_() if self.ready else f"<p>{html.escape(repr(self))}</p>"


def _step_notes(runs: Sequence[Run]) -> list[str]:
    """Say which step was what, one note for all equal ones that follow each other."""
    notes = []
    numbered = enumerate(run.label for run in runs)
    for label, group in itertools.groupby(numbered, key=lambda step: step[1]):
        steps = [number for number, _ in group]
        span = f"step {steps[0]}" if len(steps) == 1 else f"steps {steps[0]}-{steps[-1]}"
        notes.append(f"{span}: run of {label}")
    return notes


def _remarks(tracer: SessionTracer, *, empty: int) -> list[str]:
    remarks = [f"{_runs(count)} {why}" for why, count in tracer.missed.items() if count]
    remarks += [
        f"{_runs(count)} traced without GPU rows, because {why}" for why, count in tracer.slot.lowered.items()
    ]
    if empty:
        remarks.append(f"{_runs(empty)} returned no rows")
    return remarks


def _runs(count: int) -> str:
    return "1 run" if count == 1 else f"{count} runs"
