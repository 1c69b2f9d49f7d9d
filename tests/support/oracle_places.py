"""Names of devices in step_stats, as the oracle sees them: whose rows they hold, and on which lane."""

import re
from collections import Counter
from typing import Any


def where(device: str) -> tuple[str, str, str, str, str, int]:
    """Return family, task, device, lane, content of the lane, GPU number."""
    if match := re.fullmatch(
        r"(?i)/gpu:(\d+) \(.*\)/context#(\d+)/(?:stream#(\d+)|null stream)(?::(\w+))?", device
    ):
        lane = f"stream:{match[3]}" if match[3] else "null stream"
        lane = lane if match[2] == "0" else f"context:{match[2]} {lane}"
        return "gpu", "", "", lane, match[4] or "", int(match[1])
    job = r"(/job:[^/]+(?:/replica:\d+)?(?:/task:\d+)?)"
    if match := re.fullmatch(rf"(?i){job}?/(?:device:)?gpu:(\d+)/(memcpy|sync|stream:all)", device):
        return "gpu", match[1] or "", "", match[3].lower(), match[3].lower(), int(match[2])
    if match := re.fullmatch(rf"(?i){job}?/(?:device:)?gpu:(\d+)/stream:([^<]*)(?:<(\w*)>)?", device):
        return "gpu", match[1] or "", "", f"stream:{match[3]}", match[4] or "", int(match[2])
    if match := re.fullmatch(rf"{job}?/host:CPU", device):
        return "host", match[1] or "", "", "host", "", -1
    if match := re.fullmatch(rf"{job}/(?:device:)?([A-Za-z_]+):(\d+)(?:/(.+))?", device):
        name = f"{match[1]}/device:{match[2].upper()}:{match[3]}"
        if match[4]:
            return "unknown", match[1], name, match[4], "", -1
        return "executor", match[1], name, "ops", "", int(match[3]) if match[2].upper() == "GPU" else -1
    return "unknown", "", "", device, "", -1


def tasks_and_blocks(entries: list[Any], nodes_of: list[list[Any]]) -> tuple[list[str], list[int]]:
    """Return for each entry its task and block; see the rule of blocks in the semantics.

    `nodes_of` has the nodes of each entry that repeat no other.
    """
    tasks = [task for _, _, task, *_ in entries]
    blocks = [-1] * len(entries)
    before, block, pending = "", 0, []
    for index, (_, family, task, *_) in enumerate(entries):
        if family in ("gpu", "host") and not task:
            pending.append(index)
            blocks[index] = block
        elif task:
            for member in pending:
                tasks[member] = task
            block += 1
            pending, before = [], task
    for member in pending:
        tasks[member] = before
    ran: dict[str, set[str]] = {}
    for (_, family, task, *_), nodes in zip(entries, nodes_of, strict=True):
        if family == "executor":
            ran.setdefault(task, set()).update(node.node_name.partition(":")[0] for node in nodes)
    for block in {b for b in blocks if b >= 0} if len(ran) > 1 else ():
        members = [index for index in range(len(entries)) if blocks[index] == block]
        nodes = [node for index in members for node in nodes_of[index]]
        said = Counter(
            re.match(r"/job:[^/]+(?:/replica:\d+)?(?:/task:\d+)?", match[1])[0]  # type: ignore[index]
            for node in nodes
            for text in (node.timeline_label, node.node_name)
            if (match := re.search(r"device=(/job:[^,#]+)", text))
        )
        names = {node.node_name.partition(":")[0] for node in nodes} - {"_SOURCE"}
        scores = {task: len(names & ran[task]) for task in sorted(ran)}
        best = max(scores, key=lambda task: scores[task])
        for member in members:
            if said:
                tasks[member] = said.most_common(1)[0][0]
            elif scores[best] > scores.get(tasks[member], 0):
                tasks[member] = best
    # One tracer writes all lanes of a task.
    order = sorted({tasks[index] for index, block in enumerate(blocks) if block >= 0})
    return tasks, [order.index(tasks[index]) if block >= 0 else -1 for index, block in enumerate(blocks)]


def canonical(device: str) -> str:
    family, _, name, *_ = where(device)
    return name if family == "executor" else device
