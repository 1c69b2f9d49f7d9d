"""The first of two byte strings for the front end: everything it needs to draw a whole trace."""

from tfvis_nb.analysis.communication.waits import turns, waits
from tfvis_nb.analysis.events.bar_categories import categories
from tfvis_nb.analysis.events.lane_order import LaneOrder, order_lanes
from tfvis_nb.core.trace import Trace
from tfvis_nb.display.wire.bars import Bars, pack_trace
from tfvis_nb.display.wire.header import (
    MOST_LANES,
    changes,
    op_table,
    origin_ns,
    sent_lanes,
    step_table,
    trace_header,
)

_DRAWN = ["step", "name", "op", "start_ns", "duration_ns"]


def drawn(trace: Trace, lanes: LaneOrder | None = None, *, title: str | None = None) -> bytes:
    """Write the drawn data of a trace as a container (see `tfvis_nb.display.wire.container`)."""
    lanes = lanes or order_lanes(trace.events, at_most=MOST_LANES)
    rows = lanes.rows
    # Labels are most of a table's bytes, and not drawn.
    events = trace.events[_DRAWN].take(rows)
    start = events["start_ns"].to_numpy() - origin_ns(trace.events)
    duration = events["duration_ns"].to_numpy()
    steps, step = step_table(trace, events)
    ops, op = op_table(events)
    bars = Bars(
        slot=lanes.of_event[rows],
        start=start,
        end=start + duration,
        op=op,
        category=categories(trace)[rows],
        step=step,
        wait=waits(trace)[rows],
        turn=turns(trace)[rows],
        name=events["name"],
        changed=None if (changed := changes(trace)) is None else changed[rows],
    )
    header = trace_header(
        trace,
        title=trace.title if title is None else title,
        span=int(bars.end.max(initial=0)),
        lanes=sent_lanes(lanes.table),
        steps=steps,
        ops=ops,
    )
    return pack_trace(bars, header, lanes.of_event)
