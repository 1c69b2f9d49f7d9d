"""How much of a run lies outside its steps."""

from typing import NamedTuple

import numpy as np
import pandas as pd

from tfvis_nb.analysis._validate import validate_input
from tfvis_nb.analysis.steps.other_steps import other_steps
from tfvis_nb.analysis.steps.slow_steps import calls_of_steps, main_steps
from tfvis_nb.core.intervals import lengths, union
from tfvis_nb.core.metadata import PROFILES, PYTHON_SAMPLES, RETURNS
from tfvis_nb.core.per_trace import per_trace
from tfvis_nb.core.prediction import is_predicted
from tfvis_nb.core.trace import Trace
from tfvis_nb.events import LATEST_NS, NO_STEP
from tfvis_nb.texts import id_of

FIGURES: dict[str, str] = {
    "run_ns": "Latest end minus earliest start of all events, session runs and samples of your Python, in"
    " ns.",
    "outside_ns": "run_ns minus the length of the union of all steps, in ns. A traced run of a session lasts"
    " until it returned: after its last event it collects its trace.",
    "before_ns": "From the start of the run to the start of the first step, in ns; part of outside_ns.",
    "after_ns": "From the end of the last step to the end of the run, in ns; part of outside_ns.",
    "between_ns": "outside_ns - before_ns - after_ns, in ns: the pauses between steps.",
    "run_share": "outside_ns / run_ns, from 0 to 1: share of the run, not of step time.",
    "loop_ns": "From the start of the first step to the end of the last one, in ns. A first step that is set"
    " apart (see its finding) is not part of the loop. If threads run steps at the same time, the loop is"
    " that of the thread with the main kind of steps.",
    "pauses_ns": "The part of loop_ns that no step of the loop covers, in ns.",
    "once_ns": "outside_ns minus the median pause of the loop times their number, in ns, at least 0: a longer"
    " training does not take more of it.",
    "loop_share": "pauses_ns / loop_ns, from 0 to 1.",
}

DAYS_APART = "recorded_days_apart"


class OutsideSteps(NamedTuple):
    """Times outside steps (ns), as in `FIGURES`, and the longest stretch of them."""

    run_ns: int
    outside_ns: int
    before_ns: int
    between_ns: int
    after_ns: int
    loop_ns: int
    pauses_ns: int
    once_ns: int
    longest_start_ns: int
    longest_end_ns: int

    @property
    def run_share(self) -> float:
        """The share of the run."""
        return self.outside_ns / self.run_ns if self.run_ns else 0.0

    @property
    def loop_share(self) -> float:
        """The share of the loop that lies between steps."""
        return self.pauses_ns / self.loop_ns if self.loop_ns else 0.0


@validate_input
@per_trace
def pauses(trace: Trace) -> tuple[np.ndarray, np.ndarray]:
    """Return the start and end of each pause between steps, in epoch ns and in order."""
    return pauses_of(_until_returns(trace))


@validate_input
@per_trace
def loop_of(trace: Trace) -> pd.DataFrame:
    """Return the rows of ``trace.steps`` that repeat: all steps but a first one that is set apart.

    If threads run steps at the same time, these are the steps of the thread with the main kind of steps.
    """
    steps = _until_returns(trace)
    calls = calls_of_steps(trace)
    if len(calls):
        lanes = calls["lane"]
        steps = steps[lanes[steps["step"]].isin(lanes[main_steps(trace)["step"]]).to_numpy()]
    return steps[steps["step"] != getattr(other_steps(trace), "first", NO_STEP)]


def _until_returns(trace: Trace) -> pd.DataFrame:
    """Return the steps, each session run until it returned: after its last event it collects its trace."""
    steps = trace.steps[trace.steps["step"] != NO_STEP].sort_values("start_ns", kind="stable")
    if RETURNS not in trace.metadata:
        return steps
    returns = np.sort(trace.metadata[RETURNS]["time_ns"].dropna().to_numpy(np.int64))
    start, end = (steps[name].to_numpy(np.int64) for name in ("start_ns", "end_ns"))
    at = np.searchsorted(returns, end)
    returned = np.append(returns, 0)[at]
    following = np.append(start[1:], LATEST_NS)[: len(start)]
    return steps.assign(end_ns=np.where(returned <= following, np.maximum(end, returned), end))


