"""Recordings that nothing divides into steps, such as a Horovod timeline.

All events of such a recording have one step number, so that tables have their figures. Texts for people call
it the recording, because the file does not claim that it is a step.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from tfvis_nb.core.metadata import UNDIVIDED, Metadata, table_of
from tfvis_nb.events import NO_STEP
from tfvis_nb.texts import Text

if TYPE_CHECKING:
    from tfvis_nb.core.trace import Trace


def undivided() -> Metadata:
    """Return the metadata of a recording that nothing divides into steps."""
    return {UNDIVIDED: table_of(UNDIVIDED, [{"recordings": 1}])}


def is_undivided(trace: Trace) -> bool:
    """Return whether a trace has one step only because nothing divides its recording.

    >>> from tfvis_nb import Trace, events
    >>> run = events.build({"start_ns": [5], "duration_ns": [3], "kind": ["op"]})
    >>> is_undivided(Trace(run)), is_undivided(Trace(run, metadata=undivided()))
    (False, True)
    """
    if UNDIVIDED not in trace.metadata:
        return False
    steps = trace.events["step"].unique()
    return int((steps != NO_STEP).sum()) == 1 and not any(trace.step_labels.get(int(one)) for one in steps)


def whole_figures(undivided: bool) -> dict[str, str]:
    """Return the words of a text about an undivided recording; none for a text about steps."""
    if not undivided:
        return {}
    within = dict.fromkeys(("per_step", "in_one_step"), Text("in_the_recording"))
    return {"step_time": Text("the_recording"), "in_a_step": "", **within}


def whole(figures: Mapping[str, Any], words: str = "step time") -> str:
    """Return words about steps, or the recording if the figures are about one.

    >>> whole({}), whole({}, "the step"), whole(whole_figures(True), "the step")
    ('step time', 'the step', 'the recording')
    """
    return str(figures.get("step_time", words))


def reworded(text: str, figures: Mapping[str, Any]) -> str:
    """Return a text of the catalogue with the words for a recording that figures have."""
    words = {name: figures[name] for name in whole_figures(undivided=True) if name in figures}
    return Text(text.id, **text.figures | words) if words and isinstance(text, Text) else text


def only_step(trace: Trace) -> Text:
    """Return why a trace has only one step."""
    return Text("undivided" if is_undivided(trace) else "one_step")
