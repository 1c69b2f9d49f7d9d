"""Each run of a kernel: its name, its op, its GPU and its blocks."""

import re

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from tfvis_nb.analysis.events.locations import LOCATIONS, locations
from tfvis_nb.analysis.hardware.devices import devices as devices_of
from tfvis_nb.analysis.hardware.launch_configuration import launch_configuration
from tfvis_nb.analysis.hardware.tensor_cores import could_use_tensor_cores, uses_tensor_cores
from tfvis_nb.core.categories import containing, is_kind
from tfvis_nb.core.per_trace import per_trace
from tfvis_nb.core.row_numbers import number_rows
from tfvis_nb.core.text_rows import text_rows
from tfvis_nb.core.trace import Trace
from tfvis_nb.kinds import COPIES

_FACTS = re.compile(r" (?:regs:|External id=|queued=|registers per thread=)")
_TPU = re.compile("/device:TPU:")

_COLUMNS = {
    "event": "int64",
    "name": "object",
    "op": "object",
    "duration_ns": "int64",
    "blocks": "int64",
    "capability": "object",
    "cores": "int64",
    "tensor_cores": "object",
    "eligible": "object",
}


@per_trace
def kernel_runs(trace: Trace) -> pd.DataFrame:
    """Return a row for each run of a kernel, including collective kernels, but no copies and memsets.

    ``event`` (int64), ``name`` and ``op`` (object; the op type is empty if unknown), ``duration_ns`` (int64),
    ``blocks`` in the grid (int64, 0 if not recorded), ``cores`` (int64, SMs of its GPU, 0 if unknown),
    ``capability`` (object; the GPU's compute capability, empty if unknown), ``tensor_cores`` and ``eligible``
    (object; True, False or None) as in `tfvis_nb.analysis.hardware.kernels.FIGURES`.
    """
    events = trace.events
    on_device = locations(events) == LOCATIONS.index("device")
    # A TPU runs the instructions of compiled programs, no kernels.
    on_gpu = on_device & ~containing(events["device"], _TPU)
    rows = np.flatnonzero(on_gpu & ~is_kind(events, *COPIES))
    if not len(rows):
        return pd.DataFrame({name: pd.Series(dtype=dtype) for name, dtype in _COLUMNS.items()})
    detail = _encoded(events["detail"], rows)
    texts = detail.dictionary.to_pylist()
    code = detail.indices.to_numpy()
    names = np.array([*(_FACTS.split(text, maxsplit=1)[0] for text in texts), ""], object)[code]
    unnamed = np.flatnonzero(names == "")
    names[unnamed] = text_rows(events["name"], rows[unnamed]).fillna("").to_numpy(object)
    blocks = np.array([*(launch_configuration(text).blocks for text in texts), 0], object)[code]
    ops = np.array([*map(str, events["op"].cat.categories), ""], object)
    table = pd.DataFrame(
        {
            "event": rows,
            # As objects: pandas 3 would make Arrow texts of hundreds of thousands of references to a few.
            "name": pd.Series(names, dtype=object),
            "op": pd.Series(ops[events["op"].cat.codes.to_numpy()[rows]], dtype=object),
            "duration_ns": events["duration_ns"].to_numpy(np.int64)[rows],
            # A grid has at most 2**31 - 1 blocks in x and 65,535 each in y and z; the text may contain any
            # number.
            "blocks": np.minimum(blocks, 2**62).astype(np.int64),
        }
    )
    return table.assign(**_hardware(trace, rows), **_tensor_cores(table))


def _hardware(trace: Trace, rows: np.ndarray) -> dict[str, np.ndarray]:
    """Return compute capability and SMs of the GPU of each run."""
    known = {
        str(device): (capability if isinstance(capability, str) else "", 0 if cores is pd.NA else int(cores))
        for device, capability, cores in zip(
            *(devices_of(trace)[name] for name in ("device", "compute_capability", "cores")), strict=True
        )
    }
    devices = trace.events["device"]
    of_each = [*(known.get(str(device), ("", 0)) for device in devices.cat.categories), ("", 0)]
    code = devices.cat.codes.to_numpy()[rows]
    capabilities, cores = zip(*of_each, strict=True)
    return {"capability": np.array(capabilities, object)[code], "cores": np.array(cores, np.int64)[code]}


def _tensor_cores(table: pd.DataFrame) -> dict[str, np.ndarray]:
    """Return for each run whether it uses Tensor Cores, and whether it could."""
    number, first = number_rows(table["name"], table["op"])
    kinds = list(table[["name", "op"]].iloc[first].itertuples(index=False, name=None))
    uses = [uses_tensor_cores(name, op) for name, op in kinds]
    eligible = [
        bool(used) or could_use_tensor_cores(op) if op or used else None
        for used, (_, op) in zip(uses, kinds, strict=True)
    ]
    return {
        "tensor_cores": np.array([*uses, None], object)[number],
        "eligible": np.array([*eligible, None], object)[number],
    }


def _encoded(texts: pd.Series, rows: np.ndarray) -> pa.DictionaryArray:
    """Return the texts of ascending rows; null counts as empty."""
    # Chunk by chunk: there are few distinct but long texts, and a copy of all takes a hundred MB.
    whole = pa.chunked_array(pa.array(texts))
    ends = np.cumsum([len(chunk) for chunk in whole.chunks])
    parts = np.split(rows, np.searchsorted(rows, ends[:-1]))
    encoded = [
        pc.fill_null(chunk.take(pa.array(part - first)).cast(pa.large_string()), "").dictionary_encode()
        for chunk, part, first in zip(whole.chunks, parts, [0, *ends.tolist()], strict=False)
    ]
    return pa.chunked_array(encoded).unify_dictionaries().combine_chunks()
