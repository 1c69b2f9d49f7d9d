"""Small datasets of ranks, and the same events as one trace in memory."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import tfvis_nb as tv
from tests.large_traces import answers_of, decoded, made_up
from tests.support.clauses import clauses
from tfvis_nb import Trace, TraceDataset
from tfvis_nb import events as event_table
from tfvis_nb.analysis.events.lane_order import order_lanes
from tfvis_nb.display.large.layout import lay_out
from tfvis_nb.display.large.level_of_detail import Entries
from tfvis_nb.display.store.answers import Answers
from tfvis_nb.events import COLUMNS
from tfvis_nb.fleet.dataset import levels
from tfvis_nb.fleet.timeline.source import DatasetSource


def task_of(rank: int) -> str:
    return f"/job:worker/replica:0/task:{rank}"


def made_up_ranks(folder: Path, ranks: int, count: int, *, longest: int = 60_000) -> TraceDataset:
    """A dataset of made-up traces, one of each rank; every second rank has two parts, one after the other.

    Its row groups have few events.
    """
    for rank in range(ranks):
        for step in range(1 + rank % 2):
            trace = made_up(count, 3, 10 * rank + step, longest=longest)
            table = trace.events.assign(
                step=np.int32(0),
                start_ns=trace.events["start_ns"] + step * 30 * count,
                device=pd.Categorical([f"{task_of(rank)}/device:GPU:0"] * count),
            )
            table["task"] = pd.Categorical([task_of(rank)] * count)
            file = folder / "job" / f"rank{rank}" / f"step{step}.parquet"
            file.parent.mkdir(parents=True, exist_ok=True)
            Trace(table).to_parquet(file)
    dataset = tv.open_traces(folder / "dataset")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(levels, "ROW_GROUP", 256)
        patch.setattr(levels, "LEVEL_ROW_GROUP", 64)
        dataset.ingest(folder / "job", progress=False)
    return dataset


class InMemory:
    """The same events as one trace, read from the files by Dask.

    Attributes
    ----------
    trace, layout, windows
        The trace, and what answers questions about it.
    number
        The number that each of its events has in the timeline of the dataset: they are counted task by
        task and, within a task, source by source.
    """

    def __init__(self, dataset: TraceDataset) -> None:
        every = dataset.events.compute().astype({"task": "str", "key": "str"})
        first = every.groupby("key")["step"].transform("min")
        place = np.lexsort((every["event"], first, every["task"]))
        table = event_table.build({name: every[name].to_numpy() for name in COLUMNS}).take(place)
        table, before = event_table.order(table.reset_index(drop=True))
        self.trace = Trace(table)
        self.number = before
        self.layout = lay_out(self.trace, order_lanes(table))
        self.windows = answers_of(self.layout)


def asked(source: DatasetSource | Answers[Entries], **question: Any) -> tuple[Mapping[str, Any], list[bytes]]:
    """Send a query as JSON, like the front end."""
    answer, buffers = source.answer(json.loads(json.dumps(question)))
    known: Mapping[str, Any] = json.loads(json.dumps(answer))
    return known, buffers


def bars(source: DatasetSource, lanes: list[int], start: int, end: int, bucket: int, text: str = "") -> Any:
    question = {"kind": "window", "start": start, "end": end, "bucket": bucket, "lanes": lanes}
    _, (part,) = asked(source, **question, clauses=clauses(text) if text else None, step=None)
    return decoded(part)
