"""A short ranked list of causes of slow steps, in figures and words, with evidence."""

import math
import re
from typing import Any

import pandas as pd

from tfvis_nb.analysis._validate import validate_input
from tfvis_nb.analysis.findings.finding import OBSERVATION, PROBLEM, SELECTED, Finding
from tfvis_nb.analysis.findings.rule import LEAST_GAIN, Rule
from tfvis_nb.analysis.findings.rules import RULES
from tfvis_nb.analysis.findings.table import FindingsTable, table_of
from tfvis_nb.analysis.prediction.gain import MOST_EVENTS, UNKNOWN, Gain, gain
from tfvis_nb.analysis.prediction.predicted import loop_steps
from tfvis_nb.analysis.steps.breakdown import breakdown
from tfvis_nb.analysis.steps.other_steps import other_steps
from tfvis_nb.analysis.unavailable import cannot_say, dtypes, why_not
from tfvis_nb.core.labels import printable
from tfvis_nb.core.trace import Trace
from tfvis_nb.texts import Text

FIGURES = {
    "level": "problem: at least 10 % of step time, and worth a change; minor: less; observation: a fact, such"
    " as one-time work or time outside steps.",
    "share": "Fraction of step time that is lost, from 0 to 1; if several tasks lose time at once, the"
    " largest loss counts. Step time is that of all steps, without a first step that is set apart (see its "
    "finding). NaN for that step and for time outside steps. Shares of several findings can overlap.",
    "gain": "Savings of the change that the advice names, as a fraction of step time: saved_ns /"
    " recorded_ns of `what_if`, added up over the steps. Work that stays on a device is never saved. For"
    " time between steps, a fraction of the loop. NaN if the finding names no such change, if `what_if`"
    " predicts nothing, if the replay is not trusted (`how` has the reason),"
    f" and for traces of more than {MOST_EVENTS:,} events, which would take too long.",
    "lost_ns": "share times step time, in ns. For time outside steps it is that time, or the wait for input"
    " if that is a problem; for a first step, its excess over the median of the others.",
}

_COLUMNS = {
    "id": "str",
    "level": "str",
    "title": "str",
    "text": "str",
    "advice": "str",
    "how": "str",
    "share": "float64",
    "gain": "float64",
    "lost_ns": "int64",
    "step": "int64",
    "start_ns": "int64",
    "end_ns": "int64",
    "events": "object",
    "event_count": "int64",
    "kind": "str",
    "figures": "object",
}
_LONGEST_LABEL = 60
_ONE_TIME = ("autotuning", "compiling")
_BY_ONE_TIME = ("launches", "idle device", "cpu ops", "copies")
"""Kinds that are not typical of a step if one-time work takes `_MUCH_ONE_TIME` of it."""
_MUCH_ONE_TIME = 0.25


