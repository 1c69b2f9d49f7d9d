"""``tfvis-nb capture``: record running processes from outside."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from tfvis_nb.cli.errors import Failure, note
from tfvis_nb.cli.parameters import FILE
from tfvis_nb.cli.run import PROFILED, write
from tfvis_nb.cli.verb import verb
from tfvis_nb.texts import id_of, text_of
from tfvis_nb.writing.save import SUFFIXES, check_target

_ABOUT = """
A WORKER is host:port or grpc://host:port of TensorFlow's profiler service: that of
tf.profiler.experimental.server.start(port) in a program, of TensorFlow Serving or of a TPU worker. All
workers are recorded at the same time and become one trace.
"""

_EXAMPLES = """
tfvis-nb capture localhost:6009 -o step.html
tfvis-nb capture host1:6009 host2:6009 --seconds 5 -o run.parquet -o run.html
"""


@verb("capture", _ABOUT, _EXAMPLES)
@click.argument("workers", metavar="WORKER...", nargs=-1, required=True)
@click.option(
    "-o",
    "--output",
    "files",
    metavar="FILE",
    type=FILE,
    multiple=True,
    required=True,
    help=f"Write the trace there, by suffix: {', '.join(SUFFIXES)}; repeatable.",
)
@click.option(
    "--seconds",
    type=click.FloatRange(min=0, max=3600, min_open=True),
    default=2.0,
    show_default=True,
    help="How long to record.",
)
@click.option(
    "--tries",
    type=click.IntRange(min=1),
    default=3,
    show_default=True,
    help="How often to record again while a worker runs nothing.",
)
@PROFILED
@click.option("--title", help="Title of the timeline; the first worker by default.")
def command(workers: Sequence[str], files: Sequence[Path], **options: Any) -> int:
    """Record the workers and write the trace; return the exit code."""
    from tfvis_nb.recording.remote.capture import addresses_of, capture

    try:
        for path in files:
            check_target(path)
        addresses_of(workers)
    except ValueError as error:
        raise click.UsageError(text_of(error)) from None
    try:
        trace = capture(workers, **options)
    except (ConnectionError, ImportError, ValueError) as error:
        raise Failure(text_of(error)) from None
    for one in trace.notes:
        if id_of(one) == "workers_not_recorded":
            note(one)
    if complaint := write(trace, files):
        raise Failure(complaint)
    return 0
