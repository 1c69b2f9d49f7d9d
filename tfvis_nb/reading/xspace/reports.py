"""Reports of an XSpace other than events: errors of the profiler, and GPU work without GPU rows."""

import re
from collections.abc import Callable, Sequence

import numpy as np

from tfvis_nb.kinds import COPIES, KERNELS, KINDS
from tfvis_nb.reading.protobuf import wire
from tfvis_nb.reading.protobuf.wire import Data
from tfvis_nb.reading.xspace.planes import Plane
from tfvis_nb.reading.xspace.rows import Coded
from tfvis_nb.reading.xspace.table import LineRows
from tfvis_nb.texts import Text

GPU = re.compile(r"/device:GPU:\d+", re.IGNORECASE)
"""Matches the names of planes of GPUs."""

_FIELDS = {2: "profiler_errors", 3: "profiler_warnings"}
_MOST_LISTED, _LONGEST = 8, 400
_COMPUTING = [KINDS.index(kind) for kind in KERNELS]
_COPYING = [KINDS.index(kind) for kind in COPIES]
_ABOUT_CUPTI = re.compile(r"cupti", re.IGNORECASE)
_ABOUT_GPU = re.compile(r"cupti|cuda|gpu", re.IGNORECASE)
# CUPTI names the launch of a kernel like the kernel; driver calls and copies have their own names.
_NO_KERNEL = re.compile(r"cu(?:da)?(?!\w*Launch)[A-Z]|[Mm]em(?:cpy|set|ory)")
_IN_GPU = re.compile(r"(?:^| )allocator_name=GPU_\d")


def reports(data: Data, planes: Sequence[Plane], parts: Sequence[LineRows]) -> list[Text]:
    """Return notes on the profiler's reports, and on kernels that ran but were not recorded."""
    notes = _profiler_reports(data)
    if (missing := _missing_kernels(planes, parts, reported=_reported_gpu(data))) is not None:
        notes.append(missing)
    return notes


def nothing_recorded(data: Data, label: str) -> Text:
    """Return the message for an XSpace without events, with what the profiler reported."""
    reported = _profiler_reports(data)
    if _reported_gpu(data):
        reported.append(Text("why_no_kernels"))
    said = "".join(f"; {one}" for one in reported)
    return Text("xspace_without_events", label=label, reported=said)


def _profiler_reports(data: Data) -> list[Text]:
    notes = []
    messages = _messages(data)
    for number, key in _FIELDS.items():
        if texts := list(dict.fromkeys(messages[number])):
            listed = "; ".join(text[:_LONGEST] for text in texts[:_MOST_LISTED])
            notes.append(Text(key, messages=listed))
    return notes


def _messages(data: Data) -> dict[int, list[str]]:
    messages: dict[int, list[str]] = {number: [] for number in _FIELDS}
    for part in wire.fields(data):
        if part.number in messages and part.wire_type == wire.LENGTH:
            messages[part.number].append(wire.text(bytes(data[part.start : part.end])))
    return messages


def _reported_gpu(data: Data) -> bool:
    """Return whether the profiler reported an error of the GPU, or warned about CUPTI."""
    errors, warnings = _messages(data).values()
    return any(map(_ABOUT_GPU.search, errors)) or any(map(_ABOUT_CUPTI.search, warnings))


def _missing_kernels(planes: Sequence[Plane], parts: Sequence[LineRows], *, reported: bool) -> Text | None:
    """Return a note if kernels evidently ran, or the profiler `reported` a failure, but none was recorded."""
    hosts = [part.rows for part in parts if part.plane.name.startswith("/host:")]
    devices = [part.rows for part in parts if part.plane.name.startswith("/device:")]
    if any(np.isin(rows.kind, _COMPUTING).any() for rows in devices):
        return None
    launches = [rows.name.take(rows.marks["launch"].rows) for rows in hosts]
    if kernels := sum(_count(names, lambda name: not _NO_KERNEL.match(name)) for names in launches):
        return Text("profile_without_kernels", why=Text("kernels_launched", kernels=kernels))
    # Copies alone also cause the signs below.
    if any(np.isin(rows.kind, _COPYING).any() for rows in devices):
        return None
    allocations = [rows.detail.take(np.flatnonzero(rows.size_bytes >= 0)) for rows in hosts]
    if tensors := sum(_count(details, lambda text: bool(_IN_GPU.search(text))) for details in allocations):
        return Text("profile_without_kernels", why=Text("gpu_memory_allocated", tensors=tensors))
    if reported:
        return Text("profile_without_kernels", why=Text("gpu_profiling_failed"))
    empty = dict.fromkeys(plane.name[:_LONGEST] for plane in planes if GPU.fullmatch(plane.name))
    return Text("gpu_planes_empty", planes=", ".join([*empty][:_MOST_LISTED])) if empty else None


def _count(column: Coded, wanted: Callable[[str], bool]) -> int:
    """Count the rows with a wanted text in a column."""
    used, rows = np.unique(column.codes, return_counts=True)
    return sum(
        count for code, count in zip(used.tolist(), rows.tolist(), strict=True) if wanted(column.texts[code])
    )
