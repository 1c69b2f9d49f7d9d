"""Read pickles of RunMetadata from tfvis, and saved tftracer sessions."""

import codecs
import re
import struct
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from tfvis_nb.core.errors import TraceFormatError
from tfvis_nb.core.labels import run_label
from tfvis_nb.core.trace import Trace
from tfvis_nb.reading.multi_run import RunBytes, read_runs
from tfvis_nb.reading.pickles.restricted_vm import MARK, Global, Machine, Object, RefusedError
from tfvis_nb.reading.pickles.tftracer import SESSION, SavedRun, saved_runs
from tfvis_nb.reading.protobuf.wire import Data
from tfvis_nb.reading.sources.damage import ends_early
from tfvis_nb.reading.sources.unpacking import Allowance
from tfvis_nb.texts import Text, text_of

_MESSAGES = {
    Global("tensorflow.core.protobuf.config_pb2", "RunMetadata"): "RunMetadata",
    Global("tensorflow.core.framework.step_stats_pb2", "StepStats"): "StepStats",
}
_ALLOWED = {
    **_MESSAGES,
    SESSION: "session",
    Global("collections", "OrderedDict"): "dict",
    Global("datetime", "datetime"): "time",
    Global("datetime", "timedelta"): "time",
}
_OLD = re.compile(rb"\(?(?:c[\w.]+\n[\w.]+\n|i[\w.]+\n[\w.]+\n|[dl]p\d+\n|\(?[SVIL][^\n]*\n|lp?\d*\n)")

_CERTAIN = re.compile(rb"\(?ctensorflow\.[\w.]+\n\w+\n")
STEPS = 1_000_000
"""The maximum number of instructions; a session of 10,000 traces has fewer."""
_DIGITS = 1000


def is_pickle(data: Data) -> bool:
    """Return whether `data` starts like a pickle."""
    head = bytes(data[:512])
    if head[:1] == b"\x80":
        return head[1:2] in (b"\x02", b"\x03", b"\x04", b"\x05")
    # Protocols 0 and 1 have no header: check for a global, a memoized list or dict, and the stop at the end.
    known = _OLD.match(head) is not None or head[:2] in (b"]q", b"}q")
    return bool(_CERTAIN.match(head)) or (known and bytes(data[-64:]).rstrip(b"\n").endswith(b"."))


def read(data: Data, label: str, *, allowance: Allowance) -> Trace:
    """Read a pickle of one RunMetadata, of a list or dict of them, or of a tftracer session.

    Nothing named in the pickle is imported or called; see `tfvis_nb.reading.pickles.restricted_vm`.
    """
    notes: list[str] = []
    parts = messages(data, label, notes)
    allowance.take_parts(len(parts), label)
    return read_runs(parts, notes, Text("pickle_without_runs", label=label), allowance.room)


def messages(data: Data, label: str, notes: list[str]) -> list[RunBytes]:
    """Return the serialised messages in a pickle, each once; remarks go to `notes`."""
    built = load(data, label, _ALLOWED)
    if isinstance(built, Object) and built.made_by == SESSION:
        parts = list(_session(built, label, notes))
    else:
        named = dict(enumerate(built)) if isinstance(built, (list, tuple)) else _items(built, notes)
        parts = [
            _run_bytes(run, label if len(named) == 1 else f"{label}, run {name}")
            for name, run in named.items()
        ]
    return list({id(part.data): part for part in parts}.values())


def _items(built: Any, notes: list[str]) -> dict[Any, Any]:
    """Return the messages of a pickled dict by key; for anything else, itself."""
    values = built.items if isinstance(built, Object) else built
    values = values if isinstance(values, dict) else {}
    runs = {key: run for key, run in values.items() if isinstance(run, Object) and run.made_by in _MESSAGES}
    if not runs:
        return {"": built}
    if others := len(values) - len(runs):
        notes.append(Text("pickled_values_left_out", values=others))
    return runs


def tftracer_session(data: Data, label: str) -> list[SavedRun]:
    """Return the runs of a pickled tftracer session, with its traces as serialised messages.

    A repeated message is only returned once.
    """
    built = load(data, label, _ALLOWED)
    if not isinstance(built, Object) or built.made_by != SESSION:
        raise TraceFormatError(Text("pickle_of_no_session", label=label), foreign=True)
    runs = saved_runs(built, label)
    seen: set[int] = set()
    for run in runs:
        parts = [(ended, trace and _run_bytes(trace, label)) for ended, trace in run.traces]
        run.traces = []
        for ended, part in parts:
            if part is None or id(part.data) not in seen:
                run.traces.append((ended, part and part.data))
            if part is not None:
                seen.add(id(part.data))
    return runs


