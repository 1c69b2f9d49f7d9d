"""The elements of tf.data pipelines that one thread produces and another hands out."""

import re

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from tfvis_nb.core.trace import Trace

LANE = ["task", "device", "lane"]
"""The columns that events of one thread have in common."""
ELEMENT = ["task", "kind", "element"]
"""The columns that the production of an element and its handing out have in common."""

_EDGES = ("Produce", "Consume")
_NAME = re.compile(rf"(\w+)({'|'.join(_EDGES)})")
_NUMBER = r"(?:^| )element_id=(\d{1,20})(?: |$)"


def elements(trace: Trace) -> pd.DataFrame:
    """Return the events that produce elements, and those that hand them out, by event id.

    ``edge`` is ``Produce`` or ``Consume``, and ``kind`` the rest of the name, such as ``Prefetch``; with the
    columns of `LANE` and `ELEMENT`, ``start_ns`` and ``end_ns``.
    """
    events = trace.events
    names = pa.array(events["name"])
    rows = pc.indices_nonzero(pc.or_(*(pc.ends_with(names, edge) for edge in _EDGES))).to_numpy()
    chosen = events.iloc[rows] if len(rows) else events.iloc[:0]
    table = chosen[LANE].astype(object).fillna({"task": ""})
    called = pd.Categorical(chosen["name"].astype(object))
    parts = [_NAME.fullmatch(str(name)) for name in called.categories]
    for at, part in enumerate(("kind", "edge"), 1):
        table[part] = np.array([*(one[at] if one else "" for one in parts), ""], object)[called.codes]
    table["element"] = chosen["detail"].astype(object).str.extract(_NUMBER, expand=False)
    table["start_ns"] = chosen["start_ns"].to_numpy(np.int64)
    table["end_ns"] = table["start_ns"] + chosen["duration_ns"].to_numpy(np.int64)
    return table[table["element"].notna()]
