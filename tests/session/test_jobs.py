"""How run times of a signature changed from job to job of a file."""

import sqlite3
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import tfvis_nb as tv
from tests.support.session_files import recording
from tfvis_nb.analysis.steps.difference import difference
from tfvis_nb.session.file.counters import Counts
from tfvis_nb.session.file.entries import Signature
from tfvis_nb.session.file.writer import Writer


def test_a_job_is_compared_with_the_one_before(path: Path) -> None:
    times = [[5_000, 5_100, 5_050], [], [4_000, 4_100, 4_060]]
    for job, traced in enumerate(times):
        writer = Writer(path, keep=None)
        train, _ = writer.add_signature(Signature("session", "train", "loss:0"))
        for run, duration in enumerate(traced, 1):
            writer.add_trace(train, replace(recording(run), duration_ns=duration), None)
        count = len(traced)
        total = 1_000 * (10 - job) + sum(traced)
        writer.close({train: Counts(count + 10, 0, total, 0, 1, 2, traced=count, traced_ns=sum(traced))})
    # To the file, one process that records three times is one job.
    with tv.open_session(path) as session:
        (row,) = session.jobs.itertuples()
        assert (row.label, row.runs, row.mean_ns, row.traces) == ("train", 36, 27_000 / 30, 6)
        assert session.jobs[["ratio", "traced_ratio"]].isna().all(axis=None)
    database = sqlite3.connect(path)
    with database:
        database.execute("UPDATE writers SET pid = pid + id")
    database.close()
    with tv.open_session(path) as session:
        jobs = session.jobs
        assert jobs.index.tolist() == [(train, 1), (train, 2), (train, 3)]
        assert jobs["mean_ns"].tolist() == [1_000, 900, 800]
        assert jobs["ratio"].tolist()[1:] == pytest.approx([0.9, 8 / 9])
        assert jobs["traces"].tolist() == [3, 0, 3]
        found = jobs[["traced_ratio", "traced_low", "traced_high"]].to_numpy()
        assert np.isnan(found[:2]).all()
        assert found[2].tolist() == list(difference(np.array(times[0]), np.array(times[2]))[:3])
        assert jobs["start"].is_monotonic_increasing


def test_a_file_without_runs_has_no_jobs(path: Path) -> None:
    Writer(path, keep=None).close({})
    with tv.open_session(path) as session:
        assert session.jobs.empty
