"""The file of a session is a trace to every verb that reads."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import pytest
import tensorflow as tf

import tfvis_nb as tv
from tests.cli.command import complaint, tfvis_nb
from tfvis_nb.cli import main

pytestmark = pytest.mark.tensorflow

v1 = tf.compat.v1


def record(path: Path, *, traced: bool) -> None:
    """Run something twice in a session that keeps its traces at `path`."""
    with tf.Graph().as_default(), v1.Session() as session, tv.TraceSession(path) as stored:
        total = tf.reduce_sum(tf.random.uniform([10]), name="total")
        if traced:
            stored.trace_all()
        for _ in range(2):
            session.run(total)


def test_its_traces_are_steps(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, target = tmp_path / "run.tfvis", tmp_path / "run.parquet"
    record(path, traced=True)
    before = len(tv.open_session(path).traces)
    assert main(["info", "--json", str(path)]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["title"] == "run.tfvis"
    assert [step["label"] for step in facts["steps"]] == ["total", "total"]
    assert main(["export", str(path), "-o", str(target)]) == 0
    assert len(tv.read_trace(target).events) == facts["events"] > 0
    assert len(tv.open_session(path).traces) == before == 2


def test_one_without_traces_says_how_to_get_one(tmp_path: Path) -> None:
    path = tmp_path / "run.tfvis"
    record(path, traced=False)
    said = complaint(tfvis_nb("info", path), 1)
    assert "run.tfvis: a session in which no run was traced; ask for a trace:" in said
    assert said.endswith(".trace_next()")


def test_a_damaged_one(tmp_path: Path) -> None:
    record(tmp_path / "whole.tfvis", traced=True)
    path = tv.open_session(tmp_path / "whole.tfvis").save(tmp_path / "run.tfvis")
    data = bytearray(path.read_bytes())
    data[4096:] = bytes(len(data) - 4096)
    path.write_bytes(data)
    assert "run.tfvis: a session that cannot be read: " in complaint(tfvis_nb("info", path), 1)


def test_another_database_is_none(tmp_path: Path) -> None:
    path = tmp_path / "other.db"
    with sqlite3.connect(path) as database:
        database.execute("CREATE TABLE t(x)")
    assert "other.db: this is an SQLite file, but no session of tfvis_nb" in complaint(
        tfvis_nb("info", path), 1
    )
