"""A trace with code: lines, and values of the arguments of a function that is traced again."""

import pyarrow as pa

from tfvis_nb import Trace, events
from tfvis_nb.core.nested_columns import HLO_OP, PROGRAM
from tfvis_nb.core.stacks import Frame, StackBuilder
from tfvis_nb.core.tracings import TRACING, TYPE

BUILDING = "tf.function-graph_building"
SECRET = "weights = 'a secret'\ny = f(weights)\n"
LIBRARY = Frame("/lib/f.py", 90, "f", "return g()", own=False)


def coded() -> Trace:
    """An op of the cell's second line, its kernel, and a call of no known line that traces a function."""
    builder = StackBuilder()
    builder.stack([Frame("never.py", 5, "g", "unused")])
    stack = builder.stack([Frame("Cell [7]", 2, "<module>"), LIBRARY])
    builder.file("Cell [7]", SECRET, edited=True)
    table = events.build(
        {
            "start_ns": [0, 10, 50, 51],
            "duration_ns": [8, 30, 4, 3],
            "kind": ["op", "kernel", "host", "host"],
            "lane": ["ops", "stream:1", "thread", "thread"],
            "name": ["", "", "f", BUILDING],
            "op": ["", "", "f", BUILDING],
            "detail": ["", "", "tf_function_call=traced-nonXla tracing_count=2", ""],
        }
    )
    change = {"argument": "weights", "kind": "value", "before": "1", "after": "a secret"}
    traced = {"function": "f", "source": "Cell [7]:2", "nodes": 3, "changes": [change]}
    nested = pa.table(
        {
            "stack": pa.array([stack, stack, None, None], pa.int32()),
            "phase": ["backward"] * 2 + [None] * 2,
            **{name: [None, name, None, None] for name in (PROGRAM, HLO_OP)},
            TRACING: pa.array([None] * 3 + [traced], TYPE),
        }
    )
    return Trace(table, nested=nested, stacks=builder.table(), title="coded")
