"""Check and execute the commands that viewers send to a session."""

import inspect
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

    `command` has its name as ``do``, and its arguments: the commands are the functions in `COMMANDS`, each a
    method of `tfvis_nb.SavedSession`. ValueError if there is no such command, an argument is missing, unknown
    or out of range, or a next run is requested after all processes have ended.
    """
    if not isinstance(command, Mapping):
        raise ValueError(Text("command_without_name", command=_shown(command)))  # noqa: TRY004
    name = command.get("do")
    if not isinstance(name, str) or name not in COMMANDS:
        hint = near(name[:100], COMMANDS) if isinstance(name, str) else ""
        raise ValueError(Text("no_such_command", command=_shown(name), hint=hint))
    _, *parameters = inspect.signature(COMMANDS[name]).parameters.values()
    allowed = sorted(each.name for each in parameters)
    for key in command:
        if key not in {"do", *allowed}:
            raise ValueError(Text("command_key_unknown", name=name, key=_shown(key), keys=", ".join(allowed)))
    for each in parameters:
        if each.default is each.empty and each.name not in command:
            raise ValueError(Text("command_key_missing", name=name, key=each.name))
    COMMANDS[name](session, **{key: value for key, value in command.items() if key != "do"})


def _signature(value: object) -> int | None:
    return None if value is None else _whole(value, "signature")


def _whole(value: object, name: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= MOST_RUNS:
        raise ValueError(Text("command_count_out_of_range", name=name, value=_shown(value), most=MOST_RUNS))
    return value


def _trace_next(session: SavedSession, signature: int | None = None) -> None:
    number = _signature(signature)
    ends = session.processes["end"]
    # A session that was never recorded into waits for its first job.
    if len(ends) and ends.notna().all():
        raise ValueError(Text("command_after_end"))
    session.trace_next(number)


def _trace_every(session: SavedSession, n: int, signature: int | None = None) -> None:
    session.trace_every(_whole(n, "n"), _signature(signature))


def _trace_all(session: SavedSession, signature: int | None = None) -> None:
    session.trace_all(_signature(signature))


def _trace_slow(session: SavedSession, factor: float, signature: int | None = None) -> None:
    given: object = factor
    is_number = isinstance(given, int | float) and not isinstance(given, bool)
    if not is_number or not 0 < factor <= MOST_RUNS or not math.isfinite(factor):
        raise ValueError(Text("command_factor_out_of_range", value=_shown(factor)))
    session.trace_slow(factor=factor, signature=_signature(signature))


def _cancel_requests(session: SavedSession, signature: int | None = None) -> None:
    session.cancel_requests(_signature(signature))


def _stop_tracing(session: SavedSession, signature: int | None = None) -> None:
    session.stop_tracing(_signature(signature))


def _delete(session: SavedSession, traces: list[int]) -> None:
    given: object = traces
    if not isinstance(given, list) or len(given) > MOST_AT_ONCE:
        raise ValueError(Text("command_traces_no_list", value=_shown(traces), most=MOST_AT_ONCE))
    session.delete([_whole(trace, "a trace") for trace in traces])


def _keep(session: SavedSession, trace: int) -> None:
    session.keep(_whole(trace, "a trace"))


COMMANDS: dict[str, Callable[..., None]] = {
    function.__name__.removeprefix("_"): function
    for function in (
        *(_trace_next, _trace_every, _trace_all, _trace_slow),
        *(_cancel_requests, _stop_tracing, _delete, _keep),
    )
}
"""The commands by name; their arguments are those of the functions, a ``signature`` of None is for all."""


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
