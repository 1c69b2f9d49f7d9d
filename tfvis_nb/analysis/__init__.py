"""Analyses: functions from a `Trace` to a table.

>>> from tfvis_nb import Trace, events
>>> from tfvis_nb.analysis import op_statistics
>>> trace = Trace(events.build({"start_ns": [0], "duration_ns": [5], "kind": ["op"], "op": ["MatMul"]}))
>>> op_statistics(trace)[["op", "count", "total_ns"]].values.tolist()
[['MatMul', 1, 5]]

A trace keeps the tables of the most important ones: ``trace.findings``, ``trace.breakdown`` and the like.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tfvis_nb.analysis.communication.bandwidth import bandwidth, binned_bandwidth
    from tfvis_nb.analysis.communication.collective_waits import collective_waits, late_ranks
    from tfvis_nb.analysis.communication.communication_overlap import communication_overlap
    from tfvis_nb.analysis.communication.scheduling_efficiency import scheduling_efficiency
    from tfvis_nb.analysis.communication.slowest_transfers import slowest_transfers
    from tfvis_nb.analysis.communication.stragglers import late_tasks, stragglers
    from tfvis_nb.analysis.communication.transfer_matrix import transfer_matrix
    from tfvis_nb.analysis.communication.transfers import transfers
    from tfvis_nb.analysis.critical_path.critical_path import path_lengths
    from tfvis_nb.analysis.critical_path.slack import slack
    from tfvis_nb.analysis.findings.measurements import measurements
    from tfvis_nb.analysis.idle.idle_gaps import idle_gaps
    from tfvis_nb.analysis.idle.launch_bound import launch_bound, launch_stretches
    from tfvis_nb.analysis.idle.launch_gaps import launch_gaps
    from tfvis_nb.analysis.memory.memory_breakdown import live_buffers, memory_breakdown
    from tfvis_nb.analysis.memory.memory_usage import memory_peaks, memory_usage
    from tfvis_nb.analysis.memory.tensor_lifetimes import tensor_lifetimes
    from tfvis_nb.analysis.metrics import definitions
    from tfvis_nb.analysis.steps.breakdown import activity_times, breakdown
    from tfvis_nb.analysis.steps.compare import compare, compare_activities
    from tfvis_nb.analysis.steps.cpu_amid_gpu import cpu_amid_gpu
    from tfvis_nb.analysis.steps.op_statistics import op_statistics
    from tfvis_nb.analysis.steps.scope_tree import scope_tree
    from tfvis_nb.analysis.steps.slow_steps import slow_steps
    from tfvis_nb.analysis.steps.utilisation import utilisation
    from tfvis_nb.analysis.unavailable import why_not

__all__ = [
    "activity_times",
    "bandwidth",
    "binned_bandwidth",
    "breakdown",
    "collective_waits",
    "communication_overlap",
    "compare",
    "compare_activities",
    "cpu_amid_gpu",
    "definitions",
    "idle_gaps",
    "late_ranks",
    "late_tasks",
    "launch_bound",
    "launch_gaps",
    "launch_stretches",
    "live_buffers",
    "measurements",
    "memory_breakdown",
    "memory_peaks",
    "memory_usage",
    "op_statistics",
    "path_lengths",
    "scheduling_efficiency",
    "scope_tree",
    "slack",
    "slow_steps",
    "slowest_transfers",
    "stragglers",
    "tensor_lifetimes",
    "transfer_matrix",
    "transfers",
    "utilisation",
    "why_not",
]

_HOMES = {
    "activity_times": "steps.breakdown",
    "live_buffers": "memory.memory_breakdown",
    "bandwidth": "communication.bandwidth",
    "binned_bandwidth": "communication.bandwidth",
    "breakdown": "steps.breakdown",
    "collective_waits": "communication.collective_waits",
    "communication_overlap": "communication.communication_overlap",
    "compare": "steps.compare",
    "compare_activities": "steps.compare",
    "cpu_amid_gpu": "steps.cpu_amid_gpu",
    "definitions": "metrics",
    "idle_gaps": "idle.idle_gaps",
    "late_ranks": "communication.collective_waits",
    "late_tasks": "communication.stragglers",
    "launch_bound": "idle.launch_bound",
    "launch_gaps": "idle.launch_gaps",
    "launch_stretches": "idle.launch_bound",
    "measurements": "findings.measurements",
    "memory_breakdown": "memory.memory_breakdown",
    "memory_usage": "memory.memory_usage",
    "memory_peaks": "memory.memory_usage",
    "op_statistics": "steps.op_statistics",
    "path_lengths": "critical_path.critical_path",
    "scheduling_efficiency": "communication.scheduling_efficiency",
    "scope_tree": "steps.scope_tree",
    "slack": "critical_path.slack",
    "slow_steps": "steps.slow_steps",
    "slowest_transfers": "communication.slowest_transfers",
    "stragglers": "communication.stragglers",
    "tensor_lifetimes": "memory.tensor_lifetimes",
    "transfer_matrix": "communication.transfer_matrix",
    "transfers": "communication.transfers",
    "utilisation": "steps.utilisation",
    "why_not": "unavailable",
}


def __getattr__(name: str) -> Any:
    # The modules import each other and pyarrow: the first use of a name loads what it needs.
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
