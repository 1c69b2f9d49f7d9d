"""A slow, obvious reader of step_stats, on TensorFlow's own protobuf classes: one row after the other.

It computes the expected result of `tfvis_nb.read_trace` in another way: Python loops over
message objects and integers, no Arrow, no NumPy, none of the package's code.
"""

import gzip
import lzma
import re
from pathlib import Path
from statistics import median_high
from typing import Any

from google.protobuf import text_format

from tests.support.oracle_gpu import (
    THOUSAND_SECONDS,
    Row,
    align_clocks,
    devices_of_gpu_rows,
    ops_of_plain_kernels,
    plain,
    without_repeats,
)
from tests.support.oracle_places import canonical, tasks_and_blocks, where

DAY = 86_400 * 10**9


def load(path: Path) -> Any:
    """Return the StepStats in a file."""
    from tensorflow.core.framework.step_stats_pb2 import StepStats
    from tensorflow.core.protobuf.config_pb2 import RunMetadata

    data = path.read_bytes()
    if path.suffix == ".xz":
        data = lzma.decompress(data)
    elif path.suffix == ".gz":
        data = gzip.decompress(data)
    if b"dev_stats {" in data[:200]:
        text = data.decode()
        if text.lstrip().startswith("dev_stats"):
            return text_format.Parse(text, StepStats(), allow_unknown_field=True)
        return text_format.Parse(text, RunMetadata(), allow_unknown_field=True).step_stats
    return RunMetadata.FromString(data).step_stats


def read(steps: list[Any]) -> tuple[list[Row], int, int]:
    """Return the rows of some StepStats in order, how many repeat another, how many have no usable time."""
    every: list[Row] = []
    rows: list[Row] = []
    repeated = 0
    for number, step_stats in enumerate(steps):
        kept, usable, dropped = _read_step(number, step_stats)
        every += kept
        rows += usable
        repeated += dropped
    ops_of_plain_kernels(every)
    rows.sort(key=lambda row: (row["start_ns"], -row["duration_ns"]))
    return rows, repeated, len(every) - len(rows)


def nested(rows: list[Row]) -> list[Row]:
    """Return the expected nested columns of some events."""
    found = [_nested(row) for row in rows]
    for name in (
        "referenced",
        *(name for name in found[0] if name.startswith(("device_", "persistent_all"))),
    ):
        if not any(one[name] for one in found):
            found = [{key: value for key, value in one.items() if key != name} for one in found]
    for name in ("allocation_id", "single_reference", "dim_names"):
        for column in ("outputs", "referenced"):
            every = [record for one in found for record in one.get(column, [])]
            if not any(
                any(record[name]) if name == "dim_names" else record[name]
                for record in every
                if record.get(name)
            ):
                for record in every:
                    record.pop(name, None)
    return found


def _nested(row: Row) -> Row:
    node = row["_node"]
    stats = node.memory_stats if node.HasField("memory_stats") else None
    return {
        "raw_device": row["_raw_device"],
        "outputs": [_output(output.slot, output.tensor_description) for output in node.output],
        "memory": [
            {
                "allocator": used.allocator_name,
                "total_bytes": used.total_bytes,
                "peak_bytes": used.peak_bytes,
                "live_bytes": used.live_bytes,
                "in_use_bytes": used.allocator_bytes_in_use,
                "records": [
                    {"micros": r.alloc_micros, "bytes": r.alloc_bytes} for r in used.allocation_records
                ],
            }
            for used in node.memory
        ],
        "referenced": [_allocation(one) for one in node.referenced_tensor],
        "temp_bytes": stats.temp_memory_size if stats else None,
        "persistent_bytes": stats.persistent_memory_size if stats else None,
        "persistent_allocation_ids": list(stats.persistent_tensor_alloc_ids) if stats else None,
        "device_temp_bytes": stats.device_temp_memory_size if stats else None,
        "device_persistent_bytes": stats.device_persistent_memory_size if stats else None,
        "device_persistent_allocation_ids": list(stats.device_persistent_tensor_alloc_ids) if stats else None,
    }


def _output(slot: int, tensor: Any) -> Row:
    known = tensor.HasField("shape") and not tensor.shape.unknown_rank
    return {
        "slot": slot,
        "dtype": tensor.dtype,
        "shape": [dim.size for dim in tensor.shape.dim] if known else None,
        "dim_names": [dim.name for dim in tensor.shape.dim] if known else None,
        **_allocation(tensor.allocation_description),
    }


def _allocation(described: Any) -> Row:
    return {
        "requested_bytes": described.requested_bytes,
        "allocated_bytes": described.allocated_bytes,
        "allocator": described.allocator_name,
        "allocation_id": described.allocation_id,
        "single_reference": described.has_single_reference,
        "ptr": described.ptr,
    }


