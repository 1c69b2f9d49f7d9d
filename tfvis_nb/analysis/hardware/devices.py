"""The devices of a trace, and the hardware facts in its profile."""

import pandas as pd

from tfvis_nb.analysis._validate import validate_input
from tfvis_nb.analysis.events.lanes import lanes
from tfvis_nb.analysis.unavailable import cannot_say, dtypes
from tfvis_nb.core.devices import task_of
from tfvis_nb.core.metadata import DEVICES, SUBJECTS, table_of
from tfvis_nb.core.trace import Trace
from tfvis_nb.events import TEXT
from tfvis_nb.texts import Text

FIGURES: dict[str, str] = {
    "device": "Name of the device, as in the events.",
    "task": "Its task; empty if that is not known.",
    "vendor": "Manufacturer.",
    "model": "Name of the model.",
    "compute_capability": "CUDA compute capability.",
    "cores": "Number of streaming multiprocessors of a GPU.",
    "clock_hz": "Highest clock rate of the cores, in Hz.",
    "memory_bytes": "Size of the device's memory, in bytes.",
    "memory_bandwidth": "Highest bandwidth of the device's memory, in bytes a second.",
    "peak_flops": "Highest rate, in floating-point operations a second; profiles of TPUs have it.",
}
"""All but the first two are copied from the profile; missing values stay missing."""

_COLUMNS = {name: "str" if SUBJECTS[DEVICES][name] == TEXT else "Int64" for name in FIGURES}


@validate_input
def devices(trace: Trace) -> pd.DataFrame:
    """Return the devices of a trace and their known hardware.

    Parameters
    ----------
    trace
        Any trace.

    Returns
    -------
    pandas.DataFrame
        One row per device that has events: ``device``, ``task``, ``vendor``, ``model``,
        ``compute_capability`` (str), ``cores``, ``clock_hz``, ``memory_bytes``, ``memory_bandwidth`` and
        ``peak_flops`` (Int64) as in `FIGURES`. XSpaces describe the hardware of GPUs and TPUs; elsewhere it
        is missing. `cannot_say` if no event is on a device.

    Examples
    --------
    >>> from tfvis_nb import Trace, events
    >>> from tfvis_nb.core.metadata import table_of
    >>> from tfvis_nb.analysis import devices
    >>> gpu = "/device:GPU:0"
    >>> table = events.build({"start_ns": [0], "duration_ns": [5], "kind": ["kernel"], "device": [gpu]})
    >>> known = table_of("devices", [{"task": "", "device": gpu, "cores": 132}])
    >>> devices(Trace(table, metadata={"devices": known}))[["device", "cores"]].values.tolist()
    [['/device:GPU:0', 132]]
    """
    used = lanes(trace)[["device", "task"]].drop_duplicates().dropna(subset="device")
    used = (
        used[used["device"].astype(str) != ""]
        .reset_index(drop=True)
        .astype(dtypes({"device": "str", "task": "str"}))
    )
    if not len(used):
        return cannot_say(_COLUMNS, Text("no_events_on_devices"))
    known = trace.metadata.get(DEVICES, table_of(DEVICES, []))
    own = [device.removeprefix(task_of(device)) for device in used["device"]]
    rows = []
    for task, name in zip(used["task"], own, strict=True):
        of_name = known[(known["device"] == name) & known["task"].isin(["", task])]
        # Profiles of several processes that do not name their tasks may differ.
        rows.append(of_name.index[0] if len(of_name.drop(columns="task").drop_duplicates()) == 1 else -1)
    facts = known.reindex(rows).reset_index(drop=True)
    return pd.concat([used, facts.drop(columns=["task", "device"])], axis=1)[list(FIGURES)]
