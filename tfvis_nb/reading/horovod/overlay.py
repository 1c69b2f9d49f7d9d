"""Add a Horovod timeline to the traces of its ranks, in lanes of the rank that wrote it."""

from collections.abc import Sequence
from datetime import UTC, datetime

import numpy as np
import pandas as pd
import pyarrow as pa

from tfvis_nb import events as event_table
from tfvis_nb.core.devices import HOROVOD_OF_NO_TASK, horovod_device
from tfvis_nb.core.trace import Trace
from tfvis_nb.reading.chrome.horovod_timeline import LANES, OPERATIONS
from tfvis_nb.reading.chrome.table import EPOCH
from tfvis_nb.reading.concat import merge
from tfvis_nb.texts import Text

RANK_0 = "/job:worker/replica:0/task:0"
"""The name in `tfvis_nb.reading.horovod.ranks` of the rank that writes the timeline."""

_ACTIVITIES = {op: activity for activity, op in OPERATIONS.items()}
_UNTRACED = -2
"""The number of an untraced step; `NO_STEP` is for traced events outside steps."""


def is_horovod_timeline(trace: Trace) -> bool:
    """Return whether a trace only has a HOROVOD_TIMELINE file."""
    events = trace.events
    return bool(
        len(events)
        and set(events["device"].unique()) == {HOROVOD_OF_NO_TASK}
        and set(events["task"].unique()) == {""}
        and set(events["lane"].unique()) <= set(LANES)
    )


def overlay(trace: Trace, timelines: Sequence[Trace], *, ranked: bool) -> Trace:
    """Add the rows of Horovod timelines during traced steps to a trace, with a note on each timeline.

    A row belongs to the step during which the communication of its tensor started: by then every rank has
    reached that collective, and none has left it. Existing rows do not change. Added rows partly repeat ops
    and never count as communication: their kinds are ``host`` and ``sync``. With `ranked`, the tasks of
    `trace` are ranks, by number.
    """
    task, notes = _writer(trace.events, ranked=ranked)
    added = []
    for timeline in timelines:
        step = _steps(_anchors(timeline.events), trace.events, task)
        kept = step != _UNTRACED
        notes += [note for note in timeline.notes if kept.any()]
        notes.append(_note(timeline, trace, int(kept.sum())))
        if kept.any():
            added.append(_rows(timeline.events, kept, step, task, trace.nested))
    if not added:
        trace.notes += notes
        return trace
    whole = merge([trace, *added], trace.title)
    whole.graphs, whole.run_metadata = trace.graphs, trace.run_metadata
    whole.clock_bounds = trace.clock_bounds
    whole.notes += notes
    return whole


def _writer(events: pd.DataFrame, *, ranked: bool) -> tuple[str, list[str]]:
    """Return the task of rank 0, empty if unknown, and a note about it."""
    if ranked:
        return RANK_0, []
    tasks = [str(task) for task in events["task"].unique() if task]
    if len(tasks) > 1:
        return "", [Text("rank_0_unknown", tasks=len(tasks))]
    return (tasks[0], [Text("rank_0_taken")]) if tasks else ("", [])


def _anchors(timeline: pd.DataFrame) -> np.ndarray:
    """Return for each row when communication of its tensor started, or else its own start."""
    lane = timeline["lane"].astype(object).to_numpy()
    start = timeline["start_ns"].to_numpy()
    end = start + timeline["duration_ns"].to_numpy()
    own = lane == "cycles"
    negotiates, communicates = lane == "negotiate", lane == "collective"
    tensor = pd.factorize(timeline["name"])[0]
    # If rows start together, their parts are last.
    order = np.lexsort((np.select([negotiates, communicates], [0, 1], 2), start, own, tensor))
    # A negotiation starts an execution, and so does a collective without one.
    marks = np.flatnonzero((negotiates | communicates)[order])
    before = np.roll(marks, 1)
    follows = (tensor[order[before]] == tensor[order[marks]]) & negotiates[order[before]]
    follows[:1] = False
    begins = np.zeros(len(order), bool)
    begins[marks[negotiates[order[marks]] | ~follows]] = True
    begins |= own[order]
    begins[1:] |= tensor[order][1:] != tensor[order][:-1]
    number = np.empty(len(order), np.int64)
    number[order] = np.cumsum(begins)
    count = int(number.max(initial=0)) + 1
    # Tensors still being negotiated when the job ended have no collective.
    latest = np.full(count, np.iinfo(np.int64).min)
    np.maximum.at(latest, number, np.where(own, start, end))
    moved = np.full(count, np.iinfo(np.int64).max)
    np.minimum.at(moved, number[communicates], start[communicates])
    anchor: np.ndarray = np.where(moved < np.iinfo(np.int64).max, moved, latest)[number]
    return anchor


