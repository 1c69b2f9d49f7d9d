"""The kind of the recorded program, and advice that fits it."""

import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from tfvis_nb.analysis.events.traced_calls import CALL_MARK, function_calls
from tfvis_nb.analysis.findings.python_batches import faster_batches, source_of
from tfvis_nb.analysis.source.calling_thread import PYTHON_CALL
from tfvis_nb.core.categories import beginning, is_kind
from tfvis_nb.core.trace import Trace
from tfvis_nb.events import NO_STEP

_KERAS = re.compile(r"(?:one|multi)_step_on_|(?:train|test|predict)_function")
_BATCH = re.compile(r"(?:train|test|predict)$")
_RUN_EAGERLY = "run_eagerly=1"
"""In the details of a batch of a Keras model with run_eagerly, which calls no function with a name."""
_JAX = re.compile(r"PjitFunction|PjRt|PJRT_|CommonPjRt")
_EXECUTOR_LABEL = r"[\w./-]+ = \w+\("
"""How TensorFlow's executor labels the ops of a session's run."""
_DYNAMIC = re.compile(
    r"(?:Unique\w*|Where|SparseToDense|DynamicPartition|ListDiff|NonMaxSuppression\w*|StringSplit\w*"
    r"|SparseFillEmptyRows\w*|Ragged\w+)$"
)
"""Ops whose output shapes depend on the data: XLA compiles for fixed ones."""
_PREFETCH = re.compile(r"Iterator::(?:Root::)?(?:Model::)?Prefetch")
_PIPELINE = re.compile(r"Iterator::")
_PARALLEL = re.compile(r"Iterator::(?:.*::)?(?:Parallel|MapAndBatch)")
_INJECTED = "name=inject/prefetch_"
"""In the details of a Prefetch that TensorFlow has put at the end of a pipeline (since 2.8)."""
_MAKE, _GET = re.compile(r"MakeIterator$"), re.compile(r"IteratorGetNext(?:Sync|AsOptional)?$")
_DEQUEUE = re.compile(r"QueueDequeue")
_REMADE = 3
"""Fewer iterators may be one each of training, evaluation and prediction."""
_CACHE = re.compile(r"Iterator::(?:.*::)?(?:Memory|File)?Cache")
_PARALLEL_CALLS = {
    "map": ("Map", "ParallelMap", "MapAndBatch"),
    "interleave": (
        "FlatMap",
        "Interleave",
        "ParallelInterleave",
        "TFRecord",
        "TextLine",
        "FixedLengthRecord",
    ),
    "batch": ("Batch", "ParallelBatch"),
}
"""Methods of a dataset that take num_parallel_calls, and the stages that get faster by it."""
_MOST_NAMED = 3
_SAMPLE = 1000

_FEWER = {
    "session": ("use larger batches, fewer small ops", "global_jit_level in the session's config"),
    "keras": (
        "use larger batches, several steps in one call (steps_per_execution)",
        "model.compile(jit_compile=True)",
    ),
    "function": (
        "use larger batches, loops over several steps inside the tf.function",
        "tf.function(jit_compile=True)",
    ),
    "eager": ("use larger batches, a tf.function around the step", "tf.function(jit_compile=True)"),
    "jax": ("use one jax.jit for more of the step, or jax.lax.scan over steps", ""),
    "": ("use larger batches, or fuse small ops", ""),
}
"""How to launch less, and how to compile with XLA, by kind of program."""

_LOWER = {
    "session": "wrap the optimizer in"
    " tf.compat.v1.mixed_precision.enable_mixed_precision_graph_rewrite(), which uses float16",
    "keras": 'call tf.keras.mixed_precision.set_global_policy("mixed_{name}") before the model is built',
}
"""How to compute with fewer bits, by kind of program."""

ONE_ITERATOR = {
    "": "Make the iterator once, batches = iter(dataset) before the loop, and call next(batches) in it: each"
    " new iterator starts the input pipeline, with its buffers, anew.",
    "keras": "Call fit(), evaluate() or predict() once for many batches: each call makes an iterator, which"
    " starts the input pipeline, with its buffers, anew. For one batch, call train_on_batch() or the model.",
}
"""What to do about iterators that are made for one batch each, by kind of program."""


