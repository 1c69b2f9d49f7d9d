"""GPU rows of a whole step, as the oracle sees them: whose they are, which repeat others, their clock."""

import heapq
import re
from collections import Counter
from statistics import median
from typing import Any

Row = dict[str, Any]
THOUSAND_SECONDS = 10**12


def plain(name: str) -> str:
    match = re.fullmatch(r"(.+?)(?:/_\d+|_S\d+)", name)
    return match[1] if match else name


# ---------------------------------------------------------------- passes over a step


def without_repeats(rows: list[Row]) -> list[Row]:
    """Drop a row of an aggregate lane for each equal row of another lane."""
    available: Counter[Any] = Counter()
    for row in rows:
        if row["_family"] == "gpu" and row["_lane"] not in ("memcpy", "stream:all", "sync"):
            available[row["_raw"]] += 1
    kept = []
    for row in rows:
        key = row["_raw"]
        if row["_family"] == "gpu" and row["_lane"] in ("memcpy", "stream:all") and available[key]:
            available[key] -= 1
        else:
            kept.append(row)
    return kept


def devices_of_gpu_rows(rows: list[Row]) -> None:
    gpu_rows = [row for row in rows if row["_family"] == "gpu"]
    for row in gpu_rows:
        row["device"] = f"{row['task']}/device:GPU:{row['_gpu']}"
    for task in {row["task"] for row in gpu_rows} - {""}:
        group = [row for row in gpu_rows if row["task"] == task]
        ops = [
            row
            for row in rows
            if row["_family"] == "executor" and row["task"] == task and "/device:GPU:" in row["device"]
        ]
        if {row["device"] for row in ops} - {row["device"] for row in group}:
            _split_logical(group, ops)
    for row in gpu_rows:
        if row["kind"] == "memcpy":
            letters, peer = row["_ends"]
            host = f"{row['task']}/device:CPU:0"
            ends = [host if letter == "H" else row["device"] for letter in letters] or ["", ""]
            row |= {"source": ends[0], "destination": ends[1]}
            if peer is not None:
                row["destination"] = f"{row['task']}/device:GPU:{peer}"


def _split_logical(group: list[Row], ops: list[Row]) -> None:
    ran: dict[str, set[str]] = {}
    used: dict[str, set[str]] = {}
    for op in ops:
        ran.setdefault(op["name"], set()).add(op["device"])
        if match := re.search(r"(?s) = [^ (]+\((.*)\)$", op["detail"]):
            for text in match[1].split(", "):
                node = text.lstrip("^").split(":")[0]
                if plain(node) != node:
                    used.setdefault(plain(node), set()).add(op["device"])
    lanes: dict[str, Counter[str]] = {}
    for row in group:
        for name in (row["name"], plain(row["name"])):
            choices = [where[name] for where in (ran, used) if len(where.get(name, ())) == 1]
            if choices:
                (row["_told"],) = choices[0]
                lanes.setdefault(row["_raw_device"], Counter())[row["_told"]] += 1
                break
    for row in group:
        votes = lanes.get(row["_raw_device"])
        if "_told" in row:
            row["device"] = row["_told"]
        elif votes:
            row["device"] = min(votes, key=lambda device: (-votes[device], device))


def ops_of_plain_kernels(rows: list[Row]) -> None:
    known: dict[str, str] = {}
    for row in rows:
        if row["_family"] in ("executor", "unknown"):
            known.setdefault(row["name"], row["op"])
    for row in rows:
        if row["_family"] == "gpu" and row["kind"] == "kernel" and not row["op"]:
            row["op"] = known.get(row["name"], "")


def align_clocks(rows: list[Row]) -> None:
    for block in {row["_block"] for row in rows if row["_family"] == "gpu"}:
        group = [row for row in rows if row["_family"] == "gpu" and row["_block"] == block]
        task = group[0]["task"]
        group = [row for row in group if row["task"] == task and not row["_overflow"]]
        if not group:
            continue
        ops = [
            r for r in rows if r["compute_start_ns"] is not None and r["task"] == task and not r["_overflow"]
        ]
        launched = [row for row in group if row["scheduled_ns"] is not None]
        apart = (
            bool(launched)
            and abs(median(row["start_ns"] - row["scheduled_ns"] for row in launched)) >= THOUSAND_SECONDS
        )
        if not ops:
            for row in launched if apart else ():
                row["scheduled_ns"] = None
            continue
        foreign = (
            abs(median(r["start_ns"] for r in group) - median(r["start_ns"] for r in ops)) >= THOUSAND_SECONDS
        )
        if not foreign and not apart:
            continue
        runs: dict[str, list[Row]] = {}
        for row in rows:
            if row["_family"] in ("executor", "unknown") and row["task"] == task:
                runs.setdefault(row["name"], []).append(row)
        pairs = [
            (row, runs[row["name"]][0])
            for row in group
            if row["kind"] in ("kernel", "collective") and len(runs.get(row["name"], ())) == 1
        ]
        pairs = [(row, op) for row, op in pairs if op["compute_start_ns"] is not None and not op["_overflow"]]
        windows = [
            (op["compute_start_ns"] - row["scheduled_ns"] - 999, op["compute_end_ns"] - row["scheduled_ns"])
            for row, op in pairs
            if row["scheduled_ns"] is not None
        ]
        offset = None
        if windows and not (foreign and apart):
            low, high = _densest(windows)
            if not foreign:
                latest = min(row["start_ns"] - row["scheduled_ns"] for row in launched)
                high = latest if low <= latest < high else high
            offset = low + (high - low) // 2
        _shift(group, ops, pairs, offset, foreign=foreign, apart=apart)


def _densest(windows: list[tuple[int, int]]) -> tuple[int, int]:
    """Walk the windows by their lower ends with a heap of the upper ends of those still open."""
    most, best = 0, (0, 0)
    still_open: list[int] = []
    for low, high in sorted(windows):
        heapq.heappush(still_open, high)
        while still_open[0] < low:
            heapq.heappop(still_open)
        if len(still_open) > most:
            most, best = len(still_open), (low, still_open[0])
    return best


def _shift(
    group: list[Row], ops: list[Row], pairs: list[Any], offset: int | None, *, foreign: bool, apart: bool
) -> None:
    drop = offset is None and (apart or not foreign)
    if offset is None:
        if pairs:
            offset = max(op["compute_start_ns"] - row["start_ns"] for row, op in pairs)
        else:
            offset = min(row["start_ns"] for row in ops) - min(row["start_ns"] for row in group)
    for row in group:
        if foreign:
            row["start_ns"] += offset
        if row["scheduled_ns"] is not None:
            row["scheduled_ns"] = None if drop else row["scheduled_ns"] + offset
