"""Much of the loop lies between the steps, or of the run outside of them."""

from typing import Any

import numpy as np
import pandas as pd

from tfvis_nb.analysis.events.activity import NUMBER, activity
from tfvis_nb.analysis.findings.finding import (
    MINOR,
    OBSERVATION,
    PROBLEM,
    Finding,
    longest_events,
    overlaps,
    step_times,
)
from tfvis_nb.analysis.findings.input_bound import (
    held_lock,
    limiting_stage,
    slowest_stage,
    stage_clause,
    stage_sentence,
)
from tfvis_nb.analysis.findings.pause_work import (
    HOOK,
    eager_ops,
    evaluation_of,
    filling_outside,
    input_outside,
    input_within,
    is_of_call,
    line_of_op,
    lines_between,
    longest_op,
    other_lines,
    within,
)
from tfvis_nb.analysis.findings.program import ONE_ITERATOR, faster_input, recorded
from tfvis_nb.analysis.findings.python_batches import batches_line, source_of
from tfvis_nb.analysis.findings.rule import (
    NOT_KNOWN,
    Figures,
    Measurement,
    Remedy,
    Rule,
    Texts,
    Threshold,
    beyond,
    capital,
)
from tfvis_nb.analysis.findings.slow_steps import period_of
from tfvis_nb.analysis.source.lock_waits import LOCK_ADVICE, lock_waits, other_thread, running_thread
from tfvis_nb.analysis.source.python_samples import (
    COLLECT_LESS,
    SampledLine,
    collected_share,
    collecting_line,
    mostly_at,
    sampled_clause,
    sampled_figures,
    sampled_line,
)
from tfvis_nb.analysis.steps.other_steps import other_steps
from tfvis_nb.analysis.steps.outside_steps import (
    DAYS_APART,
    OutsideSteps,
    is_one_recording,
    loop_of,
    outside_steps,
    pauses,
    pauses_of,
)
from tfvis_nb.analysis.steps.slow_steps import named_kinds
from tfvis_nb.core.format import format_duration, format_percent
from tfvis_nb.core.metadata import PYTHON_SAMPLES
from tfvis_nb.core.trace import Trace
from tfvis_nb.events import NO_STEP
from tfvis_nb.texts import Text, id_of

RUN_SHARE = Threshold(0.1, "share of the run, not of step time, that lies outside all steps, `outside_ns`")
LOOP_SHARE = Threshold(0.1, "share of the loop, from the first step to the last, that lies between steps")
PAUSE_NS = Threshold(
    250_000,
    "median pause between steps, unless longer ones have a period: a traced loop that only calls a function"
    " can pause as long",
)
CALL_NS = Threshold(
    1_000_000,
    "median pause, or mean of longer ones that have a period, from which a loop has a problem, unless Keras"
    " can run several steps in one call: calling a step from Python takes up to as long. If the recording has"
    " samples, a problem also names a line, an op or the garbage collector",
)
MOST_OF_LOOP = Threshold(
    0.5, "share of the loop that lies between steps, if few pauses without a period are a problem"
)
MIN_PAUSES = Threshold(3, "fewer pauses may not belong to the loop")
INPUT_SHARE = Threshold(
    0.2,
    "share of the loop, or of the run without one, spent waiting for input outside all steps, as in custom"
    " loops; makes it a problem",
)
FEW = Threshold(
    0.1, "fraction of the longest stretch that the events of a name take at least if the finding names them"
)
GC_SHARE = Threshold(
    0.1, "share of the time between steps in which Python's garbage collector runs, if the finding names it"
)

GC_MOST = Threshold(0.5, "share of that time in which it runs, if the advice is about it")
MOST = Threshold(
    0.5,
    "part of the time between steps that waits for input, or for the lock that another thread holds, take if"
    " the finding is about them",
)

_PYTHON = "Look for Python code between the steps, such as logging, saving or preparing data."
_KERAS_LOOP = (
    "Between steps, Keras runs callbacks, metrics and Python of its own: run several steps in one call"
    " (steps_per_execution), and do less in callbacks."
)
_ONCE = "This is setup or cleanup, which only matters if runs are short."
_STRETCHES = {
    "before_ns": "before the first step",
    "between_ns": "between steps",
    "after_ns": "after the last step",
}


