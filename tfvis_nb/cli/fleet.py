"""``tfvis-nb fleet``: write a dataset of traces as a page."""

import warnings
from pathlib import Path

import click

from tfvis_nb.cli.errors import Failure, note, unreadable
from tfvis_nb.cli.export import check_writable
from tfvis_nb.cli.parameters import FILE
from tfvis_nb.cli.traces import ANONYMIZE
from tfvis_nb.cli.verb import verb
from tfvis_nb.core.html_export import check_page_name
from tfvis_nb.texts import Text, text_of

_ABOUT = """
DATASET is the folder of a dataset, which tfvis-nb ingest makes, or a folder, pattern or URL of traces, which
are ingested into one in your cache folder. The page has a heat map of steps and tasks, tables of what
stands out, and the timelines of the slowest steps.
"""

_EXAMPLES = """
tfvis-nb fleet dataset -o fleet.html
tfvis-nb fleet 'logs/**/*.xplane.pb' -o fleet.html --since 1200 --timelines 10
"""


@verb("fleet", _ABOUT, _EXAMPLES)
@click.argument("dataset", metavar="DATASET")
@click.option("-o", "--output", metavar="FILE", type=FILE, required=True, help="File to write.")
@click.option("--run", metavar="RUN", help="The run that --since counts in; needed if several have the step.")
@click.option("--since", metavar="STEP", type=int, help="Compare ops since this step; by default the middle.")
@click.option(
    "--timelines",
    metavar="N",
    type=click.IntRange(min=0),
    default=3,
    show_default=True,
    help="The most timelines of steps in the page.",
)
@click.option("--title", help="Title instead of the dataset's name.")
@click.option("--no-source", is_flag=True, help="Leave out code: file names, lines and stacks.")
@ANONYMIZE
def command(
    dataset: str,
    output: Path,
    run: str | None,
    since: int | None,
    timelines: int,
    title: str | None,
    *,
    no_source: bool,
    anonymize: bool,
) -> int:
    """Write the page; return the exit code."""
    from tfvis_nb.fleet.dataset import open_traces
    from tfvis_nb.fleet.widget.fleet_widget import Fleet

    if run is not None and since is None:
        raise click.UsageError(Text("run_without_since"))
    try:
        check_page_name(output)
    except ValueError as error:
        raise click.UsageError(text_of(error)) from None
    check_writable(output)
    step = since if run is None or since is None else (run, since)
    try:
        try:
            fleet = Fleet(open_traces(dataset), since=step, title=title)
        except OSError as error:
            raise (unreadable(error.filename, error) if error.filename else Failure(text_of(error))) from None
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            fleet.to_html(output, timelines=timelines, source=not no_source, anonymize=anonymize)
    except (ValueError, ImportError) as error:
        raise Failure(text_of(error).named(dataset)) from None
    except OSError as error:
        # The page reads parts of the dataset.
        known = text_of(error)
        unwritable = Text("file_unwritable", path=output, reason=error.strerror or error)
        raise Failure(known if known.id else unwritable) from None
    for one in caught:
        message = one.message
        if isinstance(message, Warning) and (known := text_of(message)).id:
            note(known)
        else:
            warnings.warn_explicit(message, one.category, one.filename, one.lineno, source=one.source)
    print(output)  # noqa: T201
    return 0
