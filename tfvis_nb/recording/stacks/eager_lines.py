"""The line of each eager call, noted at the start of the call.

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
from tfvis_nb.recording.stacks.op_stacks import phase_of_frame
from tfvis_nb.recording.stacks.source_files import SourceFiles

_MOST = 1_000_000
"""Maximum number of noted calls."""

_MOST_EARLY_NS = 500_000
_SPREAD_US = 8
"""The shortest duration of a call."""
_NEXT_CALLS = 16
"""How many calls after the start of a row it may belong to."""

CONSTANT = "_EagerConst"
"""The op that makes a tensor from a Python value; it has a row, but the call around it does not."""

Line = tuple[CodeType, int]
"""Code, and an instruction in it."""


class EagerCall(NamedTuple):
    """The user's own frames of a call, innermost first, and their phase of training."""

    lines: tuple[Line, ...]
    phase: str | None


class EagerLines:
    """Notes the calls between `watch` and `end`, in all threads."""

    def __init__(self) -> None:
        self._own: dict[str, bool] = {}
        self._files = SourceFiles()
        self._began: list[int] = []
        self._calls: list[EagerCall] = []
        self._replacements = Replacements()

    def watch(self) -> None:
        """Start noting."""
        from tensorflow.python import pywrap_tfe
        from tensorflow.python.framework import constant_op

        self._replacements.put(constant_op, "convert_to_eager_tensor", self._noting)
        for name in CALLS:
            self._replacements.put(pywrap_tfe, name, self._noting)

    def end(self) -> None:
        """Restore TensorFlow's functions."""
        self._replacements.undo()

    def noted(self) -> tuple[list[int], list[EagerCall]]:
        """Return the start of each call (epoch ns), and the calls."""
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
                break  # callers of the user's code are not worth the time to inspect them
            elif phase is None:
                phase = phase_of_frame(code.co_filename, code.co_name)
            frame = frame.f_back
        return EagerCall(tuple(lines), phase)


def earliness(rows: np.ndarray, noted: np.ndarray) -> int:
    """Return how early rows start, in ns, up to `_MOST_EARLY_NS`: the shift that puts most right after calls.

    Rows of a profile with an estimated start may start before their calls. `noted` is sorted.

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
