"""One thing on the host takes most of the steps: a line, function, layer, op type, eager calls or Python."""

import math
import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from tfvis_nb.analysis.findings.finding import MINOR, OBSERVATION, PROBLEM, Finding, step_range
from tfvis_nb.analysis.findings.host_work import (
    LEAST,
    HostWork,
    Overhead,
    SmallOps,
    host_work,
    overhead,
    small_ops,
)
from tfvis_nb.analysis.findings.program import framework, more_in_a_step, recorded
from tfvis_nb.analysis.findings.python_work import (
    EagerOps,
    eager_ops,
    lock_of_thread,
    other_python,
    python_work,
)
from tfvis_nb.analysis.findings.rule import (
    Figures,
    Measurement,
    Remedy,
    Rule,
    Texts,
    Threshold,
    all_time,
    beyond,
    example,
    limit,
    step_time,
)
from tfvis_nb.analysis.findings.time_share import TimeShare, largest_share
from tfvis_nb.analysis.source.calling_thread import PYTHON_CALL
from tfvis_nb.analysis.source.lock_waits import LOCK_ADVICE, other_thread
from tfvis_nb.analysis.source.python_samples import called_line, mostly_at, sampled_clause, sampled_figures
from tfvis_nb.core.format import format_duration, format_percent
from tfvis_nb.core.trace import Trace
from tfvis_nb.core.undivided import whole
from tfvis_nb.texts import Text

ID = "host_compute"
SHARE = Threshold(
    0.5,
    "share of step time of one line, function, layer or op type that computes or copies, of calling eager"
    " ops, or of Python outside of the framework",
)
CHANGEABLE = Threshold(
    LEAST,
    "the same for work that a step can do without: Python functions, sampled lines of Python, and output",
)
COPIES = Threshold(
    0.25, "the same of op types that copy tensors, which computes nothing, if no other op type takes as long"
)
EACH_NS = Threshold(
    20_000,
    "mean time of the ops of a line, layer or type, or of TensorFlow's runtime each time that it starts ops:"
    " it takes up to as long to wake a thread for an op, so ops that take less are small",
)
MEAN_NS = Threshold(
    1_000_000,
    "mean time in a step that makes it a problem: calling a step from Python can take as long. Overhead is at"
    " most this for each call, and the time of a small op for each op",
)
SAME = 0.9
"""Findings whose shares differ less are of the same time."""
EAGER_OPS = Threshold(20, "eager ops of a step: programs with a tf.function have a few around it")

_KINDS: Mapping[str, re.Pattern[str]] = {
    "function": PYTHON_CALL,
    "output": re.compile(
        r"Print(?:V2)?$|(?:Write|Save|MergeV2Checkpoints|StringFormat|Encode|CheckNumerics|DebugN|Assert$)"
        r"|\w+Summary"
    ),
    "transpose": re.compile(r"(?:_Mkl)?(?:Conjugate)?Transpose$"),
    "copy": re.compile(
        r"(?:_Mkl)?Concat|Pack$|ParallelConcat|Unpack$|Tile$|(?:Strided)?Slice$|(?:_Mkl)?Split|BroadcastTo$"
        r"|(?:Mirror)?Pad(?:V2)?$|Reverse(?:V2)?$|Roll$|DeepCopy$"
        r"|Tensor(?:Scatter|StridedSlice)Update|TensorList(?:Stack|Concat|FromTensor)"
    ),
}
"""Op types by what can be changed about them; all others are the job itself."""
_REPLACEABLE = ("function", "output")
_MOVING = ("transpose", "copy")
_OWN = ("work", "outside", "optimizer", "overhead")
"""What every program has, which is no problem."""

