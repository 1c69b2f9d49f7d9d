"""The tables and charts that a `Trace` computes on demand."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, cast

import pandas as pd

from tfvis_nb.core.options import only_known_options

if TYPE_CHECKING:
    from tfvis_nb.analysis.findings.table import FindingsTable
    from tfvis_nb.analysis.overview.overview import Overview
    from tfvis_nb.analysis.prediction.predicted import Predicted
    from tfvis_nb.analysis.prediction.what_if import Changes
    from tfvis_nb.core.trace import Trace
    from tfvis_nb.display.charts import Charts


class TraceTables:
    """The tables computed from a trace, each at its first use and then cached."""

    @property
    def _trace(self) -> Trace:
        """The object, typed as `tfvis_nb.Trace`: no other class has this base."""
        return cast("Trace", self)

    @cached_property
    def lanes(self) -> pd.DataFrame:
        """One row per lane: task, device, lane, kind, events, busy_ns, start_ns, end_ns."""
        from tfvis_nb.analysis.events.lanes import lanes

        return lanes(self._trace.events)

    @cached_property
    def devices(self) -> pd.DataFrame:
        """One row per device, with its known hardware: `tfvis_nb.analysis.devices`."""
        from tfvis_nb.analysis.hardware.devices import devices

        return devices(self._trace)

    @cached_property
    def kernels(self) -> pd.DataFrame:
        """Times of GPU kernels, and how well their launches fill the GPU: `tfvis_nb.analysis.kernels`."""
        from tfvis_nb.analysis.hardware.kernels import kernels

        return kernels(self._trace)

    @cached_property
    def hlo_ops(self) -> pd.DataFrame:
        """The time and work of each instruction of compiled programs: `tfvis_nb.analysis.hlo_ops`."""
        from tfvis_nb.analysis.programs.hlo_ops import hlo_ops

        return hlo_ops(self._trace)

    @cached_property
    def program_memory(self) -> pd.DataFrame:
        """The buffers at the peak of each compiled program: `tfvis_nb.analysis.program_memory`."""
        from tfvis_nb.analysis.programs.program_memory import program_memory

        return program_memory(self._trace)

    @cached_property
    def roofline(self) -> pd.DataFrame:
        """How close instructions come to the limits of their device: `tfvis_nb.analysis.roofline`."""
        from tfvis_nb.analysis.hardware.roofline import roofline

        return roofline(self._trace)

    @cached_property
    def input_pipeline(self) -> pd.DataFrame:
        """The stages of tf.data pipelines, and what AUTOTUNE chose: `tfvis_nb.analysis.input_pipeline`."""
        from tfvis_nb.analysis.input.input_pipeline import input_pipeline

        return input_pipeline(self._trace)

    @cached_property
    def counters(self) -> pd.DataFrame:
        """Recorded counters and the fill of tf.data's buffers over time: `tfvis_nb.analysis.counters`."""
        from tfvis_nb.analysis.time_series.counters import counters

        return counters(self._trace)

    @cached_property
    def transfers(self) -> pd.DataFrame:
        """One row per RecvTensor, RecvBuf or copy: `tfvis_nb.analysis.transfers`."""
        from tfvis_nb.analysis.communication.transfers import transfers

        return transfers(self._trace)

    @cached_property
    def layers(self) -> pd.DataFrame:
        """Times of the layers of a model in each phase: `tfvis_nb.analysis.layers`."""
        from tfvis_nb.analysis.steps.layers import layers

        return layers(self._trace)

    @cached_property
    def functions(self) -> pd.DataFrame:
        """Calls, tracings and compilations of each function: `tfvis_nb.analysis.functions`."""
        from tfvis_nb.analysis.functions.functions import functions

        return functions(self._trace)

    @cached_property
    def collective_waits(self) -> pd.DataFrame:
        """One row per rank and collective: `tfvis_nb.analysis.collective_waits`."""
        from tfvis_nb.analysis.communication.collective_waits import collective_waits

        return collective_waits(self._trace)

    @cached_property
    def breakdown(self) -> pd.DataFrame:
        """The breakdown of step time; see `tfvis_nb.analysis.breakdown`."""
        from tfvis_nb.analysis.steps.breakdown import breakdown

        return breakdown(self._trace)

    @cached_property
    def utilization(self) -> pd.DataFrame:
        """The utilization of devices in each step; see `tfvis_nb.analysis.utilization`."""
        from tfvis_nb.analysis.steps.utilization import utilization

        return utilization(self._trace)

    @cached_property
    def lifetimes(self) -> pd.DataFrame:
        """One row per allocated buffer; see `tfvis_nb.analysis.tensor_lifetimes`."""
        from tfvis_nb.analysis.memory.tensor_lifetimes import tensor_lifetimes

        return tensor_lifetimes(self._trace)

    @cached_property
    def memory(self) -> pd.DataFrame:
        """Bytes allocated by each allocator over time; see `tfvis_nb.analysis.memory_usage`."""
        from tfvis_nb.analysis.memory.memory_usage import memory_usage

        return memory_usage(self._trace)

    @cached_property
    def out_of_memory(self) -> pd.DataFrame:
        """The allocation that failed and ended the recording; see `tfvis_nb.analysis.out_of_memory`."""
        from tfvis_nb.analysis.memory.out_of_memory import out_of_memory

        return out_of_memory(self._trace)

    @cached_property
    def edges(self) -> pd.DataFrame:
        """Which event depends on which; see `tfvis_nb.analysis.dataflow.edges.edges`."""
        from tfvis_nb.analysis.dataflow.edges import edges

        return edges(self._trace)

    @cached_property
    def nodes(self) -> pd.DataFrame:
        """The nodes of the executed graphs, and where they were requested; see `tfvis_nb.analysis.nodes`."""
        from tfvis_nb.analysis.graph.nodes import nodes

        return nodes(self._trace)

    @cached_property
    def costs(self) -> pd.DataFrame:
        """The estimates of the cost model next to the measured times; see `tfvis_nb.analysis.costs`."""
        from tfvis_nb.analysis.graph.costs import costs

        return costs(self._trace)

    @cached_property
    def source_lines(self) -> pd.DataFrame:
        """The time of each line of the user's code; see `tfvis_nb.analysis.source_lines`."""
        from tfvis_nb.analysis.source.source_lines import source_lines

        return source_lines(self._trace)

    @cached_property
    def python_lines(self) -> pd.DataFrame:
        """The lines of the user's code that ran between steps; see `tfvis_nb.analysis.python_lines`."""
        from tfvis_nb.analysis.source.python_lines import python_lines

        return python_lines(self._trace)

    @cached_property
    def findings(self) -> FindingsTable:
        """Causes of slow steps, in words; see `tfvis_nb.analysis.findings.findings.findings`."""
        from tfvis_nb.analysis.findings.findings import findings

        return findings(self._trace)

    @cached_property
    def overview(self) -> Overview:
        """Step time, where it went, and how busy devices were: `tfvis_nb.analysis.overview`."""
        from tfvis_nb.analysis.overview.overview import overview

        return overview(self._trace)

    @property
    def charts(self) -> Charts:
        """Bokeh charts of the trace; see `tfvis_nb.display.charts.Charts`."""
        from tfvis_nb.display.charts import Charts

        return Charts(self._trace)

    @cached_property
    def critical_path(self) -> pd.DataFrame:
        """Each step's critical path; see `tfvis_nb.analysis.critical_path.critical_path.critical_path`."""
        from tfvis_nb.analysis.critical_path.critical_path import critical_path

        return critical_path(self._trace)

    @cached_property
    def slack(self) -> pd.DataFrame:
        """How much later each event could have ended; see `tfvis_nb.analysis.slack`."""
        from tfvis_nb.analysis.critical_path.slack import slack

        return slack(self._trace)

    @cached_property
    def idle_gaps(self) -> pd.DataFrame:
        """When and why each device had nothing to do; see `tfvis_nb.analysis.idle_gaps`."""
        from tfvis_nb.analysis.idle.idle_gaps import idle_gaps

        return idle_gaps(self._trace)

    @cached_property
    def steps(self) -> pd.DataFrame:
        """One row per step: step, start_ns, end_ns, duration_ns, events, label.

        Events outside all steps form one row with the step -1 (`tfvis_nb.events.NO_STEP`). Steps of JAX
        follow each other: one starts at the earliest when the one before it ends.
        """
        from tfvis_nb.analysis.steps.step_table import step_table

        return step_table(self._trace)

    @only_known_options
    def what_if(
        self,
        *,
        ops: Changes | None = None,
        kernels: Changes | None = None,
        layers: Changes | None = None,
        lines: Changes | None = None,
        activities: Changes | None = None,
        on_time: str | None = None,
    ) -> Predicted:
        """Predict the steps if some events took longer or shorter: `tfvis_nb.analysis.what_if`.

        ``ops``, ``kernels``, ``layers``, ``lines`` and ``activities`` are dicts from a name to a factor of
        its time, ``"hidden"`` or ``"gpu"``; ``on_time`` names a task.
        """
        from tfvis_nb.analysis.prediction.what_if import what_if

        return what_if(
            self._trace,
            ops=ops,
            kernels=kernels,
            layers=layers,
            lines=lines,
            activities=activities,
            on_time=on_time,
        )
