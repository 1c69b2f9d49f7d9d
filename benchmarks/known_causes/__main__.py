"""Record programs with known causes, and print what the package reports about each.

``python -m benchmarks.known_causes [NAMES] --out DIR`` records each program and its repaired twin twice, each
time in a process of its own. ``--read DIR`` judges earlier recordings. A third of the programs, chosen by a
hash of their names, has only a summary, so that nobody adapts the package to these programs.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import sys
import tempfile
from pathlib import Path

import numpy as np

from benchmarks.known_causes.asking import Asked, ask
from benchmarks.known_causes.judging import ORDER, Judged, Prediction, judged
from benchmarks.known_causes.program import load, names
from benchmarks.known_causes.recording import recorded
from benchmarks.table import Row, show, show_cells

HEAD = (
    "program",
    "first finding",
    "line",
    "wall of a step",
    "predicted",
    "differ?",
    "twin's problems",
    "false",
    "null",
    "calls to the line",
)
FEWEST_MEASURED = 8
"""With fewer measured programs, a summary would reveal single results."""
MOST_ASKED_BYTES = 8000
"""Limit on the answers until one names the line."""


def main() -> int:
    """Record, judge, print."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.known_causes",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="programs; all if none is named")
    parser.add_argument(
        "--out", type=Path, metavar="DIR", help="where recordings stay; by default they do not"
    )
    parser.add_argument(
        "--read", type=Path, action="append", metavar="DIR", help="judge these recordings; repeatable"
    )
    parser.add_argument("--texts", action="store_true", help="also print all findings")
    given = parser.parse_args()
    chosen = given.names or names()
    with tempfile.TemporaryDirectory() as temporary:
        folders: list[Path] = given.read or [given.out or Path(temporary)]
        if not given.read:
            _record(chosen, folders[0])
        pairs = [(name, folder) for name in chosen for folder in folders]
        with multiprocessing.get_context("spawn").Pool(os.cpu_count()) as pool:
            found = [one for one in pool.starmap(judged, pairs, chunksize=1) if one is not None]
        found = with_answers(found)
    report(found, texts=given.texts)
    return 0 if found else 1


def with_answers(found: list[Judged]) -> list[Judged]:
    """Ask a server for the line of each program that has one."""
    questions = [one.question for one in found if one.question is not None]
    answers = iter(ask(questions))
    return [one if one.question is None else one._replace(asked=next(answers)) for one in found]


def report(found: list[Judged], *, texts: bool = False) -> None:
    """Print a row for each program that may be looked at, and a summary of these and of the others."""
    shown = [one for one in found if not one.program.is_measured_only]
    measured = [one for one in found if one.program.is_measured_only]
    if texts:
        print("".join(one.texts for one in shown))
    if shown:
        show_cells("Programs with known causes", HEAD, [_cells(one) for one in shown])
        for one in shown:
            if one.program.why_not:
                print(f"  no replay of {one.program.name}: {one.program.why_not}")
        show(f"Programs that may be looked at ({len(shown)})", _summary(shown))
    if len(measured) >= FEWEST_MEASURED:
        show(f"The measured third ({len(measured)})", _summary(measured))
    elif measured:
        print(f"\nThe measured third: no summary of fewer than {FEWEST_MEASURED} programs")


