"""Running TensorFlow -> Trace. Only this folder imports tensorflow, and only when a recording starts."""

from tfvis_nb.recording.recorded import RecordedTrace
from tfvis_nb.recording.recorder import Recorder, latest, trace
from tfvis_nb.recording.trace_session import TraceSession, inject

__all__ = ["RecordedTrace", "Recorder", "TraceSession", "inject", "latest", "trace"]
