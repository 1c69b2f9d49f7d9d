"""How long each event waits for its peers before and after its data moves; bars are hatched there."""

import numpy as np

from tfvis_nb.analysis.communication.collective_waits import collective_waits
from tfvis_nb.analysis.communication.transfers import transfers
from tfvis_nb.analysis.events.activity import only_waits
from tfvis_nb.core.trace import Trace


def waits(trace: Trace) -> np.ndarray:
    """Return how long each event waited from its start, in ns.

    Transfers and collectives wait for their peers, and an instruction such as ``copy-done`` for work that
    its device started before.
    """
    kinds = trace.events["kind"]
    wait = np.where(only_waits(trace.events), trace.events["duration_ns"].to_numpy(), 0)
    for kind, table_of in (("transfer", transfers), ("collective", collective_waits)):
        if not (kinds == kind).any():
            continue
        table = table_of(trace)
        events = table["event"].to_numpy()
        # Before a copy lies queueing, which is outside of its bar.
        inside = (kinds == kind).to_numpy()[events] & table["wait_ns"].notna().to_numpy()
        wait[events[inside]] = table["wait_ns"].to_numpy("i8", na_value=0)[inside]
    return np.clip(wait, 0, trace.events["duration_ns"].to_numpy())


def tails(trace: Trace) -> np.ndarray:
    """Return how much of its wait each event spends after its data has moved, in ns.

    Tensors that arrive together move in turn, so an earlier one also waits for the last.
    """
    tail = np.zeros(len(trace.events), np.int64)
    if not (trace.events["kind"] == "transfer").any():
        return tail
    moved = transfers(trace)
    moved = moved[(moved["kind"] == "transfer") & moved["turn_ns"].notna()]
    events = moved["event"].to_numpy()
    begin = moved["turn_ns"].to_numpy("i8", na_value=0) - moved["start_ns"].to_numpy()
    wait = waits(trace)[events]
    tail[events] = wait - np.clip(begin, 0, wait)
    return tail
