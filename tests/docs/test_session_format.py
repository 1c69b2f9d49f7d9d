"""docs/session-format.md is what sessions are: its reader reads them, its tables have all columns."""

import re
import sqlite3
import struct
from contextlib import closing
from pathlib import Path
from typing import Any

from tests.support.session_files import filled, recording
from tests.support.stored_writer import METADATA
from tfvis_nb.session.file.counters import Counts, ledger_path
from tfvis_nb.session.file.entries import Signature
from tfvis_nb.session.file.schema import APPLICATION, VERSION, empty_session
from tfvis_nb.session.file.writer import Writer

PAGE = (Path(__file__).parents[2] / "docs" / "session-format.md").read_text(encoding="utf-8")


def listed() -> dict[str, list[tuple[str, str]]]:
    """Names and types of the columns of each table, as the page has them."""
    tables: dict[str, list[tuple[str, str]]] = {}
    for name, rows in re.findall(
        r"^`(\w+)`: [^|]*\| column[^\n]*\n\|---[^\n]*\n(.*?)\n\n", PAGE, re.MULTILINE | re.DOTALL
    ):
        tables[name] = []
        for row in rows.splitlines():
            columns, types, _ = (cell.strip() for cell in row.strip("|").split("|", 2))
            found, kinds = re.findall(r"`(\w+)`", columns), types.split(", ")
            tables[name] += zip(found, kinds * len(found) if len(kinds) == 1 else kinds, strict=False)
    return tables


def test_the_tables_have_all_columns_with_their_types() -> None:
    session = empty_session()
    tables = {
        name: session.execute("SELECT name, type FROM pragma_table_info(?)", (name,)).fetchall()
        for (name,) in session.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")
        if not name.startswith("sqlite_")
    }
    assert listed().keys() == tables.keys()
    assert {name: sorted(columns) for name, columns in listed().items()} == {
        name: sorted(columns) for name, columns in tables.items()
    }


def test_the_pragmas() -> None:
    assert f"| `application_id` | {APPLICATION:#x} " in PAGE
    assert f"| `user_version` | {VERSION}, " in PAGE


def test_the_reader_of_the_page_reads_a_session(tmp_path: Path) -> None:
    path = tmp_path / "run.tfvis"
    filled(path)
    (source,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    reader: dict[str, Any] = {}
    exec(source, reader)
    assert list(reader["traces"](path)) == [("train", run, "run_metadata", METADATA) for run in (1, 2, 3)]


def test_counts_of_a_running_process(tmp_path: Path) -> None:
    path = tmp_path / "run.tfvis"
    writer = Writer(path, keep=None)
    number, slot = writer.add_signature(Signature("session", "train"))
    writer.add_trace(number, recording(), None)
    writer.count(slot, Counts(7, 1, 70, 20, 5, 6, 1, 9))
    content = ledger_path(path, writer.number).read_bytes()
    assert content[:80] == b"tfvis_nb counts 2\n".ljust(80, b"\0")
    assert struct.unpack("<10q", content[80 * (slot + 1) :][:80]) == (7, 1, 70, 20, 5, 6, 1, 9, 70, 8)
    writer.close({number: Counts(7)})
    with closing(sqlite3.connect(path)) as database:
        assert database.execute("SELECT runs FROM counts").fetchall() == [(7,)]
