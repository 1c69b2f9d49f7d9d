"""A session's signatures, traces and processes as DataFrames."""

import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from statistics import median_low
from typing import Any

import pandas as pd

from tfvis_nb.analysis.steps.difference import difference
from tfvis_nb.session.file import rows as stored_rows
from tfvis_nb.session.file.columns import OF_TRACED_RUN, selected
from tfvis_nb.session.file.counters import Counts, ledger_path, read_ledger
from tfvis_nb.session.file.entries import name_and_type
from tfvis_nb.session.file.rows import count, count_or_none, text, trace_format, validate_rows, whole
from tfvis_nb.session.file.schema import EVERY

_SIGNATURE = "id, kind, label, fetches, targets, feeds, options"


def counts_by_writer(connection: sqlite3.Connection, path: Path) -> dict[int, dict[int, Counts]]:
    """Return the counts of each process by signature, up to the last run that ended."""
    running = stored_rows.running_writers(connection)
    # Before the rows, because a process that ends in between writes its last counts there.
    ledgers = {writer: read_ledger(ledger_path(path, writer)) for writer in running}
    counts: dict[int, dict[int, Counts]] = {}
    query = f"SELECT writer, signature, slot, {selected(connection, Counts._fields)} FROM counts"  # noqa: S608 - constants
    checks = (whole, whole, whole, *(count for _ in Counts._fields))
    for writer, signature, slot, *values in validate_rows(connection.execute(query), *checks):
        saved = Counts(*values)
        live = ledgers.get(writer, {}).get(slot, saved)
        newer = live.runs + live.failed > saved.runs + saved.failed
        counts.setdefault(writer, {})[signature] = live if newer else saved
    return counts


def total_times(counted: Mapping[int, Mapping[int, Counts]]) -> dict[int, int]:
    """Return the total time of runs of each signature in all processes, in ns."""
    took: dict[int, int] = {}
    for by_signature in counted.values():
        for number, counts in by_signature.items():
            took[number] = took.get(number, 0) + counts.total_ns
    return took


def processes_by_signature(
    connection: sqlite3.Connection, counted: Mapping[int, Mapping[int, Counts]]
) -> dict[int, int]:
    """Return the number of processes that ran each signature; one with several recordings counts once."""
    process = process_numbers(connection)
    by_signature: dict[int, set[int]] = {}
    for writer, counts in counted.items():
        for number in counts:
            by_signature.setdefault(number, set()).add(process.get(writer, writer))
    return {number: len(processes) for number, processes in by_signature.items()}


def process_numbers(connection: sqlite3.Connection) -> dict[int, int]:
    """Return the process number of each writer: that of the first writer, because each ``fit()`` adds one."""
    query = connection.execute("SELECT id, host, pid FROM writers ORDER BY id")
    first: dict[tuple[Any, ...], int] = {}
    rows = validate_rows(query, whole, text, whole)
    return {writer: first.setdefault((host, pid), writer) for writer, host, pid in rows}


def signature_rows(connection: sqlite3.Connection, after: int = 0) -> list[tuple[Any, ...]]:
    """Return the rows of signatures with numbers above `after`, in order."""
    query = f"SELECT {_SIGNATURE} FROM signatures WHERE id > ? ORDER BY id"  # noqa: S608 - constants
    return list(validate_rows(connection.execute(query, (after,)), count, *(text for _ in range(6))))


def signature_table(
    connection: sqlite3.Connection, counted: Mapping[int, Mapping[int, Counts]]
) -> pd.DataFrame:
    """Return one row per signature; see `tfvis_nb.session.SavedSession.signatures`."""
    known = signature_rows(connection)
    traces = stored_rows.numbers_by_signature(connection, "traces")
    rules = {
        number: f"{kind} {value:g}" if value else kind
        for number, (kind, value) in stored_rows.rules_by_signature(connection).items()
    }
    requested = stored_rows.numbers_by_signature(connection, "requests")
    processes = processes_by_signature(connection, counted)
    rows = []
    for number, kind, label, fetches, targets, feeds, options in known:
        fetched, fed = (
            [name_and_type(line) for line in lines.split("\n")] if lines else [] for lines in (fetches, feeds)
        )
        each = [by_signature[number] for by_signature in counted.values() if number in by_signature]
        total = summed(each)
        rows.append(
            {
                "signature": number,
                "kind": kind,
                "label": label,
                "runs": total.runs,
                "mean_ns": float("nan") if total.mean_ns is None else total.mean_ns,
                "total_ns": total.total_ns,
                "longest_ns": total.longest_ns,
                "first": pd.Timestamp(total.first_ns) if total.first_ns else pd.NaT,
                "last": pd.Timestamp(total.last_ns) if total.last_ns else pd.NaT,
                "failed": total.failed,
                "traced": total.traced,
                "processes": processes.get(number, 0),
                "traces": traces.get(number, 0),
                "requested": requested.get(number, 0),
                "rule": rules.get(number, rules.get(EVERY, "")),
                "fetches": [name for name, _ in fetched],
                "targets": targets.split("\n") if targets else [],
                "feeds": [name for name, _ in fed],
                "options": options,
                "fetch_types": [type_ for _, type_ in fetched],
                "feed_types": [type_ for _, type_ in fed],
            }
        )
    columns = [
        *(
            "signature",
            "kind",
            "label",
            "runs",
            "mean_ns",
            "total_ns",
            "longest_ns",
            "first",
            "last",
            "failed",
            "traced",
        ),
        *("processes", "traces", "requested", "rule", "fetches", "targets", "feeds", "options"),
        *("fetch_types", "feed_types"),
    ]
    table = pd.DataFrame(rows, columns=columns)
    return table.astype({"first": "datetime64[ns]", "last": "datetime64[ns]"}).set_index("signature")


