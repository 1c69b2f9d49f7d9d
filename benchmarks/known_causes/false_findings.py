"""Findings that are false by their ids, figures and lines. Of their texts, only lines are read."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

import tfvis_nb as tv
from benchmarks.known_causes.program import PROGRAMS, VARIANTS, Program
from tfvis_nb.events import NO_STEP

_LINE = re.compile(r"[\w./~<>-]*\.py:\d+")
_OWN = {file.name: file for file in (*PROGRAMS.glob("*.py"), *PROGRAMS.parent.glob("*.py"))}
_MOST = (0.1, 0.9)
"""The shortest steps of the twin and the longest slow ones: a tenth of each may be chance."""

_ROUNDED = 0.005
"""Smaller differences of a gain are invisible in whole percents."""


class Run(NamedTuple):
    """A recording and the time of each step by the wall clock."""

    trace: tv.Trace
    traced: np.ndarray


def false_findings(program: Program, runs: Mapping[str, Sequence[Run]]) -> Iterator[str]:
    """List false statements in the findings about the recordings of both variants.

    - a problem that is neither planted there nor true beside it (`Program.also`);
    - a share or a gain below 0 or above 1;
    - a gain of the planted cause above what the twin saves, even from the longest slow steps to the shortest
      ones of the twin;
    - a line that does not exist, or that no program has.
    """
    saved = _most_saved(*(runs[variant] for variant in VARIANTS))
    for variant, own in runs.items():
        is_planted = variant == "slow" and not program.is_healthy
        for run in own:
            rows: list[Any] = [*run.trace.findings.itertuples()]
            for row in rows:
                about = f"{variant} {row.id}"
                is_cause = is_planted and program.is_cause(row.id)
                if row.level == "problem" and not is_cause and not program.is_also(row.id):
                    yield f"{about}: not there"
                for share in (row.share, row.gain):
                    if not math.isnan(share) and not 0 <= share <= 1:
                        yield f"{about}: {share:.0%}"
                if is_cause and row.gain > saved + _ROUNDED:
                    yield f"{about}: gain {row.gain:.0%} > {saved:.0%}"
                for place in lines_of(row):
                    if not _is_own_line(run.trace, place):
                        yield f"{about}: {place}"


def lines_of(finding: Any) -> list[str]:
    """Return the lines that a finding names in its texts and figures, as ``file:line``."""
    texts = [finding.title, finding.text, finding.advice, *texts_in(finding.figures)]
    return list(dict.fromkeys(place for text in texts for place in _LINE.findall(text)))


def texts_in(value: Any) -> Iterator[str]:
    """Yield the texts in figures."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list | tuple):
        for one in value:
            yield from texts_in(one)
    elif isinstance(value, str):
        yield value


def _most_saved(slow: Sequence[Run], fixed: Sequence[Run]) -> float:
    """Return the largest share of a step, or of a loop, that the twin saves."""
    least, most = _MOST
    return max(
        1 - _quantile(fixed, times, least) / _quantile(slow, times, most)
        for times in (_steps, lambda run: run.traced)
    )


def _quantile(runs: Sequence[Run], times: Callable[[Run], np.ndarray], part: float) -> float:
    return float(np.quantile(np.concatenate([*map(times, runs)]), part))


def _steps(run: Run) -> np.ndarray:
    steps: pd.DataFrame = run.trace.steps
    return steps.loc[steps["step"] != NO_STEP, "duration_ns"].to_numpy(np.float64)


def _is_own_line(trace: tv.Trace, place: str) -> bool:
    """Return whether a line of these programs exists and has code: as recorded, or else as it is now."""
    name, _, number = place.rpartition(":")
    file = _OWN.get(Path(name).name)
    if file is None:
        return False
    if trace.stacks is not None:
        names = trace.stacks.files["name"].to_pylist()
        for frame in trace.stacks.frames.to_pylist():
            if (
                frame["text"]
                and frame["line"] == int(number)
                and Path(names[frame["file"]]).name == file.name
            ):
                return bool(frame["text"].strip())
    lines = file.read_text().splitlines()
    return 0 < int(number) <= len(lines) and bool(lines[int(number) - 1].strip())
