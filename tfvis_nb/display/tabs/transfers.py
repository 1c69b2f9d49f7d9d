"""The tab of transfers: between tasks over the network, and between host and devices."""

import pandas as pd

from tfvis_nb.analysis.communication import bandwidth, slowest_transfers, transfer_matrix
from tfvis_nb.analysis.unavailable import why_not
from tfvis_nb.core.trace import Trace
from tfvis_nb.display.tabs.against import with_group_changes
from tfvis_nb.display.tabs.blocks import (
    MOST_ROWS,
    Block,
    TableBlock,
    TableColumn,
    chart,
    figures,
    step_key,
    table,
)
from tfvis_nb.display.tabs.wording import device_label
from tfvis_nb.display.tabs.zoom_targets import ZoomTargets

_CHART = "Each transfer and copy by size and transfer time. Slow ones are above others of the same size."
_ENDS = [
    TableColumn("source", "From", "text", "Source device."),
    TableColumn("destination", "To", "text", "Destination device."),
]

_ROUTE = ["kind", "source", "destination"]


def why_none(trace: Trace) -> str:
    """Return why there is nothing to show; empty if there is."""
    return why_not(transfer_matrix.transfer_matrix(trace))


def blocks(trace: Trace, against: Trace | None = None) -> list[Block]:
    """Return charts of bandwidth and transfers, sums by source and destination, and the slowest transfers."""
    return [
        chart(trace, "bandwidth", _rates(trace)),
        chart(trace, "transfers", _CHART),
        _matrix(trace, against),
        _slowest(trace),
    ]


def _rates(trace: Trace) -> str:
    left_out = int(bandwidth.bandwidth(trace).attrs["left_out"])
    without = f" {left_out:,} without a recorded size or time are left out." if left_out else ""
    return bandwidth.FIGURES["bandwidth"] + without


def _between(rows: pd.DataFrame) -> pd.DataFrame:
    """Return a table with source and destination named as in the timeline."""
    return rows.assign(
        **{end: [device_label(name) for name in rows[end]] for end in ("source", "destination")}
    )


def _matrix(trace: Trace, against: Trace | None) -> TableBlock:
    routes_table = transfer_matrix.transfer_matrix(trace)
    routes_table, change = with_group_changes(routes_table, trace, against, _ROUTE, _times)
    columns = [
        *_ENDS,
        *figures(
            transfer_matrix.FIGURES,
            ("bytes", "Bytes", "bytes"),
            ("count", "Count", "count"),
            ("busy_ns", "Transfer time", "ns"),
        ),
        *change,
        *figures(
            transfer_matrix.FIGURES,
            ("wait_ns", "Wait time", "ns"),
            ("mean_wait_ns", "Mean wait time", "ns"),
            ("bandwidth", "Bandwidth", "bytes/s"),
        ),
    ]
    zoom = (
        [] if why_not(routes_table) else ZoomTargets(trace).of_events(routes_table["largest"].head(MOST_ROWS))
    )
    definition = (
        "One row for all transfers and copies between two devices. Click a row to see the largest one."
    )
    title = "Transfers by route"
    routes = table(
        title, _between(routes_table), columns, definition=definition, zoom=zoom, reason=why_not(routes_table)
    )
    return routes | {"range": "route"}


def _times(trace: Trace) -> pd.DataFrame:
    """Return route, step and transfer time of each tensor received and each copy."""
    return trace.transfers[[*_ROUTE, "step"]].assign(amount=trace.transfers["transfer_ns"])


def _slowest(trace: Trace) -> TableBlock:
    slowest = slowest_transfers.slowest_transfers(trace)
    columns = [
        TableColumn("tensor", "Tensor", "name", "The tensor received, or the node whose data was copied."),
        *step_key(trace),
        *_ENDS,
        *figures(
            slowest_transfers.FIGURES,
            ("bytes", "Size", "bytes"),
            ("wait_ns", "Wait time", "ns"),
            ("transfer_ns", "Transfer time", "ns"),
            ("bandwidth", "Bandwidth", "bytes/s"),
        ),
        TableColumn("consumer_name", "Consumer", "name", slowest_transfers.FIGURES["consumer"]),
        *figures(slowest_transfers.FIGURES, ("last_input", "Last input", "text")),
    ]
    rows = _between(slowest.head(MOST_ROWS))
    names = trace.events["name"].take(rows["event"].to_numpy()).astype(str).to_numpy()
    tensors = rows["tensor"].fillna("").astype(str)
    rows = rows.assign(
        tensor=tensors.where(tensors != "", names),
        last_input=rows["last_input"].map({True: "yes", False: "no"}),
    )
    zoom = ZoomTargets(trace).of_events(rows["event"]) if len(rows) else []
    return table(
        "Slowest transfers",
        rows,
        columns,
        zoom=zoom,
        light="tensor",
        reason=why_not(slowest),
        row_count=len(slowest),
        order="slowest",
    ) | {"range": "events"}
