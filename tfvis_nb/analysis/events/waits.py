"""How long each event waits for its peers at its start: the hatched part of its bar."""

import numpy as np

from tfvis_nb.core.trace import Trace


def waits(trace: Trace) -> np.ndarray:
    """Nanoseconds at the head of each event that it waited for its peers: transfers, collectives of ranks."""
    wait = np.zeros(len(trace.events), "i8")
    kinds = trace.events["kind"]
    for kind, waiting in (("transfer", "transfers"), ("collective", "collective_waits")):
        if not (kinds == kind).any():
            continue
        table = getattr(trace, waiting)
        events = table["event"].to_numpy()
        # Before a copy lies queueing, which is outside of its bar.
        inside = (kinds == kind).to_numpy()[events] & table["wait_ns"].notna().to_numpy()
        wait[events[inside]] = table["wait_ns"].to_numpy("i8", na_value=0)[inside]
    return np.clip(wait, 0, trace.events["duration_ns"].to_numpy())
