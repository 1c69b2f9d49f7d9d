"""Check and execute the commands that viewers send to a session."""

import math
from collections.abc import Callable, Mapping
from typing import Any

from tfvis_nb.core.options import near
from tfvis_nb.session.session import SavedSession
from tfvis_nb.texts import Text

MOST_RUNS = 2**53
"""The largest whole number that all JSON readers keep exactly."""

MOST_AT_ONCE = 100_000
"""Maximum number of traces to delete with one command."""


def execute_command(session: SavedSession, command: Mapping[str, Any]) -> None:
    """Execute a command.

    `command` has its name as ``do``, and its arguments: the commands are the methods of
    `tfvis_nb.SavedSession`, ``trace_next``, ``trace_every`` (``n``), ``trace_all``, ``trace_slow``
    (``factor``), ``cancel_requests``, ``stop_tracing``, each with a ``signature`` (a number; None or left out
    for all), ``delete`` with a list of numbers, ``traces``, and ``keep`` with a number, ``trace``. ValueError
    if there is no such command, an argument is missing, unknown or out of range, or a next run is requested
    after all processes have ended.
    """
    if not isinstance(command, Mapping):
        raise ValueError(Text("command_without_name", command=_shown(command)))  # noqa: TRY004
    name = command.get("do")
    if not isinstance(name, str) or name not in _COMMANDS:
        hint = near(name[:100], _COMMANDS) if isinstance(name, str) else ""
        raise ValueError(Text("no_such_command", command=_shown(name), hint=hint))
    needed, do = _COMMANDS[name]
    allowed = {"do", *needed, *(() if name in ("delete", "keep") else ("signature",))}
    for key in command:
        if key not in allowed:
            raise ValueError(
                Text(
                    "command_key_unknown",
                    name=name,
                    key=_shown(key),
                    keys=", ".join(sorted(allowed - {"do"})),
                )
            )
    for key in needed:
        if key not in command:
            raise ValueError(Text("command_key_missing", name=name, key=key))
    do(session, command)


def _signature(command: Mapping[str, Any]) -> int | None:
    value = command.get("signature")
    return None if value is None else _whole(value, "signature")


def _whole(value: object, name: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= MOST_RUNS:
        raise ValueError(Text("command_count_out_of_range", name=name, value=_shown(value), most=MOST_RUNS))
    return value


def _trace_next(session: SavedSession, command: Mapping[str, Any]) -> None:
    signature = _signature(command)
    ends = session.processes["end"]
    # A session that was never recorded into waits for its first job.
    if len(ends) and ends.notna().all():
        raise ValueError(Text("command_after_end"))
    session.trace_next(signature)


def _trace_every(session: SavedSession, command: Mapping[str, Any]) -> None:
    session.trace_every(_whole(command["n"], "n"), _signature(command))


def _trace_all(session: SavedSession, command: Mapping[str, Any]) -> None:
    session.trace_all(_signature(command))


def _trace_slow(session: SavedSession, command: Mapping[str, Any]) -> None:
    factor = command["factor"]
    is_number = isinstance(factor, int | float) and not isinstance(factor, bool)
    if not is_number or not 0 < factor <= MOST_RUNS or not math.isfinite(factor):
        raise ValueError(Text("command_factor_out_of_range", value=_shown(factor)))
    session.trace_slow(factor=factor, signature=_signature(command))


def _cancel_requests(session: SavedSession, command: Mapping[str, Any]) -> None:
    session.cancel_requests(_signature(command))


def _stop_tracing(session: SavedSession, command: Mapping[str, Any]) -> None:
    session.stop_tracing(_signature(command))


def _delete(session: SavedSession, command: Mapping[str, Any]) -> None:
    traces = command["traces"]
    if not isinstance(traces, list) or len(traces) > MOST_AT_ONCE:
        raise ValueError(Text("command_traces_no_list", value=_shown(traces), most=MOST_AT_ONCE))
    session.delete([_whole(trace, "a trace") for trace in traces])


def _keep(session: SavedSession, command: Mapping[str, Any]) -> None:
    session.keep(_whole(command["trace"], "a trace"))


_COMMANDS: dict[str, tuple[tuple[str, ...], Callable[[SavedSession, Mapping[str, Any]], None]]] = {
    "trace_next": ((), _trace_next),
    "trace_every": (("n",), _trace_every),
    "trace_all": ((), _trace_all),
    "trace_slow": (("factor",), _trace_slow),
    "cancel_requests": ((), _cancel_requests),
    "stop_tracing": ((), _stop_tracing),
    "delete": (("traces",), _delete),
    "keep": (("trace",), _keep),
}


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
