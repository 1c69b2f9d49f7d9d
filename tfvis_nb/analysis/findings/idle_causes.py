"""Names for the causes of idle time, shared by findings and the overview."""

from collections.abc import Mapping

from tfvis_nb.analysis.findings.clocks import uncertain_clocks
from tfvis_nb.analysis.idle.idle_gaps import idle_gaps
from tfvis_nb.core.trace import Trace

ACROSS_TASKS = ("recv wait", "recv transfer", "dependency on another device")
"""Causes that compare the times of several tasks."""
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


def is_doubtful(trace: Trace, cause: str, idle_ns: float) -> bool:
    """Return whether the clocks of the tasks are known too little for a cause of idle time."""
    return cause in ACROSS_TASKS and uncertain_clocks(trace, idle_ns) is not None


def cause_names(trace: Trace) -> dict[str, str]:
    """Return the names of the causes in tables; the longest idle time of each decides about doubt."""
    gaps = idle_gaps(trace)
    longest = gaps.groupby(gaps["cause"].astype(str))["duration_ns"].max()
    return {
        cause: _probably(phrase, is_doubtful(trace, cause, float(longest.get(cause, 0))))
        for cause, phrase in CAUSE_PHRASES.items()
    }


def _probably(text: str, doubtful: bool) -> str:
    return f"probably {text}" if doubtful else text


def waits_for(cause: str, devices: int, doubtful: bool = False) -> str:
    """Name the cause of idle time in a title, after the devices."""
    if cause == "unknown":
        return f"{'are' if devices > 1 else 'is'} idle without a recorded cause"
    waits = f"wait{'' if devices > 1 else 's'} for {CAUSE_PHRASES[cause].removeprefix('waiting for ')}"
    return _probably(waits, doubtful)


def while_idle(cause: str, doubtful: bool = False, *, of_cpu: bool = False) -> str:
    """Describe the cause of a device's idle time."""
    if cause == "unknown":
        return "without a recorded cause"
    if of_cpu and cause == "host":
        return "while Python or the runtime ran"
    return f"while {_probably(CAUSE_PHRASES[cause], doubtful)}"
