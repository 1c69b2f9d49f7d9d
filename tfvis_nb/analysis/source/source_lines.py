"""Time by line of the user's code, on devices, the host and the network."""

from collections.abc import Collection
from typing import Any, Literal, get_args

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from tfvis_nb import events as event_table
from tfvis_nb.analysis._validate import validate_input
from tfvis_nb.analysis.events.locations import LOCATIONS, locations
from tfvis_nb.analysis.events.nesting import self_times_of
from tfvis_nb.analysis.events.unattributed import REASON_MEANING, WAITING, reasons, waiting_stages
from tfvis_nb.analysis.source.sampled_time import sampled_time
from tfvis_nb.analysis.source.waiting_time import waiting_ns
from tfvis_nb.analysis.unavailable import cannot_say
from tfvis_nb.core.categories import is_kind
from tfvis_nb.core.row_numbers import number_rows
from tfvis_nb.core.stacks import PHASE, StackBuilder, StackTable, event_stacks
from tfvis_nb.core.step_spans import of_steps
from tfvis_nb.core.trace import Trace
from tfvis_nb.texts import Text

Frames = Literal["own", "all"]
FRAMES = get_args(Frames)
"""The frames of a stack that can count in `source_lines`."""

FIGURES: dict[str, str] = {
    "reason": f"Why events are of no line. {REASON_MEANING}. Empty for lines.",
    "phase": "forward, backward or optimizer. A gradient belongs to the line of its forward op. "
    "Empty if not known.",
    "device_ns": "Sum of the self times of the line's events on devices, in ns, as self_ns of op_statistics.",
    "host_ns": "The same for ops and calls on the host, in ns. Lines with samples get the self time of events"
    " that call them, such as PyFunc, and the time in which the sampled thread was in no event.",
    "sampled_ns": "The part of host_ns that is known from samples, in ns.",
    "network_ns": "The same for received tensors, with their waits, and collectives, without theirs, in ns.",
    "copy_bytes": "Bytes that copies of the line moved between host and device, or within a device.",
    "output_bytes": "Bytes of the line's other events with a size: tensors received and outputs of ops.",
    "events": "Number of events, repeated rows included.",
    "device_share": "device_ns / its sum over all rows, from 0 to 1; NaN if that is 0.",
    "host_share": "host_ns / its sum over all rows that do not wait for others, from 0 to 1; NaN for waiting"
    " and if that sum is 0.",
    "first": "The first event of the line; -1 if it is known from samples outside of events only.",
}

_SIDES = ("device", "host", "network")
_COLUMNS = {
    "file": "str",
    "line": "Int64",
    "function": "str",
    "text": "str",
    "phase": "str",
    "reason": "str",
    **{f"{side}_ns": "int64" for side in _SIDES},
    "sampled_ns": "int64",
    "copy_bytes": "int64",
    "output_bytes": "int64",
    "events": "int64",
    "device_share": "float64",
    "host_share": "float64",
    "first": "int64",
}
_SUMS = (*(f"{side}_ns" for side in _SIDES), "sampled_ns", "copy_bytes", "output_bytes", "events")


@validate_input
def source_lines(trace: Trace, frames: Frames = "own", steps: Collection[int] | None = None) -> pd.DataFrame:
    """Add up the events of a trace by the line of code that made them.

    Parameters
    ----------
    trace
        Any trace.
    frames
        ``"own"``: the innermost frame of the user's own code on each stack. ``"all"``: the innermost frame,
        including installed packages.
    steps
        Numbers of the steps to add up; None for all events, including those outside steps.

    Returns
    -------
    pandas.DataFrame
        One row per line and phase, and one per reason why events belong to no line, with an NA ``line``:
        ``file``, ``function``, ``text``, ``phase`` and ``reason`` (str), ``line`` (Int64), the other columns
        as in `FIGURES` (int64; shares float64). The most device time first, then host time; reasons last.
        `cannot_say` if there are no events or no stacks.

    Raises
    ------
    ValueError
        If `frames` is not one of `FRAMES`, or a number in `steps` is not a step.

    Notes
    -----
    The times add up exactly to the self times of their side in `op_statistics`, plus sampled time in which
    the thread was in no event. That time is left out if `steps` leaves out events.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from tfvis_nb import Trace, events
    >>> from tfvis_nb.analysis import source_lines
    >>> from tfvis_nb.core.stacks import Frame, StackBuilder
    >>> builder = StackBuilder()
    >>> stack = builder.stack([Frame("Cell [7]", 12, "step", "y = x @ w")])
    >>> table = events.build({"start_ns": [0, 9], "duration_ns": [9, 1], "kind": ["op", "op"]})
    >>> nested = pa.table({"stack": pa.array([stack, None], pa.int32())})
    >>> trace = Trace(table, nested=nested, stacks=builder.table())
    >>> source_lines(trace)[["file", "line", "host_ns", "reason"]].values.tolist()
    [['Cell [7]', 12, 9, ''], ['', <NA>, 1, 'no stack']]
    """
    if frames not in FRAMES:
        raise ValueError(Text("not_one_of", choices=", ".join(FRAMES), by=frames))
    rows = of_steps(trace, steps)
    if not len(rows):
        return cannot_say(_COLUMNS, Text("no_events"))
    sampled = sampled_time(trace, rows)
    if trace.stacks is None and sampled.lines.empty:
        return cannot_say(_COLUMNS, Text("no_stacks"))
    stacks = trace.stacks or StackBuilder().table()
    stack = event_stacks(trace)[rows]
    counted = stacks.own_frame() if frames == "own" else stacks.stacks["frame"].to_numpy()
    frame = np.where(waiting_stages(trace)[rows], -1, np.append(counted, -1)[stack])
    group, labels = _groups(stacks, frame, reasons(trace, rows, stack), _phases(trace, rows))
    sums = dict.fromkeys(_SUMS, "sum") | {"first": "min"}
    table = event_figures(trace, rows, sampled.taken).groupby(group, sort=False).agg(sums)
    table = pd.concat([table, labels], axis=1)
    waits = _waits(trace, rows)
    if len(sampled.lines) or len(waits):
        keys = [name for name in _COLUMNS if name not in (*_SUMS, "first", "device_share", "host_share")]
        more = [part for part in (_of_samples(stacks, sampled.lines), waits) if len(part)]
        table = pd.concat([table, *more]).groupby(keys, sort=False).agg(sums).reset_index()
    # Calls that wait for ops on other threads cover the same time as these.
    works = table["reason"] != WAITING
    for side, counts in (("device", np.ones(len(table), bool)), ("host", works)):
        time = table[f"{side}_ns"].where(counts)
        table[f"{side}_share"] = time / time.sum() if time.sum() else np.nan
    table["line"] = table["line"].astype("Int64").mask(table["line"] < 0)
    for name in ("file", "function", "text", "phase", "reason"):
        table[name] = pd.array(table[name].to_numpy(), dtype=event_table.TEXT)
    most_first = [-table[f"{side}_ns"] for side in reversed(_SIDES)]
    order = np.lexsort((table["first"], *most_first, table["line"].isna()))
    return (
        table.iloc[order][list(_COLUMNS)].astype({"events": "int64", "first": "int64"}).reset_index(drop=True)
    )


