"""Names for the causes of idle time, shared by findings and the overview."""

from collections.abc import Mapping

CAUSE_PHRASES: Mapping[str, str] = {
    "input": "waiting for input",
    "recv wait": "waiting for other tasks",
    "recv transfer": "receiving or reducing tensors",
    "late launch": "waiting for kernel launches",
    "dependency on another device": "waiting for another device",
    "kernel gap": "starting launched work",
    "copy": "waiting for copies",
    "host": "waiting for other host work",
    "unknown": "an unrecorded cause",
}
"""Names of the causes of `tfvis_nb.analysis.idle_gaps` in sentences and tables."""


def while_idle(cause: str) -> str:
    """Describe the cause of a device's idle time."""
    return "without a recorded cause" if cause == "unknown" else f"while {CAUSE_PHRASES[cause]}"
