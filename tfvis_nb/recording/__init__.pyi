from .live.trace_session import TraceSession as TraceSession
from .live.trace_session import record_process as record_process
from .recorded_trace import RecordedTrace as RecordedTrace
from .recorder import Recorder as Recorder
from .recorder import latest as latest
from .recorder import trace as trace
