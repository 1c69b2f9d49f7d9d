"""Combine the parts of all sources into one table; sums, minima and maxima combine exactly."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa

from tfvis_nb.core.labels import natural
from tfvis_nb.events import NO_STEP, TEXT
from tfvis_nb.fleet.dataset.layout import as_unicode, part_folder
from tfvis_nb.fleet.dataset.manifest import Entry
from tfvis_nb.fleet.dataset.sources import public_name
from tfvis_nb.fleet.dataset.stored_parts import StoredPart, naming_part, read_part
from tfvis_nb.fleet.dataset.tables import SCHEMAS
from tfvis_nb.texts import Text, id_of

if TYPE_CHECKING:
    import dask.dataframe as dd

_STEP_OPS = pa.schema(
    [
        ("run", pa.string()),
        ("step", pa.int32()),
        ("op", pa.string()),
        ("kind", pa.string()),
        ("self_ns", pa.int64()),
    ]
)
_TASKS = pa.schema([("run", pa.string()), ("step", pa.int32()), ("tasks", pa.int64())])
_MOST_ROWS = 1 << 20
"""Limit on the rows added up at once."""
_SINCE = {"work_ns": 3, "activity": 4}
"""Column to the first version of parts that has it; it is null in earlier ones."""
_SELECT = 'SELECT run, parse_filename(filename, true) AS "key", * EXCLUDE (run, steps, filename)'
_SELECT_SHARED = 'SELECT run, "key", * EXCLUDE (run, "key", task), task'
_OPTIONS = "filename = true, union_by_name = true, hive_partitioning = true, hive_types_autocast = false"
_GROUPS = ["run", "task", "op", "kind", "side"]


class _Part(NamedTuple):
    """A part of a table: the dataset's folder, its path there, and the values in that."""

    folder: Path
    path: str
    stored: StoredPart
    run: str
    task: str
    key: str
    version: int

    @property
    def file(self) -> str:
        """The path of its file."""
        return str(self.folder / self.stored.file(self.path)[0])


def whole_table(folder: Path, entries: Sequence[Entry], name: str) -> pd.DataFrame:
    """Return a table of all sources, in order."""
    schema = _schema(name)
    parts = _parts(folder, entries, name)
    tables = {
        id(part): table
        for batch in _batches(parts)
        for part, table in zip(batch, _read(batch, schema.names, schema), strict=True)
    }
    return _frame(pa.concat_tables([tables[id(part)] for part in parts] or [schema.empty_table()]), schema)


def dask_table(folder: Path, entries: Sequence[Entry], name: str) -> dd.DataFrame:
    """Return a table of all sources as a Dask DataFrame: one partition per file, read by column."""
    import dask.dataframe as dd

    schema = _schema(name)
    meta = _frame(schema.empty_table(), schema)
    parts = _parts(folder, entries, name)
    if not parts:
        return dd.from_pandas(meta, npartitions=1)
    return dd.from_map(_partition, _batches(parts), meta=meta, table=name)


def queries(folder: Path, entries: Sequence[Entry]) -> dict[str, object]:
    """Return for each table a query of DuckDB that reads its parts, or an empty table."""
    found: dict[str, object] = {}
    for name in SCHEMAS:
        parts = _parts(folder, entries, name)
        own = ", ".join(_literal(part.file) for part in parts if part.stored.pack is None)
        shared = {part.file: None for part in parts if part.stored.pack is not None}
        selects = [f"{_SELECT} FROM read_parquet([{own}], {_OPTIONS})"] if own else []
        if shared:
            # A pack may have rows of sources that were read again since.
            keys = ", ".join({_literal(part.key): None for part in parts if part.stored.pack is not None})
            files = ", ".join(map(_literal, shared))
            selects.append(f'{_SELECT_SHARED} FROM read_parquet([{files}]) WHERE "key" IN ({keys})')
        found[name] = " UNION ALL BY NAME ".join(selects) if selects else _schema(name).empty_table()
    return found


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _batches(parts: Sequence[_Part]) -> list[list[_Part]]:
    """Group parts by their file, in order."""
    batches: dict[str, list[_Part]] = {}
    for part in parts:
        batches.setdefault(part.file, []).append(part)
    return list(batches.values())


