"""What a recording process writes to its session, and the requests it reads there."""

from dataclasses import dataclass, field
from typing import NamedTuple


class Signature(NamedTuple):
    """The identity of one kind of run.

    - `kind`: ``"session"``, or the phase of Keras: ``"train"``, ``"test"`` or ``"predict"``.
    - `label`: A short name.
    - `fetches`, `targets`, `feeds`: The names of tensors and ops, one per line.
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
    """One trace as TensorFlow's message, or the facts about a run that ran out of memory.

    - `format`: ``"run_metadata"`` or ``"xspace"``; ``"parquet"`` for a run that ran out of memory.
    - `data`: The serialised message, or the file of `Trace.to_parquet`.
    - `run`: The number of the run of the signature in this process, from 1.
    - `start_ns`, `duration_ns`: Its start in epoch nanoseconds, and its duration.
    - `epoch_ns`: The start of a profile; 0 for a run.
    - `note`: A sentence about missing parts.
    - `tracing_ns`: The time, in addition to the run, to start and collect the trace; None if unknown.
    - `untraced_ns`, `untraced_runs`: The median of earlier untraced runs of the signature, and their number;
      None and 0 if there are none.
    - `batch`: The number of the batch in its epoch, from 0; None for a session run.
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