def _read_step(number: int, step_stats: Any) -> tuple[list[Row], list[Row], int]:
    entries = [(entry, *where(entry.device)) for entry in step_stats.dev_stats]
    rows = []
    for index, (entry, family, _, _, lane, what, gpu) in enumerate(entries):
        for node in entry.node_stats:
            row = _common(number, entry.device, node)
            row |= {
                "_entry": index,
                "_family": family,
                "_gpu": gpu,
                "_lane": lane,
            }
            if family == "gpu":
                _gpu_row(row, node, lane, what)
            elif family == "host":
                _host_row(row, node, entry.thread_names)
            else:
                _executor_row(row, node, entries[index])
            if row["scheduled_ns"] is not None and abs(row["scheduled_ns"]) > 4 * 10**18:
                row["scheduled_ns"] = None
            rows.append(row)
    kept = without_repeats(rows)
    nodes_of = [[row["_node"] for row in kept if row["_entry"] == index] for index in range(len(entries))]
    tasks, blocks = tasks_and_blocks(entries, nodes_of)
    for row in kept:
        row |= {"task": tasks[row["_entry"]], "_block": blocks[row["_entry"]]}
        if row["_family"] == "host":
            row["device"] = f"{row['task']}/device:CPU:0"
    devices_of_gpu_rows(kept)
    align_clocks(kept)
    fit = [row for row in kept if not row["_overflow"]]
    # Beside a date, 0 is a missing time.
    if any(abs(row["start_ns"]) > DAY for row in fit):
        fit = [row for row in fit if row["start_ns"] != 0]
    middle = median_high(row["start_ns"] for row in fit) if fit else 0
    usable = [row for row in fit if abs(row["start_ns"] - middle) <= DAY]
    return kept, usable, len(rows) - len(kept)


# ---------------------------------------------------------------- rows


def _common(step: int, device: str, node: Any) -> Row:
    fine = node.all_start_nanos != 0
    start = node.all_start_nanos if fine else node.all_start_micros * 1000
    length = node.all_end_rel_nanos if fine else node.all_end_rel_micros * 1000
    return {
        "step": step,
        "source": "",
        "destination": "",
        "tensor": "",
        "op": "",
        "name": node.node_name,
        "detail": node.timeline_label,
        "start_ns": start,
        "duration_ns": length if 0 <= length <= DAY else 0,
        "scheduled_ns": _gpu_scheduled(node),
        "compute_start_ns": None,
        "compute_end_ns": None,
        "thread": node.thread_id or None,
        "bytes": None,
        "_raw": (
            node.node_name,
            node.timeline_label,
            node.all_start_micros,
            node.all_end_rel_micros,
            node.scheduled_micros,
        ),
        "_raw_device": device,
        "_overflow": abs(start) > 4 * 10**18,
        "_node": node,
    }


def _gpu_scheduled(node: Any) -> int | None:
    if node.scheduled_nanos:
        return int(node.scheduled_nanos)
    micros = node.scheduled_micros
    return (micros if abs(micros) > 9 * 10**15 else micros * 1000) or None


def _executor_row(row: Row, node: Any, entry: Any) -> None:
    _, family, _, device, lane, _, _ = entry
    row |= {"device": device, "lane": lane, "kind": "op"}
    sizes = [output.tensor_description.allocation_description.requested_bytes for output in node.output]
    row["bytes"] = sum(sizes) if sizes else None
    label = node.timeline_label
    if match := re.match(r"(?:\[[^\]]*\] )*[^ ]* = ([^ (]+)\(", label):
        row["op"] = match[1]
        if _collective(match[1]):
            row["kind"] = "collective"
            row["lane"] = "collective" if family == "executor" else lane
        _executor_times(row, node)
        return
    pattern = r"\[(\d{1,15}(?:\.\d+)?)(B|MB)\] (?:\[[^\]]*b/s\] )?(.*) from ([^ ]*) to ([^ ]*)"
    match = re.fullmatch(pattern, label)
    if match is None and node.node_name not in ("RecvTensor", "RecvBuf"):
        _executor_times(row, node)
        return
    edge = re.fullmatch(r"edge_\d+_(.+)", match[3], re.DOTALL) if match else None
    row["name"] = edge[1] if edge else node.node_name
    row |= {"kind": "transfer", "op": node.node_name, "lane": "recv" if family == "executor" else lane}
    if match:
        row |= {"tensor": match[3], "source": canonical(match[4]), "destination": canonical(match[5])}
        if row["bytes"] is None:
            size = round(float(match[1]) * (1048576 if match[2] == "MB" else 1))
            row["bytes"] = size if size < 2**63 else None


def _collective(op: str) -> bool:
    if op in ("CollectiveInitializeCommunicator", "CollectiveAssignGroupV2"):
        return False
    if re.match(r"_?Nccl|Collective|Byteps", op):
        return True
    if re.match(r"Horovod(Grouped)?(Allreduce|Allgather|Broadcast|Reducescatter|Alltoall|Join)", op):
        return True
    return re.fullmatch(r"(?i)(ddl)?(allreducen?|bcast|allgather|reducescatter)", op) is not None


