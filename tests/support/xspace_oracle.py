"""A slow, obvious reader of XSpaces, on TensorFlow's own protobuf classes: one event after the other.

It computes the expected result of `tfvis_nb.read_trace` in another way: Python loops over
message objects, no Arrow, no NumPy, none of the package's code.
"""

import gzip
import lzma
import re
from collections import Counter
from pathlib import Path
from typing import Any

Row = dict[str, Any]

DERIVED = {
    "Steps",
    "Framework Ops",
    "TensorFlow Ops",
    "Framework Name Scope",
    "TensorFlow Name Scope",
    "XLA Modules",
    "XLA Ops",
    "Async XLA Ops",
    "Launch Stats",
    "Source code",
    "Source",
}
UNSAID = {
    *("_pt", "_p", "_ct", "_c", "_r", "_src", "correlation_id", "group_id", "scope_range_id", "context_id"),
    *("device_id", "id", "parent_id", "addr"),
    *("bytes_allocated", "bytes_available", "peak_bytes_in_use", "fragmentation"),
}
COLLECTIVE = re.compile(r"_?Nccl|Collective(?!InitializeCommunicator|AssignGroup)|Horovod(?:Grouped)?All")


def load(path: Path) -> Any:
    """Return the XSpace in a file."""
    from tensorflow.tsl.profiler.protobuf.xplane_pb2 import XSpace

    data = path.read_bytes()
    if path.suffix == ".xz":
        data = lzma.decompress(data)
    elif path.suffix == ".gz":
        data = gzip.decompress(data)
    return XSpace.FromString(data)


def read(space: Any, *, threadpool: bool = False) -> list[Row]:
    """Return the rows of an XSpace, ordered."""
    began = _began(space)
    rows = []
    for number, plane in enumerate(space.planes):
        names = {key: value.name for key, value in plane.stat_metadata.items()}
        streams = plane.name.startswith("/device:GPU") and any(_stream(line) for line in plane.lines)
        for place, line in enumerate(plane.lines):
            name = line.display_name or line.name
            if streams and name in DERIVED:
                continue
            for event in line.events:
                row = _row(plane, line, event, names)
                row["_thread"] = (number, place) if plane.name.startswith("/host:") else None
                rows.append(row)
    _link(rows)
    _give_steps(rows)
    _name_eager_ops(rows)
    if not threadpool:
        rows = [row for row in rows if not row["_name"].startswith("ThreadpoolListener::")]
    for row in rows:
        row["start_ns"] += began
        if row["scheduled_ns"] is not None:
            row["scheduled_ns"] += began
    rows.sort(key=lambda row: (row["start_ns"], -row["duration_ns"]))
    return rows


