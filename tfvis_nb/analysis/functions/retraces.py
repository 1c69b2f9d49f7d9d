"""Why functions were traced again: the argument that changed, and its values."""

import numpy as np
import pandas as pd

from tfvis_nb.analysis._validate import validate_input
from tfvis_nb.analysis.functions.calls import function_events
from tfvis_nb.analysis.unavailable import cannot_say, dtypes
from tfvis_nb.core.trace import Trace
from tfvis_nb.texts import Text

FIGURES: dict[str, str] = {
    "name": "Name of the function in the program.",
    "argument": "The argument that changed, such as x or state['step']; empty if none did.",
    "change": "What differs from the most similar earlier tracing: shape, dtype, value (of a Python object),"
    " structure (of nested arguments), sharding, context (where it is called, such as another device), or"
    " function: a new tf.function or jitted function was made from the same code.",
    "before": "The argument in the earlier tracing; NA if it did not exist.",
    "after": "The argument in this tracing; NA if it no longer exists.",
    "line": "The line of your own code that called it, such as train.py:12; NA if not recorded.",
    "tracing_ns": "Time spent tracing, without functions traced within it, in ns.",
}

_COLUMNS = {
    "task": "str",
    **dict.fromkeys(("name", "argument", "change", "before", "after", "line"), "str"),
    "tracing_ns": "int64",
    "event": "int64",
}


@validate_input
def retraces(trace: Trace) -> pd.DataFrame:
    """Return the changes each time a function was traced again.

    Parameters
    ----------
    trace
        A recording by `tfvis_nb.trace`; profiles of other tools count tracings without their arguments.

    Returns
    -------
    pandas.DataFrame
        One row per tracing and changed argument, ordered by time: ``task``, the columns of `FIGURES` (str;
        ``tracing_ns`` int64) and ``event`` (int64), in which the function is traced. No rows if none was
        traced again; `cannot_say` if the reason was not recorded, or no function is called or traced.

    Examples
    --------
    >>> from tfvis_nb import Trace, events
    >>> from tfvis_nb.analysis import retraces
    >>> from tfvis_nb.analysis.unavailable import why_not
    >>> table = events.build({"start_ns": [0, 1], "duration_ns": [10, 6], "lane": ["python"] * 2,
    ...     "kind": ["host"] * 2, "op": ["train", "tf.function-graph_building"],
    ...     "name": ["train", "tf.function-graph_building"],
    ...     "detail": ["tf_function_call=traced-nonXla tracing_count=3", ""]})
    >>> why_not(retraces(Trace(table))).id
    'signatures_not_recorded'
    """
    recorded = function_events(trace)
    if not len(recorded.calls) and not len(recorded.tracings):
        return cannot_say(_COLUMNS, Text("no_functions"))
    again = recorded.tracings[recorded.tracings["again"]]
    explained = again[np.array([bool(changes) for changes in again["changes"]], bool)]
    if not len(explained) and (len(again) or recorded.calls["again"].any()):
        return cannot_say(_COLUMNS, Text("signatures_not_recorded"))
    columns = [explained[name].tolist() for name in ("task", "name", "own_ns", "event", "caller", "changes")]
    rows = [
        {
            "task": task,
            "name": name,
            **{field: change.get(field) for field in ("argument", "before", "after")},
            "change": change.get("kind"),
            "line": line,
            "tracing_ns": own,
            "event": event,
        }
        for task, name, own, event, line, changes in zip(*columns, strict=True)
        for change in changes
        if change
    ]
    return pd.DataFrame(rows, columns=list(_COLUMNS)).astype(dtypes(_COLUMNS))
