"""Names for the causes of idle time, shared by findings and the overview."""

from collections.abc import Mapping

CAUSE_PHRASES: Mapping[str, str] = {
    "input": "waiting for input",
    "recv wait": "waiting for tensors from other tasks",
    "recv transfer": "receiving or reducing tensors",
    "late launch": "waiting for kernel launches",
    "dependency on another device": "waiting for another device or task",
    "kernel gap": "gaps before work that was launched in time",
    "copy": "waiting for copies",
    "host": "waiting for other work on the host",
    "unknown": "without a recorded cause",
}
"""For each cause of `tfvis_nb.analysis.idle_gaps` what a device does meanwhile."""
