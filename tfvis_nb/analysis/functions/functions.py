"""TensorFlow and JAX functions: their calls, tracings and compilations."""

import numpy as np
import pandas as pd

from tfvis_nb.analysis._validate import validate_input
from tfvis_nb.analysis.functions.calls import FunctionEvents, function_events
from tfvis_nb.analysis.unavailable import cannot_say, dtypes
from tfvis_nb.core.intervals import lengths, union
from tfvis_nb.core.trace import Trace
from tfvis_nb.texts import Text

FIGURES: dict[str, str] = {
    "name": "Name of the function in the program; functions of the same name share a row. Empty for functions"
    " that are traced outside calls without a recorded name, such as those of a tf.data pipeline.",
    "calls": "Number of calls from Python, including those made while another function is traced. Functions"
    " of JAX called while another is traced become part of it, and are not counted.",
    "traces": "How often it was traced while the trace was recorded. A first call that creates variables"
    " traces twice. Functions of JAX: how often it was lowered.",
    "retraces": "traces after those of the function's first call ever. In recordings also those of a function"
    " that was made anew from the same code. Functions of JAX without a recorded explanation: traces after"
    " the first call of this name in the trace; 0 for JAX's own functions, such as add, which JAX compiles"
    " for each op and shape outside of jax.jit.",
    "compilations": "Number of calls in which XLA compiled something.",
    "total_ns": "Sum of the durations of its calls, in ns; total_ns of op_statistics.",
    "self_ns": "Sum of the self times of its calls, in ns; self_ns of op_statistics.",
    "tracing_ns": "Time spent tracing it, without the functions traced within it, in ns: from the start of"
    " the call that traces until its new graph runs, if both are recorded; for JAX also lowering it. NA where"
    " a call traced it and the time is not recorded.",
    "compiling_ns": "Time in which something was compiled in its calls, on any thread, in ns.",
    "nodes": "Number of nodes of its largest graph; NA where not recorded.",
    "source": "File and line of its definition in your own code, the first three of several functions of one"
    " name, such as <lambda>; NA where not recorded.",
}

_MOST_SOURCES = 3
_COLUMNS = {
    "task": "str",
    "name": "str",
    **dict.fromkeys(("calls", "traces", "retraces", "compilations", "total_ns", "self_ns"), "int64"),
    "tracing_ns": "Int64",
    "compiling_ns": "int64",
    "nodes": "Int64",
    "source": "str",
    "longest": "int64",
}


@validate_input
def functions(trace: Trace) -> pd.DataFrame:
    """Add up calls, tracings and compilations by ``tf.function``, and by function that JAX compiles.

    Parameters
    ----------
    trace
        Any trace. Profiles have these events.

    Returns
    -------
    pandas.DataFrame
        One row per task and function, the largest ``total_ns`` first. ``task`` (str), the columns of
        `FIGURES` (int64; ``name`` and ``source`` str, ``tracing_ns`` and ``nodes`` Int64) and ``longest``
        (int64), the event of its longest tracing, or of its longest call if it was not traced. `cannot_say`
        if no function is called or traced.

    Notes
    -----
    The ``tracing_ns`` of all rows add up to the time of all tracings. `retraces` explains why functions were
    traced again.

    Examples
    --------
    >>> from tfvis_nb import Trace, events
    >>> from tfvis_nb.analysis import functions
    >>> table = events.build({"start_ns": [0, 1, 20], "duration_ns": [10, 6, 2], "lane": ["python"] * 3,
    ...     "kind": ["host"] * 3, "op": ["train", "tf.function-graph_building", "train"],
    ...     "name": ["train", "tf.function-graph_building", "train"],
    ...     "detail": ["tf_function_call=traced-nonXla tracing_count=3", "",
    ...                "tf_function_call=notTraced-nonXla tracing_count=3"]})
    >>> result = functions(Trace(table))
    >>> result[["name", "calls", "traces", "retraces", "tracing_ns"]].values.tolist()
    [['train', 2, 1, 1, 6]]
    """
    recorded = function_events(trace)
    if not len(recorded.calls) and not len(recorded.tracings):
        return cannot_say(_COLUMNS, Text("no_functions"))
    by = ["task", "name"]
    table = _counted(trace, recorded).groupby(by).sum()
    groups = recorded.tracings.astype({"nodes": "Int64"}).groupby(by)
    spent = groups["own_ns"].sum().reindex(table.index).astype("Int64").fillna(0)
    table["tracing_ns"] = spent.where(table["untimed"] == 0)
    table["nodes"] = groups["nodes"].max()
    own = recorded.tracings[recorded.tracings["function"] == recorded.tracings["name"]]
    table["source"] = own.dropna(subset="source").groupby(by)["source"].agg(_listed)
    table["longest"] = _longest(trace, recorded, by)
    table = table.sort_values("total_ns", ascending=False, kind="stable").reset_index()
    return table[list(_COLUMNS)].astype(dtypes(_COLUMNS))


def _listed(sources: pd.Series) -> str:
    distinct = [*dict.fromkeys(sources)]
    return ", ".join(distinct[:_MOST_SOURCES]) + (", ..." if len(distinct) > _MOST_SOURCES else "")


def _counted(trace: Trace, recorded: FunctionEvents) -> pd.DataFrame:
    """Return what each call, and each tracing outside calls, contributes to its function's figures."""
    calls, tracings = recorded.calls, recorded.tracings
    loose = (tracings["call"] < 0).to_numpy()
    none = np.zeros(loose.sum(), np.int64)
    amounts = {
        "calls": (np.ones(len(calls)), none),
        "traces": (calls["tracings"], none + 1),
        "retraces": (calls["tracings"].where(calls["again"], 0), tracings["again"][loose]),
        "compilations": (calls.index.isin(recorded.compilations["call"]), none),
        "total_ns": (calls["duration_ns"], none),
        "self_ns": (calls["self_ns"], none),
        "compiling_ns": (_compiling(trace, recorded), none),
        "untimed": (~calls["timed"], none),
    }
    of = {name: np.concatenate([calls[name], tracings[name][loose]]) for name in ("task", "name")}
    return pd.DataFrame(
        of
        | {
            name: np.concatenate([*map(np.asarray, parts)]).astype(np.int64)
            for name, parts in amounts.items()
        }
    )


def _compiling(trace: Trace, recorded: FunctionEvents) -> np.ndarray:
    """Return the compilation time in each call, in ns."""
    inside = recorded.compilations[recorded.compilations["call"] >= 0]
    rows = inside["event"].to_numpy(np.int64)
    start = trace.events["start_ns"].to_numpy(np.int64)[rows]
    end = start + trace.events["duration_ns"].to_numpy(np.int64)[rows]
    return lengths(union(inside["call"].to_numpy(np.int64), start, end), len(recorded.calls), 2)[:, 1]


def _longest(trace: Trace, recorded: FunctionEvents, by: list[str]) -> pd.Series:
    """Return the longest tracing of each function, or its longest call if it was not traced."""
    both = pd.concat([recorded.tracings.assign(tracing=True), recorded.calls.assign(tracing=False)])
    duration = trace.events["duration_ns"].to_numpy(np.int64)[both["event"].to_numpy(np.int64)]
    ordered = both.assign(duration_ns=duration).sort_values(["tracing", "duration_ns"], kind="stable")
    return ordered.groupby(by)["event"].last()
