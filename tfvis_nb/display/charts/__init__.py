"""Bokeh charts of a trace, usable alone in a script or a notebook, and part of the dashboard."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tfvis_nb.analysis.communication.bandwidth import bandwidth as bandwidth_table
from tfvis_nb.analysis.unavailable import NONE, why_not
from tfvis_nb.core.trace import Trace
from tfvis_nb.core.undivided import only_step
from tfvis_nb.display.charts.bandwidth import bandwidth_chart
from tfvis_nb.display.charts.breakdown import breakdown_chart, utilization_chart
from tfvis_nb.display.charts.ops import top_ops_chart
from tfvis_nb.display.charts.roofline import points, roofline_chart
from tfvis_nb.display.charts.time_axis import memory_chart, steps_chart, transfers_chart
from tfvis_nb.events import NO_STEP
from tfvis_nb.texts import Text

if TYPE_CHECKING:
    from bokeh.plotting import figure


class CannotSayError(ValueError):
    """Raised if a trace lacks the data of a chart; the message names the missing data."""


class Charts:
    """The charts of one trace, available as ``trace.charts``.

    Each method returns a new ``bokeh.plotting.figure``, which you can change like any other. As the last
    expression of a cell, or with ``display``, a notebook draws it in its theme and offline, with the
    installed BokehJS. It does not need ``bokeh.io.output_notebook``, which downloads BokehJS. In a script,
    use ``bokeh.plotting.save`` or ``show``.

    Parameters
    ----------
    trace
        Any trace.

    Examples
    --------
    >>> from tfvis_nb import Trace, events
    >>> table = events.build({"start_ns": [0], "duration_ns": [5], "kind": ["op"], "op": ["MatMul"],
    ...                       "device": ["/device:CPU:0"]})
    >>> Trace(table).charts.top_ops()
    <chart 'Self time by op type (ns)'>
    """

    NAMES = ("breakdown", "utilization", "top_ops", "memory", "transfers", "bandwidth", "steps", "roofline")
    """The names of all charts."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace

    def breakdown(self) -> figure:
        """The breakdown of step time; see `tfvis_nb.analysis.breakdown`."""
        return breakdown_chart(self._shown_in("breakdown"))

    def utilization(self) -> figure:
        """The utilization of devices; see `tfvis_nb.analysis.utilization`."""
        return utilization_chart(self._shown_in("utilization"))

    def top_ops(self) -> figure:
        """The op types with the most time; see `tfvis_nb.analysis.op_statistics`."""
        return top_ops_chart(self._shown_in("top_ops"))

    def memory(self) -> figure:
        """Allocated memory over time; see `tfvis_nb.analysis.memory_usage`."""
        return memory_chart(self._shown_in("memory"))

    def transfers(self) -> figure:
        """Sizes and times of transfers and copies; see `tfvis_nb.Trace.transfers`."""
        return transfers_chart(self._shown_in("transfers"))

    def bandwidth(self) -> figure:
        """Bandwidth over time: `tfvis_nb.analysis.bandwidth`."""
        return bandwidth_chart(self._shown_in("bandwidth"))

    def steps(self, *, against: Trace | None = None) -> figure:
        """The duration of each step, with the median also of a base; see `tfvis_nb.Trace.steps`."""
        return steps_chart(self._shown_in("steps"), against)

    def roofline(self, *, peak_flops: float | None = None, memory_bandwidth: float | None = None) -> figure:
        """The rates of ops next to their device's limits, as in `tfvis_nb.analysis.roofline`."""
        return roofline_chart(self._shown_in("roofline"), peak_flops, memory_bandwidth)

    def why_not(self, name: str) -> Text:
        """Return why this trace has no chart of that name; empty if it has one.

        Raises
        ------
        ValueError
            If there is no such chart.
        """
        if name not in self.NAMES:
            raise ValueError(Text("no_such_chart", name=name, charts=", ".join(self.NAMES)))
        trace = self._trace
        if trace.events.empty:
            return Text("no_events")
        if name in ("breakdown", "utilization", "memory"):
            table = getattr(trace, name)
            if name != "memory" and not why_not(table) and not (table["step_ns"] > 0).any():
                return Text("no_step_length")
            return why_not(table)
        if name == "roofline":
            return why_not(trace.roofline) or (Text("no_op_costs") if points(trace).empty else NONE)
        if name == "transfers":
            return why_not(trace.transfers)
        if name == "bandwidth":
            return why_not(trace.transfers) or why_not(bandwidth_table(trace))
        if name == "steps" and int((trace.steps["step"] != NO_STEP).sum()) < 2:
            return only_step(trace) if (trace.steps["step"] != NO_STEP).any() else Text("no_steps")
        return NONE

    def _shown_in(self, name: str) -> Trace:
        """Return the trace if a chart can show it."""
        if reason := self.why_not(name):
            raise CannotSayError(f"not available: {reason}")
        return self._trace
