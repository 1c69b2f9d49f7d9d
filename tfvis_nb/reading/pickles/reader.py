"""Read pickles of RunMetadata from tfvis, and saved tftracer sessions."""

import re
from collections.abc import Iterator
from typing import Any

from tfvis_nb.core.errors import TraceFormatError
from tfvis_nb.core.trace import Trace
from tfvis_nb.reading.multi_run import RunBytes, read_runs
from tfvis_nb.reading.pickles.opcodes import load
from tfvis_nb.reading.pickles.restricted_vm import Global, Object
from tfvis_nb.reading.pickles.tftracer import SESSION, SavedRun, kept_traces, saved_runs
from tfvis_nb.reading.protobuf.wire import Data
from tfvis_nb.reading.sources.unpacking import Allowance
from tfvis_nb.texts import Text

_MESSAGES = {
    Global("tensorflow.core.protobuf.config_pb2", "RunMetadata"): "RunMetadata",
    Global("tensorflow.core.framework.step_stats_pb2", "StepStats"): "StepStats",
}
_ALLOWED = {
    **_MESSAGES,
    SESSION: "session",
    Global("collections", "OrderedDict"): "dict",
    Global("datetime", "datetime"): "time",
    Global("datetime", "timedelta"): "time",
}
_OLD = re.compile(rb"\(?(?:c[\w.]+\n[\w.]+\n|i[\w.]+\n[\w.]+\n|[dl]p\d+\n|\(?[SVIL][^\n]*\n|lp?\d*\n)")

_CERTAIN = re.compile(rb"\(?ctensorflow\.[\w.]+\n\w+\n")


def is_pickle(data: Data) -> bool:
    """Return whether `data` starts like a pickle."""
    head = bytes(data[:512])
    if head[:1] == b"\x80":
        return head[1:2] in (b"\x02", b"\x03", b"\x04", b"\x05")
    # Protocols 0 and 1 have no header: check for a global, a memoized list or dict, and the stop at the end.
    known = _OLD.match(head) is not None or head[:2] in (b"]q", b"}q")
    return bool(_CERTAIN.match(head)) or (known and bytes(data[-64:]).rstrip(b"\n").endswith(b"."))


def read(data: Data, label: str, *, allowance: Allowance) -> Trace:
    """Read a pickle of one RunMetadata, of a list or dict of them, or of a tftracer session.

    Nothing named in the pickle is imported or called; see `tfvis_nb.reading.pickles.restricted_vm`.
    """
    notes: list[str] = []
    parts = messages(data, label, notes)
    allowance.take_parts(len(parts), label)
    return read_runs(parts, notes, Text("pickle_without_runs", label=label), allowance.room)


def messages(data: Data, label: str, notes: list[str]) -> list[RunBytes]:
    """Return the serialised messages in a pickle, each once; remarks go to `notes`."""
    built = load(data, label, _ALLOWED)
    if isinstance(built, Object) and built.made_by == SESSION:
        parts = list(_session(built, label, notes))
    else:
        named = dict(enumerate(built)) if isinstance(built, (list, tuple)) else _items(built, notes)
        parts = [
            _run_bytes(run, label if len(named) == 1 else f"{label}, run {name}")
            for name, run in named.items()
        ]
    return list({id(part.data): part for part in parts}.values())


def _items(built: Any, notes: list[str]) -> dict[Any, Any]:
    """Return the messages of a pickled dict by key; for anything else, itself."""
    values = built.items if isinstance(built, Object) else built
    values = values if isinstance(values, dict) else {}
    runs = {key: run for key, run in values.items() if isinstance(run, Object) and run.made_by in _MESSAGES}
    if not runs:
        return {"": built}
    if others := len(values) - len(runs):
        notes.append(Text("pickled_values_left_out", values=others))
    return runs


def tftracer_session(data: Data, label: str) -> list[SavedRun]:
    """Return the runs of a pickled tftracer session, with its traces as serialised messages.

    A repeated message is only returned once.
    """
    built = load(data, label, _ALLOWED)
    if not isinstance(built, Object) or built.made_by != SESSION:
        raise TraceFormatError(Text("pickle_of_no_session", label=label), foreign=True)
    runs = saved_runs(built, label)
    seen: set[int] = set()
    for run in runs:
        parts = [(ended, trace and _run_bytes(trace, label)) for ended, trace in run.traces]
        run.traces = []
        for ended, part in parts:
            if part is None or id(part.data) not in seen:
                run.traces.append((ended, part and part.data))
            if part is not None:
                seen.add(id(part.data))
    return runs


def _session(session: Object, label: str, notes: list[str]) -> Iterator[RunBytes]:
    """Yield the traces of a session, run by run; None for those that tftracer no longer kept."""
    runs = kept_traces(session, label)
    gone = sum(trace is None for kept in runs.values() for trace in kept)
    count = sum(map(len, runs.values()))
    if gone:
        notes.append(Text("traces_not_kept", lost=gone, traces=count))
    for run, kept in runs.items():
        for number, trace in enumerate(kept):
            if trace is not None:
                yield _run_bytes(trace, f"{label}, run {run}, trace {number}")


def _run_bytes(run: Any, label: str) -> RunBytes:
    if not isinstance(run, Object) or run.made_by not in _MESSAGES:
        what = str(run.made_by) if isinstance(run, Object) else type(run).__name__
        raise TraceFormatError(Text("pickle_of_other", label=label, type=what[:120]), foreign=True)
    state = run.state if isinstance(run.state, dict) else {}
    # Pickles of Python 2 have bytes where later ones have text.
    data = state.get("serialized", state.get(b"serialized", b""))
    if not isinstance(data, bytes):
        raise TraceFormatError(Text("pickle_state_no_bytes", label=label, type=_MESSAGES[run.made_by]))
    return RunBytes(label, data, _MESSAGES[run.made_by])
