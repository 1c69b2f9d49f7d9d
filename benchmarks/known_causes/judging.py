"""What the package says of recordings, compared with what their program states and with the wall clock."""

from __future__ import annotations

import json
import re
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

import tfvis_nb as tv
from benchmarks.known_causes.asking import Asked, Question
from benchmarks.known_causes.false_findings import Run, false_findings, texts_in
from benchmarks.known_causes.program import VARIANTS, Program, load
from benchmarks.known_causes.recording import files, times_file
from tfvis_nb.analysis.prediction.predicted import loop_steps
from tfvis_nb.analysis.steps.compared_steps import compared_pair
from tfvis_nb.analysis.steps.difference import SEPARATED, is_by_loops
from tfvis_nb.events import NO_STEP

ORDER = (("slow", 0), ("fixed", 0), ("fixed", 1), ("slow", 1))
"""The recordings of a program, each of a process of its own, in the order in which they are made."""


class Recording(NamedTuple):
    """A recorded variant."""

    trace: tv.Trace
    untraced: list[np.ndarray]
    traced: np.ndarray
    places: frozenset[str]
    """The marked lines when it was recorded."""


class Claim(NamedTuple):
    """What a comparison of two recordings claims about their steps, or about their loops if that is more."""

    ratio: float
    """Typical step of the second / of the first; of loops if the comparison reports loops."""
    enough: bool
    """Whether both recordings have steps of one kind, and enough to be apart by more than chance."""
    differ: bool
    """Whether these recordings differ."""
    code: bool
    """Whether the code is faster or slower."""


class Prediction(NamedTuple):
    """The predicted repair and the measured one, in ms, each of the quickest recording.

    Times are of a step, or of a round of the loop if the cause lies between the steps.
    """

    refused: str
    """Why nothing is predicted."""
    recorded_ms: float = np.nan
    predicted_ms: float = np.nan
    twin_ms: float = np.nan
    """That of the twin's trace."""
    holds: bool = False
    """Whether the range of the predicted typical step or round holds that of the twin's trace."""

    @property
    def off(self) -> float:
        """The error as a fraction of the twin's time."""
        return self.predicted_ms / self.twin_ms - 1


class Judged(NamedTuple):
    """A program's recordings and the statements about them."""

    program: Program
    first: str
    """The id of the first finding."""
    rank: int | None
    """Where the cause stands among the findings, from 1."""
    lines: tuple[str, ...]
    """The lines that the cause's finding names, or else the first of the lines by time."""
    names_line: bool
    """Whether one of them is marked."""
    line_by_finding: bool
    """Whether the cause's finding names them."""
    wall_ms: tuple[float, float]
    """An untraced step of both variants, in the quickest stretch."""
    prediction: Prediction | None
    comparison: Claim | None
    separated: bool
    """Whether each untraced step of one variant is longer than all of the other."""
    problems: tuple[str, ...]
    """Findings of level problem on the twin, or on a healthy program."""
    false: tuple[str, ...]
    """What is false in findings about any of the recordings."""
    null_pairs: tuple[Claim, ...]
    """The claims about each pair of recordings of the same code."""
    texts: str
    """All findings of both variants."""
    question: Question | None
    """The recording and the marked lines, if `source_lines` has one of them."""
    asked: Asked | None = None
    """What the answer took."""

    @property
    def names_cause(self) -> bool:
        """Whether the cause is the first finding."""
        return self.rank == 1

    @property
    def says_direction(self) -> bool:
        """Whether the comparison has the longer step on the side where the wall clock has it."""
        slow, fixed = self.wall_ms
        return self.comparison is not None and (self.comparison.ratio < 1) == (fixed < slow)