def summed(each: Iterable[Counts]) -> Counts:
    """Add up the counts of one signature from several processes."""
    each = list(each)
    begun = [counts.first_ns for counts in each if counts.first_ns]
    untraced = [counts for counts in each if counts.runs > counts.traced]
    return Counts(
        runs=sum(counts.runs for counts in each),
        failed=sum(counts.failed for counts in each),
        total_ns=sum(counts.total_ns for counts in each),
        longest_ns=max((counts.longest_ns for counts in untraced or each), default=0),
        first_ns=min(begun, default=0),
        last_ns=max((counts.last_ns for counts in each), default=0),
        traced=sum(counts.traced for counts in each),
        traced_ns=sum(counts.traced_ns for counts in each),
    )


def trace_table(connection: sqlite3.Connection) -> pd.DataFrame:
    """Return one row per trace; see `tfvis_nb.session.SavedSession.traces`."""
    columns = ["trace", "signature", "label", "process", "run", "start", "duration_ns"]
    columns += [*OF_TRACED_RUN, "format", "bytes"]
    query = (
        "SELECT traces.id, signature, label, writer, run, start_ns, duration_ns,"  # noqa: S608 - constants
        f" {selected(connection, OF_TRACED_RUN)}, format, length(data)"
        " FROM traces JOIN signatures ON signatures.id = signature ORDER BY traces.id"
    )
    checks = (count, whole, text, whole, whole, count, count, *OF_TRACED_RUN.values(), trace_format, whole)
    rows = validate_rows(connection.execute(query), *checks)
    # Not by way of floats, which None among the numbers would make of them.
    table = pd.DataFrame(rows, columns=columns, dtype=object).infer_objects()
    table["start"] = pd.to_datetime(table["start"].astype("int64"), unit="ns")
    return table.astype(dict.fromkeys(("tracing_ns", "untraced_ns", "batch"), "Int64")).set_index("trace")


def tracing_cost_table(traces: pd.DataFrame) -> pd.DataFrame:
    """Return one row per signature; see `tfvis_nb.session.SavedSession.tracing_costs`."""
    rows = []
    for number, own in traces[traces["untraced_ns"].fillna(0) > 0].groupby("signature"):
        untraced, traced = (own[name].to_numpy("int64") for name in ("untraced_ns", "duration_ns"))
        ratio, low, high = difference(untraced, traced)[:3]
        medians = median_low(traced.tolist()), median_low(untraced.tolist())
        rows.append((number, own["label"].iloc[0], len(own), *medians, ratio, low, high))
    names = ["signature", "label", "traces", "traced_ns", "untraced_ns", "ratio", "ratio_low", "ratio_high"]
    return pd.DataFrame(rows, columns=names).set_index("signature")


def writer_rows(connection: sqlite3.Connection, where: str = "") -> Iterator[tuple[Any, ...]]:
    """Yield number, host, pid, start and end of processes, ordered by number."""
    query = f"SELECT id, host, pid, started_ns, ended_ns FROM writers {where} ORDER BY id"  # noqa: S608
    return validate_rows(connection.execute(query), count, text, whole, count, count_or_none)


def writer_table(connection: sqlite3.Connection, ended: Mapping[int, int]) -> pd.DataFrame:
    """Return one row per process; see `tfvis_nb.session.SavedSession.processes`.

    `ended` has the end times, in epoch nanoseconds, of ended processes that the session lists as running.
    """
    rows = [
        (number, *known, ended.get(number) if ended_ns is None else ended_ns)
        for number, *known, ended_ns in writer_rows(connection)
    ]
    # Not by way of floats, which None among the numbers would make of them.
    table = pd.DataFrame(rows, columns=["process", "host", "pid", "start", "end"], dtype=object)
    table = table.astype({"process": "int64", "host": "str", "pid": "int64"})
    for name in ("start", "end"):
        table[name] = pd.to_datetime(table[name].astype("Int64"), unit="ns")
    return table.set_index("process")
