"""Memory as an obvious, slow reader finds it, on TensorFlow's own protobuf classes: record by record."""

from collections import defaultdict
from typing import Any

Where = tuple[int, str, str]
"""Step, task, allocator."""

Curve = list[tuple[int, int]]
"""Epoch nanoseconds, and bytes from then on."""

_NAMES = ("allocator_name", "index_on_host")


def of_steps(rows: list[dict[str, Any]]) -> dict[Where, Curve]:
    """Add up every allocation record of the rows of `tests.support.oracle.read`."""
    changes: dict[Where, dict[int, int]] = defaultdict(lambda: defaultdict(int))
    for row in rows:
        for used in row["_node"].memory:
            for record in used.allocation_records:
                where = row["step"], row["task"], used.allocator_name
                changes[where][record.alloc_micros * 1000] += record.alloc_bytes
    curves = {}
    for where, at in changes.items():
        level = 0
        curve = []
        for time in sorted(at):
            level += at[time]
            curve.append((time, level))
        curves[where] = curve
    return curves


def of_profile(space: Any, stat_name: str = "bytes_allocated") -> dict[Where, Curve]:
    """Take a stat of every allocation event of an XSpace, the last at each nanosecond."""
    rows_of_stats = []
    for plane in space.planes:
        about = {
            key
            for key, value in plane.event_metadata.items()
            if value.name in ("MemoryAllocation", "MemoryDeallocation")
        }
        names = {key: value.name for key, value in plane.stat_metadata.items()}
        wanted = {key: name for key, name in names.items() if name in (*_NAMES, stat_name)}
        for line in plane.lines:
            for event in line.events:
                if event.metadata_id not in about:
                    continue
                stats = {
                    wanted[stat.metadata_id]: _value(stat, names)
                    for stat in event.stats
                    if stat.metadata_id in wanted
                }
                time = line.timestamp_ns + event.offset_ps // 1000
                allocator = stats.get("allocator_name") or f"device {stats['index_on_host']}"
                rows_of_stats.append((time, allocator, stats[stat_name]))
    curves: dict[Where, Curve] = defaultdict(list)
    for time, allocator, level in sorted(rows_of_stats, key=lambda row: row[0]):
        curve = curves[-1, "", allocator]
        if curve and curve[-1][0] == time:
            curve.pop()
        curve.append((time, level))
    return dict(curves)


def _value(stat: Any, names: dict[int, str]) -> Any:
    kind = stat.WhichOneof("value")
    return names[stat.ref_value] if kind == "ref_value" else getattr(stat, kind)
