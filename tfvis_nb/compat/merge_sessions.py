"""Add the content of one session to another, and keep only the newest traces."""

from contextlib import closing
from pathlib import Path

from tfvis_nb.core.temporary_folder import TemporaryFolder
from tfvis_nb.session.file.columns import OF_TRACED_RUN, selected, stored
from tfvis_nb.session.file.connection import Guarded
from tfvis_nb.session.file.counters import Counts
from tfvis_nb.session.file.database import Transaction, connect
from tfvis_nb.session.file.rows import last_number
from tfvis_nb.session.file.schema import has_kept
from tfvis_nb.session.session import SavedSession, open_session

_RECORDED = ("run", "start_ns", "duration_ns", *OF_TRACED_RUN)
_RECORDED += ("format", "epoch_ns", "size", "note", "layers", "data")

_STATEMENTS = (
    """INSERT OR IGNORE INTO main.signatures(kind, label, fetches, targets, feeds, options)
        SELECT kind, label, fetches, targets, feeds, options FROM added.signatures ORDER BY id""",
    """INSERT INTO main.writers(id, host, pid, started_ns, ended_ns)
        SELECT id + :writers, host, pid, started_ns, ended_ns FROM added.writers""",
    """INSERT INTO main.counts(writer, signature, slot, {counts})
        SELECT writer + :writers, own.id, slot, {added_counts}
        FROM added.counts JOIN added.signatures AS other ON other.id = signature
            JOIN main.signatures AS own USING(kind, fetches, targets, feeds, options)""",
    """INSERT INTO main.traces(id, signature, writer, {recorded})
        SELECT traces.id + :traces, own.id, writer + :writers, {added_recorded}
        FROM added.traces JOIN added.signatures AS other ON other.id = signature
            JOIN main.signatures AS own USING(kind, fetches, targets, feeds, options)
        ORDER BY traces.id""",
)
# By time, because numbers are in the order of adding.
_DELETE_OLDEST = """DELETE FROM main.traces WHERE id IN (
        SELECT id FROM (
            SELECT id, row_number() OVER (PARTITION BY signature ORDER BY start_ns DESC, id DESC) AS place
            FROM main.traces)
        WHERE place > ?)"""
_ADD_KEPT = "INSERT INTO main.kept SELECT trace + :traces, annotations, views FROM added.kept"
_FORGET = "DELETE FROM main.kept WHERE trace NOT IN (SELECT id FROM main.traces)"


def keep_newest(path: Path, keep: int) -> None:
    """Delete all but the newest `keep` traces of each signature from a session file."""
    with closing(connect(path)) as connection:
        with Transaction(connection):
            _delete_oldest(connection, keep)
        connection.executescript("PRAGMA incremental_vacuum")


def _delete_oldest(connection: Guarded, keep: int) -> None:
    """Delete all but the newest traces, requested ones as well: this is how tftracer's server keeps them."""
    connection.execute(_DELETE_OLDEST, (keep,))
    if has_kept(connection):
        connection.execute(_FORGET)


def add_session(session: SavedSession, source: str | Path, keep: int) -> int:
    """Add the current runs, processes and traces of another session, without its requests.

    The newest `keep` traces of each signature stay, from either session. Both may be recording. Return how
    many processes recorded the other one. If it cannot be read or this one cannot be written (sqlite3.Error),
    nothing is added.
    """
    # A copy, because the counts of recording processes are not in the database.
    with TemporaryFolder() as folder, open_session(source) as other:
        return _add(session, other.save(folder.path / "added.tfvis"), keep)


def _add(session: SavedSession, copy: Path, keep: int) -> int:
    with session.writing() as connection:
        connection.execute("ATTACH ? AS added", (str(copy),))
        try:
            with Transaction(connection):
                return _copied(connection, keep)
        finally:
            connection.execute("DETACH added")


def _copied(connection: Guarded, keep: int) -> int:
    after = {name: last_number(connection, name) for name in ("writers", "traces")}
    columns: dict[str, str] = {}
    for name, each in (("counts", Counts._fields), ("recorded", _RECORDED)):
        kept = stored(connection, each)
        columns |= {name: ", ".join(kept), f"added_{name}": selected(connection, kept, "added")}
    for statement in _STATEMENTS:
        connection.execute(statement.format(**columns), after)
    if has_kept(connection) and has_kept(connection, "added"):
        connection.execute(_ADD_KEPT, after)
    _delete_oldest(connection, keep)
    return int(connection.execute("SELECT count(*) FROM added.writers").fetchone()[0])
