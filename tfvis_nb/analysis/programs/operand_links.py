"""The events that made the operands of instructions of compiled programs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd

from tfvis_nb.analysis.programs.hlo_module import Computation, HloModule, modules
from tfvis_nb.analysis.programs.hlo_ops import instruction_events, texts_of
from tfvis_nb.core.nested_columns import HLO_OP, PROGRAM
from tfvis_nb.core.per_trace import per_trace
from tfvis_nb.core.trace import Trace
from tfvis_nb.reading.protobuf.wire import text

MOST_LINKS = 1_000_000
"""The limit on the number of links."""

_PASSED_ON = frozenset((b"tuple", b"get-tuple-element", b"bitcast", b"opt-barrier"))
_NOT_RUN = _PASSED_ON | {b"parameter", b"constant"}

Alike = list[list[Any]]
Ran = dict[int, np.ndarray]
"""The events that ran the instructions of one computation, by instruction id."""


@per_trace
def operand_links(trace: Trace) -> pd.DataFrame:
    """Return the events that made operands of others: ``source`` and ``target`` (int64), ordered by target.

    The latest run of the operand before it on the same device and in the same step counts. Instructions that
    only pass values on have no events, so their operands replace them. Parameters of a program or loop have
    no links.
    """
    rows = instruction_events(trace)
    place = trace.events[["task", "device"]].take(rows).astype(str).reset_index(drop=True)
    ran = place.assign(program=texts_of(trace, PROGRAM)[rows], name=texts_of(trace, HLO_OP)[rows], event=rows)
    step = trace.events["step"].to_numpy()
    parts: list[np.ndarray] = []
    left = MOST_LINKS
    for program, here in ran.groupby("program", sort=False):
        module = modules(trace).get(str(program))
        for links in () if module is None else _links(module, here, step):
            parts.append(links[:, :left])
            left -= parts[-1].shape[1]
    source, target = np.concatenate(parts or [np.zeros((2, 0), np.int64)], axis=1)
    table = pd.DataFrame({"source": source, "target": target}).drop_duplicates()
    return table.sort_values(["target", "source"], ignore_index=True)


def _links(module: HloModule, ran: pd.DataFrame, step: np.ndarray) -> Iterator[np.ndarray]:
    """Yield sources and targets (2, n) among the events of one program."""
    places = [
        {str(name): events.to_numpy() for name, events in here.groupby("name", sort=False)["event"]}
        for _, here in ran.groupby(["task", "device"], sort=False)
    ]
    places_of_ops = map(module.find, ran["name"].unique())
    for computation in dict.fromkeys(place[0] for place in places_of_ops if place is not None):
        alike = _alike(computation)
        for named in places:
            yield from _links_within(computation, _runs(computation, alike, named, step), step)


def _links_within(computation: Computation, ran: Ran, step: np.ndarray) -> Iterator[np.ndarray]:
    for number, targets in ran.items():
        for producer in _producers(computation, computation.instructions[number], ran):
            sources = ran[producer]
            latest = np.searchsorted(sources, targets) - 1
            source = sources[np.maximum(latest, 0)]
            is_known = (latest >= 0) & (step[source] == step[targets])
            yield np.stack([source[is_known], targets[is_known]])


def _producers(computation: Computation, instruction: Any, ran: Ran) -> set[int]:
    """Return the ids of the executed instructions that made the operands of another."""
    producers: set[int] = set()
    seen: set[int] = set()
    left = [(instruction, operand) for operand in computation.operands(instruction)]
    while left:
        user, one = left.pop()
        if one.id in ran:
            producers.add(one.id)
        # The element taken from a tuple is not kept.
        elif one.id not in seen and (user.opcode, one.opcode) != (b"get-tuple-element", b"tuple"):
            seen.add(one.id)
            if one.opcode in _PASSED_ON or one.opcode.endswith(b"-done"):
                left += [(one, operand) for operand in computation.operands(one)]
    return producers


def _runs(computation: Computation, alike: Alike, named: Mapping[str, np.ndarray], step: np.ndarray) -> Ran:
    """Find the events that ran each instruction.

    XLA compiles equal instructions to one kernel and names it after one of them. Their order identifies them
    if each needs the previous one; otherwise none is identified.
    """
    shared = [each for each in alike if 0 < sum(text(one.name) in named for one in each) < len(each)]
    place = {one.id: at for at, one in enumerate(one for each in shared for one in each)}
    needed = _needed(computation, place)
    known = [one for each in alike for one in each if text(one.name) in named]
    ran = {one.id: named[text(one.name)] for one in known}
    for members in shared:
        events = np.sort(np.concatenate([ran.pop(one.id) for one in members if one.id in ran]))
        in_turn = all(needed[second.id] >> place[first.id] & 1 for first, second in pairwise(members))
        if not in_turn or len(events) % len(members):
            continue
        turns = events.reshape(-1, len(members))
        is_right = (step[turns] == step[turns[:, :1]]).all() and all(
            np.isin(turns[:, at], named[text(one.name)]).all()
            for at, one in enumerate(members)
            if text(one.name) in named
        )
        if is_right:
            ran |= {one.id: turns[:, at] for at, one in enumerate(members)}
    return ran


def _alike(computation: Computation) -> Alike:
    """Group the instructions that may share a kernel."""
    by_signature: dict[tuple[bytes, ...], list[Any]] = {}
    for one in computation.instructions.values():
        if one.opcode not in _NOT_RUN:
            shapes = [each.shape.SerializeToString() for each in (one, *computation.operands(one))]
            signature = (one.opcode, one.fusion_kind, one.custom_call_target, *shapes)
            by_signature.setdefault(signature, []).append(one)
    return list(by_signature.values())


def _needed(computation: Computation, place: Mapping[int, int]) -> dict[int, int]:
    """Return the instructions of `place` that each one needs directly or indirectly, as bits of a number."""
    masks: dict[int, int] = {}
    for number, one in computation.instructions.items():
        masks[number] = 1 << place[number] if number in place else 0
        # Operands come first; in damaged programs, operands that come later count as not needed.
        for operand in one.operand_ids:
            masks[number] |= masks.get(operand, 0)
    return masks