def _session(session: Object, label: str, notes: list[str]) -> Iterator[RunBytes]:
    """Yield the traces of a session, run by run; None for those that tftracer no longer kept."""
    runs = saved_runs(session, label)
    traces = [trace for run in runs for _, trace in run.traces]
    if gone := traces.count(None):
        notes.append(Text("traces_not_kept", lost=gone, traces=len(traces)))
    for run in runs:
        step = run_label(run.fetches, run.targets)
        for number, (_, trace) in enumerate(run.traces):
            if trace is not None:
                yield _run_bytes(trace, f"{label}, run {run.number}, trace {number}", step)


def _run_bytes(run: Any, label: str, step: str = "") -> RunBytes:
    if not isinstance(run, Object) or run.made_by not in _MESSAGES:
        what = str(run.made_by) if isinstance(run, Object) else type(run).__name__
        raise TraceFormatError(Text("pickle_of_other", label=label, type=what[:120]), foreign=True)
    state = run.state if isinstance(run.state, dict) else {}
    # Pickles of Python 2 have bytes where later ones have text.
    data = state.get("serialized", state.get(b"serialized", b""))
    if not isinstance(data, bytes):
        raise TraceFormatError(Text("pickle_state_no_bytes", label=label, type=_MESSAGES[run.made_by]))
    return RunBytes(label, data, _MESSAGES[run.made_by], step)


def load(data: Data, label: str, allowed: Mapping[Global, str]) -> Any:
    """Run a pickle of any protocol and return its value, made of plain values and `Object`.

    Strings of Python 2 become bytes. The pickle may use the globals in `allowed` and those by which old
    protocols store bytes. TraceFormatError names the first other global or the first damaged instruction.

    >>> import pickle
    >>> load(pickle.dumps({"a": [1, b"x"]}), "a pickle", {})
    {'a': [1, b'x']}
    >>> load(pickle.dumps(print), "a pickle", {})
    Traceback (most recent call last):
    ...
    tfvis_nb.core.errors.TraceFormatError: a pickle: this pickle names builtins.print, ...
    """
    machine = Machine(bytes(data), allowed)
    try:
        return _run(machine)
    except EOFError:
        raise TraceFormatError(ends_early(label, "a pickle", len(data))) from None
    except RefusedError as refused:
        raise TraceFormatError(text_of(refused).named(label)) from None
    except (
        IndexError,
        KeyError,
        ValueError,
        TypeError,
        AttributeError,
        struct.error,
        OverflowError,
    ) as error:
        raise TraceFormatError(
            Text("pickle_damaged", label=label, byte=machine.at, error=type(error).__name__, reason=error)
        ) from None


def _run(machine: Machine) -> Any:
    for _ in range(STEPS):
        began, code = machine.at, machine.data[machine.at : machine.at + 1]
        if code == b".":
            return machine.pop()
        action = _ACTIONS.get(code)
        if action is None:
            if not code:
                raise EOFError
            raise RefusedError(Text("pickle_instruction", instruction=code, byte=began))
        machine.at += 1
        action(machine)
    raise RefusedError(Text("pickle_too_long", most=STEPS))


def _quoted(line: bytes) -> bytes:
    """Read a text of Python 2's protocol 0, quoted as in source code."""
    if len(line) < 2 or line[:1] != line[-1:] or line[:1] not in (b'"', b"'"):
        raise ValueError("a text without quotes")
    decoded: tuple[bytes, int] = codecs.escape_decode(line[1:-1])
    return decoded[0]


def _long(line: bytes) -> int:
    line = line.removesuffix(b"L")
    if not re.fullmatch(rb"-?[0-9]{1,1000}", line):
        raise ValueError("an invalid number")
    return int(line)


def _integer(line: bytes) -> int | bool:
    return line == b"01" if line in (b"00", b"01") else _long(line)


def _push(read: Callable[[Machine], Any]) -> Callable[[Machine], None]:
    return lambda m: m.stack.append(read(m))


def _tuple(count: int) -> Callable[[Machine], None]:
    def make(m: Machine) -> None:
        values = [m.pop() for _ in range(count)]
        m.stack.append(tuple(reversed(values)))

    return make


def _reduce(m: Machine) -> None:
    arguments = m.pop()
    m.call(m.pop(), arguments)