def _find(trace: Trace) -> list[Finding]:
    outside = outside_steps(trace)
    if outside is None or 2 * filling_outside(trace) >= max(outside.outside_ns, 1):
        return []
    if (loop := _in_loop(trace, outside)) is not None:
        return [loop]
    if outside.run_share < RUN_SHARE.value or _is_overhead(trace, outside):
        return []
    start, end = outside.longest_start_ns, outside.longest_end_ns
    loose = overlaps(trace, start, end) & (trace.events["step"] == NO_STEP).to_numpy()
    figures: dict[str, Any] = {
        "run_share": outside.run_share,
        "run_ns": outside.run_ns,
        "outside_ns": outside.outside_ns,
        "steps": int((trace.steps["step"] != NO_STEP).sum()),
        **{name: getattr(outside, name) for name in _STRETCHES},
        "longest_ns": end - start,
        "op": longest_op(trace, loose, np.array([start]), np.array([end])),
        **_line_figures(sampled_line(trace, np.array([start]), np.array([end]))),
        "one_recording": is_one_recording(trace),
        "thread": sampled_figures(running_thread(trace, "")),
        "input_ns": input_outside(trace),
        **recorded(trace),
    }
    waits = _waits_for_input(figures)
    figures |= _slow_input(trace) if waits else {}
    events = longest_events(trace, loose)
    lost = figures["input_ns"] if waits else outside.outside_ns
    level = PROBLEM if waits else OBSERVATION
    once = min(outside.once_ns, lost)
    return [Finding("between_steps", NOT_KNOWN, figures, NO_STEP, start, end, events, level, lost, once)]


def _in_loop(trace: Trace, outside: OutsideSteps) -> Finding | None:
    """Return the finding of a loop whose pauses a program can shorten, or that waits for input in them."""
    loop = loop_of(trace)
    is_set_apart = other_steps(trace) is not trace
    start, end = pauses_of(loop)
    lines, between_ns, loop_ns = lines_between(trace, start, end), outside.pauses_ns, outside.loop_ns
    sampled = next(iter(lines), None)
    calling = _calling_steps(trace, sampled.function if sampled else "")
    evaluation = evaluation_of(trace) if calling.empty else None
    if evaluation is not None:
        calling = evaluation.after
    if len(calling):
        start, end = pauses_of(calling)
        between_ns = int((end - start).sum())
        loop_ns = int(calling["end_ns"].max() - calling["start_ns"].min())
        lines = lines_between(trace, start, end)
        sampled = next(iter(lines), None)
    length, loop_share = end - start, between_ns / max(loop_ns, 1)
    if loop_share < LOOP_SHARE.value or len(start) < MIN_PAUSES.value or not is_one_recording(trace):
        return None
    period, regular = period_of(length, length > 2 * int(np.median(length)))
    typical = length[regular].mean() if period else np.median(length)
    input_ns, longest = min(input_outside(trace), input_within(trace, start, end)), int(length.argmax())
    lock = _lock(trace, start, end)
    if lock is not None and lock["of_input"]:
        input_ns = min(input_ns + lock["ns"], between_ns)
    is_rare = not period and loop_share >= MOST_OF_LOOP.value and _names_line(trace, sampled)
    # Long waits for input can be few, as a buffer is ahead at times.
    is_short = not period and np.median(length) < PAUSE_NS.value
    if is_short and not is_rare and input_ns < LOOP_SHARE.value * loop_ns:
        return None
    # Threads of the input pipeline work ahead, also while the loop pauses.
    loose = within(trace, start, end) & (activity(trace) != NUMBER["preprocessing"])
    program = recorded(trace)
    if program["program"] == "session" and sampled is None and not period:
        return None  # each run is traced by itself, which takes part of its pause
    op = longest_op(trace, loose, start, end)
    # A call that makes an iterator for each step is what takes the time.
    calls_only = not evaluation and not program["remade"] and is_of_call(trace, sampled, program["program"])
    figures: dict[str, Any] = {
        "loop_share": loop_share,
        "kind": named_kinds(trace)[calling["step"].iloc[0]] if len(calling) else "",
        "evaluation": None if evaluation is None else {"steps": evaluation.steps, "ns": evaluation.ns},
        "eager_ops": eager_ops(trace, start, end, sampled),
        "run_ns": outside.run_ns,
        "loop_ns": loop_ns,
        "without_first": is_set_apart,
        "between_ns": between_ns,
        "pauses": len(start),
        "mean_ns": between_ns / len(start),
        "longest_ns": int(length[longest]),
        "period": period,
        "op": op,
        **_line_figures(sampled),
        **({"line": ""} if calls_only else {}),
        "lock": lock,
        "thread": None if lock else sampled_figures(running_thread(trace, "")),
        "next_lines": [] if calls_only else [one._asdict() for one in lines[1:] if one.share >= FEW.value],
        "gc_share": collected_share(trace, start, end),
        "gc": sampled_figures(collecting_line(trace, start, end)),
        "op_line": line_of_op(trace, loose, op),
        "input_ns": input_ns,
        **program,
    }
    waits = _waits_for_input(figures)
    figures |= _slow_input(trace) if waits else {}
    lost = input_ns if waits else between_ns
    events = longest_events(trace, loose) if _is_long(figures) else []
    first, last = int(start[longest]), int(end[longest])
    is_keras = not period and figures["program"] == "keras"
    is_long = is_rare or typical >= CALL_NS.value or is_keras
    is_problem = is_long and _has_reason(trace, figures)
    if waits or _waits_for_thread(figures):
        is_problem = lost >= INPUT_SHARE.value * loop_ns
    level = PROBLEM if is_problem else MINOR if waits else OBSERVATION
    return Finding("between_steps", NOT_KNOWN, figures, NO_STEP, first, last, events, level, lost)


