"""See every op, kernel, copy and network transfer of a TensorFlow step, in the cell that ran it.

In a notebook::

    %load_ext tfvis_nb

    %%trace t
    session.run(train_op)

Anywhere else::

    import tfvis_nb as tv

    with tv.trace() as t:
        session.run(train_op)
    t.transfers.nlargest(5, "wait_ns")
    t.to_html("step.html")

``tv.read_trace(path)`` reads a saved trace, and ``tv.show_timeline(trace)`` draws it.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tfvis_nb import analysis
    from tfvis_nb.analysis.gates.check import assert_trace
    from tfvis_nb.compat.tftracer_server import TracingServer, hook_inject
    from tfvis_nb.compat.tfvis_timeline import Timeline, timeline_visualize
    from tfvis_nb.core.trace import Trace
    from tfvis_nb.display.comparison import Comparison, show_comparison
    from tfvis_nb.display.dashboard.dashboard_widget import Dashboard, show_dashboard
    from tfvis_nb.display.monitor.monitor_widget import MonitorWidget, monitor
    from tfvis_nb.display.timeline.runs_of_cells import earlier_traces
    from tfvis_nb.display.timeline.timeline_widget import TimelineWidget, show_timeline
    from tfvis_nb.fleet.dataset import TraceDataset, open_traces
    from tfvis_nb.fleet.widget.fleet_widget import Fleet, show_fleet
    from tfvis_nb.reading import EmptyTraceError, TraceFormatError, read_trace
    from tfvis_nb.recording import RecordedTrace, TraceSession, record_process, trace
    from tfvis_nb.recording.remote.capture import capture
    from tfvis_nb.run_history.history import History, history
    from tfvis_nb.session import SavedSession, open_session
    from tfvis_nb.session.file.errors import DamagedSessionError

    __version__: str
    last_trace: RecordedTrace | None

__all__ = [
    "Comparison",
    "DamagedSessionError",
    "Dashboard",
    "EmptyTraceError",
    "Fleet",
    "History",
    "MonitorWidget",
    "RecordedTrace",
    "SavedSession",
    "Timeline",
    "TimelineWidget",
    "Trace",
    "TraceDataset",
    "TraceFormatError",
    "TraceSession",
    "TracingServer",
    "__version__",
    "analysis",
    "assert_trace",
    "capture",
    "earlier_traces",
    "history",
    "hook_inject",
    "last_trace",
    "load_ipython_extension",
    "monitor",
    "open_session",
    "open_traces",
    "read_trace",
    "record_process",
    "show_comparison",
    "show_dashboard",
    "show_fleet",
    "show_timeline",
    "timeline_visualize",
    "trace",
    "unload_ipython_extension",
]

_HOMES = {
    "Comparison": "tfvis_nb.display.comparison",
    "Dashboard": "tfvis_nb.display.dashboard.dashboard_widget",
    "DamagedSessionError": "tfvis_nb.session.file.errors",
    "EmptyTraceError": "tfvis_nb.reading",
    "Fleet": "tfvis_nb.fleet.widget.fleet_widget",
    "History": "tfvis_nb.run_history.history",
    "MonitorWidget": "tfvis_nb.display.monitor.monitor_widget",
    "RecordedTrace": "tfvis_nb.recording",
    "SavedSession": "tfvis_nb.session",
    "Timeline": "tfvis_nb.compat.tfvis_timeline",
    "TimelineWidget": "tfvis_nb.display.timeline.timeline_widget",
    "Trace": "tfvis_nb.core.trace",
    "TraceDataset": "tfvis_nb.fleet.dataset",
    "TraceFormatError": "tfvis_nb.reading",
    "TraceSession": "tfvis_nb.recording",
    "TracingServer": "tfvis_nb.compat.tftracer_server",
    "assert_trace": "tfvis_nb.analysis.gates.check",
    "capture": "tfvis_nb.recording.remote.capture",
    "earlier_traces": "tfvis_nb.display.timeline.runs_of_cells",
    "history": "tfvis_nb.run_history.history",
    "hook_inject": "tfvis_nb.compat.tftracer_server",
    "record_process": "tfvis_nb.recording",
    "monitor": "tfvis_nb.display.monitor.monitor_widget",
    "open_session": "tfvis_nb.session",
    "open_traces": "tfvis_nb.fleet.dataset",
    "read_trace": "tfvis_nb.reading",
    "show_comparison": "tfvis_nb.display.comparison",
    "show_dashboard": "tfvis_nb.display.dashboard.dashboard_widget",
    "show_fleet": "tfvis_nb.fleet.widget.fleet_widget",
    "show_timeline": "tfvis_nb.display.timeline.timeline_widget",
    "timeline_visualize": "tfvis_nb.compat.tfvis_timeline",
    "trace": "tfvis_nb.recording",
}


def __getattr__(name: str) -> Any:
    # Neither pyarrow nor the widget's libraries are loaded until they are first used.
    if name == "last_trace":
        from tfvis_nb.recording import latest

        return latest()
    if name == "__version__":
        from importlib.metadata import version

        return version("tfvis-nb")
    if name == "analysis":
        return importlib.import_module("tfvis_nb.analysis")
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)


def load_ipython_extension(shell: Any) -> None:
    """Add ``%%trace`` to an IPython shell; ``%load_ext tfvis_nb`` calls this."""
    from tfvis_nb import magics

    magics.register(shell)


def unload_ipython_extension(shell: Any) -> None:
    """Remove ``%%trace`` from the shell; ``%unload_ext tfvis_nb`` calls this."""
    from tfvis_nb import magics

    magics.unregister(shell)
