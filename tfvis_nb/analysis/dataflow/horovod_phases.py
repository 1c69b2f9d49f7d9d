"""The phases of each op in a Horovod timeline, by name and time, for `trace.edges`."""

import numpy as np
import pandas as pd

from tfvis_nb.core.categories import containing
from tfvis_nb.core.devices import HOROVOD
from tfvis_nb.core.executions import Executions

LAUNCHED, AWAITED = 0, 1
"""Kinds of edges: an op handed over its tensor, or a phase could not start without it."""


def phase_edges(events: pd.DataFrame) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return source, target and kind of the edges to the phases of a Horovod timeline.

    The kind is `LAUNCHED` or `AWAITED`. An op and the phases of its tensor have the same name and step. The
    op of the rank that wrote the timeline has edges to each phase during which it ran. Ops of other ranks
    have edges to the negotiation, or if there is none to the communication, which waited for them.
    """
    none = np.zeros(0, np.int64)
    is_phase = containing(events["device"], HOROVOD)
    if not is_phase.any():
        return none, none, none
    lane = events["lane"].astype(object).to_numpy()
    start = events["start_ns"].to_numpy()
    end = start + events["duration_ns"].to_numpy()
    task = events["task"].cat.codes.to_numpy(np.int64)
    tensor = events.groupby(["step", "name"], sort=False).ngroup().to_numpy()
    tasks = int(task.max(initial=0)) + 1

    def latest(sources: np.ndarray, of_task: np.ndarray, phases: np.ndarray, when: np.ndarray) -> np.ndarray:
        """Return for each phase the last source of its tensor that had started; -1 if there is none."""
        began = start[sources]
        known = Executions(tensor[sources] * tasks + task[sources], began, began, sources)
        return known.latest(tensor[phases] * tasks + of_task, when)

    found = []
    ops = np.flatnonzero(~is_phase & (events["kind"] == "collective").to_numpy())
    phases = np.flatnonzero(is_phase & (lane != "rank ready"))
    waiting = phases[_waits_for_ranks(events, phases, lane)]
    for number in np.unique(task[ops]).tolist():
        for kind, those in (
            (LAUNCHED, phases[task[phases] == number]),
            (AWAITED, waiting[task[waiting] != number]),
        ):
            source = latest(ops, np.full(len(those), number), those, end[those])
            # An op ends with the last of its phases.
            related = (source >= 0) & (end[source] >= start[those])
            found.append((source[related], those[related], kind))
    negotiated = np.flatnonzero(is_phase & (lane == "negotiate"))
    moved = np.flatnonzero(is_phase & (lane == "collective"))
    source, first = np.unique(latest(negotiated, task[moved], moved, start[moved]), return_index=True)
    found.append((source[source >= 0], moved[first[source >= 0]], AWAITED))
    return (
        np.concatenate([none, *(source for source, _, _ in found)]),
        np.concatenate([none, *(target for _, target, _ in found)]),
        np.concatenate([none, *(np.full(len(source), kind) for source, _, kind in found)]),
    )


def _waits_for_ranks(events: pd.DataFrame, phases: np.ndarray, lane: np.ndarray) -> np.ndarray:
    """Return the phases that wait for ops of other ranks: negotiation, or else communication."""
    negotiated = events.loc[phases[lane[phases] == "negotiate"], ["step", "name"]]
    known = pd.MultiIndex.from_frame(negotiated)
    here = pd.MultiIndex.from_frame(events.loc[phases, ["step", "name"]])
    waits: np.ndarray = (lane[phases] == "negotiate") | ((lane[phases] == "collective") & ~here.isin(known))
    return waits