def _line_figures(sampled: SampledLine | None) -> dict[str, Any]:
    return sampled_figures(sampled) or {"line": "", "function": "", "line_share": None, "samples": 0}


def _names_line(trace: Trace, sampled: SampledLine | None) -> bool:
    """Return whether pauses surely have a line that does not call the steps."""
    steps = step_times(trace)
    begins, ends = (steps[name].to_numpy(np.int64) for name in ("start_ns", "end_ns"))
    calling = sampled_line(trace, begins, ends)
    is_sure = bool(mostly_at(sampled_figures(sampled)))
    return is_sure and (calling is None or sampled is None or calling.line != sampled.line)


def _lock(trace: Trace, start: np.ndarray, end: np.ndarray) -> dict[str, Any] | None:
    """Return the time of pauses in which the loop waits for Python's interpreter lock, and its holder."""
    waits = [(int(one.within(start, end).sum()), one) for one in lock_waits(trace).values()]
    ns, longest = max(waits, key=lambda wait: wait[0], default=(0, None))
    if longest is None or ns < FEW.value * int((end - start).sum()):
        return None
    return {"ns": ns, "of_input": longest.of_input, "python": sampled_figures(longest.holder)}


def _thread_sentence(figures: Figures) -> str:
    if not figures.get("thread"):
        return ""
    thread = capital(other_thread(figures["thread"]))
    return f" {thread} runs Python in most samples: the program may wait for the interpreter lock it holds."


def _slow_input(trace: Trace) -> dict[str, Any]:
    return {
        "slowest_stage": slowest_stage(trace, None, outside=True),
        "bottleneck": limiting_stage(trace, None),
    }


def _calling_steps(trace: Trace, function: str) -> pd.DataFrame:
    """Return the steps after which a callback of Keras runs others, which are part of its time."""
    hook, kinds, steps = HOOK.fullmatch(function), named_kinds(trace), step_times(trace).reset_index()
    if hook is None or kinds.nunique() < 2:
        return steps[:0]
    repeats = steps["step"].isin(loop_of(trace)["step"])
    return steps[(kinds == (hook["kind"] or "train")).to_numpy() & repeats]


def _has_reason(trace: Trace, figures: Figures) -> bool:
    """Return whether the finding names what a program can change, or could not know it."""
    is_sampled = len(trace.metadata.get(PYTHON_SAMPLES, ())) > 0
    return not is_sampled or figures["samples"] > 0 or _collects(figures) or _is_long(figures)


def _collects(figures: Figures) -> bool:
    return (figures["gc_share"] or 0) >= GC_SHARE.value


def _is_long(figures: Figures) -> bool:
    op = figures["op"]
    return op is not None and op["self_ns"] >= FEW.value * figures["between_ns"]


def _is_overhead(trace: Trace, outside: OutsideSteps) -> bool:
    """Return whether most of the time outside steps is what calling and tracing them takes."""
    start, end = pauses(trace)
    if not is_one_recording(trace) or 2 * outside.between_ns < outside.outside_ns:
        return False
    length = end - start
    return len(length) >= MIN_PAUSES.value and int(length.max()) < PAUSE_NS.value


def _waits_for_input(figures: Figures) -> bool:
    if "loop_ns" in figures:
        return bool(figures["input_ns"] >= MOST.value * figures["between_ns"])
    return bool(figures["input_ns"] >= INPUT_SHARE.value * figures["run_ns"] > 0)