def sums(space: Any) -> dict[str, tuple[int, int]]:
    """Return the events and their total duration in ns of each line of each plane that repeats no other."""
    counts: Counter[str] = Counter()
    durations: Counter[str] = Counter()
    for plane in space.planes:
        streams = plane.name.startswith("/device:GPU") and any(_stream(line) for line in plane.lines)
        for line in plane.lines:
            name = line.display_name or line.name
            if streams and name in DERIVED:
                continue
            for event in line.events:
                counts[f"{plane.name}/{name}"] += 1
                durations[f"{plane.name}/{name}"] += (
                    line.timestamp_ns + (event.offset_ps + event.duration_ps) // 1000
                ) - (line.timestamp_ns + event.offset_ps // 1000)
    return {name: (count, durations[name]) for name, count in counts.items()}


def _began(space: Any) -> int:
    for plane in space.planes:
        if plane.name == "Task Environment":
            for stat in plane.stats:
                if plane.stat_metadata[stat.metadata_id].name == "profile_start_time":
                    return int(stat.uint64_value or stat.int64_value)
    return 0


def _stream(line: Any) -> bool:
    return str(line.display_name or line.name).startswith("Stream #")


def _value(stat: Any, names: dict[int, str]) -> Any:
    which = stat.WhichOneof("value")
    value = getattr(stat, which) if which else 0
    return names.get(value, "") if which == "ref_value" else value


def _row(plane: Any, line: Any, event: Any, names: dict[int, str]) -> Row:
    metadata = plane.event_metadata[event.metadata_id]
    stats = [(names.get(stat.metadata_id, ""), _value(stat, names)) for stat in event.stats]
    first = dict(reversed(stats))
    start = line.timestamp_ns + event.offset_ps // 1000
    end = line.timestamp_ns + (event.offset_ps + event.duration_ps) // 1000
    row: Row = {
        "raw_device": f"{plane.name}/{line.display_name or line.name}",
        "start_ns": start,
        "duration_ns": end - start,
        "scheduled_ns": None,
        "bytes": None,
        "detail": "",
        "_name": metadata.name,
        "_stats": dict(stats),
        "_line": line.display_name or line.name,
    }
    if plane.name.startswith("/host:"):
        _host(row, metadata, stats)
    elif plane.name.startswith("/device:GPU") and _stream(line):
        _gpu(row, first)
    else:
        about = {names.get(stat.metadata_id, ""): _value(stat, names) for stat in metadata.stats}
        row["name"] = metadata.display_name or metadata.name.split(" = ")[0].lstrip("%")
        row["op"] = about.get("hlo_category") or _class_of(row["name"])
        row["kind"] = None
        row["detail"] = None
    return row


def _class_of(name: str) -> str:
    head = name.lstrip("%")
    for mark in ("#", ": ", " ", "(", "[", "/"):
        head = head.split(mark)[0]
    # The 2 of DatasetV2 is a version.
    return re.sub(r"[.:_]?\d+", lambda m: m[0] * bool(re.search("[a-z]V$", head[: m.start()])), head) or name


def _host(row: Row, metadata: Any, stats: list[tuple[str, Any]]) -> None:
    name = metadata.name
    row["detail"] = " ".join(f"{key}={_written(value)}" for key, value in stats if key not in UNSAID)
    node, colon, rest = name.partition(":")
    op = rest.split("#")[0]
    named = dict(stats)
    row["kind"] = "host"
    if name.startswith("$"):
        row["name"], row["op"] = name[1:], "python"
    elif (
        colon
        and node != "ThenExecuteCallback"
        and not re.search(r"[\s#]", node)
        and re.fullmatch("[A-Z_][A-Za-z_0-9]*", op)
    ):
        row["name"], row["op"] = node, op
        row["kind"] = "collective" if COLLECTIVE.match(op) else "op"
    elif metadata.display_name.startswith("Iterator::"):
        row["name"], row["op"] = name, metadata.display_name
    else:
        row["name"], row["op"] = name, _class_of(name)
    if "correlation_id" in named:
        row["name"], row["op"] = _without_arguments(name), "launch"
    if "hlo_op" in named:
        row["kind"], row["op"] = "op", _class_of(name)
    if name.startswith("MemoryAllocation"):
        row["bytes"] = named["allocation_bytes"]


def _written(value: Any) -> str:
    if isinstance(value, float):
        return "0" if value == 0 else repr(value).removesuffix(".0")
    return value.decode() if isinstance(value, bytes) else str(value)


def _without_arguments(name: str) -> str:
    """Return a kernel's name up to its template arguments or parameters."""
    depth, short = 0, ""
    for letter in name:
        depth += letter == "<"
        if depth == 0:
            short += letter
        depth -= letter == ">" and depth > 0
    short = short.removeprefix("void ").removeprefix("static ").removeprefix("inline ")
    return short.replace("(anonymous namespace)::", "").split("(")[0].strip() or name


def _gpu(row: Row, stats: dict[str, Any]) -> None:
    name = row["_name"]
    said = next((value for key, value in stats.items() if key.lower().endswith("_details")), "")
    row["detail"] = f"{name} {said}".strip()
    note = stats.get("tf_op") or stats.get("level 0") or stats.get("annotation") or ""
    size = re.search(r"size:(\d+)|num_bytes:(\d+)", said)
    row["kind"] = "kernel"
    if name.lower().startswith("memcpy"):
        row["kind"], row["op"] = "memcpy", name
        row["bytes"] = int(size[1] or size[2]) if size else None
        frames = note.split("::")
        row["name"] = re.sub(":[A-Za-z_0-9]*$", "", frames[0].split("#")[0]) or name
    elif name.lower().startswith("memset"):
        row["kind"], row["op"] = "memset", "Memset"
        row["bytes"] = int(size[1] or size[2]) if size else None
    elif re.match("(void )?nccl", name, re.IGNORECASE):
        row["kind"] = "collective"
    if row["kind"] != "memcpy":
        annotated = re.fullmatch(r"([^:\s#]+):([A-Za-z_]\w*)(#.*)?", note, re.DOTALL)
        hlo = stats.get("hlo_op", "")
        plain = hlo if hlo and not hlo.startswith("command_buffer") else _without_arguments(name)
        row["name"] = annotated[1] if annotated else plain
        row.setdefault("op", annotated[2] if annotated else _class_of(plain))


def _name_eager_ops(rows: list[Row]) -> None:
    """Make ops of eager executions that are no functions and contain no row of that op."""
    for row in rows:
        op = row["_name"].removeprefix("EagerLocalExecute: ")
        if not row["_thread"] or op == row["_name"] or not re.fullmatch("_?[A-Z][A-Za-z0-9_>]*", op):
            continue
        thread = [other for other in rows if other["_thread"] == row["_thread"]]
        around = [other for other in thread if "is_func" in other["_stats"] and _holds(other, row)]
        around.sort(key=lambda other: (other["start_ns"], -other["duration_ns"]))
        function = any(other["_stats"]["is_func"] for other in around[-1:]) or re.fullmatch(".*_[0-9]+", op)
        twice = any(other["op"] == op and other["kind"] != "host" and _holds(row, other) for other in thread)
        if not function and not twice:
            row["detail"] = f"{row['_name']} {row['detail']}".strip()
            row["name"], row["op"] = op, op
            row["kind"] = "collective" if COLLECTIVE.match(op) else "op"


def _holds(outer: Row, inner: Row) -> bool:
    end, inner_end = (row["start_ns"] + row["duration_ns"] for row in (outer, inner))
    return bool(outer is not inner and outer["start_ns"] <= inner["start_ns"] and inner_end <= end)


def _link(rows: list[Row]) -> None:
    """Give kernels and copies the time at which the host launched them."""
    launches: dict[int, Row] = {}
    for row in rows:
        if row["_thread"] and "correlation_id" in row["_stats"]:
            launches.setdefault(row["_stats"]["correlation_id"], row)
    for row in rows:
        row["_launch"] = None
        if not row["_thread"] and "correlation_id" in row["_stats"]:
            row["_launch"] = launches.get(row["_stats"]["correlation_id"])
            row["scheduled_ns"] = row["_launch"]["start_ns"] if row["_launch"] else None


def _give_steps(rows: list[Row]) -> None:
    """Give each row its step: from marks to what lies in them and to what other threads took up."""
    for row in rows:
        row["step"] = -1
    if any("group_id" in row["_stats"] for row in rows):
        first: dict[int, int] = {}
        on_device = {row["_stats"].get("group_id") for row in rows if not row["_thread"]} - {None}
        for row in sorted(rows, key=lambda row: int(row["start_ns"])):
            if "group_id" in row["_stats"] and (row["_stats"]["group_id"] in on_device or not on_device):
                first.setdefault(row["_stats"]["group_id"], len(first))
        for row in rows:
            row["step"] = first.get(row["_stats"].get("group_id"), -1)
        return
    threads: dict[tuple[int, int], list[Row]] = {}
    for row in rows:
        if row["_thread"]:
            threads.setdefault(row["_thread"], []).append(row)
    for thread in threads.values():
        thread.sort(key=lambda row: (row["start_ns"], -row["duration_ns"]))
        for place, row in enumerate(thread):
            row["_place"], row["_on"] = place, thread
    seeds = _marks(rows)
    if not seeds:
        for row in rows:
            row["step"] = 0
        return
    producers: dict[tuple[int, int], Row] = {}
    for row in rows:
        if row["_thread"] and "_p" in row["_stats"]:
            producers.setdefault((row["_stats"].get("_pt", -1), row["_stats"]["_p"] % 2**64), row)
    consumers = [row for row in rows if row["_thread"] and "_c" in row["_stats"]]
    while seeds:
        for row in rows:
            row["_new"] = -1
        # Of two ranges one lies within the other, so the later one is the inner one.
        for seed, step in sorted(seeds, key=lambda pair: (pair[0]["_place"], -len(_within(pair[0])))):
            for row in _within(seed):
                row["_new"] = step
        for row in rows:
            row["step"] = row["_new"] if row["step"] < 0 else row["step"]
        seeds = []
        for row in consumers:
            key = (row["_stats"].get("_ct", -1), row["_stats"]["_c"] % 2**64)
            if row["step"] < 0 and key in producers and producers[key]["step"] >= 0:
                seeds.append((row, producers[key]["step"]))
    for row in rows:
        if row["_launch"]:
            row["step"] = row["_launch"]["step"]


def _within(seed: Row) -> list[Row]:
    """Return an event, the events inside it, and the events of the work that a thread takes up with it."""
    thread, place = seed["_on"], seed["_place"]
    end = seed["start_ns"] + seed["duration_ns"]
    last = place + 1
    while last < len(thread) and thread[last]["start_ns"] < end:
        last += 1
    if seed["_name"] == "ThreadpoolListener::StartRegion":
        stops = [row["_place"] for row in thread[place:] if row["_name"] == "ThreadpoolListener::StopRegion"]
        last = max(last, stops[0] + 1 if stops else len(thread))
    return list(thread[place:last])


def _marks(rows: list[Row]) -> list[tuple[Row, int]]:
    """Return the rows that are steps, numbered by start."""
    marked = [row for row in rows if row["_thread"] and "step_num" in row["_stats"]]
    inner = [row for row in marked if not any(other in marked for other in _within(row)[1:])]
    chosen = inner or _outer([row for row in rows if row["_thread"] and "tf_function_call" in row["_stats"]])
    if not chosen:
        runs = [
            row
            for row in rows
            if row["_name"] in ("FunctionRun", "SessionRun") and not row["_line"].startswith("tf_data_")
        ]
        calls = [row for row in rows if row["_name"] == "KernelAndDeviceFunc::Run"]
        chosen = [row for row in _outer(runs + calls) if any(run in _within(row) for run in runs)]
    chosen.sort(key=lambda row: int(row["start_ns"]))
    return [(row, step) for step, row in enumerate(chosen)]


def _outer(rows: list[Row]) -> list[Row]:
    """Return the rows that lie in no other one of them."""
    identities = {id(row) for row in rows}
    inside = {id(other) for row in rows for other in _within(row)[1:] if id(other) in identities}
    return [row for row in rows if id(row) not in inside]