def recorded(trace: Trace) -> dict[str, Any]:
    """Return figures of the recorded program: its kind, its ops of dynamic shape, and its input pipeline.

    ``program`` is a key of `_FEWER`, ``dynamic_ops`` the op types. ``prefetches``, ``caches`` and
    ``parallel`` state whether the pipeline prefetches, caches and has parallel calls; None if not recorded.
    ``injected`` states whether TensorFlow itself has added the prefetch, ``remade`` whether iterators are
    made for one or two elements each, ``queue`` whether input comes from a queue instead.
    """
    events = trace.events
    op = events["op"]
    in_steps = (events["step"] != NO_STEP).to_numpy()
    dynamic = sorted({str(name) for name in op[beginning(op, _DYNAMIC) & in_steps].unique()})
    pipeline = _any(trace, _PIPELINE)
    stages = {"prefetches": _PREFETCH, "caches": _CACHE, "parallel": _PARALLEL}
    return {
        "program": _program(trace),
        "dynamic_ops": dynamic[:_MOST_NAMED],
        **{name: _any(trace, pattern) if pipeline else None for name, pattern in stages.items()},
        "injected": pipeline and _is_injected(trace),
        "remade": _is_remade(trace),
        "queue": _any(trace, _DEQUEUE) and not pipeline and not _any(trace, _GET),
    }


def framework(figures: Mapping[str, Any]) -> str:
    """Return the name of the framework that ran, given the ``program``."""
    return "JAX" if figures.get("program") == "jax" else "TensorFlow"


def calls_compiled_model(trace: Trace) -> bool:
    """Return whether steps call the function that Keras compiles a model's step to.

    Calls with tf.config.run_functions_eagerly(True) run the ops one by one.
    """
    events = trace.events
    calls = function_calls(trace) & beginning(events["op"], _KERAS) & (events["step"] != NO_STEP).to_numpy()
    return not events["detail"][calls].str.contains(f"{CALL_MARK}eager", regex=False).all()


def _is_injected(trace: Trace) -> bool:
    details = trace.events["detail"][beginning(trace.events["op"], _PREFETCH)]
    return bool(details.str.contains(_INJECTED, regex=False).any())


def _is_remade(trace: Trace) -> bool:
    ops = is_kind(trace.events, "op")
    made, taken = (int((ops & beginning(trace.events["op"], one)).sum()) for one in (_MAKE, _GET))
    return made >= _REMADE and taken <= 2 * made


def _any(trace: Trace, pattern: re.Pattern[str]) -> bool:
    return bool(beginning(trace.events["op"], pattern).any())


def _program(trace: Trace) -> str:
    events = trace.events
    ops = events["detail"][is_kind(events, "op")]
    if ops.head(_SAMPLE).str.match(_EXECUTOR_LABEL).any() or _any(trace, re.compile("SessionRun")):
        return "session"
    if _any(trace, _JAX):
        return "jax"
    if _any(trace, _KERAS) or any(_KERAS.match(label) for label in trace.step_labels.values()):
        return "keras"
    if events["detail"][beginning(events["op"], _BATCH)].str.contains(_RUN_EAGERLY, regex=False).any():
        return "keras"
    functions = int(np.count_nonzero(beginning(events["op"], re.compile("FunctionRun"))))
    eager = int(ops.str.startswith("EagerLocalExecute: ").sum())
    return "" if not functions + eager else "eager" if eager > functions else "function"


def fewer_launches(figures: Mapping[str, Any]) -> str:
    """Advise how to launch fewer kernels."""
    how, xla = _FEWER[figures["program"]]
    text = f"Reduce kernel launches: {how}"
    if figures["dynamic_ops"]:
        ops = " and ".join(figures["dynamic_ops"])
        return f"{text}; XLA is unlikely to help, because the output shapes of {ops} depend on the data."
    return f"{text}, or XLA ({xla})." if xla else f"{text}."


def more_in_a_step(program: str) -> str:
    """Advise how to spend less time on running steps, for a kind of program."""
    how, xla = _FEWER[program]
    return f"Do more in each call: {how}, or XLA ({xla})." if xla else f"Do more in each call: {how}."


