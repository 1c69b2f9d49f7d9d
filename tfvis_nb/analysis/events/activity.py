"""The activity of each event in its step: waiting for input, launching, computing on the device, ...

All analyses that divide time use these classes, so their figures agree.
"""

import re

import numpy as np
import pandas as pd

from tfvis_nb.analysis.events.nesting import WAITING
from tfvis_nb.analysis.events.traced_calls import tracing_spans
from tfvis_nb.core.categories import beginning, containing, is_kind, map_categories
from tfvis_nb.core.devices import ACCELERATOR, HOROVOD
from tfvis_nb.core.palette import ACTIVITIES as ALL_ACTIVITIES
from tfvis_nb.core.per_trace import per_trace
from tfvis_nb.core.python_rows import CALLBACK, NEXT_BATCH, SAVING
from tfvis_nb.core.search_sorted import distinct_numbers
from tfvis_nb.core.step_spans import cut_to_steps
from tfvis_nb.core.text_rows import text_rows
from tfvis_nb.core.trace import Trace
from tfvis_nb.events import NO_STEP
from tfvis_nb.kinds import KERNELS, USUAL_ACTIVITY

ACTIVITIES = ALL_ACTIVITIES[::-1]
"""All activities; if several happen at the same time, the later one in this list counts. See `activity`."""

NUMBER = {name: index for index, name in enumerate(ACTIVITIES)}
"""The index of each activity in `ACTIVITIES`."""

BY_TIME = ("preprocessing", "h2d", "communication", "input", "d2d", "d2h", "device_compute")
"""Events outside any step with one of these activities count toward the step during which they ran."""

HOST_TO_DEVICE = re.compile(r"H(to|2)[DA]", re.IGNORECASE)
DEVICE_TO_HOST = re.compile(r"[DA](to|2)H", re.IGNORECASE)

INPUT_WAIT = re.compile(
    r"IteratorGetNext|OneShotIterator|QueueDequeue|^Iterator::Root$|Infeed|Unstage|ReaderRead"
    rf"|^enumerate\(DataLoader\)|^{NEXT_BATCH}$"
)
"""Op types in which a step waits for its next input."""

_TOKEN = re.compile(r"(?:.*/)?sync_token_q_Dequeue")
"""The node at which a worker of ``SyncReplicasOptimizer`` waits for the others."""

PIPELINE = re.compile(
    r"(?:Make)?Iterator::|InstantiatedCapturedFunction"
    r"|(?:Prefetch|Parallel\w+|MapAndBatch|Interleave)(?:Produce|Consume)"
)
"""Names of tf.data's own events on host threads."""

COPY_DONE = re.compile(r"[\w-]+-done$")
"""Rows in which a TPU waits for a copy or for other work that it started."""
_EXECUTOR = re.compile(r"ExecutorState::Process|(?:\[\d+\] )?GpuExecutable::Execute", re.IGNORECASE)
_LAUNCH = re.compile(r"launch$|(?:cu|hip)\w*(?:Launch|Mem(?:cpy|set))")
_COMPILING = re.compile(r"compil|graph_building|PTX->CUBIN|lower_sharding|OptimizeHlo", re.IGNORECASE)
_FUNCTION = re.compile(r"__(?:inference|forward|backward)_|PjitFunction\(|:XLA GPU module")
"""Runs of functions, whose names are chosen by users."""
_HANDED_OVER = re.compile(r"\w+Compiler::BufferFromHostBuffer")
_CODEGEN_LANE = re.compile(r"tf_xla-cpu-(?:llvm-)?codegen")
"""Threads on which XLA generates code."""
_PIPELINE_LANE = re.compile(r"tf_data_")
_NEXT_INPUT = re.compile(r"IteratorGetNext\w*::DoCompute")
_WRAPPER = re.compile(
    rf"Eager(?:Local|Kernel)?Execute|FunctionRun|SessionRun|ProfilerStep|(?:{CALLBACK}|{SAVING})$"
)
_TAKEN = re.compile(rf"{NEXT_BATCH}$")
_NUMBER = re.compile(r" \d+$")
_NEGOTIATION = re.compile(r"NEGOTIATE_")


