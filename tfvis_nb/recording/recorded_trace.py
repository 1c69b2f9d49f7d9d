"""The Trace of a ``with tfvis_nb.trace()`` block, which exists before its contents."""

import html
import itertools
import re
from collections.abc import Sequence

from tfvis_nb import events as event_table
from tfvis_nb.core.errors import EmptyTraceError
from tfvis_nb.core.metadata import Metadata
from tfvis_nb.core.trace import Trace
from tfvis_nb.recording.gpu.cupti import note_of
from tfvis_nb.recording.jax.tracer import JaxTracer
from tfvis_nb.recording.machine_samples import MachineSampler
from tfvis_nb.recording.options import TraceOptions
from tfvis_nb.recording.python_samples import PythonSampler
from tfvis_nb.recording.sessions.runs import Run, SessionTracer
from tfvis_nb.recording.tensorflow_tracer import TensorFlowTracer
from tfvis_nb.texts import Text

_NUMBER = re.compile(r" \d+$")


class RecordedTrace(Trace):
    """A `tfvis_nb.Trace` of the code in the block; its contents are available when the block has ended.

    Unlike a Trace read from a file, it also keeps the serialised messages: in ``sources`` the ``RunMetadata``
    of each session run, in ``profiles`` the ``XSpace`` of each profile.

    Raises
    ------
    AttributeError
        If its contents are accessed while the block still runs, or after a block that recorded nothing.
    """

    def __init__(self) -> None:
        # `_fill` calls Trace.__init__: there is no event table yet.
        self._reason = ""
        self.profiles = []

    @property
    def ready(self) -> bool:
        """Whether the block has ended and something was recorded."""
        return "_events" in vars(self)

    @property
    def reason(self) -> str:
        """Why nothing was recorded; empty while the block runs and if something was recorded."""
        return self._reason

    def _give_up(self, reason: str) -> None:
        """Remember why nothing will be recorded."""
        self._reason = reason

    def _fill(
        self,
        tensorflow: TensorFlowTracer | None,
        jax: JaxTracer | None,
        python: PythonSampler | None,
        machine: MachineSampler | None,
        options: TraceOptions,
        remarks: Sequence[str] = (),
        failure: Metadata | None = None,
        in_thread: bool = False,
    ) -> None:
        """Take over the recorded data, with more `remarks` for the notes.

        `failure` has the facts about the failed allocation that ended the block, or one of its threads if
        `in_thread`.

        Raises
        ------
        EmptyTraceError
            If nothing was recorded. The message explains what to run.
        """
        runs: list[Run] = []
        if tensorflow is not None:
            every = tensorflow.sessions.runs
            # TensorFlow writes fields in order, so step_stats comes first if it is not empty.
            runs = [run for run in every if run.metadata[:1] == b"\n" and run.metadata[1:2] != b"\0"]
            remarks = [*remarks, *_remarks(tensorflow.sessions, empty=len(every) - len(runs))]
            remarks += tensorflow.profiles.remarks
        if jax is not None:
            remarks = [*remarks, *jax.remarks]
        # These imports load the decoder, which %load_ext should not wait for.
        from tfvis_nb.analysis.findings.out_of_memory import ended
        from tfvis_nb.recording.assemble import assembled

        trace = assembled(runs, tensorflow, jax, python, machine, options)
        if trace is None and failure:
            trace = Trace(event_table.build({}, rows=0))
        if trace is None:
            nothing = "nothing_ran" if tensorflow or jax else "nothing_imported"
            reason = "; ".join(remarks) or Text("no_session_ran" if options.mode == "session" else nothing)
            self._give_up(reason)
            raise EmptyTraceError(Text("nothing_recorded", reason=reason))
        trace.metadata |= failure or {}
        # Take over all attributes of the Trace.
        vars(self).update(vars(trace))
        self.sources = [run.metadata for run in runs]
        self.title = (
            title_of(list(trace.step_labels.values()), session_runs=len(runs))
            if len(trace.events)
            else "out of memory"
        )
        notes = [] if self.profiles else _step_notes(runs)
        if tensorflow is not None and (self.profiles or options.level != "software"):
            kinds, devices = (set(trace.events[name].unique()) for name in ("kind", "device"))
            missing = note_of(kinds, devices)
            notes += [missing] if missing else []
        failed = ended(self)
        ended_what = "thread_out_of_memory" if in_thread else "ended_out_of_memory"
        notes = [Text(ended_what, failure=failed), *notes] if failed else notes
        self.notes = [*notes, *remarks, *trace.notes]

    def __getattr__(self, name: str) -> object:
        # Only called for missing names. IPython looks up many underscored names that do not exist.
        if name.startswith("_") or self.ready:
            return object.__getattribute__(self, name)  # raises, including errors inside a property
        raise AttributeError(
            Text("never_recorded", name=name, reason=self._reason)
            if self._reason
            else Text("not_recorded_yet", name=name)
        )

    def __repr__(self) -> str:
        return super().__repr__() if self.ready else f"<{type(self).__name__}, not filled yet>"

    def _repr_html_(self) -> str:
        return super()._repr_html_() if self.ready else f"<p>{html.escape(repr(self))}</p>"


def title_of(labels: Sequence[str], *, session_runs: int) -> str:
    """Name a recording by its steps."""
    if len(labels) == 1:
        return labels[0]
    if session_runs == len(labels):
        return f"{session_runs} session runs" if labels else "eager code"
    kinds = list(dict.fromkeys(_NUMBER.sub("", label) for label in labels))
    return f"{len(labels)} steps: {', '.join(kinds[:3])}{', ...' if len(kinds) > 3 else ''}"


def _step_notes(runs: Sequence[Run]) -> list[str]:
    """Describe the steps, with one note for consecutive equal ones."""
    notes: list[str] = []
    numbered = enumerate(run.label for run in runs)
    for label, group in itertools.groupby(numbered, key=lambda step: step[1]):
        steps = [number for number, _ in group]
        notes.append(
            Text("step_of_run", first=steps[0], label=label)
            if len(steps) == 1
            else Text("steps_of_runs", first=steps[0], last=steps[-1], label=label)
        )
    return notes


def _remarks(tracer: SessionTracer, *, empty: int) -> list[str]:
    remarks: list[str] = [Text(why, runs=count) for why, count in tracer.missed.items() if count]
    remarks += [
        Text("runs_without_gpu_rows", runs=count, why=Text(why)) for why, count in tracer.slot.lowered.items()
    ]
    if tracer.slot.beside:
        remarks.append(Text("runs_beside_profile", runs=tracer.slot.beside))
    if empty:
        remarks.append(Text("runs_without_rows", runs=empty))
    return remarks
