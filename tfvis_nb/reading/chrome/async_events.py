"""Asynchronous trace events and objects, as bars and marks in separate lanes."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from tfvis_nb.reading.chrome.values import between, key_of, nanoseconds, text

_BEGIN, _MARK, _END = range(3)
PHASES = {
    **dict.fromkeys("bSN", _BEGIN),
    **dict.fromkeys("nTpO", _MARK),
    **dict.fromkeys("eFD", _END),
}
"""Phases of asynchronous events, of both generations, and of objects."""

_OBJECT = "NOD"


class Matched(NamedTuple):
    """Asynchronous events as bars: ended ones, open ones, and the number of ends without a start.

    Marks are bars without length.
    """

    whole: list[dict[str, Any]]
    unended: list[dict[str, Any]]
    ends: int


class AsyncEvents:
    """Collects the asynchronous events and the objects of a document while it is read.

    An end belongs to the innermost open event with the same category, scope, id and name. Ids of objects and
    ``id2.local`` are local to a process, others are global; the category of an object may change. Writers
    buffer by thread, so events are first sorted by time.
    """

    def __init__(self) -> None:
        self._events: list[dict[str, Any]] = []

    def add(self, event: dict[str, Any]) -> None:
        """Add an event of one of `PHASES`."""
        self._events.append(event)

    def finish(self) -> Matched:
        """Return the events as bars, each with a lane as its ``tid`` and its id among the arguments."""
        times, usable = nanoseconds([event.get("ts") for event in self._events])
        # Bars without a usable time are counted with the others.
        whole = [self._events[row] for row in np.flatnonzero(~usable).tolist()]
        open_: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
        ends = 0
        order = np.argsort(times, kind="stable")
        for row in order[usable[order]].tolist():
            event = self._events[row]
            what = PHASES[event["ph"]]
            if what == _MARK:
                whole.append(_bar((event,), 0) | {"name": _mark_name(event)})
                continue
            stack = open_.setdefault(_key(event), [])
            if what == _BEGIN:
                stack.append(event)
            elif stack:
                begin = stack.pop()
                whole.append(_bar((begin, event), between(begin.get("ts"), event.get("ts"))))
            else:
                ends += 1
        return Matched(whole, [_bar((event,), 0) for stack in open_.values() for event in stack], ends)


def _bar(parts: Sequence[dict[str, Any]], duration: Any) -> dict[str, Any]:
    """Make a bar from an event, or from its start and its end."""
    first = parts[0]
    _, number = _id(first)
    given = [part["args"] for part in parts if isinstance(part.get("args"), dict)]
    arguments = {"id": number} | {key: value for part in given for key, value in part.items()}
    lane = "objects" if first["ph"] in _OBJECT else f"async {text(first.get('cat') or first.get('name'))}"
    bar = first | {"dur": duration, "tid": lane.strip(), "args": arguments}
    bar.pop("id2", None)
    return bar


def _mark_name(event: dict[str, Any]) -> str:
    """Name a mark differently from the bar around it, whose name has durations."""
    name, arguments = text(event.get("name")), event.get("args")
    if event["ph"] == "n":
        return name
    step = arguments.get("step") if isinstance(arguments, dict) else None
    return f"{name} snapshot" if event["ph"] == "O" else f"{name} step {text(step)}".rstrip()


def _key(event: dict[str, Any]) -> tuple[Any, ...]:
    """Return the common key of the start and the end of a bar."""
    is_object = event["ph"] in _OBJECT
    is_local, number = _id(event)
    process = key_of(event.get("pid")) if is_local or is_object else None
    category = None if is_object else text(event.get("cat"))
    return is_object, process, category, text(event.get("scope")), number, text(event.get("name"))


def _id(event: dict[str, Any]) -> tuple[bool, str]:
    """Return the id of an event, and whether it is local to its process."""
    own, parts = event.get("id"), event.get("id2")
    if own is None and isinstance(parts, dict):
        return ("global" not in parts), text(parts.get("global", parts.get("local")))
    return False, text(own)
