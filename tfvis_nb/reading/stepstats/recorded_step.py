"""One traced run as Arrow columns."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from tfvis_nb.core.devices import Place


@dataclass
class RecordedStep:
    """One recorded run.

    - `devices`, `places`, `threads`: For each ``DeviceStepStats`` in source order: its device name, the
      parsed name, and its thread names by thread id.
    - `chunks`: All rows as Arrow struct arrays of ``NodeExecStats``, entry after entry. Names are
      large_string, never null, and so are labels in a dictionary, which may hold a text twice: kernels
      have long labels, and few of them.
    - `entry`: For each row, its ``DeviceStepStats`` (int64, ascending).
    - `graphs`: Serialised ``GraphDef`` of each partition.
    - `run_metadata`: The rest of the RunMetadata, serialised; see `GraphParts.rest`.
    - `repeated`: The number of rows of aggregate lanes left out because another lane also has them.
    - `doubled`: The number of rows in a ``DeviceStepStats`` identical to an earlier one.
    - `notes`: Texts about repairs.
    - `name`: The step's name, such as that of its file; empty if not needed.
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
