"""Count runs and decide which to trace, for sessions and Keras batches."""

import logging
import sqlite3
import statistics
import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from tfvis_nb.recording.live.failed_allocations import FailedAllocations
from tfvis_nb.session.file.counters import Counts
from tfvis_nb.session.file.database import PATIENCE_S
from tfvis_nb.session.file.entries import Orders, Recording, Signature
from tfvis_nb.session.file.errors import in_words
from tfvis_nb.session.file.schema import EVERY
from tfvis_nb.session.file.write_ahead_log import is_held
from tfvis_nb.session.file.writer import RUN_S, Writer
from tfvis_nb.texts import Text

LOOK_NS = 100_000_000
"""How often to check for requests of other processes, only when something runs."""

SAVE_NS = 2_000_000_000
"""How often the counts are written to the database."""

RECENT = 64
ENOUGH = 8
"""Slow runs are found by comparison with the median of the last `RECENT` traced runs, if there are `ENOUGH`.

The cost of tracing compares a trace with the median of the last `RECENT` untraced runs.
"""

MOST_WAITING = 64_000_000
"""Maximum bytes of traces that wait in memory while another process locks the file."""

UNNUMBERED = -1
"""The number of a signature that is not yet in the file."""

NONE = Counts()

_log = logging.getLogger("tfvis_nb")


@dataclass(slots=True)
class SignatureStats:
    """A signature, and this process's facts about it."""

    number: int
    signature: Signature
    put: Callable[..., None]
    counts: tuple[int, int, int, int, int, int, int, int] = NONE
    begun: int = 0
    untraced: deque[int] = field(default_factory=lambda: deque(maxlen=RECENT))
    traced: deque[int] = field(default_factory=lambda: deque(maxlen=RECENT))
    wanted: bool = False


@dataclass(frozen=True)
class TraceRequest:
    """A decision to trace a run: for a request, or to keep the trace only if the run is slow."""

    request: int | None = None
    factor: float = 0.0


