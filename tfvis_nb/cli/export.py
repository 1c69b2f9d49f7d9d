"""``tfvis-nb export``: write traces as a page, a Chrome trace or a table."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from tfvis_nb.cli.errors import Failure
from tfvis_nb.cli.parameters import FILE, together
from tfvis_nb.cli.traces import ABOUT_TRACES, PART, SOURCE, TRACES, Source, read_part
from tfvis_nb.cli.verb import verb
from tfvis_nb.core.format import format_file_size
from tfvis_nb.core.html_export import MAX_BYTES
from tfvis_nb.core.options import near
from tfvis_nb.core.trace import Trace
from tfvis_nb.display.options import COLOR_BY, GROUP_BY
from tfvis_nb.texts import Text, text_of

PAGE = together(
    click.option("--group-by", type=click.Choice(GROUP_BY), help="Grouping of lanes in the page."),
    click.option("--color-by", type=click.Choice(COLOR_BY), help="Meaning of colours in the page."),
    click.option("--lane-filter", metavar="TEXT", help="Show only lanes that contain this at first."),
    click.option(
        "--any-size",
        is_flag=True,
        help=f"Write a page even if it is larger than {format_file_size(MAX_BYTES)}.",
    ),
)

_FORMATS = """
The suffix of FILE is the format: .html is a page that needs no network, .svg, .pdf and .png a picture for a
paper or a slide, .json or .json.gz a Chrome trace
for Perfetto, .parquet the whole trace as a table that tfvis_nb reads back. .pb is TensorFlow's own message,
from a session file or from a file of messages: RunMetadata or XSpace. .pickle is a pickle of RunMetadata.
.pb.gz and .pickle.gz are these, compressed.
Each of several steps is a file of its own: FILE.step0.pb, FILE.step1.pb and so on.
"""

THEMES = ("light", "print", "dark")

_EXAMPLES = """
tfvis-nb export step.pb -o step.html --color-by op
tfvis-nb export new.pb -o new.html --against old.pb
tfvis-nb export logs/plugins/profile/2026_01_31 -o run.json.gz
tfvis-nb export worker*.xplane.pb -o run.parquet --time-range :100ms
tfvis-nb export step.pb -o step.pdf --width "8.5 cm" --theme print --lane-filter GPU
tfvis-nb export run.tfvis -o run.pb
tfvis-nb export step.pb -o step.pickle
"""


@verb("export", f"{ABOUT_TRACES}{_FORMATS}", _EXAMPLES)
@TRACES
@click.option(
    "-o",
    "--output",
    "files",
    metavar="FILE",
    type=FILE,
    multiple=True,
    required=True,
    help="File to write; repeatable.",
)
@click.option("--no-arrows", is_flag=True, help="Write a Chrome trace without arrows between events.")
@click.option(
    "--width", metavar="SIZE", help="Width of a picture, such as '8.5 cm' or 600 (px); 16 cm by default."
)
@click.option("--height", metavar="SIZE", help="Height of a picture; what its lanes need by default.")
@click.option("--theme", type=click.Choice(THEMES), help="Colours of a picture; print differs in greyscale.")
@click.option(
    "--against", metavar="BASE", type=SOURCE, help="A trace with which the figures of the page are compared."
)
@PART
@PAGE
def command(
    traces: tuple[Source, ...],
    files: tuple[Path, ...],
    title: str | None,
    time_range: str | None,
    max_unpacked: int | None,
    *,
    no_arrows: bool,
    width: str | None,
    height: str | None,
    theme: str | None,
    against: Source | None,
    no_source: bool,
    anonymize: bool,
    **options: Any,
) -> int:
    """Write the requested files; return the exit code."""
    from tfvis_nb.writing.save import MESSAGES, PICTURES, SUFFIXES, save, suffix_of

    suffixes = [suffix_of(path) for path in files]
    for path, suffix in zip(files, suffixes, strict=True):
        if suffix not in SUFFIXES:
            hint = near(suffix, SUFFIXES) or "."
            raise click.UsageError(
                Text("unknown_suffix", path=str(path), suffix=suffix, hint=hint, known=", ".join(SUFFIXES))
            )
        parts = {"time-range": time_range is not None, "no-source": no_source, "anonymize": anonymize}
        for option, given in parts.items():
            if given and suffix in MESSAGES:
                raise click.UsageError(Text("part_of_message", option=option, suffix=suffix))
    drawn = any(suffix in PICTURES for suffix in suffixes)
    page_options = [
        name for name, value in (options | {"against": against}).items() if value not in (None, False)
    ]
    page_options = [name for name in page_options if name != "lane_filter" or not drawn]
    looks = {"width": width, "height": height, "theme": theme}
    if any(looks.values()) and not drawn:
        raise click.UsageError(Text("option_for_pictures", suffix=suffixes[0]))
    if page_options and ".html" not in suffixes:
        option = page_options[0].replace("_", "-")
        raise click.UsageError(Text("option_for_pages", option=option, suffix=suffixes[0]))
    if no_arrows and not any(suffix.startswith(".json") for suffix in suffixes):
        raise click.UsageError(Text("option_for_chrome_traces", option="no-arrows", suffix=suffixes[0]))
    for path in files:
        check_writable(path)
    keep = any(suffix in MESSAGES for suffix in suffixes)
    trace = read_part(
        traces, title, time_range, max_unpacked, no_source=no_source, anonymize=anonymize, keep_messages=keep
    )
    base = None
    if against is not None:
        base = read_part((against,), None, None, max_unpacked, no_source=no_source, anonymize=anonymize)
    for path, suffix in zip(files, suffixes, strict=True):
        written = [path]
        if suffix == ".html":
            write_page(trace, path, against=base, **options)
        elif suffix in PICTURES:
            draw(trace, path, looks | {"lanes": options["lane_filter"], "title": title})
        else:
            try:
                if suffix.startswith(".json"):
                    trace.to_chrome_trace(path, arrows=not no_arrows)
                else:
                    written = save(trace, path)
            except ValueError as error:
                raise Failure(text_of(error)) from None
            except OSError as error:
                raise Failure(Text("file_unwritable", path=path, reason=error)) from None
        print(*written, sep="\n")  # noqa: T201
    return 0


def write_page(
    trace: Trace,
    path: Path,
    *,
    lane_filter: str | None,
    any_size: bool,
    against: Trace | None = None,
    **looks: str | None,
) -> None:
    """Write a page with the options of `PAGE`, compared with a base `against`."""
    from tfvis_nb.display.pages.page import PageTooLargeError

    options: dict[str, Any] = {"lane_filter": lane_filter, "against": against, **looks}
    options = {name: value for name, value in options.items() if value is not None}
    if any_size:
        options["max_bytes"] = None
    try:
        trace.to_html(path, **options)
    except PageTooLargeError as error:
        raise Failure(in_options(text_of(error)).named(path)) from None
    except ValueError as error:
        raise Failure(text_of(error)) from None
    except OSError as error:
        raise Failure(Text("file_unwritable", path=path, reason=error.strerror or error)) from None


def draw(trace: Trace, path: Path, options: Mapping[str, Any]) -> None:
    """Write a picture with the options that are given."""
    from tfvis_nb.display.shaping.lane_filter import check_lane_filter
    from tfvis_nb.writing.save import write_picture

    try:
        check_lane_filter(trace, options["lanes"] or "")
        write_picture(trace, path, **{name: value for name, value in options.items() if value})
    except (ImportError, ValueError) as error:
        raise Failure(text_of(error)) from None
    except OSError as error:
        raise Failure(Text("file_unwritable", path=path, reason=error.strerror or error)) from None


def in_options(text: Text) -> Text:
    """Reword a message about arguments of a call for the command line."""
    words = re.sub(r"time_range=\((\d+), (\d+)\)", r"--time-range \1:\2", text)
    return Text.stored(words.replace("max_bytes=None", "--any-size"), text.id, text.figures)


def check_writable(path: Path) -> None:
    """Raise Failure unless a file can be written at `path`."""
    from tfvis_nb.core.output_path import writable

    try:
        writable(path)
    except OSError as error:
        raise Failure(text_of(error)) from None