def _waits_for_thread(figures: Figures) -> bool:
    """Return whether most of the pauses is waiting for the lock, which a thread of the program holds."""
    lock = figures["lock"]
    return bool(lock and not lock["of_input"] and lock["ns"] >= MOST.value * figures["between_ns"])


def _word(_key: str, figures: Figures) -> Texts:
    return _word_loop(figures) if "loop_share" in figures else _word_run(figures)


def _word_loop(figures: Figures) -> Texts:
    between, pause = format_duration(figures["between_ns"]), format_duration(figures["mean_ns"])
    loop, how = format_duration(figures["loop_ns"]), ""
    text = f"Of the loop's {loop}, {between} are between {_steps(figures)}, {pause} on average."
    if figures.get("without_first"):
        how += " The first step, which takes longer, is not part of the loop."
    advice = "Move work out of the loop, do it in fewer steps, or do it on a thread of its own."
    if not figures["period"] and figures["longest_ns"] >= MOST.value * figures["between_ns"]:
        advice = "Move this work out of the loop, or do it on a thread of its own."
        longest = format_duration(figures["longest_ns"])
        text = f"Of the loop's {loop}, {between} are between {_steps(figures)}, {longest} in one pause."
    evaluation = figures.get("evaluation")
    if evaluation:
        much = format_duration(evaluation["ns"])
        text = f"{text[:-1]}: {evaluation['steps']:,} test steps take {much} of it."
    elif figures.get("kind"):
        how += " The time between steps includes steps that the callback runs."
    if _waits_for_input(figures):
        stage = figures.get("slowest_stage")
        if stage and source_of(stage) and stage["python"]:
            how += other_lines(figures, stage["python"]["line"]) + _collection(figures)
        return _word_input(text, figures, how)
    if _waits_for_thread(figures):
        lock = figures["lock"]
        text = f"{text[:-1]}, {format_duration(lock['ns'])} of it to get Python's interpreter lock"
        text += f", which {other_thread(lock['python'])} holds."
    elif figures["line"]:
        text = f"{text[:-1]}; {sampled_clause(figures)}."
        how += other_lines(figures, figures["line"])
    elif _is_long(figures) and not evaluation:
        op = figures["op"]
        where = f" ({figures['op_line']})" if figures["op_line"] else ""
        took = format_duration(op["self_ns"])
        text = f"{text[:-1]}; {op['name']}{where} takes the most time, {took}."
    elif not evaluation:
        how += " Little is recorded in that time."
    how += _collection(figures)
    if figures["period"]:
        how += f" One in {figures['period']} pauses is long, up to {format_duration(figures['longest_ns'])}."
    how += _thread_sentence(figures)
    is_keras = figures["program"] == "keras"
    calls = is_keras and (HOOK.fullmatch(figures["function"]) or figures.get("remade"))
    if is_keras and not figures["line"] and not evaluation and not calls:
        return Texts(_loop_title(figures), text, _KERAS_LOOP, how.strip())
    if calls:
        hook = "This is a callback of Keras: do it in fewer batches, or at the end of an epoch."
        advice = hook if HOOK.fullmatch(figures["function"]) else ONE_ITERATOR["keras"]
    if evaluation:
        often, much = (
            (" (validation_freq)", " (validation_steps)") if figures["program"] == "keras" else ("", "")
        )
        advice = f"Evaluate less often{often}, or on less data{much}."
    elif figures.get("eager_ops"):
        ops = figures["eager_ops"] / figures["pauses"]
        how += f" That line calls {ops:,.0f} ops one by one in each pause."
        # Those of a callback or of predict() can be Keras's own.
        advice = advice if calls else "Call these ops in a tf.function, or use one op for all of them."
    elif _waits_for_thread(figures):
        advice = LOCK_ADVICE
    elif (figures["gc_share"] or 0) >= GC_MOST.value:
        advice = COLLECT_LESS
    return Texts(_loop_title(figures), text, advice, how.strip())


def _collection(figures: Figures) -> str:
    if not _collects(figures):
        return ""
    collected = format_percent(figures["gc_share"])
    return f" Python's garbage collector runs in {collected} of that time{mostly_at(figures.get('gc'))}."


def _word_input(text: str, figures: Figures, how: str = "") -> Texts:
    waits, stage, lock = figures["input_ns"], figures.get("slowest_stage"), figures.get("lock")
    text += f" {format_duration(waits)} of it, {_input_share(figures)}, is waiting for input"
    if lock:
        text += f", {format_duration(lock['ns'])} of that for {held_lock(lock['python']).rstrip(',')}."
        stage = stage and stage | {"python": lock["python"] or stage["python"]}
    else:
        text += f"{stage_clause(stage, waits, figures.get('bottleneck'))}."
    how = f"{how}{stage_sentence(stage, waits)}".strip()
    subject, place = ("loop", "between") if "loop_ns" in figures else ("run", "outside")
    return Texts(f"The {subject} waits for input {place} the steps", text, faster_input(figures), how)


