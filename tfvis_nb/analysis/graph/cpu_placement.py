"""Why ops are on a CPU: the program requested it, or no GPU kernel is registered for them."""

import re
from collections.abc import Iterable

import numpy as np

from tfvis_nb.analysis.graph.gpu_kernels import has_gpu_kernel
from tfvis_nb.analysis.graph.nodes import step_nodes
from tfvis_nb.core.trace import Trace

_CPU = re.compile(r"(?:^|/|device:)cpu:", re.IGNORECASE)


def cpu_placement(trace: Trace, events: Iterable[int]) -> tuple[set[int], set[int]]:
    """Return the ops for which the program requested a CPU, and the ops without a GPU kernel.

    An op is in neither if it is not in the graphs or nothing is known about it.
    """
    requested, unregistered = set(), set()
    names = trace.events["name"]
    ids = np.fromiter(events, np.int64)
    step = trace.events["step"].to_numpy()[ids]
    for number in range(len(trace.graphs)):
        wanted: dict[str, list[int]] = {}
        for event in ids[step == number].tolist():
            wanted.setdefault(str(names.iloc[event]), []).append(event)
        for node in step_nodes(trace, number, wanted) if wanted else ():
            if _CPU.search(node.requested_device or ""):
                requested.update(wanted[node.name])
            elif has_gpu_kernel(node.definition) is False:
                unregistered.update(wanted[node.name])
    return requested, unregistered
