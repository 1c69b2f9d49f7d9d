"""Record TensorFlow or JAX as a Trace. Only this folder imports them, and only when a recording starts."""

from tfvis_nb.recording.live.trace_session import TraceSession, record_process
from tfvis_nb.recording.recorded_trace import RecordedTrace
from tfvis_nb.recording.recorder import Recorder, latest, trace

__all__ = ["RecordedTrace", "Recorder", "TraceSession", "latest", "record_process", "trace"]