def _record(chosen: list[str], folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name in chosen:
        for variant, repeat in ORDER:
            error = recorded(load(name), variant, repeat, folder)
            print(f"{name} {variant} {repeat}: {error or 'recorded'}", file=sys.stderr, flush=True)


def _cells(one: Judged) -> tuple[str, ...]:
    program, pairs, (slow, fixed) = one.program, one.null_pairs, one.wall_ms
    place = "-" if one.rank is None else f"{one.rank}."
    cause = one.first if program.is_healthy or one.names_cause else f"NO ({place}), {one.first or 'none'}"
    line = "yes" if one.names_line else f"NO: {', '.join(one.lines)}"
    return (
        program.name,
        cause,
        "" if program.is_healthy else line if one.line_by_finding else f"{line} (top line)",
        f"{slow:.2f} -> {fixed:.2f} ms",
        _prediction(one.prediction),
        "" if one.comparison is None else _compared(one),
        ", ".join(one.problems),
        "; ".join(one.false),
        f"{sum(pair.differ for pair in pairs)}, {sum(pair.code for pair in pairs)} of {len(pairs)}",
        "" if one.asked is None else _asked(one.asked),
    )


def _asked(answer: Asked) -> str:
    return f"{'' if answer.names_line else 'NO: '}{answer.calls}, {answer.size / 1000:.1f} kB"


def _prediction(found: Prediction | None) -> str:
    if found is None:
        return ""
    if found.refused:
        return f"NO: {found.refused[:50]}"
    times = (found.recorded_ms, found.predicted_ms, found.twin_ms)
    recorded_ms, predicted, twin = (f"{one:.2f}" for one in times)
    return f"{recorded_ms} -> {predicted} ({twin}), {found.off:+.0%}"


def _compared(one: Judged) -> str:
    assert one.comparison is not None
    if not one.comparison.enough:
        return "too few steps"
    ratio = f"{one.comparison.ratio:.2f}"
    if not one.comparison.differ:
        return f"{'NO' if one.separated else 'no'}, {ratio}"
    return f"{'yes' if one.says_direction else 'WRONG'}, {ratio}"


def _summary(found: list[Judged]) -> list[Row]:
    causes = [one for one in found if not one.program.is_healthy]
    asked = [one.prediction for one in causes if one.prediction is not None]
    predicted = [one for one in asked if not one.refused]
    off = np.abs([one.off for one in predicted])
    pairs = [pair for one in found for pair in one.null_pairs]
    separated = [one for one in causes if one.separated and one.comparison is not None]
    enough = [one for one in separated if one.comparison and one.comparison.enough]
    directed = [one for one in enough if one.comparison and one.comparison.differ and one.says_direction]
    lines = [one for one in causes if one.names_line]
    answers = [one.asked for one in found if one.asked is not None]
    short = [one for one in answers if one.names_line and one.size <= MOST_ASKED_BYTES]
    return [
        _part("the cause is the first finding", sum(one.names_cause for one in causes), len(causes), 0.85),
        _part("the line is right", len(lines), len(causes), 0.85),
        _part("the finding names it", sum(one.line_by_finding for one in lines), len(causes), 0.85),
        _part("repairs are predicted", len(predicted), len(asked), 0.85),
        _part("within 15 % of the twin, of all", int((off <= 0.15).sum()), len(asked), 0.75),
        _part("within 25 % of the twin, of the predicted", int((off <= 0.25).sum()), len(predicted), 0.9),
        _part(
            "the range holds the twin, of the predicted",
            sum(one.holds for one in predicted),
            len(predicted),
            0.9,
        ),
        _part("separated pairs have steps to compare", len(enough), len(separated), 1),
        _part("of these, differ, and how", len(directed), len(enough), 1),
        _part("lines of source_lines are found in 2 calls, 8 kB", len(short), len(answers), 1),
        *(
            _part(what, sum(flags), len(flags), bound, most=True)
            for what, flags, bound in (
                ("twins and healthy programs with a problem", [bool(one.problems) for one in found], 0.1),
                ("programs with a false finding", [bool(one.false) for one in found], 0),
                ("null pairs: the code is faster or slower", [pair.code for pair in pairs], 0.05),
                ("null pairs: these recordings differ", [pair.differ for pair in pairs], 1),
            )
        ),
    ]


def _part(what: str, count: int, total: int, bound: float, *, most: bool = False) -> Row:
    part = count / total if total else float("nan")
    kept = not total or (part <= bound if most else part >= bound)
    return Row(what, f"{count}", f"of {total}", f"{part:.0%}", f"{'<=' if most else '>='} {bound:.0%}", kept)


if __name__ == "__main__":
    sys.exit(main())
