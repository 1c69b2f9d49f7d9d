"""How activities, tasks, devices and lanes are called in tables: as in the timeline and in charts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from tfvis_nb.core.labels import lane_label
from tfvis_nb.core.palette import LABELS

if TYPE_CHECKING:
    from tfvis_nb.core.trace import Trace


def activity_label(name: str) -> str:
    """Return what an activity, or a part of a step, is called.

    Examples
    --------
    >>> from tfvis_nb.display.tabs.wording import activity_label
    >>> activity_label("h2d"), activity_label("idle_ns"), activity_label("kernel_gap")
    ('Copy H2D', 'Idle', 'Kernel gap')
    """
    name = name.removesuffix("_ns")
    label = LABELS.get(name, name.replace("_", " "))
    return label[:1].upper() + label[1:]


def named(table: pd.DataFrame) -> pd.DataFrame:
    """Return a table with its ``task`` and ``device`` called as in the timeline.

    Examples
    --------
    >>> import pandas as pd
    >>> from tfvis_nb.display.tabs.wording import named
    >>> named(pd.DataFrame({"task": ["/job:worker/task:1"], "device": ["/job:worker/task:1/device:GPU:0"]}))
           task            device
    0  worker 1  worker 1 · GPU:0
    """
    tasks = table["task"].astype(str)
    columns = {"task": [lane_label(task, "", "") or "local" for task in tasks]}
    if "device" in table:
        pairs = zip(tasks, table["device"].astype(str), strict=True)
        columns["device"] = [lane_label(task, device, "") for task, device in pairs]
    return table.assign(**columns)


def device_label(name: object) -> str:
    """Return a full device name as the timeline calls it; empty where it is not known.

    Examples
    --------
    >>> from tfvis_nb.display.tabs.wording import device_label
    >>> device_label("/job:ps/replica:0/task:0/device:CPU:0"), device_label(float("nan"))
    ('ps 0 · CPU:0', '')
    """
    text = name if isinstance(name, str) else ""
    task, _, _ = text.partition("/device:")
    return lane_label(task, text, "")


def placed(trace: Trace, events: np.ndarray) -> list[str]:
    """Return where each event ran: task, device and lane.

    Examples
    --------
    >>> import numpy as np
    >>> from tfvis_nb import Trace, events
    >>> from tfvis_nb.display.tabs.wording import placed
    >>> columns = {"start_ns": [0], "duration_ns": [1], "lane": ["ops"], "device": ["/device:CPU:0"]}
    >>> table = events.build({**columns, "kind": ["op"]})
    >>> placed(Trace(table), np.array([0]))
    ['CPU:0 · ops']
    """
    rows = trace.events[["task", "device", "lane"]].take(events).astype(str)
    return [lane_label(*row) for row in zip(rows["task"], rows["device"], rows["lane"], strict=True)]
