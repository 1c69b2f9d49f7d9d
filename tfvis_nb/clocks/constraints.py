"""Bounds on the difference of two tasks' clocks: shared collectives and sent tensors."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from tfvis_nb.core.devices import task_of
from tfvis_nb.core.row_numbers import number_rows
from tfvis_nb.core.tensor_senders import NumberedEvents
from tfvis_nb.core.trace import Trace
from tfvis_nb.events import NO_STEP

_PROCESS_GROUP = r"(Process Group (?:Name=\S+|Ranks=\[[^\]]*\]))"


@dataclass
class Evidence:
    """Bounds on the differences of clocks.

    - `most`: ``most[a, b]`` is the most by which the clock of task a can be ahead of that of task b (float64
      ns, infinite if unknown).
    - `counts`: The number of facts about each task (int64).
    - `leaving`: How much later each task leaves collectives than the first task, by its own clock: the median
      (float64 ns, NaN if they shared none).
    """

    most: np.ndarray
    counts: np.ndarray
    leaving: np.ndarray


def collectives(trace: Trace, tasks: list[str]) -> Evidence:
    """Bound clocks by collectives: each rank leaves after all ranks have entered."""
    events = trace.events
    limits = np.full((len(tasks), len(tasks)), np.inf)
    blank = Evidence(limits, np.zeros(len(tasks), np.int64), np.full(len(tasks), np.nan))
    rows = np.flatnonzero(recorded_collectives(events))
    if not len(rows):
        return blank
    shared = _instances(trace, rows, tasks)
    origin = int(events["start_ns"].iloc[0])
    start = events["start_ns"].to_numpy()[shared["row"]] - origin
    end = start + events["duration_ns"].to_numpy()[shared["row"]]
    group, task = shared["group"], shared["task"]
    ranks = np.bincount(group)
    # Groups are numbered in order of appearance: sorted by group and task, those of k ranks are blocks of k
    # rows.
    order = np.lexsort((task, group))
    order = order[ranks[group[order]] > 1]
    if not len(order):
        return blank
    group, task, start, end = group[order], task[order], start[order], end[order]
    flat = limits.reshape(-1)
    for size in np.unique(ranks[group]).tolist():
        block = np.flatnonzero(ranks[group] == size).reshape(-1, size)
        tasks_of, entered = task[block], start[block]
        for index in range(size):
            room = end[block[:, [index]]] - entered
            pair = tasks_of[:, [index]] * len(tasks) + tasks_of
            np.minimum.at(flat, pair.reshape(-1), room.reshape(-1).astype(np.float64))
    first = np.full(len(ranks), np.nan)
    of_first = task == 0
    first[group[of_first]] = end[of_first]
    leaving = pd.Series(end - first[group]).groupby(task).median().reindex(range(len(tasks))).to_numpy()
    np.fill_diagonal(limits, np.inf)
    return Evidence(limits, np.bincount(task, minlength=len(tasks)), leaving)


def recorded_collectives(events: pd.DataFrame) -> np.ndarray:
    """Return a mask of the rows that show when ranks enter and leave collectives.

    These are ops, because a kernel starts only when its stream reaches it, by the clock of its GPU. Where no
    op waits for its collective, as in PyTorch and JAX, the kernels themselves wait for the other ranks.
    """
    lane = events["lane"].cat
    stream = np.array([str(name).startswith("stream") for name in lane.categories] + [False])
    chosen = (events["kind"] == "collective").to_numpy()
    ops = chosen & ~stream[lane.codes.to_numpy()]
    return ops if ops.any() else chosen


def process_groups(events: pd.DataFrame) -> pd.Series:
    """Return the ranks that take part in each collective, as PyTorch records them; empty if unknown."""
    return events["detail"].astype(object).str.findall(_PROCESS_GROUP).map(" ".join)


def _instances(trace: Trace, rows: np.ndarray, tasks: list[str]) -> dict[str, np.ndarray]:
    """Match collectives: return group, task and row, once for each rank.

    The source may number them; otherwise they have the same name in the same step, and the k-th of a task
    matches the k-th of the others if all have the same number.
    """
    events = trace.events
    table = pd.DataFrame(
        {
            "row": rows,
            "task": task_indexes(events["task"], tasks)[rows],
            "step": events["step"].to_numpy()[rows],
            "name": events["name"].to_numpy()[rows],
        }
    )
    if trace.nested is not None and "instance" in trace.nested.column_names:
        instance = trace.nested["instance"].to_pandas().to_numpy()[rows]
        numbered = ~pd.isna(instance)
        table.loc[numbered, "name"] = [str(int(number)) for number in instance[numbered]]
        table.loc[numbered, "step"] = NO_STEP - 1  # where no events have these names
    table["name"] = table["name"].astype(object) + "\0" + process_groups(events.iloc[rows]).to_numpy()
    table = table[table["task"] >= 0]
    table["turn"] = table.groupby(["step", "name", "task"]).cumcount()
    counts = table.groupby(["step", "name", "task"]).size()
    uneven = counts.groupby(["step", "name"]).nunique()
    table = table.join(uneven.rename("uneven"), on=["step", "name"])
    table = table[table["uneven"] == 1]
    group, _ = number_rows(table["step"], table["name"], table["turn"])
    return {"group": group, "task": table["task"].to_numpy(), "row": table["row"].to_numpy()}


def transfers(trace: Trace, tasks: list[str]) -> Evidence:
    """Bound clocks by tensors sent between tasks, which are received after they were made."""
    limits = np.full((len(tasks), len(tasks)), np.inf)
    counts = np.zeros(len(tasks), np.int64)
    events = trace.events
    evidence = Evidence(limits, counts, np.full(len(tasks), np.nan))
    received = (events["kind"] == "transfer").to_numpy()
    if not received.any():
        return evidence
    numbered = NumberedEvents(events)
    source, target = numbered.senders(numbered.moves())
    known = (source >= 0) & received[target]
    source, target = source[known], target[known]
    # If a node ran several times, only the times could identify the run.
    key = [events[name] for name in ("step", "device", "name")]
    once = (events.groupby(key, observed=True)["start_ns"].transform("size") == 1).to_numpy()
    index = task_indexes(events["task"], tasks)
    sender = task_indexes(events["source"], tasks)[target]
    good = once[source] & (index[source] == sender) & (sender >= 0) & (index[target] >= 0)
    good &= index[source] != index[target]
    source, target = source[good], target[good]
    made = events["compute_end_ns"].where(events["compute_end_ns"].notna(), events["start_ns"])
    made = made.to_numpy(np.int64)[source]
    end = (events["start_ns"] + events["duration_ns"]).to_numpy()[target]
    np.minimum.at(limits, (index[target], index[source]), (end - made).astype(np.float64))
    pairs = pd.DataFrame({"task": np.concatenate([index[target], index[source]]), "row": np.tile(target, 2)})
    shared = pairs.groupby("task")["row"].nunique()
    counts[shared.index.to_numpy(np.int64)] = shared.to_numpy()
    return evidence


def task_indexes(column: pd.Series, tasks: list[str]) -> np.ndarray:
    """Return the index in `tasks` of each event's task, from a column of tasks or devices, or -1."""
    numbers = {task: index for index, task in enumerate(tasks)}
    of_category = [numbers.get(task_of(str(text)), -1) for text in column.cat.categories]
    indexes: np.ndarray = np.array([*of_category, -1], np.int64)[column.cat.codes.to_numpy()]
    return indexes
