"""Damage to the SQLite file of a session, page by page, and by SQL of somebody who wants to do harm."""

import random
import sqlite3
import struct
from pathlib import Path

from tests.mutants import extremes, raw_bytes

_HEADER = 100
_FIELDS = (
    *(
        (16, ">H"),
        (18, "B"),
        (19, "B"),
        (20, "B"),
        (24, ">I"),
        (28, ">I"),
        (32, ">I"),
        (36, ">I"),
        (40, ">I"),
    ),
    *((44, ">I"), (52, ">I"), (56, ">I"), (60, ">I"), (64, ">I"), (68, ">I"), (92, ">I"), (96, ">I")),
)
"""Where the numbers of the file's header are, and how they are written."""

_TABLES = ("signatures", "writers", "counts", "traces", "rules", "requests", "sqlite_sequence")

HOSTILE_SQL = (
    "CREATE TRIGGER harm AFTER INSERT ON writers BEGIN INSERT INTO requests SELECT NULL, 1, 1; END",
    "CREATE TRIGGER harm AFTER UPDATE ON counts BEGIN DELETE FROM traces; END",
    "CREATE VIEW more AS SELECT * FROM traces",
    (
        "ALTER TABLE writers RENAME TO former; CREATE VIEW writers AS WITH RECURSIVE n(i) AS ("
        "SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i id, '' host, 1 pid, 1 started_ns, 0 ended_ns FROM n"
    ),
    "DROP TABLE counts",
    "DROP TABLE traces; CREATE TABLE traces(id, data)",
    "ALTER TABLE traces ADD COLUMN more AS (hex(zeroblob(100000000)))",
    "CREATE INDEX more ON traces(hex(data))",
    "PRAGMA user_version = 999",
    "PRAGMA user_version = 1",
    "PRAGMA application_id = 0",
    "PRAGMA writable_schema = 1; UPDATE sqlite_schema SET sql = 'CREATE TABLE a(b)' WHERE rootpage > 5",
    "PRAGMA writable_schema = ON; UPDATE sqlite_schema SET rootpage = 2",
    "UPDATE traces SET size = 2147483647",
    "INSERT INTO rules VALUES (0, 'every', 0), (1, 'nothing', 'text'), (-1, 'slower', 1e400)",
)


def damaged(path: Path, other: bytes, chance: random.Random) -> None:
    """Damage the file of a session, or one that lies next to it."""
    action = chance.randrange(10)
    if action < 4:
        _by_sql(path, chance)
        return
    files = [one for one in sorted(path.parent.glob(f"{path.name}*")) if one.stat().st_size]
    one = chance.choice((path, *files))
    data = one.read_bytes()
    one.write_bytes(
        damaged_page(data, other, chance) if data[:6] == b"SQLite" else raw_bytes.damaged(data, other, chance)
    )


def damaged_page(data: bytes, other: bytes, chance: random.Random) -> bytes:
    """Damage a page of an SQLite file, or its header."""
    made = bytearray(data)
    size = struct.unpack(">H", data[16:18])[0] or 4096
    pages = max(1, len(data) // max(512, size))
    page = chance.randrange(pages) * size
    head = page + (_HEADER if page == 0 else 0)
    action = chance.randrange(9)
    if action == 0:
        at, form = chance.choice(_FIELDS)
        value = extremes.number(struct.unpack_from(form, made, at)[0], chance)
        struct.pack_into(form, made, at, value % 256 ** struct.calcsize(form))
    elif action == 1:
        made[head] = chance.choice((0, 1, 2, 5, 10, 13, 255))
    elif action == 2:
        struct.pack_into(">H", made, head + chance.choice((1, 3, 5)), chance.getrandbits(16))
    elif action == 3:
        struct.pack_into(">I", made, head + 8, chance.choice((0, 1, pages, pages + 1, 2**32 - 1)))
    elif action == 4:  # the pointer to one cell, and by it the cell
        cells = struct.unpack_from(">H", made, head + 3)[0] % 500
        struct.pack_into(
            ">H", made, head + 8 + 2 * chance.randrange(cells + 1), chance.getrandbits(16) % size
        )
    elif action == 5:
        at = page + chance.randrange(min(size, len(data) - page))
        made[at : at + 9] = chance.choice(
            (b"\xff" * 9, bytes(9), b"\x81\x80\x80\x80\x00", chance.randbytes(3))
        )[:9]
    elif action == 6:
        to = chance.randrange(pages) * size
        made[page : page + size], made[to : to + size] = data[to : to + size], data[page : page + size]
    elif action == 7:
        del made[page + (0 if page else size) :]
    else:
        return raw_bytes.damaged(data, other, chance)
    return bytes(made[: len(data)])


def _by_sql(path: Path, chance: random.Random) -> None:
    connection = sqlite3.connect(path, isolation_level=None)
    try:
        if chance.random() < 0.3:
            connection.executescript(chance.choice(HOSTILE_SQL))
            return
        table = chance.choice(_TABLES)
        columns = [row[1] for row in connection.execute(f"PRAGMA table_info({table})")]
        column = chance.choice(columns)
        near = connection.execute(f"SELECT {column} FROM {table} LIMIT 1").fetchone()
        near = near[0] if near else 0
        number = extremes.number(near if isinstance(near, int) else 0, chance)
        number = max(-(2**63), min(2**63 - 1, number))
        text = extremes.text(near if isinstance(near, str) else "", chance)
        value = chance.choice((number, number, text, text, 1e300, float("inf"), b"\xff\xfe", b"", -1))
        if isinstance(near, bytes) and chance.random() < 0.5:
            value = raw_bytes.damaged(near, b"", chance)
        action = chance.randrange(4)
        if action < 2:
            connection.execute(f"UPDATE OR IGNORE {table} SET {column} = ?", (value,))
        elif action == 2:
            connection.execute(f"DELETE FROM {table}")
        else:
            connection.execute(
                f"UPDATE OR IGNORE {table} SET {column} = CAST({column} AS "
                f"{chance.choice(('TEXT', 'BLOB', 'REAL'))})"
            )
    except sqlite3.Error:
        pass  # what SQLite itself refuses is no file
    finally:
        connection.close()
