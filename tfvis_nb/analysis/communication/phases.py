"""The recorded phases of communication: negotiation, starting NCCL, copies, the transfer itself."""

from typing import Any

import numpy as np
import pandas as pd

from tfvis_nb.analysis.events.activity import NUMBER, activity
from tfvis_nb.core.categories import containing, map_categories
from tfvis_nb.core.devices import HOROVOD
from tfvis_nb.core.intervals import lengths, union
from tfvis_nb.core.labels import NO_OP
from tfvis_nb.core.step_spans import within_steps
from tfvis_nb.core.trace import Trace


def phases(trace: Trace, of: np.ndarray) -> list[dict[str, Any]]:
    """Return the op types of the communication among some events, the longest first.

    ``ns`` is how long any event of the ``op`` runs. Phases in Horovod's timeline count instead of
    collectives.
    """
    recorded = of & _of_horovod(trace)
    rows = of & (activity(trace) == NUMBER["communication"])
    if recorded.any():
        rows &= (trace.events["kind"] != "collective").to_numpy()
    return _times(trace, rows | recorded)


def horovod_phases(trace: Trace) -> list[dict[str, Any]]:
    """Return the phases in Horovod's timeline, as `phases` does."""
    recorded = _of_horovod(trace)
    return _times(trace, recorded) if recorded.any() else []


def _of_horovod(trace: Trace) -> np.ndarray:
    lanes = map_categories(trace.events["lane"], lambda lane: lane in ("negotiate", "activities"))
    mask: np.ndarray = containing(trace.events["device"], HOROVOD) & lanes
    return mask


def _times(trace: Trace, rows: np.ndarray) -> list[dict[str, Any]]:
    """Return the length of the union of each op type; negotiations of all op types are one."""
    chosen = trace.events[rows]
    op = chosen["op"].astype(object).fillna("")
    op = op.where(op != "", NO_OP).where(chosen["lane"] != "negotiate", "negotiation")
    group, names = pd.factorize(op)
    start, end = (times[rows] for times in within_steps(trace))
    time = lengths(union(group, start, end), len(names), 2)[:, 1]
    order = np.argsort(-time, kind="stable")
    return [{"op": str(names[one]), "ns": int(time[one])} for one in order if time[one]]