def faster_input(figures: Mapping[str, Any]) -> str:
    """Advise how to speed up the input pipeline; with a number of parallel calls if known."""
    stage = figures.get("slowest_stage")
    if source_of(stage) or (figures.get("program") == "jax" and figures["prefetches"] is None):
        return faster_batches(stage)
    if figures.get("lock"):
        return (
            "num_parallel_calls does not help Python that holds the lock: use TensorFlow ops, or NumPy on"
            " whole arrays, do it once and cache() the result, or do it in other processes."
        )
    if figures.get("queue"):
        return (
            "Fill the queue with more threads (num_threads of tf.compat.v1.train.batch), unless they run"
            " Python, or cut per-element cost."
        )
    if figures.get("remade"):
        return ONE_ITERATOR["keras" if figures["program"] == "keras" else ""]
    prefetch = {
        True: "The input pipeline prefetches already, so make its slowest stage faster: ",
        False: "End the input pipeline with dataset.prefetch(tf.data.AUTOTUNE); if it is still too slow, ",
        None: "Check that the input pipeline ends with dataset.prefetch(tf.data.AUTOTUNE); if it does, ",
    }[figures["prefetches"]]
    if figures.get("injected"):
        prefetch = "TensorFlow has added a prefetch to the input pipeline, so make its slowest stage faster: "
    elif figures["prefetches"] is False and _is_longer(figures):
        prefetch = "dataset.prefetch alone is not enough, so make the slowest stage of the pipeline faster: "
    ways = ["cut per-element cost"]
    if not figures.get("caches"):
        ways.insert(0, "cache() data that is read again")
    method = _parallel_method(figures)
    calls = figures.get("needed") or 0
    parallel = f"use {method}(..., num_parallel_calls={calls if calls > 1 else 'tf.data.AUTOTUNE'})"
    if PYTHON_CALL.match(str((stage or {}).get("op"))):
        # Python that waits lets other calls run meanwhile.
        waiting = f"{parallel} if its Python waits for files or the network, TensorFlow ops if it computes"
        computing = "replace Python, which runs on one thread at a time, with TensorFlow ops"
        ways.insert(0, waiting if method else computing)
    elif method:
        ways.insert(0, parallel)
    if (figures.get("bottleneck") or {}).get("one_by_one"):
        ways.insert(0, "put batch() before map(), so that one call handles a whole batch")
    return f"{prefetch}{', '.join(ways[:-1])}{', or ' if len(ways) > 1 else ''}{ways[-1]}."


def _is_longer(figures: Mapping[str, Any]) -> bool:
    """Return whether the input pipeline takes longer than the steps, so that a prefetch cannot hide it."""
    whole = figures.get("loop_ns", figures.get("run_ns"))
    if whole is not None:
        return bool(2 * figures["input_ns"] > whole)
    return (figures.get("needed") or 0) > 1


def _parallel_method(figures: Mapping[str, Any]) -> str:
    """Return the method that could call the slowest stage in parallel; empty if it does, or none can."""
    bottleneck = figures.get("bottleneck") or {}
    kind = bottleneck.get("stage", "Map").partition("(")[0]
    if not bottleneck or kind == "Prefetch":  # the stages below are not recorded
        return "" if figures.get("parallel") else "map"
    if (bottleneck.get("parallelism") or 0) > 1:
        return ""
    return next((method for method, kinds in _PARALLEL_CALLS.items() if kind in kinds), "")


def less_host_work(figures: Mapping[str, Any]) -> str:
    """Advise how to reduce host work between launches."""
    move = "Move Python and CPU ops out of the step"
    if figures["program"] == "eager":
        return f"{move}, put the rest into a tf.function, and fetch results less often."
    return f"{move}, and fetch results less often."


def fewer_compilations(figures: Mapping[str, Any]) -> str:
    """Advise how to compile functions only once."""
    if figures.get("one_by_one"):
        return (
            "put their ops into one function with jax.jit: without it, JAX compiles each op for each shape."
        )
    if figures["program"] == "jax":
        return "the shapes or static arguments of a function change: pass arrays, and pad to fixed shapes."
    return (
        "the shapes or Python arguments of a function change: pass tensors, pad to fixed shapes, or give an"
        " input_signature."
    )


def larger_kernels(figures: Mapping[str, Any]) -> str:
    """Advise how to fill the GPU with kernels."""
    _, xla = _FEWER[figures["program"]]
    text = "Use a larger batch, which takes hardly any longer while SMs are free"
    return f"{text}, or fuse small ops with XLA ({xla})." if xla else f"{text}."


def lower_precision(figures: Mapping[str, Any]) -> str:
    """Advise how to use Tensor Cores, given the ``capability`` of the GPU."""
    before_bfloat16 = str(figures["capability"]).startswith("7.")
    how = _LOWER.get(figures["program"], "compute in {name}").format(
        name="float16" if before_bfloat16 else "bfloat16"
    )
    if not before_bfloat16 and figures["program"] != "jax":
        how += ", or call tf.config.experimental.enable_tensor_float_32_execution(True) for float32"
    return f"Use Tensor Cores: {how}, and make sizes multiples of 8."
