"""Copy the complete current content of a session."""

from collections.abc import Mapping
from pathlib import Path

from tfvis_nb.session.file.connection import Guarded, opened
from tfvis_nb.session.file.counters import Counts
from tfvis_nb.session.file.creation import check_new
from tfvis_nb.session.file.database import PATIENCE_S, Transaction, make_private
from tfvis_nb.session.file.dead_writers import save_counts
from tfvis_nb.session.file.schema import check_schema


def write_copy(connection: Guarded, counted: Mapping[int, Mapping[int, Counts]], path: Path) -> None:
    """Write the content of a session to a new file, which is removed on failure.

    `counted` has its counts, including those not yet in the file. FileExistsError if there is a file with the
    name of one of its companions.
    """
    check_new(path)
    make_private(path)
    try:
        copy = opened(path, "rw", PATIENCE_S)
        try:
            connection.backup(copy)
            check_schema(copy, path)
            with Transaction(copy):
                for writer, counts in counted.items():
                    save_counts(copy, writer, counts)
                # No process records into the copy.
                last = "ifnull((SELECT max(last_ns) FROM counts WHERE writer = writers.id), 0)"
                ended = f"ifnull(nullif({last}, 0), started_ns)"
                copy.execute(f"UPDATE writers SET ended_ns = {ended} WHERE ended_ns IS NULL")  # noqa: S608
                copy.execute("DELETE FROM requests WHERE writer IS NOT NULL")
        finally:
            copy.close()
    except BaseException:
        path.unlink(missing_ok=True)
        raise