def _global(m: Machine) -> None:
    module = m.line()
    m.look_up(module, m.line())


def _stack_global(m: Machine) -> None:
    name = m.pop()
    m.look_up(m.pop(), name)


def _set_item(m: Machine) -> None:
    value = m.pop()
    m.set_items([m.pop(), value])


def _new_with_keywords(m: Machine) -> None:
    if m.pop() != {}:
        raise TypeError("keyword arguments")
    _reduce(m)


def _protocol(m: Machine) -> None:
    if (number := m.number("<B")) > 5:
        raise RefusedError(Text("pickle_protocol", number=number))


def _frame(m: Machine) -> None:
    m.take(8)


def _discard(m: Machine) -> None:
    m.stack.pop()


def _little_endian(m: Machine, size: int) -> int:
    if size > _DIGITS:
        raise ValueError(f"a number of {size} bytes")
    return int.from_bytes(m.take(size), "little", signed=True)


def _no_marked(m: Machine) -> None:
    m.marked()


def _dict(m: Machine, pairs: list[Any]) -> None:
    m.stack.append({})
    m.set_items(pairs)


_ACTIONS: dict[bytes, Callable[[Machine], None]] = {
    b"\x80": _protocol,
    b"\x95": _frame,
    b"(": _push(lambda _: MARK),
    b"0": _discard,
    b"1": _no_marked,
    b"2": _push(lambda m: m.stack[-1]),
    b"N": _push(lambda _: None),
    b"\x88": _push(lambda _: True),
    b"\x89": _push(lambda _: False),
    b"I": _push(lambda m: _integer(m.line())),
    b"J": _push(lambda m: m.number("<i")),
    b"K": _push(lambda m: m.number("<B")),
    b"M": _push(lambda m: m.number("<H")),
    b"L": _push(lambda m: _long(m.line())),
    b"\x8a": _push(lambda m: _little_endian(m, m.number("<B"))),
    b"\x8b": _push(lambda m: _little_endian(m, m.number("<i"))),
    b"F": _push(lambda m: float(m.line()[:40])),
    b"G": _push(lambda m: struct.unpack(">d", m.take(8))[0]),
    b"S": _push(lambda m: _quoted(m.line())),
    b"T": _push(lambda m: m.take(m.number("<i"))),
    b"U": _push(lambda m: m.take(m.number("<B"))),
    b"B": _push(lambda m: m.take(m.number("<I"))),
    b"C": _push(lambda m: m.take(m.number("<B"))),
    b"\x8e": _push(lambda m: m.take(m.number("<Q"))),
    b"\x96": _push(lambda m: m.take(m.number("<Q"))),
    b"V": _push(lambda m: m.line().decode("raw-unicode-escape")),
    b"X": _push(lambda m: m.take(m.number("<I")).decode("utf-8", "surrogatepass")),
    b"\x8c": _push(lambda m: m.take(m.number("<B")).decode("utf-8", "surrogatepass")),
    b"\x8d": _push(lambda m: m.take(m.number("<Q")).decode("utf-8", "surrogatepass")),
    b"]": _push(lambda _: []),
    b"}": _push(lambda _: {}),
    b")": _push(lambda _: ()),
    b"\x85": _tuple(1),
    b"\x86": _tuple(2),
    b"\x87": _tuple(3),
    b"t": _push(lambda m: tuple(m.marked())),
    b"l": _push(lambda m: m.marked()),
    b"d": lambda m: _dict(m, m.marked()),
    b"a": lambda m: m.append([m.pop()]),
    b"e": lambda m: m.append(m.marked()),
    b"s": _set_item,
    b"u": lambda m: m.set_items(m.marked()),
    b"p": lambda m: m.remember(int(_long(m.line()))),
    b"q": lambda m: m.remember(m.number("<B")),
    b"r": lambda m: m.remember(m.number("<I")),
    b"\x94": lambda m: m.remember(len(m.memo)),
    b"g": _push(lambda m: m.memo[_long(m.line())]),
    b"h": _push(lambda m: m.memo[m.number("<B")]),
    b"j": _push(lambda m: m.memo[m.number("<I")]),
    b"c": _global,
    b"\x93": _stack_global,
    b"R": _reduce,
    b"\x81": _reduce,
    b"\x92": _new_with_keywords,
    b"b": lambda m: m.build(),
}
"""The supported instructions. Imports by number, by persistent id or by class are not supported."""
