"""The definition of each metric: formula, unit and source, for tooltips and docs/metrics.md."""

import importlib
from collections.abc import Mapping

MODULES: dict[str, str] = {
    "overview": "overview.overview",
    "device_idle": "idle.device_idle",
    "breakdown": "steps.breakdown",
    "utilization": "steps.utilization",
    "communication_overlap": "communication.communication_overlap",
    "scheduling_efficiency": "communication.scheduling_efficiency",
    "collective_waits": "communication.collective_waits",
    "op_statistics": "steps.op_statistics",
    "source_lines": "source.source_lines",
    "python_lines": "steps.python_lines",
    "functions": "functions.functions",
    "retraces": "functions.retraces",
    "scope_tree": "steps.scope_tree",
    "layers": "steps.layers",
    "devices": "hardware.devices",
    "kernels": "hardware.kernels",
    "hlo_ops": "programs.hlo_ops",
    "fused_instructions": "programs.fused_instructions",
    "program_memory": "programs.program_memory",
    "roofline": "hardware.roofline",
    "input_pipeline": "input.input_pipeline",
    "counters": "time_series",
    "flame_graph": "steps.flame_graph",
    "compare_flame_graphs": "steps.compare_flame_graphs",
    "launch_bound": "idle.launch_bound",
    "launch_gaps": "idle.launch_gaps",
    "cpu_ops_between_kernels": "steps.cpu_ops_between_kernels",
    "critical_path": "critical_path.critical_path",
    "slack": "critical_path.slack",
    "idle_gaps": "idle.idle_gaps",
    "memory_usage": "memory.memory_usage",
    "memory_breakdown": "memory.memory_breakdown",
    "out_of_memory": "memory.out_of_memory",
    "device_memory": "memory.device_memory",
    "tensor_lifetimes": "memory.tensor_lifetimes",
    "transfers": "communication.transfers",
    "transfer_matrix": "communication.transfer_matrix",
    "bandwidth": "communication.bandwidth",
    "slowest_transfers": "communication.slowest_transfers",
    "stragglers": "communication.stragglers",
    "outside_steps": "steps.outside_steps",
    "tracing_cost": "steps.tracing_cost",
    "slow_steps": "steps.slow_steps",
    "compare": "steps.compare",
    "what_if": "prediction.predicted",
    "nodes": "graph.nodes",
    "costs": "graph.costs",
    "findings": "findings.findings",
    "compare_findings": "overview.compare_findings",
    "measurements": "findings.measurements",
    "gate_metrics": "gates.gate_metrics",
}
"""The analyses: the name of each in docs/metrics.md, and its module, which defines ``FIGURES``."""


def definitions(module: str) -> Mapping[str, str]:
    """Return the definitions of the metrics of one analysis, by name.

    Parameters
    ----------
    module
        One of `MODULES`.

    Raises
    ------
    KeyError
        If there is no such analysis.

    Examples
    --------
    >>> from tfvis_nb.analysis import definitions
    >>> from tfvis_nb.analysis.metrics import MODULES
    >>> all(text.endswith(".") for module in MODULES for text in definitions(module).values())
    True
    """
    if module not in MODULES:
        raise KeyError(f"there is no analysis {module!r}; there are {', '.join(MODULES)}")
    figures: Mapping[str, str] = importlib.import_module(f"tfvis_nb.analysis.{MODULES[module]}").FIGURES
    return figures
