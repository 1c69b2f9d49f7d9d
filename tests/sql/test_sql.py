"""Tables of a trace in SQL: the same rows as its attributes, computed when they are read."""

import gc
import lzma
import sys
import weakref
from pathlib import Path

import duckdb
import pandas as pd
import pytest

import tfvis_nb as tv
from tests.analysis.test_small_traces import TRACES
from tests.real_traces import DATA, real_trace
from tests.support.fleet_dataset import fleet_dataset
from tests.support.texts import raises_id
from tfvis_nb import events
from tfvis_nb.fleet.dataset.tables import TABLES

MLP = DATA / "gpu_tf221_mlp.pb.xz"
FILES = (
    "gpu_tf221_mlp.pb.xz",
    "gpu_tf221_dist.pb.xz",
    "gpu_tf221_worker0.xplane.pb.xz",
    "cpu_tf221_keras_fit.xplane.pb.xz",
    "cpu_tf215_input.xplane.pb.xz",
    "cpu_tf221_cost_model.pb.xz",
    "cpu_jax.xplane.pb",
    "kineto_rank0.json.xz",
    "horovod_timeline.json.xz",
    "timeline_tf115_distributed.json",
)


def names(trace: tv.Trace) -> list[str]:
    return trace.sql("SHOW TABLES")["name"].tolist()


def plain(table: pd.DataFrame) -> list[list[object]]:
    return [list(row) for row in table.astype(object).where(table.notna(), None).to_numpy()]


@pytest.mark.parametrize("file", FILES)
def test_each_table_has_the_rows_of_its_attribute(file: str) -> None:
    trace = real_trace(DATA / file)
    for name in names(trace):
        table = getattr(trace, name)
        columns = [column for column in table if table[column].dtype != object]
        listed = ", ".join(f'"{column}"' for column in columns)
        assert plain(trace.sql(f"SELECT {listed} FROM {name}")) == plain(table[columns]), name
    assert trace.sql("SELECT event FROM events")["event"].tolist() == trace.events.index.tolist()


def test_tables_have_the_same_columns_whatever_the_trace() -> None:
    described: dict[str, pd.DataFrame] = {}
    for trace in [*TRACES.values(), *(real_trace(DATA / file) for file in FILES)]:
        for name in names(trace):
            columns = trace.sql(f"DESCRIBE {name}")[["column_name", "column_type"]]
            assert plain(described.setdefault(name, columns)) == plain(columns)
            assert len(trace.sql(f"FROM {name}")) == len(getattr(trace, name))
    assert {"events", "steps", "transfers", "source_lines", "findings", "critical_path"} <= set(described)


def test_findings_have_their_events_and_figures() -> None:
    trace = real_trace(MLP)
    found = trace.sql("SELECT id, len(events) AS n, json_valid(figures) AS valid FROM findings")
    assert found["n"].tolist() == trace.findings["events"].map(len).tolist()
    assert found["valid"].all()


def test_tables_are_computed_when_they_are_first_read() -> None:
    trace = tv.read_trace(MLP)
    with trace.connect() as connection:
        connection.execute("DESCRIBE edges").fetchall()
        assert "edges" not in vars(trace)
        assert connection.sql("SELECT count(*) FROM edges").fetchall() == [(len(trace.edges),)]


def test_changed_annotations_are_found() -> None:
    trace = TRACES["one step"]
    for names_given in (["a"], ["b", "c"], []):
        trace.annotations = [{"event": 0, "name": name} for name in names_given]
        assert trace.sql("SELECT name FROM annotations ORDER BY name")["name"].tolist() == names_given


def test_integers_stay_integers() -> None:
    trace = real_trace(MLP)
    found = trace.sql(
        "SELECT sum(duration_ns) AS total, max(thread) AS thread, NULL::BIGINT AS none FROM events"
    )
    assert found["total"][0] == trace.events["duration_ns"].sum()
    assert [str(each) for each in found.dtypes] == ["int64", "int64", "Int64"]
    assert plain(trace.sql("SELECT 1 AS a, 2 AS a")) == [[1, 2]]


def test_two_traces_are_compared() -> None:
    before, after = real_trace(MLP), real_trace(DATA / "gpu_tf218_mlp.pb.xz")
    query = "SELECT (SELECT count(*) FROM a.events), (SELECT count(*) FROM b.events), count(*) FROM events"
    counts = [len(before.events), len(after.events), len(after.events)]
    assert plain(after.sql(query, against=before)) == [counts]
    with after.connect(against=before) as connection:
        assert connection.sql(query).fetchall() == [tuple(counts)]


