"""Calls of a buffered stage whose element was not finished when they started."""

import re

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from tfvis_nb.analysis.input.stage_names import stage_label
from tfvis_nb.core.trace import Trace

_EDGES = ("Produce", "Consume")
_NAME = re.compile(rf"(\w+)({'|'.join(_EDGES)})")
_ELEMENT = r"(?:^| )element_id=(\d{1,20})(?: |$)"
_LANE = ["task", "device", "lane"]
_KEY = ["task", "kind", "element"]


def unfinished(trace: Trace, calls: pd.DataFrame) -> np.ndarray:
    """Return a mask of `stage_calls` that handed out an element finished after the call started.

    tf.data records the production of an element, such as ``PrefetchProduce``, with the number under which
    ``PrefetchConsume`` hands it out in the call. Numbers handed out twice belong to several pipelines and are
    ignored.
    """
    found = np.zeros(len(calls), bool)
    edges = _edges(trace)
    made = edges[edges["edge"] == "Produce"].groupby(_KEY, sort=False)["end_ns"].max()
    taken = edges[edges["edge"] == "Consume"].drop_duplicates(_KEY, keep=False)
    if taken.empty or made.empty:
        return found
    taken = taken.join(made.rename("made_ns"), on=_KEY, how="inner")
    within = calls[[*_LANE, "start_ns"]].assign(row=np.arange(len(calls)))
    within["kind"] = calls["stage"].map({stage: stage_label(stage, "") for stage in calls["stage"].unique()})
    both = pd.concat([within, taken], ignore_index=True).sort_values("start_ns", kind="stable")
    # Each element with the last call of its kind that started on its thread.
    last = both.groupby([*_LANE, "kind"], dropna=False, sort=False)["row"].ffill()
    row = last.sort_index()[len(calls) :]
    known = row.notna().to_numpy()
    rows, taken = row[known].to_numpy(np.int64), taken[known]
    start = calls["start_ns"].to_numpy()[rows]
    is_within = taken["end_ns"].to_numpy() <= start + calls["duration_ns"].to_numpy()[rows]
    found[rows[is_within & (taken["made_ns"].to_numpy() > start)]] = True
    return found


def _edges(trace: Trace) -> pd.DataFrame:
    """Return the events that produce elements, and those that hand them out."""
    events = trace.events
    names = pa.array(events["name"])
    rows = pc.indices_nonzero(pc.or_(*(pc.ends_with(names, edge) for edge in _EDGES))).to_numpy()
    chosen = events.iloc[rows] if len(rows) else events.iloc[:0]
    table = chosen[_LANE].astype(object).fillna({"task": ""})
    called = pd.Categorical(chosen["name"].astype(object))
    parts = [_NAME.fullmatch(str(name)) for name in called.categories]
    for at, part in enumerate(("kind", "edge"), 1):
        table[part] = np.array([*(one[at] if one else "" for one in parts), ""], object)[called.codes]
    table["element"] = chosen["detail"].astype(object).str.extract(_ELEMENT, expand=False)
    table["start_ns"] = chosen["start_ns"].to_numpy(np.int64)
    table["end_ns"] = table["start_ns"] + chosen["duration_ns"].to_numpy(np.int64)
    return table[table["element"].notna()]
