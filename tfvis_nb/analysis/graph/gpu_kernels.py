"""Whether TensorFlow has a GPU kernel for a node, according to the TensorFlow imported in this process."""

import re
import sys
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

import numpy as np

from tfvis_nb.analysis.graph.nodes import step_nodes
from tfvis_nb.core.data_types import REFERENCE
from tfvis_nb.core.trace import Trace

_MODULE = "tensorflow.python.framework.kernels"
_ON_GPU = ("GPU", "DEFAULT")
"""Devices without their own kernels use those of DEFAULT, which work on host memory."""
_CPU = re.compile(r"(?:^|/|device:)cpu:", re.IGNORECASE)


def has_gpu_kernel(node: Any) -> bool | None:
    """Return whether a GPU kernel is registered for a NodeDef and its data types.

    None if unknown: TensorFlow is not imported, was built without GPU support, or does not know the op. This
    function does not import TensorFlow.

    Examples
    --------
    >>> from tfvis_nb.analysis.graph.gpu_kernels import has_gpu_kernel
    >>> from tfvis_nb.reading.protobuf.schema import message_class
    >>> has_gpu_kernel(message_class("NodeDef")(op=b"NoSuchOp")) is None
    True
    """
    tensorflow = sys.modules.get(_MODULE)
    if tensorflow is None or not _registered(tensorflow, "MatMul")[0]:
        return None
    on_gpu, known = _registered(tensorflow, node.op.decode("utf-8", "replace"))
    if not known:
        return None
    types = {attr.key.decode("utf-8", "replace"): _types(attr.value) for attr in node.attr}
    return any(_fits(kernel, types) for kernel in on_gpu)


@lru_cache(maxsize=1024)
def _registered(tensorflow: Any, op: str) -> tuple[tuple[Mapping[str, frozenset[int]], ...], bool]:
    """Return the types that GPU kernels of an op accept, by attribute, and whether it has any kernel."""
    kernels = tensorflow.get_registered_kernels_for_op(op).kernel
    on_gpu = tuple(
        {one.name: frozenset(one.allowed_values.list.type) for one in kernel.constraint}
        for kernel in kernels
        if kernel.device_type in _ON_GPU
    )
    return on_gpu, bool(kernels)


def _types(value: Any) -> set[int]:
    kind = value.WhichOneof("value")
    numbers = {value.type} if kind == "type" else set(value.list.type) if kind == "list" else set()
    return {number % REFERENCE for number in numbers}


def _fits(kernel: Mapping[str, frozenset[int]], types: Mapping[str, set[int]]) -> bool:
    return all(types.get(name, set()) <= allowed for name, allowed in kernel.items())


def cpu_placement(trace: Trace, events: Iterable[int]) -> tuple[set[int], set[int]]:
    """Return the ops for which the program requested a CPU, and the ops without a GPU kernel.

    An op is in neither if it is not in the graphs or nothing is known about it.
    """
    requested, unregistered = set(), set()
    names = trace.events["name"]
    ids = np.fromiter(events, np.int64)
    step = trace.events["step"].to_numpy()[ids]
    for number in range(len(trace.graphs)):
        wanted: dict[str, list[int]] = {}
        for event in ids[step == number].tolist():
            wanted.setdefault(str(names.iloc[event]), []).append(event)
        for node in step_nodes(trace, number, wanted) if wanted else ():
            if _CPU.search(node.requested_device or ""):
                requested.update(wanted[node.name])
            elif has_gpu_kernel(node.definition) is False:
                unregistered.update(wanted[node.name])
    return requested, unregistered
