"""What a timeline shows, converted between the front end's form and that of `TimelineWidget.view`.

The front end (``View`` in ``js/model/view.ts``) has times in nanoseconds from the earliest start drawn.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from tfvis_nb.core.options import refuse_unknown
from tfvis_nb.core.trace import Trace
from tfvis_nb.display.shaping.gap_compression import moved_time
from tfvis_nb.display.wire.drawn import origin_ns
from tfvis_nb.texts import Text

View = dict[str, Any]

PANELS = ("details", "graph", "code")
_LANES = ("hidden", "pinned")
KEYS = ("start_ns", "end_ns", "step", *_LANES, *PANELS)


def recorded_view(view: Mapping[str, Any] | None, trace: Trace, shown: Trace) -> View:
    """Return the view that the front end last sent, in the trace's terms; None is that of a new one."""
    origin = origin_ns(shown.events)
    ends = shown.events["start_ns"] + shown.events["duration_ns"]
    found = view or {"start": 0, "end": int(ends.max()) - origin if len(ends) else 0, "details": True}
    start, end = (moved_time(shown, trace, origin + round(found[name])) for name in ("start", "end"))
    lanes = {name: [tuple(lane) for lane in found.get(name, ())] for name in _LANES}
    panels = {name: bool(found.get(name, False)) for name in PANELS}
    return {"start_ns": start, "end_ns": end, "step": found.get("step"), **lanes, **panels}


def drawn_view(view: Mapping[str, Any], trace: Trace, shown: Trace) -> View:
    """Return a complete view for the front end; TypeError or ValueError names a value."""
    times = [_whole(view, name) for name in ("start_ns", "end_ns")]
    if times[0] >= times[1]:
        raise ValueError(Text("view_value", name="end_ns", value=times[1], expected=f"more than {times[0]}"))
    step = None if view["step"] is None else _whole(view, "step")
    if step is not None and not (trace.events["step"] == step).any():
        raise ValueError(Text("view_value", name="step", value=step, expected="a step of the trace, or None"))
    for name in PANELS:
        if not isinstance(view[name], bool):
            raise TypeError(Text("view_value", name=name, value=view[name], expected="True or False"))
    start, end = (moved_time(trace, shown, time) - origin_ns(shown.events) for time in times)
    lanes = {name: _lanes(view, name, trace) for name in _LANES}
    return {"start": start, "end": end, "step": step, **lanes, **{name: view[name] for name in PANELS}}


def changed_view(view: View, changes: Any) -> View:
    """Return a view with some values replaced; TypeError if there is no such value."""
    if not isinstance(changes, Mapping):
        raise TypeError(Text("view_value", name="view", value=changes, expected="a dict"))
    refuse_unknown(map(str, changes), view)
    return {**view, **changes}


def _whole(view: Mapping[str, Any], name: str) -> int:
    value = view[name]
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        raise TypeError(Text("view_value", name=name, value=value, expected="a whole number"))
    return int(value)


def _lanes(view: Mapping[str, Any], name: str, trace: Trace) -> list[list[str]]:
    """Return lanes and groups of a trace by their names: task, device and lane, or the first of these."""
    table = trace.lanes[["task", "device", "lane"]].astype(str)
    known = {lane[:size] for lane in table.itertuples(index=False, name=None) for size in (1, 2, 3)}
    found = []
    for lane in view[name] if isinstance(view[name], list | tuple) else [view[name]]:
        is_track = (
            isinstance(lane, list | tuple) and len(lane) > 3 and all(isinstance(part, str) for part in lane)
        )
        if not is_track and (not isinstance(lane, list | tuple) or tuple(lane) not in known):
            expected = "a list of lanes (task, device, lane), as in trace.lanes"
            raise ValueError(Text("view_value", name=name, value=lane, expected=expected))
        found.append(list(lane))
    return found