def judged(name: str, folder: Path) -> Judged | None:
    """Judge a program's recordings in a folder; None if there are none."""
    program = load(name)
    runs = {
        (variant, repeat): _read(program, variant, repeat, folder)
        for variant, repeat in ORDER
        if all(
            file.exists()
            for file in (
                *files(folder, program, variant, repeat),
                times_file(folder, program, variant, repeat),
            )
        )
    }
    if not all((variant, 0) in runs for variant in VARIANTS):
        return None
    slow, fixed = (runs[variant, 0] for variant in VARIANTS)
    nulls = tuple(
        _compared(first, second)
        for (first_key, first), (second_key, second) in combinations(runs.items(), 2)
        if program.is_healthy or first_key[0] == second_key[0]
    )
    healthy = [*([slow] if program.is_healthy else []), fixed]
    problems = tuple(
        str(row.id) for run in healthy for row in run.trace.findings.itertuples() if row.level == "problem"
    )
    findings = slow.trace.findings
    named = findings["id"].map(program.is_cause).to_numpy(bool)
    lines = () if program.is_healthy else _named_lines(findings[named])
    by_finding = bool(lines)
    if not lines and not program.is_healthy:
        first = slow.trace.source_lines.head(1)
        lines = tuple(
            f"{Path(file).name}:{line}" for file, line in zip(first["file"], first["line"], strict=True)
        )
    walls = [np.concatenate(run.untraced or [run.traced]) for run in (slow, fixed)]
    of_variant = [[run for key, run in runs.items() if key[0] == variant] for variant in VARIANTS]
    quickest = [min(own, key=lambda run: _step_ms(program, run.trace)).trace for own in of_variant]
    return Judged(
        program,
        str(findings["id"].iloc[0]) if len(findings) else "",
        int(named.argmax()) + 1 if named.any() else None,
        lines,
        not slow.places.isdisjoint(lines),
        by_finding,
        (_wall_ms(program, of_variant[0]), _wall_ms(program, of_variant[1])),
        _predicted(program, slow.places, *quickest) if program.what is not None else None,
        None if program.is_healthy else _compared(slow, fixed),
        bool(walls[0].min() > walls[1].max() or walls[0].max() < walls[1].min()),
        problems,
        tuple(
            dict.fromkeys(
                false_findings(
                    program,
                    {
                        variant: [Run(run.trace, run.traced) for run in own]
                        for variant, own in zip(VARIANTS, of_variant, strict=True)
                    },
                )
            )
        ),
        nulls,
        "".join(
            f"\n{program.name} {key}\n{run.trace.overview}\n{run.trace.findings}\n"
            for key, run in runs.items()
        ),
        _question(files(folder, program, "slow", 0), slow),
    )


def _question(parts: list[Path], slow: Recording) -> Question | None:
    table = slow.trace.source_lines
    lines = {f"{Path(file).name}:{line}" for file, line in zip(table["file"], table["line"], strict=True)}
    return None if slow.places.isdisjoint(lines) else (parts, slow.places)


def _read(program: Program, variant: str, repeat: int, folder: Path) -> Recording:
    parts = files(folder, program, variant, repeat)
    trace = tv.read_trace(parts[0] if len(parts) == 1 else parts)
    times = json.loads(times_file(folder, program, variant, repeat).read_text())
    untraced = [np.array(one) for one in times["untraced"]]
    return Recording(trace, untraced, np.array(times["traced"]), frozenset(times["places"]))


def _typical(program: Program, times: np.ndarray) -> float:
    """Return the time that a quarter of the steps stay below: other programs make steps only longer."""
    return float(times.mean() if program.every > 1 else np.quantile(times, 0.25)) if len(times) else np.nan


def _wall_ms(program: Program, runs: list[Recording]) -> float:
    """Return an untraced step of the quickest stretch, as other programs may slow down a whole process."""
    return min(_typical(program, times) for run in runs for times in run.untraced or [run.traced]) * 1e3


def _step_ms(program: Program, trace: tv.Trace) -> float:
    return _typical(program, trace.steps.loc[trace.steps["step"] != NO_STEP, "duration_ns"].to_numpy()) / 1e6


def _named_lines(cause: pd.DataFrame) -> tuple[str, ...]:
    """Return the lines that the first finding of the cause names in its texts, or else in its figures."""
    for row in cause.head(1).itertuples():
        for texts in ((row.title, row.text, row.advice), texts_in(row.figures)):
            if named := re.findall(r"[\w-]+\.py:\d+", " ".join(map(str, texts))):
                return tuple(dict.fromkeys(named))
    return ()


def _predicted(program: Program, places: frozenset[str], slow: tv.Trace, fixed: tv.Trace) -> Prediction:
    try:
        found = slow.what_if(**program.what_at(places))
    except ValueError as refused:
        return Prediction(str(refused))
    own = fixed.what_if()
    times, twins, typical = found.times, own.times, found.typical
    twin = fixed.steps.loc[fixed.steps["step"] != NO_STEP, "duration_ns"].median()
    if program.is_of_loop and found.typical_loop is not None and own.typical_loop is not None:
        typical, twin = found.typical_loop, own.typical_loop.recorded_ns
        times, twins = (
            each.dropna()[each.dropna()["step"].isin(loop_steps(trace))]
            for each, trace in ((times, slow), (twins, fixed))
        )
    loop = "_loop" if typical is found.typical_loop else ""
    before, after, measured = (
        _typical(program, each[f"{name}{loop}_ns"].to_numpy(np.float64)) / 1e6
        for each, name in ((times, "recorded"), (times, "predicted"), (twins, "recorded"))
    )
    return Prediction("", before, after, measured, bool(typical.low_ns <= twin <= typical.high_ns))


def _compared(first: Recording, second: Recording) -> Claim:
    compared = tv.analysis.compare(first.trace, second.trace).attrs
    steps, loops = compared["step_time"], compared["loop_time"]
    statement = loops if is_by_loops(steps, loops) else steps
    sides = compared_pair(first.trace, second.trace, (None, None))
    repeated = [max(len(side.all_durations()), len(np.concatenate(side.loops()))) for side in sides]
    enough = min(repeated) >= SEPARATED
    return Claim(statement.ratio, enough, statement.shown, any(one.code_differs for one in (steps, loops)))
