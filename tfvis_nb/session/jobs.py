"""Run times of each signature by job, and their changes from job to job."""

import math
import sqlite3
from collections.abc import Mapping

import numpy as np
import pandas as pd

from tfvis_nb.analysis.steps.difference import difference
from tfvis_nb.session.file.counters import Counts
from tfvis_nb.session.tables import process_numbers, signature_rows, summed, writer_rows

_COLUMNS = {
    "signature": "int64",
    "process": "int64",
    "label": "str",
    "start": "datetime64[ns]",
    "runs": "int64",
    "mean_ns": "float64",
    "ratio": "float64",
    "traces": "int64",
    **dict.fromkeys(("traced_ratio", "traced_low", "traced_high"), "float64"),
}


def job_table(
    connection: sqlite3.Connection, counted: Mapping[int, Mapping[int, Counts]], traces: pd.DataFrame
) -> pd.DataFrame:
    """Return one row for each signature and process; see `tfvis_nb.session.SavedSession.jobs`."""
    process = process_numbers(connection)
    label = {number: label for number, _, label, *_ in signature_rows(connection)}
    start = {number: started_ns for number, _, _, started_ns, _ in writer_rows(connection)}
    jobs: dict[tuple[int, int], list[Counts]] = {}
    for writer, by_signature in counted.items():
        for number, counts in by_signature.items():
            jobs.setdefault((number, process.get(writer, writer)), []).append(counts)
    traced: dict[tuple[int, int], list[int]] = {}
    for number, writer, duration in traces[["signature", "process", "duration_ns"]].itertuples(index=False):
        traced.setdefault((number, process.get(writer, writer)), []).append(duration)
    rows = []
    last: dict[int, tuple[float, list[int]]] = {}
    for (number, job), each in sorted(jobs.items()):
        total, times = summed(each), traced.get((number, job), [])
        mean = math.nan if total.mean_ns is None else total.mean_ns
        mean_before, times_before = last.get(number, (math.nan, []))
        change = difference(np.array(times_before), np.array(times))[:3] if times_before and times else ()
        values = (number, job, label.get(number, ""), start.get(job, 0), total.runs, mean)
        rows.append((*values, mean / (mean_before or math.nan), len(times), *(change or (math.nan,) * 3)))
        last[number] = mean, times or times_before
    table = pd.DataFrame(rows, columns=list(_COLUMNS))
    return table.astype(_COLUMNS).set_index(["signature", "process"])
