"""What a recording process writes to its session, and the requests it reads there."""

import re
from dataclasses import dataclass, field
from typing import NamedTuple

_TYPED = re.compile(r"(\S+:[0-9]+) ([a-z]\w*(?:\[[?0-9, ]*\])?)")


def name_and_type(line: str) -> tuple[str, str]:
    """Split a line of a signature: the name of a tensor or op, and the type of a tensor or "".

    >>> name_and_type("x:0 float32[?, 784]"), name_and_type("train")
    (('x:0', 'float32[?, 784]'), ('train', ''))
    """
    match = _TYPED.fullmatch(line)
    return (match[1], match[2]) if match else (line, "")


def with_type(name: str, dtype: str, shape: list[int | None] | None) -> str:
    """Return the line of a tensor; its shape is None if its rank is unknown.

    >>> with_type("x:0", "float32", [None, 784]), with_type("y:0", "int32", None)
    ('x:0 float32[?, 784]', 'y:0 int32')
    """
    sizes = "" if shape is None else f"[{', '.join('?' if size is None else str(size) for size in shape)}]"
    return f"{name} {dtype}{sizes}"


class Signature(NamedTuple):
    """The identity of one kind of run.

    - `kind`: ``"session"``, ``"step"``, or the phase of Keras: ``"train"``, ``"test"`` or ``"predict"``.
    - `label`: A short name.
    - `fetches`, `targets`, `feeds`: The names of tensors and ops, one per line; of a tensor also its type, if
      known, see `with_type`.
    - `options`: The ``RunOptions`` as text.
    """

    kind: str
    label: str
    fetches: str = ""
    targets: str = ""
    feeds: str = ""
    options: str = ""

    @property
    def key(self) -> tuple[str, ...]:
        """What distinguishes it: all but the label and the types of tensors."""
        return self.kind, _names(self.fetches), self.targets, _names(self.feeds), self.options


def _names(lines: str) -> str:
    return "\n".join(name_and_type(line)[0] for line in lines.split("\n"))


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
