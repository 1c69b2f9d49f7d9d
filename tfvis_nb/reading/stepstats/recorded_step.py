"""One traced run as Arrow columns."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from tfvis_nb.core.devices import Place


@dataclass
class RecordedStep:
    """One recorded run.

    - `devices`, `places`, `threads`: For each ``DeviceStepStats`` in the order of the source: its device
      name, what that means, and its thread names by thread id.
    - `chunks`: All rows as Arrow struct arrays of ``NodeExecStats``, entry after entry. Names are
      large_string, never null, and so are labels in a dictionary, which may hold a text twice: kernels
      have long labels, and few of them.
    - `entry`: For each row, the ``DeviceStepStats`` it is of (int64, ascending).
    - `graphs`: Serialised ``GraphDef`` of each partition.
    - `run_metadata`: The rest of the RunMetadata, serialised; see `GraphParts.rest`.
    - `repeated`: How many rows of aggregate lanes were left out because another lane has them too.
    - `doubled`: How many rows are of a ``DeviceStepStats`` that an earlier one equals byte for byte.
    - `notes`: Texts about what had to be repaired.
    - `name`: The step's name, such as its file's; empty if nothing needs to distinguish it.
    """

    devices: list[str]
    places: list[Place]
    threads: list[dict[int, str]]
    chunks: list[pa.StructArray]
    entry: np.ndarray
    graphs: list[bytes]
    run_metadata: bytes = b""
    repeated: int = 0
    doubled: int = 0
    notes: list[str] = field(default_factory=list)
    name: str = ""

    def numbers(self, name: str) -> np.ndarray:
        """Return an integer field of every row."""
        return concat_arrays([chunk.field(name).to_numpy() for chunk in self.chunks])


def concat_arrays(arrays: Sequence[np.ndarray]) -> np.ndarray:
    """Concatenate arrays; a single one is not copied."""
    return arrays[0] if len(arrays) == 1 else np.concatenate(arrays)


def concatenated(arrays: Sequence[pa.Array]) -> pa.Array:
    """Concatenate Arrow arrays; a single one is not copied."""
    return arrays[0] if len(arrays) == 1 else pa.concat_arrays(arrays)