_TITLES = {
    "function": "A Python function in the graph holds up {steps}",
    "output": "Output and checks hold up {steps}",
    "transpose": "Transposing tensors takes {much} of {steps}",
    "copy": "Copying tensors on the host takes {much} of {steps}",
    "work": "One {what} takes most of {steps}",
    "small": "Many small ops of one {what} take most of {steps}",
    "optimizer": "The optimizer takes most of {steps}",
    "outside": "Work outside of the layers takes most of {steps}",
    "eager": "Python runs the ops one by one",
    "python": "Python holds up {steps}",
    "lock": "Python of another thread holds up {steps}",
    "runtime": "Starting small ops takes most of {steps}",
    "overhead": "Calls take longer than their ops",
}
_FUSE = (
    "Do more in each op: replace loops over single elements, such as tf.map_fn, tf.scan and tf.while_loop,"
    " by ops on whole batches, for example with tf.vectorized_map. Or let XLA fuse the ops with"
    " jit_compile=True."
)
_ADVICE = {
    "function": "Write the function with {ops}, or call it in fewer steps or outside of them: Python"
    " runs one function at a time, and ops that need its result wait.",
    "output": "Do it in fewer steps, such as every hundredth, or outside of them.",
    "copy": "Write only the part that changes: assign to a slice of a variable, use scatter updates, or"
    " collect parts in a tf.TensorArray and join them once.",
    "array": "Replace the loop over single elements by ops on whole batches, for example with"
    " tf.vectorized_map: the tf.TensorArray of a loop, also of tf.map_fn and tf.scan, joins them by copying.",
    "transpose": "Keep tensors in the layout that most ops need, or let data come in it, so that they are not"
    " transposed there and back: for convolutions on a CPU this is channels last.",
    "work": "This is the program's own work: use smaller shapes, a cheaper op or lower precision, or run it"
    " on a GPU.",
    "outside": "Look at the model's losses, regularizers and metrics: use cheaper ones, or compute them for"
    " fewer weights or in fewer steps.",
    "optimizer": "Update fewer weights, for example by freezing layers, or use an optimizer with fewer ops"
    " for each weight, such as SGD.",
    "python": "Look for Python that runs in each step, such as callbacks and metrics: run it in fewer steps,"
    " or write it with {ops}.",
    "lock": LOCK_ADVICE,
    "runtime": _FUSE,
    "small": _FUSE,
}
_EAGER = {
    "compiled": "The model's step is compiled, but these ops run outside of it, such as in a callback: run"
    " them in fewer batches, or read fewer variables.",
    "keras": "Compile the model without run_eagerly, and leave out tf.config.run_functions_eagerly(True).",
    "": "Put the step into a tf.function: it runs all ops in one call, several at a time.",
}
_NOUNS = {
    "lines": "line",
    "functions": "function",
    "layers": "layer",
    "scopes": "name scope",
    "ops": "op type",
    "outside": "work outside of the layers",
}


class _Cause(NamedTuple):
    """What a finding would report, and whether it takes enough of the steps."""

    spent: TimeShare
    kind: str
    figures: dict[str, Any]
    events: list[int]
    least: float


def _kind(work: HostWork) -> str:
    is_small = work.each_ns < EACH_NS.value
    if work.optimizer:
        return "optimizer"
    if work.subject == "outside":
        return "outside"
    if work.subject == "functions":
        return "small" if is_small else "work"
    return next(
        (kind for kind, pattern in _KINDS.items() if pattern.match(work.op)), "small" if is_small else "work"
    )


def _causes(trace: Trace) -> Iterator[_Cause]:
    eager = eager_ops(trace)
    if eager is not None and _takes_steps(trace, eager):
        figures = {name: getattr(eager, name) for name in ("line", "of_all", "ops", "compiled")}
        yield _Cause(eager.spent, "eager", figures, eager.events.tolist(), SHARE.value)
        return
    works = [(work, _kind(work)) for work in host_work(trace)]
    longest = max(
        (work.spent.share for work, kind in works if work.subject == "ops" and kind in ("work", "small")),
        default=0,
    )
    for work, kind in works:
        names = (
            "subject",
            "name",
            "line",
            "line_share",
            "next_line",
            "next_ratio",
            "op",
            "op_share",
            "each_ns",
        )
        figures = {name: getattr(work, name) for name in names}
        figures |= {"python": None, "count": len(work.events)}
        least = CHANGEABLE if kind in _REPLACEABLE else SHARE
        if kind == "function":
            figures["python"] = sampled_figures(called_line(trace, work.events, work.spent.task))
        elif kind in _MOVING and work.spent.share >= longest:
            least = COPIES
        yield _Cause(work.spent, kind, figures, work.events.tolist(), least.value)
    small = small_ops(trace)
    if small is not None and _are_small(small):
        figures = {"starts": small.starts, "line": small.line}
        yield _Cause(small.spent, "runtime", figures, [], SHARE.value)
    python = python_work(trace)
    if python is not None and python.spent.mean_ns >= MEAN_NS.value:
        least = CHANGEABLE if python.sampled else SHARE
        yield _Cause(python.spent, "python", {"python": sampled_figures(python.sampled)}, [], least.value)
    lock = lock_of_thread(trace)
    if lock is not None:
        yield _Cause(lock.spent, "lock", {"python": sampled_figures(lock.sampled)}, [], CHANGEABLE.value)
    around = overhead(trace)
    if around is not None and _is_overhead(around):
        where = {name: getattr(around, name) for name in ("ops", "each_ns", "line", "function", "line_share")}
        figures = where | {"python": sampled_figures(around.sampled)}
        yield _Cause(around.spent, "overhead", figures, [], SHARE.value)