def _partition(batch: Sequence[_Part], columns: Sequence[str] | None = None, table: str = "") -> pd.DataFrame:
    schema = _schema(table)
    names = schema.names if columns is None else columns
    return _frame(pa.concat_tables(_read(batch, names, schema)), schema)


def _schema(name: str) -> pa.Schema:
    return pa.schema([pa.field("run", pa.string()), pa.field("key", pa.string()), *SCHEMAS[name]])


def _parts(folder: Path, entries: Iterable[Entry], name: str) -> list[_Part]:
    parts = []
    for entry in entries:
        for task in entry.tasks:
            start = part_folder(name, entry.run, task)
            parts += [
                _Part(folder, path, stored, entry.run, task, entry.key, entry.version)
                for path, stored in entry.parts.items()
                if path.startswith(start)
            ]
    return parts


def _read(batch: Sequence[_Part], names: Sequence[str], schema: pa.Schema) -> list[pa.Table]:
    """Return columns of each part of a file, including those in its path, in the types of the table."""
    part = batch[0]
    if part.stored.pack is None:
        return [_read_own(part, names, schema)]
    first = min(one.stored.first for one in batch)
    rows = max(one.stored.first + one.stored.rows for one in batch) - first
    whole = StoredPart(rows, 0, 0, first, part.stored.pack)
    table = _typed(part, read_part(part.folder, part.path, names, whole), names, schema)
    return [table.slice(one.stored.first - first, one.stored.rows) for one in batch]


def _read_own(part: _Part, names: Sequence[str], schema: pa.Schema) -> pa.Table:
    added = {"run": part.run, "task": part.task, "key": part.key}
    later = [name for name in names if part.version < _SINCE.get(name, 0)]
    own = [name for name in names if name not in added and name not in later]
    table = read_part(part.folder, part.path, own, part.stored)
    rows = table.num_rows
    values = {name: pa.repeat(pa.scalar(text, pa.string()), rows) for name, text in added.items()}
    values |= {name: pa.nulls(rows, pa.int64()) for name in later}
    values |= {name: table[name] for name in own}
    return _typed(part, values, names, schema)


def _typed(part: _Part, values: Any, names: Sequence[str], schema: pa.Schema) -> pa.Table:
    with naming_part(part.file):
        read = pa.table({name: values[name] for name in names}).cast(
            pa.schema([schema.field(name) for name in names])
        )
        for column, field in zip(read.columns, read.schema, strict=True):
            if column.null_count and not field.nullable:
                raise ValueError(f"column {field.name!r} lacks values")
    return read


def _frame(table: pa.Table, schema: pa.Schema) -> pd.DataFrame:
    """Return a table in pandas, with dtypes that do not depend on its values."""
    return pd.DataFrame(
        {
            name: pd.Series(
                pd.array(table[name].to_pandas(types_mapper=_nullable), dtype=_dtype(schema.field(name)))
            )
            for name in table.column_names
        }
    )


def _dtype(field: pa.Field) -> Any:
    if pa.types.is_string(field.type):
        return TEXT
    if pa.types.is_timestamp(field.type):
        return pd.DatetimeTZDtype("ns", "UTC")
    name = str(field.type.to_pandas_dtype().__name__)
    return name.capitalize() if field.nullable and pa.types.is_integer(field.type) else name


def _nullable(kind: pa.DataType) -> Any:
    return pd.Int64Dtype() if kind == pa.int64() else pd.Int32Dtype() if kind == pa.int32() else None


def by_name(table: pd.DataFrame, columns: Sequence[str]) -> pd.DataFrame:
    """Order a table by some columns, ``task:2`` before ``task:10``."""
    ranks = [
        table[name].map({text: at for at, text in enumerate(sorted(table[name].unique(), key=natural))})
        if table[name].dtype == TEXT
        else table[name]
        for name in columns
    ]
    order = pd.concat(ranks, axis=1).sort_values(list(columns), kind="stable").index
    return table.loc[order].reset_index(drop=True)