def _input_share(figures: Figures) -> str:
    whole = "loop" if "loop_ns" in figures else "run"
    return f"{format_percent(figures['input_ns'] / figures[f'{whole}_ns'])} of the {whole}"


def _steps(figures: Figures) -> str:
    return f"{figures.get('kind', '')} steps".lstrip()


def _loop_title(figures: Figures) -> str:
    return f"{format_percent(figures['loop_share'])} of the loop is between the {_steps(figures)}"


def _word_run(figures: Figures) -> Texts:
    parts = [
        f"{format_duration(figures[name])} {where}" for name, where in _STRETCHES.items() if figures[name]
    ]
    text = (
        f"{format_duration(figures['outside_ns'])} of the {format_duration(figures['run_ns'])} recorded are"
        f" outside steps: {', '.join(parts)}."
    )
    longest = max(_STRETCHES, key=lambda name: figures[name])
    op, how = figures["op"], ""
    if _waits_for_input(figures):
        return _word_input(text, figures)
    if figures["program"] == "session" and longest == "between_ns":
        how = "Tracing each run takes part of this time."
    if op is None or op["self_ns"] < FEW.value * figures["longest_ns"]:
        advice = _PYTHON if longest == "between_ns" else _ONCE
        if figures.get("line"):
            text = f"{text[:-1]}. In the longest of these, {sampled_clause(figures)}."
        elif op is None:
            text += " Nothing is recorded in the longest of these."
            if not figures.get("one_recording"):
                advice = "To see what runs between steps, trace the whole cell or loop, not single runs."
        else:
            text += f" Little is recorded in the longest of these ({format_duration(figures['longest_ns'])})."
    else:
        took = format_duration(op["self_ns"])
        text += f" In the longest of these, {op['name']} takes the most time: {took}."
        advice = "Move work that is done once out of the loop." if longest == "between_ns" else _ONCE
    how = f"{how}{_thread_sentence(figures)}".strip()
    return Texts(f"{format_percent(figures['run_share'])} of the run is outside the steps", text, advice, how)


def _measure(trace: Trace) -> Measurement:
    outside = outside_steps(trace)
    if outside is None:
        apart = [note for note in trace.notes if id_of(note) == DAYS_APART]
        return Measurement.unknown(RUN_SHARE, apart[0] if apart else Text("no_steps"))
    share = outside.run_share
    return Measurement.of(RUN_SHARE, share)


def _summarise(figures: Figures) -> str:
    return f"Time outside steps is {format_percent(figures['share'])} of the run{beyond(figures)}."


def _without(figures: Figures) -> dict[str, Any]:
    if "loop_share" not in figures:
        return {}
    if _waits_for_input(figures):
        return {"activities": {"input": 0}}
    if figures.get("evaluation"):
        return {}
    # A callback runs steps of its own.
    return {"lines": {figures["line"]: 0}} if figures.get("kind") else {"between_steps": 0}


def _headline(figures: Figures) -> str:
    if figures.get("evaluation"):
        return (
            f"Evaluation takes {format_percent(figures['evaluation']['ns'] / figures['loop_ns'])} of the loop"
        )
    if not _waits_for_input(figures):
        share = f"{format_percent(figures['loop_share'])} of the loop{mostly_at(figures)}"
        return f"Time between {_steps(figures)} takes {share}"
    line = batches_line(figures.get("slowest_stage"))
    return f"Waiting for input between steps takes {_input_share(figures)}{line}"


RULE = Rule(
    "outside steps",
    {
        "LOOP_SHARE": LOOP_SHARE,
        "PAUSE_NS": PAUSE_NS,
        "CALL_NS": CALL_NS,
        "MOST_OF_LOOP": MOST_OF_LOOP,
        "MIN_PAUSES": MIN_PAUSES,
        "RUN_SHARE": RUN_SHARE,
        "INPUT_SHARE": INPUT_SHARE,
        "FEW": FEW,
        "GC_SHARE": GC_SHARE,
        "GC_MOST": GC_MOST,
        "MOST": MOST,
    },
    _find,
    _word,
    _measure,
    _summarise,
    "Time outside steps is",
    whole=True,
    headline=_headline,
    remedy=Remedy("Without that time", _without),
)