def test_queries_keep_no_trace() -> None:
    trace = tv.Trace(events.build({"start_ns": [5], "duration_ns": [3], "kind": ["op"]}))
    assert trace.sql("SELECT count(*) AS n FROM edges")["n"].tolist() == [0]
    reference = weakref.ref(trace)
    del trace
    gc.collect()
    assert reference() is None


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT * FROM read_text('{file}')",
        "SELECT * FROM read_csv('{file}')",
        "SELECT * FROM '{file}'",
        "SELECT * FROM glob('{folder}/*')",
        "SELECT * FROM read_parquet('http://127.0.0.1:9/a.parquet')",
        "COPY (SELECT 1) TO '{folder}/new.csv'",
        "EXPORT DATABASE '{folder}/new'",
        "ATTACH '{folder}/new.db'",
        "INSTALL httpfs",
        "LOAD httpfs",
        "SET enable_external_access = true",
        "SET memory_limit = '1TB'",
        "SET temp_directory = '{folder}/new'",
        "RESET lock_configuration",
        "SELECT * FROM mine",
        "SELECT * FROM pandas_of_the_caller",
    ],
)
def test_connections_reach_nothing_else(
    statement: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "secret.txt").write_text("a,b\n1,2\n")
    monkeypatch.chdir(tmp_path)
    mine = pandas_of_the_caller = pd.DataFrame({"x": [1]})
    assert len(mine) == len(pandas_of_the_caller)
    with real_trace(MLP).connect() as connection, pytest.raises(duckdb.Error):
        connection.execute(statement.format(file=tmp_path / "secret.txt", folder=tmp_path)).fetchall()
    assert [path.name for path in tmp_path.iterdir()] == ["secret.txt"]


def test_memory_is_limited_and_never_swapped_to_files() -> None:
    settings = "current_setting('temp_directory'), current_setting('memory_limit')"
    with real_trace(MLP).connect() as connection:
        ((folder, limit),) = connection.sql(f"SELECT {settings}").fetchall()
    with duckdb.connect() as other:
        ((_, default),) = other.sql(f"SELECT {settings}").fetchall()
    assert folder == ""
    units = {"MiB": 1, "GiB": 1024, "TiB": 1024**2}
    ours, default_limit = (float(size) * units[unit] for size, unit in map(str.split, (limit, default)))
    # DuckDB's own limit is 80 % of the memory.
    assert 0 < ours < default_limit / 2


@pytest.mark.parametrize(
    "query", ["", "SELECT 1; SELECT 2", "DROP VIEW events", "CREATE TABLE t (a INT)", "SET threads = 1"]
)
def test_sql_answers_one_select(query: str) -> None:
    with raises_id(ValueError, "sql_one_select"):
        real_trace(MLP).sql(query)


def test_errors_of_queries_are_those_of_duckdb() -> None:
    with pytest.raises(duckdb.BinderException, match="duration_ns"):
        real_trace(MLP).sql("SELECT duration FROM events")


def test_a_missing_duckdb_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "duckdb", None)
    trace = tv.Trace(events.build({"start_ns": [], "duration_ns": []}))
    with raises_id(ImportError, "sql_extra_missing"):
        trace.connect()
    with raises_id(ImportError, "sql_extra_missing"):
        trace.sql("SELECT 1")


def test_sessions_have_the_tables_of_all_traces(tmp_path: Path) -> None:
    path = tmp_path / "job.tfvis"
    path.write_bytes(lzma.decompress((DATA / "sessions" / "version1.tfvis.xz").read_bytes()))
    with tv.open_session(path) as session:
        counts = session.sql("SELECT trace, count(*) AS n FROM events GROUP BY trace ORDER BY trace")
        expected = [[number, len(session.read(number).events)] for number in session.traces.index]
        assert plain(counts) == expected
        for name in ("signatures", "traces", "jobs", "processes"):
            assert len(session.sql(f"FROM {name}")) == len(getattr(session, name))
        with session.connect() as connection:
            session.delete(int(session.traces.index[0]))
            assert connection.sql("SELECT count(DISTINCT trace) FROM events").fetchall() == [
                (len(expected) - 1,)
            ]


def test_datasets_have_all_parts(tmp_path: Path) -> None:
    dataset = fleet_dataset(tmp_path / "it's")
    assert dataset.sql("SHOW TABLES")["name"].tolist() == sorted(TABLES)
    for name in TABLES:
        table = dataset.table(name).compute()
        found = dataset.sql(f'SELECT count(*), count(DISTINCT run || task || "key") FROM {name}')
        parts = table.groupby(["run", "task", "key"]).ngroups if len(table) else 0
        assert plain(found) == [[len(table), parts]]
        assert set(dataset.sql(f"FROM {name} LIMIT 0").columns) == set(table.columns)
    with raises_id(ValueError, "sql_one_select"):
        dataset.sql(f"COPY (SELECT 1) TO '{tmp_path}/new.csv'")
    with pytest.raises(duckdb.PermissionException):
        dataset.sql(f"SELECT * FROM read_text('{__file__}')")