def op_totals(table: pd.DataFrame) -> pd.DataFrame:
    """Add up the figures of ops over all steps and sources, the longest first."""
    grouped = table.groupby(_GROUPS, sort=True, dropna=False)
    sums = grouped[["count", "total_ns"]].sum()
    known = grouped[["self_ns", "bytes"]].sum(min_count=1)
    least, most = grouped["min_ns"].min(), grouped["max_ns"].max()
    totals = pd.concat([sums, known["self_ns"], least, most, known["bytes"]], axis=1).reset_index()
    return totals.sort_values("total_ns", ascending=False, kind="stable", ignore_index=True)


def step_ops(folder: Path, entries: Sequence[Entry]) -> pd.DataFrame:
    """Add up the self times of ops over the tasks of each step, part by part."""
    import pyarrow.compute as pc

    ops, tasks, rows = [_STEP_OPS.empty_table()], [_TASKS.empty_table()], 0
    columns = ["run", "step", "op", "kind", "side", "self_ns"]
    batches = _batches(_parts(folder, entries, "ops"))
    for read in (table for batch in batches for table in _read(batch, columns, _schema("ops"))):
        is_own = pc.and_(pc.not_equal(read["step"], NO_STEP), pc.not_equal(read["side"], "repeated"))
        table = read.filter(is_own)
        ops.append(_sums(table, _STEP_OPS))
        present = table.select(["run", "step"]).group_by(["run", "step"]).aggregate([])
        tasks.append(
            present.append_column("tasks", pa.array(np.ones(present.num_rows, np.int64))).cast(_TASKS)
        )
        rows += ops[-1].num_rows
        if rows > _MOST_ROWS + 2 * ops[0].num_rows:
            ops, rows = [_sums(pa.concat_tables(ops), _STEP_OPS)], 0
            tasks = [_sums(pa.concat_tables(tasks), _TASKS)]
    summed = _sums(pa.concat_tables(ops), _STEP_OPS)
    joined = summed.join(_sums(pa.concat_tables(tasks), _TASKS), ["run", "step"]).sort_by(
        [(name, "ascending") for name in ("run", "step", "op", "kind")]
    )
    return _frame(joined, joined.schema)


def _sums(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """Add up the last column of a schema for each value of the others."""
    *keys, summed = schema.names
    sums = table.group_by(keys).aggregate([(summed, "sum")]).rename_columns([*keys, summed])
    return sums.cast(schema)


def sources(entries: Sequence[Entry]) -> pd.DataFrame:
    """Return the sources of a dataset, for `TraceDataset.sources`."""
    return pd.DataFrame(
        {
            "key": [entry.key for entry in entries],
            "path": [as_unicode(public_name(entry.source)) for entry in entries],
            "run": [entry.run for entry in entries],
            "tasks": [list(entry.tasks) for entry in entries],
            "steps": [list(entry.steps) for entry in entries],
            "events": [entry.rows("events") for entry in entries],
            "size": [entry.size for entry in entries],
            "modified": [entry.modified for entry in entries],
            "problem": [entry.reason.id if entry.problem else "" for entry in entries],
        }
    )


def problems(entries: Sequence[Entry], damaged: Sequence[Path], others: Sequence[Path]) -> pd.DataFrame:
    """Return the problems of a dataset, for `TraceDataset.problems`; `others` are not its own files."""
    rows: list[tuple[str, str]] = [(entry.source, entry.reason) for entry in entries if entry.problem]
    rows += [(entry.source, Text("source_gone")) for entry in entries if entry.gone]
    is_entry = re.compile(r"[0-9a-f]{20}\.(?:json|pack)").fullmatch
    rows += [(str(file), Text("entry_damaged")) for file in damaged if is_entry(file.name)]
    foreign = (file for file in damaged if not is_entry(file.name))
    rows += [(str(file), Text("dataset_file_of_others")) for file in (*foreign, *others)]
    return pd.DataFrame(
        {
            "path": [as_unicode(public_name(path)) for path, _ in rows],
            "problem": [id_of(reason) for _, reason in rows],
            "reason": [reason for _, reason in rows],
        },
        dtype=object,
    )
