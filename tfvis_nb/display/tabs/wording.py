"""Names of activities, tasks, devices and lanes in tables, as in the timeline and in charts."""

import numpy as np
import pandas as pd

from tfvis_nb.core.labels import device_location, lane_label, shown_task
from tfvis_nb.core.palette import LABELS
from tfvis_nb.core.trace import Trace

WITHOUT_FIRST = "The first step is left out, because it is not typical."


def activity_label(name: str) -> str:
    """Return the name of an activity, or of a part of a step."""
    name = name.removesuffix("_ns")
    label = LABELS.get(name, name.replace("_", " "))
    return label[:1].upper() + label[1:]


def named(table: pd.DataFrame) -> pd.DataFrame:
    """Return a table with its ``task`` and ``device`` named as in the timeline."""
    tasks = table["task"].astype(str)
    columns = {"task": [shown_task(task) for task in tasks]}
    if "device" in table:
        pairs = zip(tasks, table["device"].astype(str), strict=True)
        columns["device"] = [lane_label(task, device, "") for task, device in pairs]
    return table.assign(**columns)


def device_label(name: object) -> str:
    """Return the timeline's label for a full device name; empty if unknown."""
    return device_location(name) if isinstance(name, str) else ""


def unnumbered(programs: pd.Series) -> pd.Series:
    """Return names of compiled programs without their numbers, which differ between recordings."""
    return programs.astype(str).str.replace(r"\(\d+\)$", "", regex=True)


def placed(trace: Trace, events: np.ndarray) -> list[str]:
    """Return the task, device and lane of each event."""
    rows = trace.events[["task", "device", "lane"]].take(events).astype(str)
    return [lane_label(*row) for row in zip(rows["task"], rows["device"], rows["lane"], strict=True)]
