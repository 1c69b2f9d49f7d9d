"""Writes of a recording process to its session, and the requests it reads there."""

from dataclasses import dataclass, field
from typing import NamedTuple


class Signature(NamedTuple):
    """The identity of one kind of run.

    - `kind`: ``"session"``, or the phase of Keras: ``"train"``, ``"test"`` or ``"predict"``.
    - `label`: A short name.
    - `fetches`, `targets`, `feeds`: The names of tensors and ops, one a line.
    - `options`: The ``RunOptions`` as text.
    """

    kind: str
    label: str
    fetches: str = ""
    targets: str = ""
    feeds: str = ""
    options: str = ""


@dataclass(frozen=True)
class Recording:
    """One trace as TensorFlow gave it, or the facts about a run that ran out of memory.

    - `format`: ``"run_metadata"`` or ``"xspace"``; ``"parquet"`` for a run that ran out of memory.
    - `data`: The serialised message, or the file of `Trace.to_parquet`.
    - `run`: Which run of the signature in this process it was, from 1.
    - `start_ns`, `duration_ns`: When it began, in epoch nanoseconds, and how long it took.
    - `epoch_ns`: When a profile began; 0 for a run.
    - `note`: Its missing parts, in a sentence.
    - `tracing_ns`: The time, in addition to the run, to start and collect the trace; None if unknown.
    - `untraced_ns`, `untraced_runs`: The median of that many untraced runs of the signature before it; None
      and 0 if there was none.
    - `batch`: Which batch of its epoch it was, from 0; None for a session run.
    - `layers`: The layers of the model that ran, as `tfvis_nb.analysis.model_layers` writes them, or None.
    """

    format: str
    data: bytes
    run: int
    start_ns: int
    duration_ns: int
    epoch_ns: int = 0
    note: str = ""
    tracing_ns: int | None = None
    untraced_ns: int | None = None
    untraced_runs: int = 0
    batch: int | None = None
    layers: str | None = None


@dataclass
class Orders:
    """The requests and rules for this process.

    - `rules`: Kind and value for signatures; that of `tfvis_nb.session.file.schema.EVERY` is for all others.
    - `requests`: For signatures, the requests for one trace, the oldest first, and whether they are this
      process's own.
    """

    rules: dict[int, tuple[str, float]] = field(default_factory=dict)
    requests: dict[int, list[tuple[int, bool]]] = field(default_factory=dict)
