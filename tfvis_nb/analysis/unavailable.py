"""What an analysis returns when the trace lacks what it needs: no rows, and the reason.

A metric that is not known is not 0. A table without rows has its reason in ``table.attrs["cannot_say"]``;
a table with rows, or without any because there is nothing to report, has none.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import pandas as pd

from tfvis_nb import events as event_table

REASONS = {
    "": "",
    "no_events": "the trace has no events",
    "no_events_in_both": "neither trace has events",
    "no_steps": "no event belongs to a step",
    "one_step": "the trace has only one step",
    "few_steps": "the trace has {steps} steps, fewer than {least}",
    "no_step_length": "all steps last 0 ns",
    "no_devices": "no event of a step is on a device",
    "no_device_activity": "the trace does not show what a device did in any step",
    "no_gpu_events": "the trace has no events of a GPU in a step",
    "no_gpu_kernels": "the trace has no kernels of a GPU in a step",
    "no_launches": "the trace does not show when the host launched the work of the GPU",
    "no_op_devices": "the trace does not show on which device ops ran; only TensorFlow's executor records it",
    "no_op_inputs": "the trace does not show what each op used",
    "no_nodes": "no event is of a node of a graph",
    "no_scopes": "no node has a name scope",
    "no_communication": "no tensor is received from another task and no collective runs",
    "no_overlap": "no task both communicates and computes in a step",
    "no_transfers": "no tensor was received from another task and nothing was copied",
    "no_transfer_rates": "no transfer or copy has both its size and its time recorded",
    "one_task": "no two tasks of a job are in one step",
    "no_barriers": "no tasks meet at collectives or at the end of these steps",
    "clocks_disagree": "the clocks of the tasks do not agree",
    "no_allocations": "the trace has no allocation records. TensorFlow 1.5 and later write them for ops at"
    " FULL_TRACE, and in profiles of the host",
    "no_addresses": "the profile's allocation events lack the addresses that pair them",
    "no_amounts": "the profile's allocation events lack the allocated amounts",
}
"""Why something is not available: id to the rest of a sentence that begins with "Not available:"."""

_REASON = "cannot_say"


class Reason(str):
    """Why something is not available: a text, and the id and the figures that it is made from.

    Raises
    ------
    KeyError
        If there is no such id, or a figure is missing.

    Examples
    --------
    >>> from tfvis_nb.analysis.unavailable import Reason
    >>> reason = Reason("few_steps", steps=3, least=5)
    >>> reason, reason.id
    ('the trace has 3 steps, fewer than 5', 'few_steps')
    """

    __slots__ = ("figures", "id")

    id: str
    figures: dict[str, int]

    def __new__(cls, key: str, /, **figures: int) -> Self:
        """Write the text of an id."""
        reason = super().__new__(cls, REASONS[key].format(**figures))
        reason.id, reason.figures = key, figures
        return reason

    def __getnewargs_ex__(self) -> tuple[tuple[str], dict[str, int]]:
        """Copy and pickle by the id: pandas copies the attributes of a table."""
        return (self.id,), self.figures


NONE = Reason("")
"""Nothing is missing."""


def cannot_say(columns: Mapping[str, str], reason: Reason) -> pd.DataFrame:
    """Return a table without rows that says why it has none.

    Parameters
    ----------
    columns
        Column name to dtype; ``"str"`` is the dtype of texts.
    reason
        What the trace lacks.

    Raises
    ------
    ValueError
        If no reason is given.

    Examples
    --------
    >>> from tfvis_nb.analysis.unavailable import Reason, cannot_say, why_not
    >>> table = cannot_say({"peak_bytes": "int64"}, Reason("no_steps"))
    >>> len(table), why_not(table)
    (0, 'no event belongs to a step')
    """
    if not reason:
        raise ValueError("a reason is needed")
    table = pd.DataFrame({name: pd.Series(dtype=_dtype(dtype)) for name, dtype in columns.items()})
    table.attrs[_REASON] = reason
    return table


def why_not(table: pd.DataFrame) -> Reason:
    """Return why an analysis has no rows; empty, and false, if nothing is missing.

    Examples
    --------
    >>> from tfvis_nb import Trace, events
    >>> from tfvis_nb.analysis import why_not
    >>> reason = why_not(Trace(events.build({}, rows=0)).breakdown)
    >>> reason, reason.id
    ('no event belongs to a step', 'no_steps')
    """
    reason: Reason = table.attrs.get(_REASON, NONE)
    return reason


def _dtype(name: str) -> Any:
    return event_table.TEXT if name == "str" else name