@validate_input
def findings(trace: Trace) -> FindingsTable:
    """Return why the steps were slow: problems first, then the rest, the most costly of each first.

    The reason why the program ended, such as a failed allocation, comes first, even without steps.
    Communication ranks below a straggler even if its share is larger, because it includes waiting for the
    straggler, and so does what a task does on its host if others wait for nearly all of it. Launches rank
    below CPU ops between kernels and copies of variables on the CPU if those have at least half of their
    share. Time that is spent once, such as before the first step, ranks below what each step takes, unless it
    is longer than all steps.

    Parameters
    ----------
    trace
        Any trace.

    Returns
    -------
    pandas.DataFrame
        ``id`` (str), such as ``input_bound.first``, which stays the same when texts change; ``level`` (str;
        ``problem``, ``minor`` or ``observation``), ``title``, ``text`` (one or two sentences of figures),
        ``advice`` (a sentence) and ``how`` (other figures, and what they rest on), all str; ``share``,
        ``gain`` (float64) and ``lost_ns`` (int64) as in `FIGURES`; the evidence: ``step`` (int64; -1 outside
        steps), ``start_ns`` and ``end_ns`` (int64 epoch nanoseconds, the range that shows it best),
        ``events`` (lists of at most 50 event ids, the longest first) and ``event_count`` (int64), their total
        number; ``kind`` (str; its subject) and ``figures`` (dicts: the numbers and names in the texts).
        Printed or in a notebook, the table shows its texts without ``how``. No rows if nothing stands out;
        `cannot_say` if no step takes time.

    Examples
    --------
    >>> from tfvis_nb import Trace, events
    >>> columns = {"start_ns": [0, 6_000_000], "duration_ns": [6_000_000, 4_000_000], "kind": ["op"] * 2,
    ...            "op": ["IteratorGetNext", "MatMul"], "device": ["/device:CPU:0"] * 2}
    >>> result = Trace(events.build(columns)).findings
    >>> result[["id", "level", "title", "share"]].values.tolist()
    [['input_bound.one', 'problem', 'The step waits for input', 0.6]]
    >>> result["figures"][0]["here_ns"]
    6000000
    """
    fatal = [(rule, finding) for rule in RULES.values() if rule.fatal for finding in rule.find(trace)]
    reason = why_not(breakdown(trace))
    total, in_steps = (
        0 if reason else int(breakdown(part).drop_duplicates("step")["step_ns"].sum())
        for part in (other_steps(trace), trace)
    )
    if not total and not fatal:
        return table_of(cannot_say(_COLUMNS, reason or Text("no_step_length")))
    others = [rule for rule in RULES.values() if not rule.fatal] if total else []
    pairs = [*fatal, *((rule, finding) for rule in others for finding in rule.find(rule.of(trace)))]
    largest: dict[str, float] = {}
    for rule, finding in pairs:
        for key in (rule.kind, finding.id):
            largest[key] = max(finding.share, largest.get(key, 0.0))
    one_time = max((largest.get(kind, 0.0) for kind in _ONE_TIME), default=0.0) >= _MUCH_ONE_TIME
    is_atypical = one_time and bool(total) and len(breakdown(trace)["step"].unique()) == 1

    gains = {id(finding): _gain(trace, rule, finding) for rule, finding in pairs}

    def level(rule: Rule, finding: Finding) -> str:
        explaining = finding.figures.get("explained_by", ())
        is_explained = any(largest.get(kind, 0.0) >= finding.share / 2 for kind in explaining)
        if is_explained or (is_atypical and rule.kind in _BY_ONE_TIME):
            return OBSERVATION
        if gains[id(finding)].share < LEAST_GAIN:
            # Something else takes as long, so a change would not be noticed.
            return OBSERVATION
        return finding.rated()

    def above(rule: Rule) -> float:
        return max((largest[key] for key in rule.below if key in largest), default=-math.inf)

    def is_below(rule: Rule, finding: Finding) -> bool:
        return above(rule) >= rule.below_from * finding.share

    def added(rule: Rule, finding: Finding) -> dict[str, Any]:
        label = _misleading_label(trace, finding.step)
        below = {"is_below": is_below(rule, finding)} if rule.below else {}
        step_label = {"step_label": label} if label else {}
        return below | rule.words(trace) | step_label

    def rank(pair: tuple[Rule, Finding]) -> tuple[bool, bool, float, bool]:
        rule, finding = pair
        below = is_below(rule, finding)
        most = min(finding.share, above(rule)) if below else finding.share
        lost = most * total
        if math.isnan(finding.share):
            lost = finding.lost_ns - (finding.once_ns if finding.once_ns <= in_steps else 0)
        return not rule.fatal, level(*pair) != PROBLEM, -lost, below

    rows = [
        _row(rule, finding, total, level(rule, finding), added(rule, finding), gains[id(finding)])
        for rule, finding in sorted(pairs, key=rank)
    ]
    return table_of(pd.DataFrame(rows, columns=list(_COLUMNS)).astype(dtypes(_COLUMNS)))


def _misleading_label(trace: Trace, step: int) -> str:
    """Return the label of a step if it contains another number than the step, as with several files."""
    label = printable(trace.step_labels.get(step, ""), _LONGEST_LABEL)
    numbers = re.findall(r"[0-9]+", label)
    return label if numbers and numbers[-1].lstrip("0") != str(step or "") else ""


def _gain(trace: Trace, rule: Rule, finding: Finding) -> Gain:
    changes = {} if rule.remedy is None else rule.remedy.changes(finding.figures)
    of_loop = "loop_share" in finding.figures
    if not changes or (math.isnan(finding.share) and not of_loop) or len(trace.events) > MOST_EVENTS:
        return Gain(UNKNOWN)
    steps = loop_steps(trace) if of_loop else breakdown(rule.of(trace))["step"].unique()
    saved = gain(trace, changes, steps, of_loop=of_loop)
    if "on_time" in changes and saved.share < finding.share / 2:
        # The others wait for this task alone: without its lateness, that wait is gone.
        return Gain(UNKNOWN, reason=Text("lateness_not_recorded"))
    return saved


def _row(
    rule: Rule, finding: Finding, total: int, level: str, added: dict[str, Any], saved: Gain
) -> dict[str, Any]:
    figures = finding.figures | added
    lost = finding.lost_ns if math.isnan(finding.share) else round(finding.share * total)
    row: dict[str, Any] = finding._asdict() | {"kind": rule.kind, "lost_ns": lost}
    words = rule.word(finding.id, figures)._asdict()
    if rule.remedy:
        text, how = rule.remedy.saves(saved, figures)
        words |= {"text": f"{words['text']} {text}".rstrip(), "how": f"{words['how']} {how}".strip()}
    row |= {"events": finding.events[:SELECTED], "event_count": len(finding.events)}
    return row | {"level": level, "gain": saved.share, "figures": figures} | words