def _groups(
    stacks: StackTable, frame: np.ndarray, reason: np.ndarray, phase: np.ndarray
) -> tuple[np.ndarray, pd.DataFrame]:
    """Number the groups of events, and describe each: its line and phase, or the reason why it has no line.

    `frame` is the frame of each event, -1 if it has none.
    """
    table = stacks.frames
    files = np.array([*stacks.files["name"].to_pylist(), ""], object)
    # The last row is for events without a frame.
    lines = pd.DataFrame(
        {
            "file": files[np.append(table["file"].to_numpy(), len(files) - 1)],
            "line": np.append(table["line"].to_numpy().clip(0), -1),
            **{name: [*table[name].fill_null("").to_pylist(), ""] for name in ("function", "text")},
        }
    )
    # There are few frames, so events are compared only by number.
    line, _ = number_rows(*(lines[name] for name in lines))
    part = np.where(frame >= 0, phase, reason)
    group, first = number_rows(line[frame], part)
    labels = lines.iloc[frame[first]].reset_index(drop=True)
    known, text = labels["line"] >= 0, part[first]
    return group, labels.assign(phase=np.where(known, text, ""), reason=np.where(known, "", text))


def _phases(trace: Trace, rows: np.ndarray) -> np.ndarray:
    if trace.nested is None or PHASE not in trace.nested.column_names:
        return np.full(len(rows), "", object)
    phases = pc.fill_null(trace.nested[PHASE].cast(pa.string()), "")
    of_rows: np.ndarray = phases.to_numpy(zero_copy_only=False)[rows]
    return of_rows


def _waits(trace: Trace, rows: np.ndarray) -> pd.DataFrame:
    """Return a row of `source_lines` with the time in which events wait, if any does."""
    waited = waiting_ns(trace)[rows]
    row: dict[str, Any] = {name: 0 if dtype == "int64" else "" for name, dtype in _COLUMNS.items()}
    row |= {"line": -1, "reason": WAITING, "first": rows[waited.argmax()], **waiting_figures(trace, rows)}
    return pd.DataFrame([row])[: int(waited.any())]


def waiting_figures(trace: Trace, rows: np.ndarray) -> dict[str, int]:
    """Return the time in which events wait, by side, as in `FIGURES`."""
    waited, side = waiting_ns(trace)[rows], locations(trace.events)[rows]
    return {f"{name}_ns": int(waited[side == LOCATIONS.index(name)].sum()) for name in _SIDES}


def _of_samples(stacks: StackTable, lines: pd.DataFrame) -> pd.DataFrame:
    """Return sampled lines as rows of `source_lines`."""
    files, frames = stacks.files["name"].to_pylist(), stacks.frames.to_pylist()
    texts = {(files[one["file"]], one["line"], one["function"] or ""): one["text"] or "" for one in frames}
    text = [texts.get(tuple(key), "") for key in lines[["file", "line", "function"]].to_numpy().tolist()]
    figures = dict.fromkeys(("device_ns", "network_ns", "copy_bytes", "output_bytes", "events"), 0)
    first = lines["event"].rename("first")
    return lines.assign(**figures, first=first, host_ns=lines["sampled_ns"], text=text, phase="", reason="")


def event_figures(trace: Trace, rows: np.ndarray, taken: np.ndarray) -> pd.DataFrame:
    """Return the contribution of each event to its line: columns as in `FIGURES`, int64.

    `taken` is the part of the self time of each event that belongs to sampled lines. Waits for Python's
    interpreter lock belong to no line: the line that holds it has their time. Waits in collectives
    do not either: lines of the last rank run then.
    """
    own, known = self_times_of(trace)
    own = own - taken - waiting_ns(trace)
    side, size = locations(trace.events)[rows], trace.events["bytes"].to_numpy(np.int64, na_value=0)[rows]
    time, copied = np.where(known, own, 0)[rows], is_kind(trace.events, "memcpy")[rows]
    return pd.DataFrame(
        {
            **{f"{name}_ns": np.where(side == LOCATIONS.index(name), time, 0) for name in _SIDES},
            "sampled_ns": 0,
            "copy_bytes": np.where(copied, size, 0),
            "output_bytes": np.where(copied, 0, size),
            "events": 1,
            "first": rows,
        }
    )