def _steps(anchor: np.ndarray, events: pd.DataFrame, task: str) -> np.ndarray:
    """Return the step of each row: rank 0's, if that was traced."""
    spans = _spans(events)
    own = _spans(events[events["task"] == task])
    spans.loc[own.index] = own
    step = np.full(len(anchor), _UNTRACED)
    order = np.argsort(anchor, kind="stable")
    # Rows outside steps come first, so that steps override them.
    spans = spans.sort_values("start")
    spans = spans.loc[sorted(spans.index, key=lambda number: number != event_table.NO_STEP)]
    first = np.searchsorted(anchor[order], spans["start"].to_numpy(), "left")
    last = np.searchsorted(anchor[order], spans["end"].to_numpy(), "right")
    for number, begin, end in zip(spans.index.tolist(), first.tolist(), last.tolist(), strict=True):
        step[order[begin:end]] = number
    return step


def _spans(events: pd.DataFrame) -> pd.DataFrame:
    """Return start and end of each step in ns, by its number."""
    ends = events["start_ns"] + events["duration_ns"]
    return pd.DataFrame(
        {"start": events.groupby("step")["start_ns"].min(), "end": ends.groupby(events["step"]).max()}
    )


def _rows(
    timeline: pd.DataFrame, kept: np.ndarray, step: np.ndarray, task: str, like: pa.Table | None
) -> Trace:
    """Return the kept rows of a timeline, as rows of a task, with empty nested rows."""
    table = timeline[kept].reset_index(drop=True)
    count = len(table)
    device = horovod_device(task)
    kind = table["kind"].astype(object).to_numpy()
    columns = {name: table[name] for name in event_table.COLUMNS} | {
        "step": step[kept].astype(np.int32),
        "task": pd.Categorical([task] * count),
        "device": pd.Categorical([device] * count),
        # A second row with the kind and op type of TensorFlow's op would be counted again.
        "kind": pd.Categorical(np.where(kind == "collective", "host", kind).tolist()),
        "op": pd.Categorical([_ACTIVITIES.get(op, op) for op in table["op"].astype(str)]),
    }
    nested = None
    if like is not None:
        nested = pa.table({field.name: pa.nulls(count, field.type) for field in like.schema})
        if "raw_device" in nested.column_names:
            index = nested.column_names.index("raw_device")
            recorded = pa.array([device] * count, pa.string()).dictionary_encode()
            nested = nested.set_column(index, "raw_device", recorded)
    return Trace(event_table.build(columns), nested=nested)


def _note(timeline: Trace, trace: Trace, kept: int) -> str:
    """Describe how a timeline was used."""
    name = f"Horovod timeline {timeline.title[:80]}".rstrip()
    count = len(timeline.events)
    if kept:
        if count > kept:
            return Text("horovod_beside_in_part", name=name, rows=kept, others=count - kept)
        return Text("horovod_beside", name=name, rows=kept)
    if int(timeline.events["start_ns"].median()) < EPOCH:
        return Text("horovod_undated", name=name)
    spans = " and ".join(
        f"{what} from {_clock(int(part['start_ns'].iloc[0]))} to "
        f"{_clock(int((part['start_ns'] + part['duration_ns']).max()))}"
        for what, part in (("it lasts", timeline.events), ("the steps last", trace.events))
        if len(part)
    )
    return Text("horovod_outside", name=name, rows=count, times=spans)


def _clock(epoch_ns: int) -> str:
    try:
        return datetime.fromtimestamp(epoch_ns / 1e9, UTC).strftime("%Y-%m-%d %H:%M:%S.%f UTC")
    except (OverflowError, ValueError, OSError):
        return f"{epoch_ns} ns"
