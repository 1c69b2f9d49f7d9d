"""The tables that a `Trace` has as attributes, and the analyses that compute them.

Each analysis is named by its import path, so that `Trace` depends on none of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, Self, TypeVar, cast, overload

import pandas as pd

from tfvis_nb.core import registry

if TYPE_CHECKING:
    from tfvis_nb.analysis.findings.table import FindingsTable
    from tfvis_nb.analysis.overview.overview import Overview

_T = TypeVar("_T")


class Table(Generic[_T]):
    """A table of a trace, computed by an analysis at its first use and then kept in the trace.

    Parameters
    ----------
    path
        The module and function of the analysis, below ``tfvis_nb.analysis``.
    doc
        The docstring of the attribute.
    """

    def __init__(self, path: str, doc: str) -> None:
        self.path = path
        self.__doc__ = doc

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    @overload
    def __get__(self, trace: None, owner: type) -> Self: ...
    @overload
    def __get__(self, trace: object, owner: type) -> _T: ...
    def __get__(self, trace: object, owner: type) -> Self | _T:
        if trace is None:
            return self
        tables = vars(trace)
        if self.name not in tables:
            module, _, name = self.path.rpartition(".")
            tables[self.name] = registry.imported(f"analysis.{module}", name)(trace)
        return cast("_T", tables[self.name])

    def __set__(self, trace: object, table: _T) -> None:
        vars(trace)[self.name] = table


class TraceTables:
    """The tables computed from a trace."""

    lanes: Table[pd.DataFrame] = Table(
        "events.lanes.lanes", "One row per lane: task, device, lane, kind, events, busy_ns, start_ns, end_ns."
    )
    devices: Table[pd.DataFrame] = Table(
        "hardware.devices.devices",
        "One row per device, with its known hardware: `tfvis_nb.analysis.devices`.",
    )
    kernels: Table[pd.DataFrame] = Table(
        "hardware.kernels.kernels",
        "Times of GPU kernels, and how well their launches fill the GPU: `tfvis_nb.analysis.kernels`.",
    )
    hlo_ops: Table[pd.DataFrame] = Table(
        "programs.hlo_ops.hlo_ops",
        "The time and work of each instruction of compiled programs: `tfvis_nb.analysis.hlo_ops`.",
    )
    program_memory: Table[pd.DataFrame] = Table(
        "programs.program_memory.program_memory",
        "The buffers at the peak of each compiled program: `tfvis_nb.analysis.program_memory`.",
    )
    roofline: Table[pd.DataFrame] = Table(
        "hardware.roofline.roofline",
        "How close instructions come to the limits of their device: `tfvis_nb.analysis.roofline`.",
    )
    input_pipeline: Table[pd.DataFrame] = Table(
        "input.input_pipeline.input_pipeline",
        "The stages of tf.data pipelines, and what AUTOTUNE chose: `tfvis_nb.analysis.input_pipeline`.",
    )
    counters: Table[pd.DataFrame] = Table(
        "time_series.counters",
        "Recorded counters and the fill of tf.data's buffers over time: `tfvis_nb.analysis.counters`.",
    )
    transfers: Table[pd.DataFrame] = Table(
        "communication.transfers.transfers",
        "One row per RecvTensor, RecvBuf or copy: `tfvis_nb.analysis.transfers`.",
    )
    layers: Table[pd.DataFrame] = Table(
        "steps.layers.layers", "Times of the layers of a model in each phase: `tfvis_nb.analysis.layers`."
    )
    functions: Table[pd.DataFrame] = Table(
        "functions.functions.functions",
        "Calls, tracings and compilations of each function: `tfvis_nb.analysis.functions`.",
    )
    collective_waits: Table[pd.DataFrame] = Table(
        "communication.collective_waits.collective_waits",
        "One row per rank and collective: `tfvis_nb.analysis.collective_waits`.",
    )
    breakdown: Table[pd.DataFrame] = Table(
        "steps.breakdown.breakdown", "The breakdown of step time; see `tfvis_nb.analysis.breakdown`."
    )
    utilization: Table[pd.DataFrame] = Table(
        "steps.utilization.utilization",
        "The utilization of devices in each step; see `tfvis_nb.analysis.utilization`.",
    )
    lifetimes: Table[pd.DataFrame] = Table(
        "memory.tensor_lifetimes.tensor_lifetimes",
        "One row per allocated buffer; see `tfvis_nb.analysis.tensor_lifetimes`.",
    )
    memory: Table[pd.DataFrame] = Table(
        "memory.memory_usage.memory_usage",
        "Bytes allocated by each allocator over time; see `tfvis_nb.analysis.memory_usage`.",
    )
    out_of_memory: Table[pd.DataFrame] = Table(
        "memory.out_of_memory.out_of_memory",
        "The allocation that failed and ended the recording; see `tfvis_nb.analysis.out_of_memory`.",
    )
    edges: Table[pd.DataFrame] = Table(
        "dataflow.edges.edges", "Which event depends on which; see `tfvis_nb.analysis.dataflow.edges.edges`."
    )
    nodes: Table[pd.DataFrame] = Table(
        "graph.nodes.nodes",
        "The nodes of the executed graphs, with requested and actual devices; see `tfvis_nb.analysis.nodes`.",
    )
    costs: Table[pd.DataFrame] = Table(
        "graph.costs.costs",
        "The estimates of the cost model next to the measured times; see `tfvis_nb.analysis.costs`.",
    )
    source_lines: Table[pd.DataFrame] = Table(
        "source.source_lines.source_lines",
        "The time of each line of the user's code; see `tfvis_nb.analysis.source_lines`.",
    )
    python_lines: Table[pd.DataFrame] = Table(
        "steps.python_lines.python_lines",
        "The lines of the user's code that ran between steps; see `tfvis_nb.analysis.python_lines`.",
    )
    findings: Table[FindingsTable] = Table(
        "findings.findings.findings",
        "Causes of slow steps, in words; see `tfvis_nb.analysis.findings.findings.findings`.",
    )
    overview: Table[Overview] = Table(
        "overview.overview.overview",
        "Step time by activity, busy time of devices, and other key figures: `tfvis_nb.analysis.overview`.",
    )
    critical_path: Table[pd.DataFrame] = Table(
        "critical_path.critical_path.critical_path",
        "Each step's critical path; see `tfvis_nb.analysis.critical_path.critical_path.critical_path`.",
    )
    slack: Table[pd.DataFrame] = Table(
        "critical_path.slack.slack",
        "How much later each event could have ended; see `tfvis_nb.analysis.slack`.",
    )
    idle_gaps: Table[pd.DataFrame] = Table(
        "idle.idle_gaps.idle_gaps",
        "When and why each device had nothing to do; see `tfvis_nb.analysis.idle_gaps`.",
    )


def table_names() -> dict[str, str]:
    """Return the names of the tables by the import paths of their analyses."""
    return {
        f"tfvis_nb.analysis.{one.path}": name
        for name, one in vars(TraceTables).items()
        if isinstance(one, Table)
    }
