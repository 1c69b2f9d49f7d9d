"""The line of each eager call, noted when the call begins.

The profiler records a row for each of these calls, on the same clock.
"""

import itertools
import sys
import time
from types import CodeType, FrameType
from typing import Any, NamedTuple

import numpy as np

from tfvis_nb.recording.patches import Replacements
from tfvis_nb.recording.profiler.eager_calls import CALLS
from tfvis_nb.recording.stacks.phases import phase_of_frame
from tfvis_nb.recording.stacks.source_files import SourceFiles

_MOST = 1_000_000
"""Calls that are noted."""

_MOST_EARLY_NS = 500_000
_SPREAD_US = 8
"""No call takes less than this."""
_NEXT_CALLS = 16
"""Calls after the start of a row that it may be of."""

CONSTANT = "_EagerConst"
"""The op that makes a tensor of a Python value; it has a row, but the call around it does not."""

Line = tuple[CodeType, int]
"""Code, and the instruction in it."""


class EagerCall(NamedTuple):
    """The user's own frames of a call, the innermost first, and the phase of training that they are in."""

    lines: tuple[Line, ...]
    phase: str | None


class EagerLines:
    """Notes the calls between `watch` and `end`, in every thread."""

    def __init__(self) -> None:
        self._own: dict[str, bool] = {}
        self._files = SourceFiles()
        self._began: list[int] = []
        self._calls: list[EagerCall] = []
        self._replacements = Replacements()

    def watch(self) -> None:
        """Begin to note."""
        from tensorflow.python import pywrap_tfe
        from tensorflow.python.framework import constant_op

        self._replacements.put(constant_op, "convert_to_eager_tensor", self._noting)
        for name in CALLS:
            self._replacements.put(pywrap_tfe, name, self._noting)

    def end(self) -> None:
        """Put TensorFlow's own functions back."""
        self._replacements.undo()

    def noted(self) -> tuple[list[int], list[EagerCall]]:
        """Return when each call began (epoch ns), and the calls."""
        calls = list(self._calls)
        return self._began[: len(calls)], calls[: len(self._began)]

    def _noting(self, original: Any) -> Any:
        began, calls, clock, frame_at = self._began, self._calls, time.time_ns, sys._getframe  # noqa: SLF001

        def execute(*args: Any, **options: Any) -> Any:
            if len(began) < _MOST:
                calls.append(self._call(frame_at(1)))
                began.append(clock())
            return original(*args, **options)

        return execute

    def _call(self, frame: FrameType | None) -> EagerCall:
        own, lines, phase = self._own, [], None
        while frame is not None:
            code = frame.f_code
            mine = own.get(code.co_filename)
            if mine is None:
                mine = own[code.co_filename] = self._files.own(code.co_filename)
            if mine:
                lines.append((code, frame.f_lasti))
            elif lines:
                break  # callers of the user's code are not worth the time it takes to look through them
            elif phase is None:
                phase = phase_of_frame(code.co_filename, code.co_name)
            frame = frame.f_back
        return EagerCall(tuple(lines), phase)


def earliness(rows: np.ndarray, noted: np.ndarray) -> int:
    """Return by how many ns rows begin too early, up to `_MOST_EARLY_NS`: that most are right after calls.

    Rows of a profile with an estimated start begin before their calls. `noted` is sorted.

    >>> earliness(np.array([70_000, 95_000, 170_000]), np.array([100_000, 125_000, 200_000]))
    31000
    """
    after = np.searchsorted(noted, rows)[:, None] + np.arange(_NEXT_CALLS)
    early = np.append(noted, np.iinfo(np.int64).max)[np.minimum(after, len(noted))] - rows[:, None]
    votes = np.bincount(early[early < _MOST_EARLY_NS] // 1000)
    if not len(votes):
        return 0
    most = votes.argmax()
    near = np.flatnonzero(votes[most : most + _SPREAD_US])
    return int(most + near[-1] + 1) * 1000


def line_number(line: Line) -> int:
    """Return the number of the line that an instruction is in."""
    code, instruction = line
    position = next(itertools.islice(code.co_positions(), instruction // 2, None), (None,))
    return position[0] or code.co_firstlineno
