"""The tab of layers: their times in the forward and backward phases and in the optimizer."""

from functools import partial

import numpy as np
import pandas as pd

from tfvis_nb.analysis.events.locations import LOCATIONS, locations
from tfvis_nb.analysis.events.nesting import self_times_of
from tfvis_nb.analysis.steps import layers
from tfvis_nb.analysis.unavailable import NONE, why_not
from tfvis_nb.core.stacks import PHASES
from tfvis_nb.core.trace import Trace
from tfvis_nb.display.overview.findings_block import Zoom
from tfvis_nb.display.tabs.against import with_group_changes
from tfvis_nb.display.tabs.blocks import MOST_ROWS, Block, figures, table
from tfvis_nb.display.tabs.zoom_targets import ZoomTargets
from tfvis_nb.texts import Text


def why_none(trace: Trace) -> str:
    """Return why there is nothing to show; empty if there is."""
    return why_not(trace.layers) or (NONE if (trace.layers["layer"] != "").any() else Text("no_scopes"))


def blocks(trace: Trace, against: Trace | None = None) -> list[Block]:
    """Return the table of layers."""
    layer_table, reason = trace.layers, why_none(trace)
    named = layer_table["layer"] != ""
    # On a CPU no row has device time.
    side = "device" if layer_table["device_ns"].any() else "host"
    bar, times = f"{side}_ns", partial(_self_times, side=side)
    base = None if reason else against
    layer_table, change = with_group_changes(layer_table, trace, base, ["layer", "phase"], times)
    columns = figures(
        layers.FIGURES,
        ("layer", "Layer", "name"),
        ("class", "Class", "text") if (layer_table["class"] != "").any() else None,
        ("phase", "Phase", "text"),
        ("device_ns", "Device", "ns"),
        ("device_share", "% of device", "share"),
        ("host_ns", "Host", "ns"),
        ("host_share", "% of host", "share"),
        ("launches", "Launches", "count"),
        ("output_bytes", "Outputs", "bytes") if layer_table["output_bytes"].notna().any() else None,
        ("parameter_bytes", "Parameters", "bytes") if layer_table["parameter_bytes"].notna().any() else None,
    )
    rows = (
        layer_table.assign(layer=layer_table["layer"].where(named, "no layer"))
        if not reason
        else layer_table.head(0)
    )
    at = next(number for number, column in enumerate(columns) if column.name == bar) + 1
    return [
        table(
            "By layer and phase",
            rows,
            [*columns[:at], *change, *columns[at:]],
            definition="Click a row to select its events on the device, or to see the longest one.",
            zoom=_zoom(trace, rows["longest"].head(MOST_ROWS)) if len(rows) else [],
            bar=bar,
            colours=["device_compute" if bar == "device_ns" else "host_compute"] * min(len(rows), MOST_ROWS),
            reason=reason,
            order="largest",
        )
    ]


def _self_times(trace: Trace, side: str) -> pd.DataFrame:
    """Return layer, phase, step and self time of each event on one side."""
    rows = np.flatnonzero(locations(trace.events) == LOCATIONS.index(side))
    layer, phase = layers.event_layers(trace)
    own, known = self_times_of(trace)
    names = np.array(layer.dictionary.to_pylist(), object)[np.asarray(layer.indices)[rows]]
    return pd.DataFrame(
        {
            "layer": names,
            "phase": np.array([*PHASES, ""], object)[phase[rows]],
            "step": trace.events["step"].to_numpy()[rows],
            "amount": np.where(known, own, 0)[rows],
        }
    )


def _zoom(trace: Trace, longest: pd.Series) -> list[Zoom | None]:
    layer, phase = layers.event_layers(trace)
    group = np.asarray(layer.indices).astype(np.int64) * (len(PHASES) + 1) + phase + 1
    return ZoomTargets(trace).of_device_events(longest, group)