def pauses_of(steps: pd.DataFrame) -> tuple[np.ndarray, np.ndarray]:
    """Return the start and end of each pause between some rows of ``trace.steps``, as `pauses` does."""
    steps = steps.sort_values("start_ns", kind="stable")
    start = steps["start_ns"].to_numpy(np.int64)[1:]
    end = np.maximum.accumulate(steps["end_ns"].to_numpy(np.int64))[:-1]
    return end[start > end], start[start > end]


@validate_input
def recorded_span(trace: Trace) -> tuple[int, int]:
    """Return the first and the last time of events and of samples of the user's Python, in epoch ns.

    Python that prepares data before the first event is part of what the user waits for.
    """
    if trace.steps.empty:
        return 0, 0
    first, last = int(trace.steps["start_ns"].min()), int(trace.steps["end_ns"].max())
    samples = None if is_predicted(trace) else trace.metadata.get(PYTHON_SAMPLES)
    time = (
        pd.Series(dtype="Int64") if samples is None else samples["time_ns"][samples["line"].notna()].dropna()
    )
    return (min(first, int(time.min())), max(last, int(time.max()))) if len(time) else (first, last)


@validate_input
@per_trace
def is_one_recording(trace: Trace) -> bool:
    """Return whether the recording went on between steps; runs in files of their own can lie far apart."""
    if PYTHON_SAMPLES in trace.metadata:
        return True
    profiles = trace.metadata.get(PROFILES)
    if profiles is None or profiles["task"].duplicated().any():
        return False
    # A single profile among files of other kinds says nothing about these.
    tasks = trace.events["task"][(trace.events["step"] != NO_STEP).to_numpy()].drop_duplicates()
    return len(profiles) > 1 or len(set(tasks.astype(object).fillna(""))) == 1


@validate_input
@per_trace
def outside_steps(trace: Trace) -> OutsideSteps | None:
    """Return how much of a run lies outside its steps.

    None if no event belongs to a step, or if the files were recorded days apart: they are no run.

    Parameters
    ----------
    trace
        Any trace.

    Returns
    -------
    OutsideSteps or None
        Times in ns, and the longest stretch outside steps in epoch ns.

    Examples
    --------
    >>> from tfvis_nb import Trace, events
    >>> from tfvis_nb.analysis import outside_steps
    >>> table = events.build({"start_ns": [0, 10, 50], "duration_ns": [5, 20, 30], "kind": ["op"] * 3,
    ...                       "step": [-1, 0, 1]})
    >>> outside = outside_steps(Trace(table))
    >>> outside.run_ns, outside.before_ns, outside.between_ns, outside.run_share
    (80, 10, 20, 0.375)
    """
    steps = _until_returns(trace)
    if steps.empty or any(id_of(note) == DAYS_APART for note in trace.notes):
        return None
    first, last = recorded_span(trace)
    last = max(last, int(steps["end_ns"].max()))
    start, end = steps["start_ns"].to_numpy(np.int64), steps["end_ns"].to_numpy(np.int64)
    covered = union(np.zeros(len(start), np.int64), start, end)
    in_steps = int(lengths(covered, 1, 2)[0, 1])
    order = np.argsort(start, kind="stable")
    free = np.append(np.append(first, np.maximum.accumulate(end[order])), last)
    until = np.append(np.append(start[order], last), last)
    longest = int((until - free).argmax())
    before, after = int(start.min()) - first, last - int(end.max())
    outside = last - first - in_steps
    loop = loop_of(trace)
    pause, resumed = pauses_of(loop)
    repeated = int(np.median(resumed - pause)) * len(pause) if len(pause) else 0
    return OutsideSteps(
        run_ns=last - first,
        outside_ns=outside,
        before_ns=before,
        between_ns=outside - before - after,
        after_ns=after,
        loop_ns=int(loop["end_ns"].max() - loop["start_ns"].min()),
        pauses_ns=int((resumed - pause).sum()),
        once_ns=max(outside - repeated, 0),
        longest_start_ns=int(free[longest]),
        longest_end_ns=int(until[longest]),
    )
