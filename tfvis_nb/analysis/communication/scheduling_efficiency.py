"""How well steps hide communication behind computing, and the gain of a perfect order."""

import numpy as np
import pandas as pd

from tfvis_nb.analysis._validate import validate_input
from tfvis_nb.analysis.communication.communication_overlap import communicates, communication_overlap
from tfvis_nb.analysis.unavailable import cannot_say
from tfvis_nb.core.trace import Trace
from tfvis_nb.events import NO_STEP
from tfvis_nb.texts import Text

_TICTAC = "TicTac, MLSys 2019"

FIGURES: dict[str, str] = {
    "makespan_ns": "U: latest end minus earliest start of the task's events in the step, in ns.",
    "communication_ns": "M: length of the union of tensors received and collectives, in ns.",
    "computation_ns": "P: length of the union of ops and kernels, without those that wait, in ns.",
    "cost_max_ns": "M + P, in ns: nothing overlaps.",
    "cost_min_ns": "max(M, P), in ns: the shorter is completely hidden behind the longer.",
    "efficiency": "(M + P - U) / min(M, P): 1 if everything that can overlap does, 0 if nothing does "
    f"({_TICTAC}).",
    "possible_speedup": "min(M, P) / max(M, P), at most 1: the gain of a perfect order over no overlap "
    f"({_TICTAC}).",
    "ratio": "M / P: communication to computation.",
    "bounded": "Whether max(M, P) <= U <= M + P. If not, something else takes time, such as waiting for "
    "input, and the efficiency does not show how well communication is ordered.",
}

_COLUMNS = (
    {"step": "int64", "task": "category"}
    | {name: "int64" for name in FIGURES if name.endswith("_ns")}
    | {"efficiency": "float64", "possible_speedup": "float64", "ratio": "float64", "bounded": "bool"}
)


@validate_input
def scheduling_efficiency(trace: Trace) -> pd.DataFrame:
    """Return how much of the possible overlap of communication and computing each task reaches.

    With M the time a task communicates, P the time it computes and U how long its step takes:

    * ``efficiency`` = (M + P - U) / (M + P - max(M, P));
    * ``possible_speedup`` = (M + P - max(M, P)) / max(M, P).

    Parameters
    ----------
    trace
        Any trace.

    Returns
    -------
    pandas.DataFrame
        One row per step and task that communicates and computes: ``step`` (int64), ``task`` (category),
        ``makespan_ns``, ``communication_ns``, ``computation_ns``, ``cost_max_ns``, ``cost_min_ns``
        (int64), ``efficiency``, ``possible_speedup``, ``ratio`` (float64) and ``bounded`` (bool). Where
        ``bounded`` is true, the efficiency is from 0 to 1. `cannot_say` if no task does both.

    Notes
    -----
    Definitions of Hashemi, Abdu Jyothi and Campbell, "TicTac: Accelerating Distributed Deep Learning with
    Communication Scheduling", MLSys 2019, with M and P as lengths of unions, which is how their
    tf-comm-scheduling measures them. U is at least max(M, P), and larger than M + P if a task waits for
    something else.

    Examples
    --------
    >>> from tfvis_nb import Trace, events
    >>> from tfvis_nb.analysis import scheduling_efficiency
    >>> table = events.build({"start_ns": [0, 30], "duration_ns": [50, 60], "kind": ["transfer", "op"]})
    >>> scheduling_efficiency(Trace(table))[["cost_min_ns", "cost_max_ns", "efficiency"]].values.tolist()
    [[60.0, 110.0, 0.4]]
    """
    if not communicates(trace.events).any():
        return cannot_say(_COLUMNS, Text("no_communication"))
    overlap = communication_overlap(trace)
    both = (overlap["communication_ns"] > 0) & (overlap["computation_ns"] > 0)
    overlap = overlap[both & (overlap["step"] != NO_STEP)]
    if overlap.empty:
        return cannot_say(_COLUMNS, Text("no_overlap"))
    table = overlap[["step", "task"]].astype({"step": "int64"}).reset_index(drop=True)
    moved, worked, span = (
        overlap[name].to_numpy(np.int64) for name in ("communication_ns", "computation_ns", "step_ns")
    )
    least = np.maximum(moved, worked)
    table["makespan_ns"] = span
    table["communication_ns"] = moved
    table["computation_ns"] = worked
    table["cost_max_ns"] = moved + worked
    table["cost_min_ns"] = least
    hidden = moved + worked - least
    table["efficiency"] = (moved + worked - span) / hidden
    table["possible_speedup"] = hidden / least
    table["ratio"] = moved / worked
    table["bounded"] = (least <= span) & (span <= moved + worked)
    return table
