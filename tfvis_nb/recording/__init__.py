"""Running TensorFlow -> Trace. Only this folder imports tensorflow, and only when a recording starts."""

from tfvis_nb.recording.recorded import RecordedTrace
from tfvis_nb.recording.recorder import Recorder, latest, trace

__all__ = ["RecordedTrace", "Recorder", "latest", "trace"]
