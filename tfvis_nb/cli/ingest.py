"""``tfvis-nb ingest``: add traces to a dataset."""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tfvis_nb.cli.errors import Failure, note, unreadable
from tfvis_nb.cli.parameters import FILE
from tfvis_nb.cli.traces import MAX_UNPACKED, SOURCE, Source
from tfvis_nb.cli.verb import INTERRUPTED, verb
from tfvis_nb.core.errors import TraceFormatError
from tfvis_nb.texts import Text, text_of

if TYPE_CHECKING:
    from tfvis_nb.fleet.dataset import TraceDataset

_ABOUT = """
A SOURCE is a file, a folder or a pattern of traces in any format that tfvis_nb.read_trace reads, or the URL
of one, such as s3://bucket/logs. Each file becomes parts of Parquet tables in the folder DATASET, which
tfvis_nb.open_traces opens. Files that are in it and have not changed are not read again: an ingest that was
ended goes on, and a later one adds what is new.
"""

_EXAMPLES = """
tfvis-nb ingest 'bucket/**/*.xplane.pb' -o dataset
tfvis-nb ingest s3://bucket/logs -o dataset --workers 8
tfvis-nb ingest /mnt/logs -o /mnt/dataset --cluster tcp://scheduler:8786
"""

_MOST_SHOWN = 20


@verb("ingest", _ABOUT, _EXAMPLES)
@click.argument("sources", metavar="SOURCE...", nargs=-1, required=True, type=SOURCE)
@click.option(
    "-o", "--output", "folder", metavar="DATASET", type=FILE, required=True, help="Folder of the dataset."
)
@click.option("--run", metavar="NAME", help="Run of all files; by default that of their paths.")
@click.option(
    "--workers",
    type=click.IntRange(min=1),
    default=os.cpu_count() or 1,
    show_default="one per core",
    help="Number of processes that read files.",
)
@click.option(
    "--cluster", metavar="ADDRESS", help="Address of a Dask scheduler whose workers read the files instead."
)
@MAX_UNPACKED
@click.option("--allow-http", is_flag=True, help="Read URLs that begin with http:// or https://.")
def command(
    sources: Sequence[Source],
    folder: Path,
    run: str | None,
    workers: int,
    cluster: str | None,
    max_unpacked: int | None,
    *,
    allow_http: bool,
) -> int:
    """Ingest the sources; return the exit code."""
    from tfvis_nb.fleet.dataset import TraceDataset

    try:
        dataset = TraceDataset(folder)
        before = _read(dataset)
        with _scheduler(workers, cluster) as client:
            report = dataset.ingest(
                sources, client, run=run, max_unpacked_bytes=max_unpacked, allow_http=allow_http
            )
    except (TraceFormatError, ImportError, ValueError) as error:
        raise Failure(text_of(error)) from None
    except OSError as error:
        raise (unreadable(error.filename, error) if error.filename else Failure(text_of(error))) from None
    except KeyboardInterrupt:
        note(Text("ingest_stopped", dataset=folder, read=len(_read(dataset) - before)))
        return INTERRUPTED
    problems = dataset.problems
    for path, reason in problems[["path", "reason"]].head(_MOST_SHOWN).itertuples(index=False):
        note(reason if path in reason else f"{path}: {reason}")
    if len(problems) > _MOST_SHOWN:
        note(Text("more_problems", more=len(problems) - _MOST_SHOWN))
    print(  # noqa: T201
        f"{folder}: {report.read:,} read, {report.unchanged:,} unchanged, {report.problems:,} with problems, "
        f"{report.gone:,} gone"
    )
    return 0 if report.read or report.unchanged else 1


def _read(dataset: "TraceDataset") -> set[tuple[Any, ...]]:
    """Return the versions of the sources that are in a dataset."""
    sources = dataset.sources
    return {
        *sources.loc[sources["problem"] == "", ["key", "size", "modified"]].itertuples(index=False, name=None)
    }


@contextmanager
def _scheduler(workers: int, cluster: str | None) -> Iterator[Any]:
    """Make Dask use some processes, or a cluster, whose client is yielded."""
    try:
        import dask
    except ImportError:
        yield None  # the dataset says what is missing
        return
    if cluster is None:
        with dask.config.set(scheduler="processes" if workers > 1 else "synchronous", num_workers=workers):
            yield None
        return
    from distributed import Client

    with Client(cluster) as client:
        yield client