@per_trace
def activity(trace: Trace) -> np.ndarray:
    """Return the index of each event in `ACTIVITIES` (uint8).

    * ``device_compute``: kernels and memsets on an accelerator.
    * ``d2h``, ``d2d``, ``h2d``: copies from, between or within, and to accelerators; ``d2d`` includes copies
      of unrecorded direction.
    * ``input``: the step waits for its next batch, for example in ``IteratorGetNext``.
    * ``communication``: tensors received from other tasks; collectives of ops and of NCCL, waits included.
    * ``launch``: calls that launch kernels and copies, executor rows of an accelerator's ops, and the
      executor on the host (``ExecutorState::Process``) where the task has an accelerator.
    * ``compile``: tracing and compiling functions. In `during_steps` tracing lasts from the start of the call
      that traces until the new graph or program runs.
    * ``host_compute``: ops on a CPU.
    * ``runtime``: Python and the runtime around ops, working or waiting for a call; the trace does not show
      which.
    * ``preprocessing``: the input pipeline on its own threads, ahead of the step.
    * ``none``: events that only wrap, wait or repeat others: step markers, functions and loops as a whole,
      callbacks and savers, ``_Recv``, the token of ``SyncReplicasOptimizer``, host rows that repeat an
      executor's ops, Horovod's phases of a collective. If a Horovod timeline is all there is, its
      negotiations are ``communication``.

    The classes and their order are those of XProf (``ClassifyCpuEvent`` and ``ClassifyGpuEvent`` in
    ``xprof/convert/xplane_to_step_events.cc``, ``EventType`` in ``xprof/utils/event_span.h``), with
    ``communication`` instead of its device collectives. XProf's host compute is ``host_compute`` and
    ``runtime`` here. XProf counts GPU copies as computing because it looks for ``MemcpyHToD``, while profiles
    use ``MemcpyH2D``.
    """
    events = trace.events
    numbers = by_kind(events)
    op, lane = events["op"], events["lane"]
    is_op, is_host = is_kind(events, "op"), is_kind(events, "host")
    numbers[is_kind(events, "kernel") & beginning(op, COPY_DONE)] = NUMBER["none"]

    on_accelerator = accelerators(events)
    on_host = (is_op | is_host) & ~on_accelerator
    frame = beginning(op, _EXECUTOR) & _in_tasks_of(events, on_accelerator)
    numbers[(is_op & on_accelerator) | (is_host & (frame | beginning(op, _LAUNCH)))] = NUMBER["launch"]
    # The rows in which JAX's compile client takes arguments also name a compiler.
    compiles = containing(op, _COMPILING) & ~beginning(op, _HANDED_OVER) & ~containing(op, _FUNCTION)
    numbers[on_host & (compiles | beginning(lane, _CODEGEN_LANE))] = NUMBER["compile"]
    numbers[on_host & (beginning(lane, _PIPELINE_LANE) | (is_host & beginning(op, PIPELINE)))] = NUMBER[
        "preprocessing"
    ]
    waits = containing(op, INPUT_WAIT)
    waits[_tokens(events, waits)] = False
    numbers[is_op & beginning(op, WAITING)] = NUMBER["none"]
    numbers[(is_op | (is_host & ~on_accelerator)) & waits] = NUMBER["input"]
    if (is_host & beginning(op, _NEXT_INPUT)).any():
        # The row of an eager op includes its overhead; the wait has a nested row.
        numbers[np.flatnonzero(is_op & waits)[_eager(events, is_op & waits)]] = NUMBER["runtime"]
    numbers[is_host & (on_accelerator | beginning(op, _WRAPPER))] = NUMBER["none"]
    numbers[is_host & containing(events["device"], HOROVOD)] = NUMBER["none"]
    numbers[negotiates(events)] = NUMBER["communication"]
    numbers[is_host & (_markers(trace, is_host) | repeats(events))] = NUMBER["none"]
    return numbers


def by_kind(events: pd.DataFrame) -> np.ndarray:
    """Return the activity that most events of a kind have; only `activity` tells those of one kind apart."""
    usual = map_categories(events["kind"], lambda kind: NUMBER[USUAL_ACTIVITY.get(kind, "none")])
    numbers = usual.astype(np.uint8)
    is_copy = is_kind(events, "memcpy")
    for name, pattern in (("h2d", HOST_TO_DEVICE), ("d2h", DEVICE_TO_HOST)):
        # Some sources name the direction in the op type, some only in the lane.
        named = containing(events["op"], pattern) | containing(events["lane"], pattern)
        numbers[is_copy & named] = NUMBER[name]
    return numbers


def negotiates(events: pd.DataFrame) -> np.ndarray:
    """Return a mask of the negotiations of a Horovod timeline without traces of its ranks.

    Collectives of the ranks include them; in the timeline alone they are the only waits.
    """
    alone = containing(events["device"], HOROVOD).all()
    mask: np.ndarray = is_kind(events, "sync") & beginning(events["op"], _NEGOTIATION) & alone
    return mask


def accelerators(events: pd.DataFrame) -> np.ndarray:
    """Return a mask of the events of GPUs and TPUs: their work, and the executor rows of their ops."""
    return containing(events["device"], ACCELERATOR)


def only_waits(events: pd.DataFrame) -> np.ndarray:
    """Return a mask of the instructions in which a device waits for work that it started: ``copy-done``."""
    on_device = is_kind(events, *KERNELS)
    mask: np.ndarray = on_device & beginning(events["op"], COPY_DONE)
    return mask


