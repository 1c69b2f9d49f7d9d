"""A mutant by number, the reader for it, and the outcome."""

import random
import resource
import signal
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

import tfvis_nb as tv
from tests.mutants import (
    containers,
    everything,
    parquet_files,
    pickle_opcodes,
    protobuf,
    raw_bytes,
    session_pages,
    tokens,
)
from tests.mutants.samples import (
    JSON,
    PARQUET,
    PICKLE,
    PROTOBUF,
    SESSION,
    TEXT,
    Sample,
    samples,
    session_files,
)

SECONDS = 30
"""No mutant may take longer."""

SOUND = "a sound trace"
KNOWN = "a sound trace, equal to one before"


@dataclass(frozen=True)
class Attack:
    """A mutant: its number, the sample it was, and how it is read."""

    seed: int
    sample: Sample
    read: Callable[[], Iterator[tv.Trace]]

    def outcome(self) -> str:
        """Read it, and run everything on the result.

        Returns
        -------
        str
            `SOUND`, `KNOWN`, or the name of the error that reading it raised.

        Raises
        ------
        Exception
            Whatever else is raised, which is a fault.
        """
        chance = random.Random(self.seed)
        traces = self.read()
        new: list[bool] = []
        while True:
            try:
                trace = next(traces, None)
            except tv.TraceFormatError as error:
                return _named(error)
            if trace is None:
                return SOUND if any(new) or not new else KNOWN
            new.append(everything.survive(trace, chance))


def attack(seed: int) -> Attack:
    """Return the mutant of a number; the same number gives the same mutant."""
    chance = random.Random(seed)
    every = samples()
    sample, other = chance.choices(every, [one.weight for one in every], k=2)
    if sample.form == SESSION:
        return Attack(seed, sample, lambda: _session(other.data, chance))
    data = sample.data
    for _ in range(chance.choice((1, 1, 1, 2, 2, 4, 8))):
        data = damaged(data, sample.form, other.data, chance)
    how = chance.random()
    if how < 0.06:
        data = containers.packed(data, other.data, chance)
    source: Any = data
    if how > 0.97:
        source = [data, sample.data]
    elif how > 0.94:
        source = [data, other.data]
    return Attack(seed, sample, lambda: _read(source))


def _read(source: Any) -> Iterator[tv.Trace]:
    yield tv.read_trace(source)


def damaged(data: bytes, form: str, other: bytes, chance: random.Random) -> bytes:
    """Damage a trace in one place, by its structure or, seldom, without regard to it."""
    if not data or chance.random() < 0.05:
        return raw_bytes.damaged(data, other, chance)
    if form == PROTOBUF:
        return protobuf.damaged(data, other, chance)
    if form == JSON:
        return tokens.damaged(data, other if other[:1] in b"{[" else b'{"a": [1e400]}', chance)
    if form == TEXT:
        return tokens.damaged(data, other[:2000], chance, tokens.TEXT_PROTO)
    if form == PICKLE:
        return pickle_opcodes.damaged(data, other, chance)
    assert form == PARQUET, form
    return parquet_files.damaged(data, other, chance)


def _session(other: bytes, chance: random.Random) -> Iterator[tv.Trace]:
    """Damage the files of a session, open it, look at all of it, and read its traces."""
    from tfvis_nb.session.snapshot import session_state

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "run.tfvis")
        for name, data in session_files().items():
            Path(f"{path}{name}").write_bytes(data)
        for _ in range(chance.choice((1, 1, 2))):
            session_pages.damaged(path, other, chance)
        with tv.open_session(path) as session:
            session_state(session)
            numbers = session.traces.index.tolist()
            for table in (session.signatures, session.traces, session.processes):
                repr(table)
            for number in numbers[:3]:
                yield session.read(number)


def _named(error: tv.TraceFormatError) -> str:
    """Return the name of an error, if it has a message, and neither memory nor time ran out."""
    reason: BaseException | None = error
    while reason is not None:
        if isinstance(reason, (MemoryError, TimeoutError)):
            raise reason
        reason = reason.__cause__ or reason.__context__
    if not str(error):
        raise AssertionError("an error without words") from error
    return type(error).__name__


@contextmanager
def at_most(seconds: int) -> Iterator[None]:
    """Raise TimeoutError in what computes for longer; other processes may slow it down."""

    def stop(_signal: int, _frame: FrameType | None) -> None:
        raise TimeoutError(f"not done after {seconds} s")

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def where(error: BaseException) -> str:
    """Describe which error was raised in which line of the package: faults of one place are one fault."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = [
        one for one in frames if "tfvis_nb" in Path(one.filename).parts[-3:-1] or "/tfvis_nb/" in one.filename
    ]
    inner = (ours or frames)[-1]
    place = inner.filename.rpartition("/tfvis_nb/")[2] if ours else Path(inner.filename).name
    said = f": {error}" if isinstance(error, AssertionError) else ""
    return f"{type(error).__name__} in {place}:{inner.lineno} {inner.name}{said}"


def outcome(data: bytes) -> str:
    """Read bytes without doing everything: the name of the error, or `SOUND`."""
    try:
        trace = tv.read_trace(data)
    except tv.TraceFormatError as error:
        return _named(error)
    everything.sound(trace)
    if int(trace.lanes["events"].sum()) != len(trace.events):
        raise AssertionError("events without a lane")
    trace.transfers, trace.edges, trace.steps  # noqa: B018 - each is made when it is asked for
    return SOUND


def limit(size: int) -> None:
    """Let this process have so many bytes: more is a MemoryError in it, not a full machine."""
    resource.setrlimit(resource.RLIMIT_DATA, (size, size))


def main() -> None:
    """Run the mutants with these numbers, and raise their errors."""
    limit(3 << 30)
    for argument in sys.argv[1:]:
        one = attack(int(argument))
        with at_most(SECONDS):
            sys.stdout.write(f"{argument} {one.sample.name}: {one.outcome()}\n")


if __name__ == "__main__":
    main()