def _takes_steps(trace: Trace, eager: EagerOps) -> bool:
    """Return whether calling eager ops takes the steps, and not other Python beside them."""
    if eager.ops < EAGER_OPS.value * eager.spent.steps or other_python(trace, eager, MEAN_NS.value):
        return False
    return not eager.compiled or eager.spent.mean_ns * eager.spent.steps <= MEAN_NS.value * eager.ops


def _is_overhead(found: Overhead) -> bool:
    most = MEAN_NS.value * found.calls + EACH_NS.value * found.ops
    return found.each_ns < EACH_NS.value and found.spent.mean_ns * found.spent.steps <= most


def _are_small(small: SmallOps) -> bool:
    spent = small.spent
    return spent.mean_ns >= MEAN_NS.value and spent.mean_ns * spent.steps <= EACH_NS.value * small.starts


def _largest(trace: Trace) -> _Cause | None:
    """Return the cause that is reported: the steps' own work and overhead only if nothing else is.

    Of things on the host, the first one is the most specific.
    """
    causes = [cause for cause in _causes(trace) if cause.spent.share >= cause.least]
    first: dict[str, _Cause] = {cause.kind: cause for cause in reversed(causes)}
    own = [first.pop(kind) for kind in _OWN if kind in first]
    if not first:
        return next(iter(own), None)
    return max(first.values(), key=lambda cause: cause.spent.share)


def _find(trace: Trace) -> list[Finding]:
    cause = _largest(trace)
    if cause is None:
        return []
    spent = cause.spent
    later = None if math.isnan(spent.later_share) else spent.later_share
    program = {"kind": cause.kind, "program": recorded(trace)["program"]}
    figures = spent._asdict() | {"later_share": later} | program | cause.figures
    level = PROBLEM if spent.mean_ns >= MEAN_NS.value else MINOR
    level = OBSERVATION if cause.kind in _OWN else level
    start, end = step_range(trace, spent.step)
    return [Finding(ID, spent.share, figures, spent.step, start, end, cause.events, level)]


def _word(_key: str, figures: Figures) -> Texts:
    kind = figures["kind"]
    worded = {
        "eager": _word_eager,
        "python": _word_python,
        "lock": _word_lock,
        "runtime": _word_small,
        "overhead": _word_overhead,
    }.get(kind, _word_work)
    title = _TITLES[kind].format(
        what=_NOUNS.get(figures.get("subject", ""), ""),
        steps=whole(figures, "the steps"),
        much="most" if figures["share"] >= SHARE.value else "much",
    )
    program = figures["program"]
    advice = (
        _EAGER.get("compiled" if figures.get("compiled") else program, _EAGER[""])
        if kind == "eager"
        else _ADVICE.get(_advised(figures), more_in_a_step(program))
    )
    advice = advice.format(ops="jax.numpy" if program == "jax" else "TensorFlow ops")
    text, how = worded(figures)
    return Texts(title, text, advice, how)


def _advised(figures: Figures) -> str:
    """Return the key of the advice: a loop that has a tf.TensorArray needs no other one."""
    is_array = figures["kind"] == "copy" and figures["op"].startswith("TensorList")
    return "array" if is_array else str(figures["kind"])


def _word_work(figures: Figures) -> tuple[str, str]:
    name, line, op, subject = (figures[key] for key in ("name", "line", "op", "subject"))
    is_named = subject in ("functions", "layers", "scopes", "outside")
    where = f" ({line})" if line and is_named else ""
    noun = figures["kind"] if figures["kind"] == "optimizer" and subject == "layers" else _NOUNS[subject]
    called = f"The {noun} {name}".rstrip() if is_named else name
    text, how = f"{called}{where} takes {step_time(figures)} on the host: {example(figures)}.", ""
    if figures.get("python"):
        text = f"{text[:-1]}; {sampled_clause(figures['python'])}."
    if figures["kind"] == "small":
        ops = figures["count"] / figures["steps"]
        text = f"{text[:-1]}; a step runs {ops:,.0f} ops of {format_duration(figures['each_ns'])} on average."
    if subject != "ops":
        how = f"{op} is {format_percent(figures['op_share'])} of that time."
    elif line:
        text = f"{text[:-1]}; {line} has {format_percent(figures['line_share'])} of that time."
    if figures.get("next_line"):
        ratio = format_percent(figures["next_ratio"])
        text = f"{text[:-1]}; {figures['next_line']} takes {ratio} as long."
    return text, how


