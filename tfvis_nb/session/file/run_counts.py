"""Write the last counts of a process, and its end, to the database."""

from collections.abc import Mapping

from tfvis_nb.session.file.columns import stored
from tfvis_nb.session.file.connection import Guarded
from tfvis_nb.session.file.counters import Counts


def save_counts(connection: Guarded, writer: int, counts: Mapping[int, Counts]) -> None:
    """Write the counts of a process by signature; part of a transaction."""
    columns = stored(connection, Counts._fields)
    put = ", ".join(f"{column} = ?" for column in columns)
    connection.executemany(
        f"UPDATE counts SET {put} WHERE writer = ? AND signature = ?",  # noqa: S608 - constants
        [(*values[: len(columns)], writer, signature) for signature, values in counts.items()],
    )


def end_writer(connection: Guarded, writer: int, ended_ns: int) -> None:
    """Record the end of a process, and drop its requests; part of a transaction."""
    connection.execute("UPDATE writers SET ended_ns = ? WHERE id = ?", (ended_ns, writer))
    connection.execute("DELETE FROM requests WHERE writer = ?", (writer,))
