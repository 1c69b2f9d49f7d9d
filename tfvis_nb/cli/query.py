"""``tfvis-nb query``: answer a SELECT over the tables of a trace or a dataset."""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import pandas as pd
import pyarrow as pa

from tfvis_nb.cli.errors import Failure, note
from tfvis_nb.cli.traces import ABOUT_TRACES, SOURCE, TRACES, Source, read
from tfvis_nb.cli.verb import verb
from tfvis_nb.core.labels import printable
from tfvis_nb.reading.sources.files import DATASET
from tfvis_nb.sql.connection import is_of_duckdb, select, trace_connection
from tfvis_nb.sql.limits import CELL_BYTES, ROWS, SECONDS, cell
from tfvis_nb.texts import Text, text_of

if TYPE_CHECKING:
    import duckdb

_LETTERS = 80

_ABOUT = f"""
The tables are named like the attributes of a trace: events, steps, lanes, transfers, edges, kernels,
source_lines and so on; SHOW TABLES lists them. A dataset has events, steps, ops, lanes, transfers and
stacks. A query is one SELECT of DuckDB's SQL, of at most {SECONDS} s, and the output has at most {ROWS:,}
rows and {CELL_BYTES >> 10} kB a value. It needs the extra sql.
{ABOUT_TRACES}"""

_EXAMPLES = """
tfvis-nb query step.pb 'SELECT op, sum(duration_ns) AS ns FROM events GROUP BY op ORDER BY ns DESC LIMIT 5'
tfvis-nb query new.pb --against old.pb 'SELECT op FROM b.events EXCEPT SELECT op FROM a.events'
tfvis-nb query dataset 'SELECT run, step, step_ns FROM steps ORDER BY step_ns DESC LIMIT 5' --format csv
"""


@verb("query", _ABOUT, _EXAMPLES)
@TRACES
@click.argument("query", metavar="SELECT")
@click.option(
    "--against",
    metavar="BASE",
    type=SOURCE,
    help="A trace to compare with: its tables are in a, as in a.events, those of TRACE in b.",
)
@click.option(
    "--format",
    "form",
    type=click.Choice(["table", "csv", "json"]),
    default="table",
    show_default=True,
    help="Format of the rows; json is a list of objects.",
)
def command(
    traces: tuple[Source, ...],
    query: str,
    *,
    max_unpacked: int | None,
    against: Source | None,
    form: str,
) -> int:
    """Print the rows; return the exit code."""
    try:
        with _connection(traces, against, max_unpacked) as connection:
            table = select(connection, query, seconds=SECONDS, rows=ROWS + 1)
    except (ImportError, ValueError) as error:
        raise Failure(text_of(error)) from None
    except Exception as error:
        if is_of_duckdb(error):
            raise Failure(Text("query_failed", reason=str(error))) from None
        raise
    if table.num_rows > ROWS:
        note(Text("rows_left_out", rows=ROWS))
    _print(table[:ROWS], form)
    return 0


def _connection(
    traces: Sequence[Source], against: Source | None, max_unpacked: int | None
) -> duckdb.DuckDBPyConnection:
    if len(traces) == 1 and against is None and (Path(traces[0]) / DATASET[0]).is_file():
        from tfvis_nb.fleet.dataset import open_traces

        return open_traces(traces[0]).reader()
    base = None if against is None else read([against], max_unpacked=max_unpacked)
    return trace_connection(read(traces, max_unpacked=max_unpacked), base)


def _print(table: pa.Table, form: str) -> None:
    names = table.column_names
    rows = [
        [cell(value) for value in row] for row in zip(*map(pa.ChunkedArray.to_pylist, table), strict=True)
    ]
    if form == "json":
        print(json.dumps([dict(zip(names, row, strict=True)) for row in rows], indent=1))  # noqa: T201
    elif form == "csv":
        csv.writer(sys.stdout, lineterminator="\n").writerows([names, *rows])
    else:
        shown = pd.DataFrame(rows, columns=names, dtype=object).map(_shown)
        print(shown.to_string(index=False, max_colwidth=None) if rows else "(no rows)")  # noqa: T201


def _shown(value: Any) -> str:
    """Return a value for a terminal, on one line."""
    text = "" if value is None else f"{value:,}" if isinstance(value, int) else str(value)
    return printable(" ".join(text.split()), _LETTERS)