def _word_small(figures: Figures) -> tuple[str, str]:
    starts, steps = figures["starts"], figures["steps"]
    each = format_duration(figures["mean_ns"] * steps / starts)
    text = (
        f"TensorFlow's runtime starts {starts / steps:,.0f} times in a step, and works for {each} each time"
        " without an op that is long enough to be recorded."
    )
    how = f"That is {step_time(figures)}: {example(figures)}."
    if figures["line"]:
        text = f"{text[:-1]}; {figures['line']} has the most time of recorded ops."
    return text, how


def _word_overhead(figures: Figures) -> tuple[str, str]:
    ops, each = figures["ops"] / figures["steps"], format_duration(figures["each_ns"])
    text = (
        f"Python and the runtime take {step_time(figures)} to call functions and to start their ops:"
        f" {ops:,.0f} ops of {each} on average{figures.get('in_a_step', ' in a step')}."
    )
    if figures["line"]:
        where = f"{figures['function']} ({figures['line']})" if figures["function"] else figures["line"]
        text = f"{text[:-1]}; {where} has {format_percent(figures['line_share'])} of them."
    elif figures["python"]:
        text = f"{text[:-1]}; {sampled_clause(figures['python'])}."
    return text, f"That is {example(figures)}. Tracing the ops is part of it."


def _word_eager(figures: Figures) -> tuple[str, str]:
    ops, steps = figures["ops"], figures["steps"]
    many = f"{ops / steps:,.0f} ops in a step" if steps > 1 else f"{ops:,} ops"
    where = f" at or below {figures['line']}" if figures["line"] else ""
    if figures["line"] and not figures["of_all"]:
        where = f", most at {figures['line']},"
    each = format_duration(figures["mean_ns"] * steps / ops)
    text = f"Python calls {many}{where} one by one, which takes {step_time(figures)}, {each} per op."
    return text, "The time of their kernels is not included."


def _word_python(figures: Figures) -> tuple[str, str]:
    text = f"For {step_time(figures)}, the step runs nothing of {framework(figures)}"
    if not figures["python"]:
        return f"{text}: {example(figures)}.", ""
    return f"{text}; {sampled_clause(figures['python'])}.", f"The time is {example(figures)}."


def _word_lock(figures: Figures) -> tuple[str, str]:
    python = figures["python"]
    text = f"For {step_time(figures)}, the program waits for Python's interpreter lock, which"
    text += f" {other_thread(python)} holds."
    return text, f"{f'{sampled_clause(python)}. ' if python else ''}The time is {example(figures)}."


def _measure(trace: Trace) -> Measurement:
    if largest_share(trace, "host_compute_ns") is None:
        return Measurement.unknown(SHARE, Text("no_step_length"))
    shares = (cause.spent.share for cause in _causes(trace) if cause.kind != "overhead")
    return Measurement.of(SHARE, max(shares, default=0.0))


def _summarise(figures: Figures) -> str:
    # A long op can run while another device or a transfer makes the step wait.
    at = "While only the host works"
    if not figures["share"]:
        return f"{at}, no op, layer or line takes {limit(LEAST)} of {all_time(figures)}{beyond(figures)}."
    return f"{at}, the longest op, layer or line takes {step_time(figures)}{beyond(figures)}."


def _without(figures: Figures) -> dict[str, Any]:
    if figures["kind"] == "python":
        python = figures["python"]
        return {"lines": {python["line"]: 0}} if python else {}
    if figures["kind"] not in _REPLACEABLE:
        return {}
    subject = "layers" if figures["subject"] == "scopes" else figures["subject"]
    return {subject: {figures["name"]: 0}}


def _headline(figures: Figures) -> str:
    what = {
        "eager": "Calling ops from Python",
        "python": f"Python outside of {framework(figures)}",
        "lock": "Waiting for Python's interpreter lock",
        "runtime": "Starting small ops",
        "overhead": "Calling functions and starting their ops",
    }
    if figures.get("subject") == "outside":
        return f"Work outside of the layers takes {step_time(figures)}"
    at = mostly_at(figures["python"]) if figures["kind"] == "python" else ""
    if figures.get("subject") == "functions" and figures["line"]:
        return f"{figures['name']} ({figures['line']}) takes {step_time(figures)}"
    return f"{what.get(figures['kind'], figures.get('name'))} takes {step_time(figures)}{at}"


RULE = Rule(
    "host compute",
    {
        "SHARE": SHARE,
        "CHANGEABLE": CHANGEABLE,
        "COPIES": COPIES,
        "EACH_NS": EACH_NS,
        "MEAN_NS": MEAN_NS,
        "EAGER_OPS": EAGER_OPS,
    },
    _find,
    _word,
    _measure,
    _summarise,
    "Host compute is",
    remedy=Remedy("Without it", _without),
    # While a late task does this, the other tasks wait. The finding about the late task names its work.
    below=("late task",),
    below_from=SAME,
    headline=_headline,
)
