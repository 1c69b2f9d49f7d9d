"""Recordings that nothing divides into steps, such as a Horovod timeline, and the words about them.

All events of such a recording have one step number, so that tables have their figures. Texts for people call
it the recording, because the file does not claim that it is a step.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tfvis_nb.core.metadata import UNDIVIDED, Metadata, table_of
from tfvis_nb.events import NO_STEP

if TYPE_CHECKING:
    from tfvis_nb.core.trace import Trace

STEP_TIME, RECORDING = "step time", "the recording"
"""The whole of which shares are parts."""

_WORDS = (
    (re.compile(r"\bof step time\b"), f"of {RECORDING}"),
    (re.compile(r"\b[Ss]tep time\b(?= after)"), RECORDING),
    (re.compile(r"\bShares? of step time\b"), f"Share of {RECORDING}"),
    (re.compile(r"^The step takes\b"), "The recording lasts"),
    (re.compile(r"^(?:The|A) step\b|(?<=[.:] )The step\b"), "The recording"),
    (re.compile(r"\bthe (?:median )?step\b"), RECORDING),
    (re.compile(r"\bin step \d+\b"), f"in {RECORDING}"),
    (re.compile(r"\bIn step \d+\b"), f"In {RECORDING}"),
    (re.compile(r" in a step\b"), ""),
    (re.compile(r"\bper step\b"), f"in {RECORDING}"),
    (re.compile(r"\bthe work of the step itself\b"), "its own work"),
    (re.compile(r"\b(?<=of )the steps\b|\b(?<=up )the steps\b"), RECORDING),
    (re.compile(r"\bin fewer steps\b[^:.]*"), "less often"),
    (re.compile(r" that runs in each step\b"), ""),
    (re.compile(r"\bin one step\b"), f"in {RECORDING}"),
    (re.compile(r"\bthe trace has only one step\b"), "nothing divides the recording into steps"),
    (re.compile(r"^Step time$"), "Recording"),
    (re.compile(r"^Step by\b"), "Recording by"),
)


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


def whole_of(trace: Trace) -> str:
    """Name the whole of which shares are parts."""
    return RECORDING if is_undivided(trace) else STEP_TIME


def of_recording(text: str) -> str:
    """Return a text about a step in words about a recording.

    >>> of_recording("The step takes 10 ms."), of_recording("busy 20.0 % of step time, longest in step 0")
    ('The recording lasts 10 ms.', 'busy 20.0 % of the recording, longest in the recording')
    """
    for pattern, words in _WORDS:
        text = pattern.sub(words, text)
    return text
