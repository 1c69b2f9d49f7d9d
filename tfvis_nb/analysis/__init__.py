"""Analyses: functions from a `Trace` to a table.

>>> from tfvis_nb import Trace, events
>>> from tfvis_nb.analysis import op_statistics
>>> trace = Trace(events.build({"start_ns": [0], "duration_ns": [5], "kind": ["op"], "op": ["MatMul"]}))
>>> op_statistics(trace)[["op", "count", "total_ns"]].values.tolist()
[['MatMul', 1, 5]]

Displays such as `tfvis_nb.show_timeline` also take paths and messages. Analyses do not, because a trace keeps
the tables that were computed: read it once with `tfvis_nb.read_trace`. A step is ``trace[3]``.

The most important ones are also attributes of a trace, such as ``trace.findings`` and ``trace.breakdown``.
"""

import lazy_loader

# The modules import each other and pyarrow, so each is loaded when one of its names is first used.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
