"""Recognise the program that wrote trace events, by several signs: programs share single names and keys."""

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, NamedTuple

from tfvis_nb.reading.chrome.horovod_timeline import OPERATIONS
from tfvis_nb.reading.chrome.values import listed

_LOOKED_AT = 5000
_PYTORCH_CATEGORIES = frozenset(
    "cpu_op kernel cuda_runtime cuda_driver gpu_memcpy gpu_memset gpu_user_annotation user_annotation"  # noqa: SIM905
    " python_function cpu_instant_event hip_runtime xpu_runtime xpu_driver mtia_runtime mtia_ccp_events"
    " privateuse1_runtime privateuse1_driver hpu_op Operator Kernel Memcpy Memset Runtime Driver".split()
)
_COMMON_CATEGORIES = frozenset(("kernel", "Operator", "Kernel", "Memcpy", "Memset", "Runtime", "Driver"))
_PYTORCH_KEYS = ("deviceProperties", "distributedInfo", "baseTimeNanoseconds")
_PYTORCH_ARGUMENTS = frozenset(("External id", "correlation", "stream", "est. achieved occupancy %"))
_VIEWER_ARGUMENTS = frozenset(
    "group_id correlation_id tf_op long_name kernel_details memcpy_details hlo_op hlo_module step_num".split()  # noqa: SIM905
)
_TFPROF = re.compile(r"(Op execution threads|Op scheduling threads|mem usage on): ?/")
_PLANE = re.compile(r"/(?:host|device):[A-Za-z_]+")
_ENOUGH = 2
_SHOWN = 3


class Dialect(NamedTuple):
    """A program, and the signs that it wrote a file; both are empty if none did."""

    program: str
    signs: str


def dialect_of(events: Sequence[Any], keys: Mapping[str, Any]) -> Dialect:
    """Return the program with the most signs among the first events and the keys of a document.

    A sign that only one program writes counts twice.
    """
    seen = _Seen(events, keys)
    best, most = Dialect("", ""), _ENOUGH - 1
    for program, signs_of in _DIALECTS.items():
        signs = [(sign, weight) for sign, weight in signs_of(seen) if sign]
        score = sum(weight for _, weight in signs)
        if score > most:
            signs.sort(key=lambda sign: -sign[1])
            best, most = Dialect(program, listed([sign for sign, _ in signs[:_SHOWN]])), score
    return best


class _Seen:
    """What the first events of a document contain."""

    def __init__(self, events: Sequence[Any], keys: Mapping[str, Any]) -> None:
        first = [event for event in events[:_LOOKED_AT] if isinstance(event, dict)]
        named = [(event.get("name"), event["args"]) for event in first if isinstance(event.get("args"), dict)]
        self.keys = keys
        self.categories = {text for event in first if isinstance(text := event.get("cat"), str)}
        self.names = {text for event in first if isinstance(text := event.get("name"), str)}
        self.began = {
            text for event in first if event.get("ph") == "B" and isinstance(text := event.get("name"), str)
        }
        self.processes = [str(args.get("name", "")) for name, args in named if name == "process_name"]
        self.threads = [args for name, args in named if name == "thread_name"]
        self.arguments = set().union(*(args.keys() for _, args in named))


Signs = Iterator[tuple[str, int]]


def _own(seen: _Seen) -> Signs:
    other = seen.keys.get("otherData")
    yield "otherData" * (isinstance(other, dict) and other.get("writer") == "tfvis_nb"), 9
    yield "thread names" * any({"task", "device", "lane"} <= args.keys() for args in seen.threads), 9


def _tfprof(seen: _Seen) -> Signs:
    for match in islice(filter(None, map(_TFPROF.match, seen.processes)), 3):
        yield f"process {match[1]}", 3


def _timeline_py(seen: _Seen) -> Signs:
    yield "process Allocators" * ("Allocators" in seen.processes), 2
    for end in (" Compute", " Tensors"):
        yield f"processes named ...{end}" * any(name.endswith(end) for name in seen.processes), 2
    yield "arguments op and name" * ({"op", "name"} <= seen.arguments), 1
    yield "category DataFlow" * ("DataFlow" in seen.categories), 1


def _horovod(seen: _Seen) -> Signs:
    yield "start_time_since_epoch_in_micros" * ("start_time_since_epoch_in_micros" in seen.arguments), 1
    yield "events NEGOTIATE_..." * any(name.startswith("NEGOTIATE_") for name in seen.began), 2
    yield "".join(f"event {name}" for name in sorted(seen.began & OPERATIONS.keys())[:1]), 2
    yield "CYCLE_START" * ("CYCLE_START" in seen.names), 1


def _pytorch(seen: _Seen) -> Signs:
    for category in sorted(seen.categories & _PYTORCH_CATEGORIES):
        yield f"category {category}", 1 if category in _COMMON_CATEGORIES else 2
    for argument in sorted(seen.arguments & _PYTORCH_ARGUMENTS):
        yield f"argument {argument}", 1
    yield "schemaVersion" * ("schemaVersion" in seen.keys), 1
    for key in _PYTORCH_KEYS:
        yield key * (key in seen.keys), 2
    yield "names aten::" * any(name.startswith("aten::") for name in seen.names), 1
    yield "names ProfilerStep#" * any(name.startswith("ProfilerStep#") for name in seen.names), 1


def _viewer(seen: _Seen) -> Signs:
    for name in sorted({match[0] for name in seen.processes if (match := _PLANE.search(name))})[:2]:
        yield f"process {name}", 2
    for argument in sorted(seen.arguments & _VIEWER_ARGUMENTS):
        yield f"argument {argument}", 1


_DIALECTS = {
    "tfvis_nb": _own,
    "tfprof": _tfprof,
    "timeline.py": _timeline_py,
    "Horovod": _horovod,
    "PyTorch's profiler": _pytorch,
    "the trace viewer": _viewer,
}