def _executor_times(row: Row, node: Any) -> None:
    if node.all_start_nanos:
        begin, end = node.op_start_rel_nanos, node.op_end_rel_nanos
    else:
        begin, end = node.op_start_rel_micros * 1000, node.op_end_rel_micros * 1000
    whole = node.all_end_rel_nanos if node.all_start_nanos else node.all_end_rel_micros * 1000
    longest = max(whole, end if end < DAY else 0)
    row["duration_ns"] = longest if 0 <= longest <= DAY else 0
    if 0 <= begin <= end <= row["duration_ns"]:
        row |= {"compute_start_ns": row["start_ns"] + begin, "compute_end_ns": row["start_ns"] + end}
    scheduled = row["scheduled_ns"]
    if scheduled is not None and abs(scheduled - row["start_ns"]) >= THOUSAND_SECONDS:
        nanos = node.scheduled_nanos
        true = ((nanos % 2**64) // 8 * pow(125, -1, 2**61)) % 2**61
        good = nanos and nanos % 8 == 0 and abs(true - row["start_ns"]) < THOUSAND_SECONDS
        row["scheduled_ns"] = true if good else None


def _host_row(row: Row, node: Any, thread_names: Any) -> None:
    row["kind"] = "host"
    row["lane"] = f"{dict(thread_names).get(node.thread_id, 'thread')}/{node.thread_id}"
    if match := re.fullmatch(r"([^:\s#]+):([A-Za-z_]\w*)(?:#.*)?(?:@@.*)?", node.node_name):
        row |= {"name": match[1], "op": match[2]}


def _gpu_row(row: Row, node: Any, lane: str, what: str) -> None:
    name, label = node.node_name, node.timeline_label
    row["lane"] = lane
    if label == "" and "@@" in name:
        row["detail"] = name
    what_low = what.lower()
    is_copy = what_low.startswith("memcpy") or label.lower().startswith("memcpy")
    is_copy = is_copy or (
        re.search(r"(?i)(^|:|@@)memcpy[a-z0-9]*$", name) is not None and what_low != "kernel"
    )
    if is_copy:
        _copy_row(row, what, name, label)
        return
    match = re.fullmatch(r"([^:\s#]+):([A-Za-z_]\w*)(?:#.*)?(?:@@.*)?", name)
    match = match or re.match(r"([^:\s]+):([A-Za-z_]\w*)[^ ]* regs:", label)
    if match:
        row |= {"name": match[1], "op": match[2]}
    if label.lower().startswith("memset") or name.lower().startswith("memset") or what_low == "memset":
        size = re.search(r"\b(?:size|num_bytes|bytes): ?(\d{1,18})\b", label)
        row |= {"kind": "memset", "lane": "memset", "op": "Memset", "bytes": int(size[1]) if size else None}
    elif what_low == "sync":
        row |= {"kind": "sync", "op": name}
    else:
        nccl = re.match(r"(?i)(void )?nccl", label) or re.match(r"(?i)(void )?nccl", name)
        row["kind"] = "collective" if nccl else "kernel"


def _copy_row(row: Row, what: str, name: str, label: str) -> None:
    pattern = r"(?i)memcpy_?(?:([HDAUP?])(?:2|to)([HDAUP?])|Other)"
    match = re.search(pattern, what) or re.search(pattern, label) or re.search(pattern, name)
    letters = ((match[1] or "") + (match[2] or "")).upper() if match else ""
    kind = "P2P" if "P" in letters else f"{letters[0]}2{letters[1]}" if letters else "Other" if match else ""
    size = re.search(r"\b(?:size|num_bytes|bytes): ?(\d{1,18})\b|\b(\d{1,18}) bytes\b", label)
    row |= {"kind": "memcpy", "op": f"Memcpy{kind}", "lane": f"memcpy {kind}".strip()}
    row["bytes"] = int(size[1] or size[2]) if size else None
    peer = re.search(r"\b(?:dest|destination|to device): ?(\d+)", label)
    row["_ends"] = (letters, int(peer[1]) if peer and kind == "P2P" else None)
    text = name.partition("@@")[0]
    if re.match(pattern, text) and " num_bytes:" in label:
        text = label.partition(" num_bytes:")[0]
    elif re.search(r"(?i):memcpy[^:]*$", text) and re.match(pattern, text.rpartition(":")[2]):
        text = text.rpartition(":")[0]
    node = ""
    for frame in (part.partition("#")[0] for part in text.split("::")):
        if edge := re.fullmatch(r"edge_\d+_(.+)", frame):
            row["tensor"] = frame
            node = node or edge[1]
        elif parts := re.fullmatch(r"([^:\s]+):([A-Za-z_]\w*)", frame):
            if not node and parts[2] in ("_Send", "_Recv", "_HostSend", "_HostRecv"):
                row["tensor"] = row["tensor"] or plain(parts[1])
            node = node or parts[1]
        else:
            node = node or frame
    row["name"] = node or name
