"""Names for the causes of idle time, shared by findings and the overview."""

from collections.abc import Mapping

CAUSE_PHRASES: Mapping[str, str] = {
    "input": "waiting for input",
    "recv wait": "waiting for other tasks",
    "recv transfer": "waiting for tensors of other tasks",
    "late launch": "waiting for kernel launches",
    "dependency on another device": "waiting for another device",
    "kernel gap": "waiting for launched kernels to start",
    "copy": "waiting for copies",
    "host": "waiting for other host work",
    "unknown": "an unrecorded cause",
}
"""Names of the causes of `tfvis_nb.analysis.idle_gaps` in sentences and tables."""


def waits_for(cause: str, devices: int) -> str:
    """Name the cause of idle time in a title, after the devices."""
    if cause == "unknown":
        return f"{'are' if devices > 1 else 'is'} idle without a recorded cause"
    return f"wait{'' if devices > 1 else 's'} for {CAUSE_PHRASES[cause].removeprefix('waiting for ')}"


def while_idle(cause: str) -> str:
    """Describe the cause of a device's idle time."""
    return "without a recorded cause" if cause == "unknown" else f"while {CAUSE_PHRASES[cause]}"
