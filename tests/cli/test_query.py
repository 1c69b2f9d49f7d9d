"""``tfvis-nb query``: rows of a SELECT, within limits."""

import csv
import io
import json
import sys
from pathlib import Path

import pytest

import tfvis_nb as tv
from tests.real_traces import DATA, real_trace
from tests.support.fleet_dataset import fleet_dataset
from tfvis_nb.cli import main, query
from tfvis_nb.sql.limits import CELL_BYTES, ROWS

MLP, OLD = DATA / "gpu_tf221_mlp.pb.xz", DATA / "gpu_tf218_mlp.pb.xz"
TOTALS = "SELECT op, sum(duration_ns) AS ns FROM events GROUP BY op ORDER BY op"


def printed(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> str:
    assert main(["query", *map(str, arguments)]) == 0
    return capsys.readouterr().out


def test_each_format_has_all_rows(capsys: pytest.CaptureFixture[str]) -> None:
    totals = real_trace(MLP).events.groupby("op", observed=True)["duration_ns"].sum()
    expected = dict(sorted(zip(totals.index.tolist(), totals.tolist(), strict=True)))
    objects = json.loads(printed(capsys, MLP, TOTALS, "--format", "json"))
    assert {each["op"]: each["ns"] for each in objects} == expected
    lines = list(csv.DictReader(io.StringIO(printed(capsys, MLP, TOTALS, "--format", "csv"))))
    assert {each["op"]: int(each["ns"]) for each in lines} == expected
    table = [line.rsplit(maxsplit=1) for line in printed(capsys, MLP, TOTALS).splitlines()[1:]]
    assert [int(cells[-1].replace(",", "")) for cells in table] == list(expected.values())


def test_json_keeps_lists_and_nulls(capsys: pytest.CaptureFixture[str]) -> None:
    values = "SELECT [1, 2] AS list, NULL AS none, 'NaN'::DOUBLE AS nan, DATE '2026-01-02' AS day, 2.5 AS x"
    assert json.loads(printed(capsys, MLP, values, "--format", "json")) == [
        {"list": [1, 2], "none": None, "nan": None, "day": "2026-01-02", "x": 2.5}
    ]


def test_a_base_is_another_schema(capsys: pytest.CaptureFixture[str]) -> None:
    counts = "SELECT (SELECT count(*) FROM a.events) AS a, (SELECT count(*) FROM b.events) AS b"
    assert json.loads(printed(capsys, MLP, counts, "--against", OLD, "--format", "json")) == [
        {"a": len(real_trace(OLD).events), "b": len(real_trace(MLP).events)}
    ]


def test_datasets_answer_as_well(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    dataset = fleet_dataset(tmp_path)
    steps = "SELECT run, task, step, step_ns FROM steps ORDER BY ALL"
    expected = dataset.steps.sort_values(["run", "task", "step"])[["run", "task", "step", "step_ns"]]
    objects = json.loads(printed(capsys, dataset.path, steps, "--format", "json"))
    assert [list(each.values()) for each in objects] == expected.values.tolist()


def test_rows_and_values_are_limited(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["query", str(MLP), "SELECT i FROM range(20000) t(i)", "--format", "csv"]) == 0
    out, notes = capsys.readouterr()
    assert out.split() == ["i", *map(str, range(ROWS))]
    assert "10,000" in notes
    (row,) = json.loads(printed(capsys, MLP, "SELECT repeat('é', 100000) AS text", "--format", "json"))
    assert len(row["text"].encode()) <= CELL_BYTES + 3


def test_time_is_limited(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(query, "SECONDS", 0.2)
    endless = "SELECT count(*) FROM range(100000000000) a, range(100000)"
    assert main(["query", str(MLP), endless]) == 1
    assert "0.2 s" in capsys.readouterr().err


@pytest.mark.parametrize(
    "statement", ["SELECT nosuch FROM events", "SELECT", "DROP VIEW events", "SELECT 1; SELECT 2", ""]
)
def test_other_statements_fail_with_one_line(statement: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["query", str(MLP), statement]) == 1
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)


def test_control_characters_of_names_stay_out_of_terminals(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    columns = {"start_ns": [0], "duration_ns": [1], "kind": ["op"], "name": ["\x1b[2J\u202eb\nc"]}
    path = tv.Trace(tv.events.build(columns)).to_parquet(tmp_path / "hostile.parquet")
    shown = printed(capsys, path, "SELECT name FROM events")
    assert shown.count("\n") == 2
    assert all(letter.isprintable() for letter in shown.replace("\n", ""))


def test_a_missing_duckdb_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "duckdb", None)
    assert main(["query", str(MLP), "SELECT 1"]) == 1
    assert "'duckdb>=1.5'" in capsys.readouterr().err
