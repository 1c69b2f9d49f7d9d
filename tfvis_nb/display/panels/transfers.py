"""The tab of what moved: between tasks over the network, and between host and devices."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfvis_nb.display.labels import lane_label
from tfvis_nb.display.panels.blocks import MOST_ROWS, Column, chart, key, table
from tfvis_nb.display.panels.places import Places

if TYPE_CHECKING:
    import pandas as pd

    from tfvis_nb._trace import Trace

_CHART = "Each transfer and copy by its size and the time it moved; far right and low of others it was slow."


def blocks(trace: Trace) -> list[dict[str, Any]]:
    """Return the chart of transfers, and the longest of them."""
    return [chart(trace, "transfers", _CHART), _longest(trace)]


def _longest(trace: Trace) -> dict[str, Any]:
    found = trace.transfers
    columns = [
        Column("tensor", "Tensor", "name", "What moved: the tensor received, or the node whose copy it was."),
        key("step", "Step", "number"),
        Column("source", "From", "text", "The device it came from."),
        Column("destination", "To", "text", "The device it went to."),
        Column("bytes", "Size", "bytes", "Bytes moved."),
        Column("duration_ns", "Duration", "ns", "From its start to its end, in ns."),
        Column("wait_ns", "Waited", "ns", "The part in which an earlier one was on the channel, in ns."),
        Column("transfer_ns", "Moved", "ns", "The rest of the duration, in ns."),
        Column("bandwidth", "Bandwidth", "bytes/s", "Bytes / the time it moved."),
    ]
    rows = found.sort_values("duration_ns", ascending=False, kind="stable").head(MOST_ROWS)
    rows = rows.assign(
        tensor=_tensors(trace, rows),
        source=[_device(name) for name in rows["source"]],
        destination=[_device(name) for name in rows["destination"]],
    )
    zoom = Places(trace).of_events(rows["event"]) if len(rows) else []
    reason = "" if len(found) else "nothing was received or copied"
    return table(
        "The longest", rows, columns, zoom=zoom, reason=reason, of=len(found), order="longest", light="tensor"
    )


def _tensors(trace: Trace, rows: pd.DataFrame) -> list[str]:
    names = trace.events["name"].take(rows["event"].to_numpy()).astype(str)
    tensors = rows["tensor"].fillna("").astype(str)
    return [tensor or name for tensor, name in zip(tensors, names, strict=True)]


def _device(name: object) -> str:
    """Return a device as the timeline calls it; empty where it is not known."""
    text = str(name)
    if not text or text == "nan":
        return ""
    task, _, _ = text.partition("/device:")
    return lane_label(task, text, "")