class RunRegistry:
    """The runs of one process in a session. File errors end the recording, never the run."""

    def __init__(self, writer: Writer) -> None:
        self.open = True
        self.problem = ""
        self._writer = writer
        self._lock = threading.RLock()
        self._signatures: dict[tuple[str, ...], SignatureStats] = {}
        self._numbers: dict[int, SignatureStats] = {}
        self._orders = Orders()
        self.look_at = 0
        self._save_at = 0
        self.allocations = FailedAllocations()
        self._held: set[int] = set()
        self._claims: set[int] = set()
        self._waiting: deque[tuple[Callable[[], None], int]] = deque()
        self._waiting_bytes = 0
        self._patient = True
        self._dropped = False

    def counted(self, signature: Signature) -> SignatureStats | None:
        """Return the entry of a signature; None if recording has stopped."""
        key = signature.key
        with self._lock:
            stats = self._signatures.get(key)
            if stats is None and self.open:
                with self._border():
                    stats = self._begun(signature)
            return stats if self.open else None

    def _begun(self, signature: Signature) -> SignatureStats:
        signature, slot = self._writer.take_slot(signature)
        key = signature.key
        stats = self._signatures.get(key)
        if stats is None:
            entered = SignatureStats(UNNUMBERED, signature, self._writer.counting(slot))
            stats = self._signatures[key] = entered

            def enter() -> None:
                entered.number, _ = self._writer.add_signature(signature, slot)
                self._numbers[entered.number] = entered
                entered.wanted = self._is_wanted(entered.number)

            entered.wanted = self._is_wanted(UNNUMBERED)
            self._write(enter)
        return stats

    def look(self, now_ns: int) -> None:
        """Check for requests and save the counts if due; `now_ns` is from ``perf_counter_ns``."""
        if now_ns < self.look_at:
            return
        with self._lock:
            if now_ns < self.look_at or not self.open:
                return
            self.look_at = now_ns + LOOK_NS
            with self._border(), self._later_if_held():
                orders = self._writer.orders()
                if orders is not None:
                    self._orders = orders
                    for counted in self._signatures.values():
                        counted.wanted = self._is_wanted(counted.number)
                self._catch_up()
                if not self._waiting:
                    self._writer.tidy()
                if now_ns >= self._save_at:
                    self._save_at = now_ns + SAVE_NS
                    self._writer.save_counts(self._counts())

    def _write(self, write: Callable[[], None], size: int = 0) -> bool:
        """Write now, or later if another process locks the file; False if too much is already waiting."""
        if self._waiting_bytes + size > MOST_WAITING:
            if not self._dropped:
                self._dropped = True
                _log.warning(Text("traces_dropped", path=self._writer.path))
            return False
        self._waiting.append((write, size))
        self._waiting_bytes += size
        self._catch_up()
        return True

    def _catch_up(self) -> None:
        """Write waiting data. Only the first run waits for a process that locks the file; others try once."""
        while self._waiting:
            write, size = self._waiting[0]
            try:
                write()
            except (sqlite3.Error, OSError) as error:
                if not is_held(error):
                    raise
                self._be_patient(patient=False)
                return
            self._waiting.popleft()
            self._waiting_bytes -= size
            self._be_patient(patient=True)

    def _be_patient(self, *, patient: bool) -> None:
        if patient != self._patient:
            self._patient = patient
            self._writer.wait(RUN_S if patient else 0)

    @contextmanager
    def _later_if_held(self) -> Iterator[None]:
        """Skip if another process locks the file: the next run tries again, but does not wait."""
        try:
            yield
        except (sqlite3.Error, OSError) as error:
            if not is_held(error):
                raise
            self._be_patient(patient=False)

    @contextmanager
    def _border(self) -> Iterator[None]:
        """Keep file errors away from the run: they end the recording."""
        try:
            yield
        except Exception as error:  # noqa: BLE001 - whatever it is, the training goes on
            self.stop(error)

    def look_now(self) -> None:
        """Check for requests before the next run."""
        self.look_at = 0

    def begin(self, counted: SignatureStats) -> int:
        """Return the number of a run that starts now, from 1; unique across threads."""
        with self._lock:
            counted.begun += 1
            return counted.begun

    def not_begun(self, counted: SignatureStats) -> None:
        """Take back the last number: that run did not happen."""
        with self._lock:
            counted.begun -= 1

    def order(self, counted: SignatureStats, run: int) -> TraceRequest | None:
        """Return how to trace a run that starts now, or None; only call it if the signature is `wanted`."""
        with self._lock:
            if not self.open:
                return None
            for number in (counted.number, EVERY):
                for request, own in self._orders.requests.get(number, []):
                    if request not in self._held and (own or self._claimed(request)):
                        self._held.add(request)
                        return TraceRequest(request=request)
            kind, value = self._orders.rules.get(counted.number) or self._orders.rules.get(EVERY) or ("", 0.0)
            if kind == "all" or (kind == "every" and run % max(value, 1.0) == 0):
                return TraceRequest()
            return TraceRequest(factor=value) if kind == "slower" else None

    def ran(
        self,
        counted: SignatureStats,
        began_ns: int,
        duration_ns: int,
        *,
        traced: bool = False,
        finished_ns: int = 0,
    ) -> None:
        """Count a run that started at an epoch time; `finished_ns` is as in `traced`.

        Every run waits for this, with cold caches, so the code is inline to avoid the cost of calls.
        """
        with self._lock:
            if self.open:
                runs, failed, total, longest, first, last, traces, traced_ns = counted.counts
                if traced:
                    if traces == runs:
                        longest = max(longest, duration_ns)
                    traces += 1
                    traced_ns += duration_ns
                    counted.traced.append(finished_ns or duration_ns)
                else:
                    if traces == runs or duration_ns > longest:
                        longest = duration_ns
                    counted.untraced.append(duration_ns)
                runs += 1
                total += duration_ns
                first = first or began_ns
                if began_ns > last:  # noqa: PLR1730 - without the call of max
                    last = began_ns
                counted.counts = runs, failed, total, longest, first, last, traces, traced_ns
                try:
                    counted.put(runs, failed, total, longest, first, last, traces, traced_ns)
                except OSError as error:
                    self.stop(error)

    def failed(self, counted: SignatureStats, order: TraceRequest | None) -> None:
        """Count a run that raised; its request goes to the next one."""
        with self._lock:
            if self.open:
                runs, failed, total, *rest = counted.counts
                counted.counts = Counts(runs, failed + 1, total, *rest)
                with self._border():
                    counted.put(*counted.counts)
        self.not_traced(order)

    def not_traced(self, order: TraceRequest | None) -> None:
        """Give the request of a run without a trace to the next one."""
        if order is not None and order.request is not None:
            with self._lock:
                self._held.discard(order.request)

    def traced(
        self, counted: SignatureStats, order: TraceRequest, recording: Recording, *, finished_ns: int = 0
    ) -> None:
        """Keep a trace. It is in the file on return, unless another process locks the file.

        A run that returns before its devices have finished is slow by `finished_ns`, its time until then.
        """
        with self._lock:
            if not self.open or not self._is_kept(counted, order, finished_ns or recording.duration_ns):
                return
            if counted.untraced:
                median, runs = round(statistics.median(counted.untraced)), len(counted.untraced)
                recording = replace(recording, untraced_ns=median, untraced_runs=runs)

            def add() -> None:
                self._writer.add_trace(counted.number, recording, order.request)

            with self._border():
                if not self._write(add, len(recording.data)):
                    self.not_traced(order)
                    return
            if order.request is not None:
                # It stays claimed in the file until its trace is written.
                for requests in self._orders.requests.values():
                    requests[:] = [request for request in requests if request[0] != order.request]
                for each in self._signatures.values():
                    each.wanted = self._is_wanted(each.number)

    def stop(self, error: Exception) -> None:
        """Stop recording because of a file error, with one warning."""
        with self._lock:
            if self.open:
                self.open = False
                self.problem = in_words(error, self._writer.path)
                warn_stopped(self.problem)
                try:
                    self._writer.abandon()
                except Exception:  # noqa: BLE001 - nothing more can be done about it
                    _log.debug("tfvis_nb could not let go of %s", self._writer.path, exc_info=True)

    def close(self) -> None:
        """Write the last counts and end."""
        with self._lock:
            if self.open:
                try:
                    self._writer.wait(PATIENCE_S)
                    self._catch_up()
                    self.open = False
                    self._writer.close(self._counts())
                except Exception as error:  # noqa: BLE001 - the training goes on
                    self.open = False
                    self.problem = in_words(error, self._writer.path)
                    _log.warning(Text("recording_not_ended", reason=self.problem))

    def forget(self) -> None:
        """Stop in a forked process, because the file and its locks belong to the parent."""
        self.open = False
        self._writer.forget()

    def _counts(self) -> dict[int, Counts]:
        return {number: Counts(*counted.counts) for number, counted in self._numbers.items()}

    def _claimed(self, request: int) -> bool:
        if request in self._claims:  # for a run that then failed
            return True
        claimed = False
        with self._border(), self._later_if_held():
            claimed = self._writer.claim(request)
            self._be_patient(patient=True)
        if claimed:
            self._claims.add(request)
        return claimed

    def _is_wanted(self, number: int) -> bool:
        return any(
            orders.get(each)
            for orders in (self._orders.rules, self._orders.requests)
            for each in (number, EVERY)
        )

    def _is_kept(self, counted: SignatureStats, order: TraceRequest, duration_ns: int) -> bool:
        if not order.factor:
            return True
        # Not compared with untraced runs, because tracing alone would make it look slow.
        if len(counted.traced) < ENOUGH:
            return False
        return duration_ns > order.factor * statistics.median(counted.traced)


def warn_stopped(why: str) -> None:
    """Warn that recording has stopped."""
    # Not through `warnings`: turned into an error, it would end the training.
    _log.warning(Text("recording_stopped", reason=why))