def repeats(events: pd.DataFrame) -> np.ndarray:
    """Return a mask of host rows that repeat ops: TensorFlow 1.14 to 2.3 also records an op on its thread."""
    is_host = is_kind(events, "host")
    ops = is_kind(events, "op") & map_categories(events["lane"], lambda lane: lane == "ops")
    if not ops.any() or not is_host.any():
        return np.zeros(len(events), bool)
    width = len(events["op"].cat.categories) + 1
    key = events["task"].cat.codes.to_numpy(np.int64) * width + events["op"].cat.codes.to_numpy()
    mask: np.ndarray = is_host & np.isin(key, distinct_numbers(key[ops]))
    return mask


def during_steps(trace: Trace) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return event ids, step indexes from 0, and the time ranges (ns) in which events count toward steps.

    A profiler does not link the work of tf.data threads with the step that waits for it, nor all copies with
    their step. Events outside steps with an activity of `BY_TIME` count toward the steps during which they
    ran: at each point in time, toward the last step that had started. Batches that Python takes between steps
    do not: steps that JAX has queued go on meanwhile. Events of such an activity before the start of their
    own step, which waits for the work of an earlier one, count in the same way. So an event may be in several
    steps.
    """
    events = trace.events
    start = events["start_ns"].to_numpy(np.int64)
    end = start + events["duration_ns"].to_numpy(np.int64)
    step = events["step"].to_numpy(np.int64)
    own_start, own_end = cut_to_steps(trace, *tracing_spans(trace, start, end))
    inside = np.flatnonzero((step != NO_STEP) & ((own_start < own_end) | (start == end)))
    steps = trace.steps[trace.steps["step"] != NO_STEP].sort_values("start_ns", kind="stable")
    outside = step == NO_STEP
    loose = np.flatnonzero(outside | (start < own_start))
    by_time = np.isin(activity(trace)[loose], [NUMBER[name] for name in BY_TIME])
    by_time &= ~(outside & beginning(events["op"], _TAKEN))[loose]
    until = np.where(outside, end, np.minimum(end, own_start))
    loose = loose[by_time & (until > start)[loose]]
    first = steps["start_ns"].to_numpy(np.int64)
    last = np.minimum(steps["end_ns"].to_numpy(np.int64), np.append(first[1:], np.iinfo(np.int64).max))
    # From the last step that had started to the last that started before the end.
    low = np.maximum(np.searchsorted(first, start[loose], "right") - 1, 0)
    count = np.maximum(np.searchsorted(first, until[loose], "left") - low, 0)
    row = np.repeat(loose, count)
    index = np.arange(len(row)) - np.repeat(np.cumsum(count) - count, count) + np.repeat(low, count)
    begin, finish = np.maximum(start[row], first[index]), np.minimum(until[row], last[index])
    real = begin < finish
    return (
        np.concatenate([inside, row[real]]),
        np.concatenate([step[inside], steps["step"].to_numpy(np.int64)[index[real]]]),
        np.concatenate([own_start[inside], begin[real]]),
        np.concatenate([own_end[inside], finish[real]]),
    )


def _in_tasks_of(events: pd.DataFrame, chosen: np.ndarray) -> np.ndarray:
    """Return a mask of events whose task has a chosen event."""
    task = events["task"].cat.codes.to_numpy()
    has = np.zeros(int(task.max(initial=0)) + 2, bool)
    has[task[chosen]] = True
    mask: np.ndarray = has[task]
    return mask


def _tokens(events: pd.DataFrame, chosen: np.ndarray) -> np.ndarray:
    """Return the chosen events that wait for other workers instead of input."""
    rows = np.flatnonzero(chosen)
    of_rows: np.ndarray = rows[text_rows(events["name"], rows).str.fullmatch(_TOKEN.pattern).to_numpy(bool)]
    return of_rows


def _eager(events: pd.DataFrame, chosen: np.ndarray) -> np.ndarray:
    """Return the chosen events that run an op eagerly."""
    mask: np.ndarray = (
        text_rows(events["detail"], np.flatnonzero(chosen))
        .str.startswith("EagerLocalExecute: ")
        .to_numpy(bool)
    )
    return mask


def _markers(trace: Trace, is_host: np.ndarray) -> np.ndarray:
    """Return a mask of host rows that gave their step its name: ``train``, or all of ``train 13``."""
    labels = trace.step_labels.values()
    names = {*labels, *(_NUMBER.sub("", label) for label in labels)} - {""}
    marked = np.zeros(len(is_host), bool)
    if names:
        rows = np.flatnonzero(is_host & (trace.events["step"] != NO_STEP).to_numpy())
        marked[rows] = text_rows(trace.events["name"], rows).isin(names).to_numpy()
    return marked
