"""``tfvis-nb open`` and ``tfvis-nb export``: a trace as a file, and that in a browser."""

from __future__ import annotations

import argparse
import os
import re
import sys
import tempfile
import webbrowser
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tfvis_nb.cli.failures import Failure, UsageError
from tfvis_nb.cli.reading import in_asked_range, read
from tfvis_nb.unknown_options import near

if TYPE_CHECKING:
    from tfvis_nb._trace import Trace

EXPORTS = (".html", ".json", ".json.gz", ".parquet")
"""What a trace that was read can be written as."""

_OF_PAGES = ("group_by", "color_by", "lane_filter")


def export_command(arguments: argparse.Namespace) -> int:
    """Write what was asked for; return the exit code."""
    from tfvis_nb.saving import save, suffix_of

    path = Path(arguments.output).expanduser()
    suffix = suffix_of(path)
    if suffix not in EXPORTS:
        hint = near(suffix, EXPORTS) or "."
        raise UsageError(
            f"cannot write {str(path)!r}: unknown suffix {suffix!r}{hint}"
            f" The suffixes are {', '.join(EXPORTS)}"
        )
    given = [name for name in (*_OF_PAGES, "any_size") if getattr(arguments, name) not in (None, False)]
    if given and suffix != ".html":
        raise UsageError(f"--{given[0].replace('_', '-')} is of pages, not of {suffix} files")
    _check_writable(path)
    trace = in_asked_range(read(arguments.traces, arguments.title), arguments)
    if suffix == ".html":
        write_page(trace, path, arguments)
    else:
        try:
            save(trace, path)
        except (OSError, ValueError) as error:
            raise Failure(f"{path}: cannot be written: {error}") from None
    print(path)  # noqa: T201
    return 0


def open_command(arguments: argparse.Namespace) -> int:
    """Write a page and show it; return the exit code."""
    from tfvis_nb.display.page import file_stem

    if arguments.output is not None:
        path = Path(arguments.output).expanduser()
        if path.suffix.lower() not in (".html", ".htm"):
            raise UsageError(f"{str(path)!r} is no page: its name has to end in .html")
        _check_writable(path)
    trace = in_asked_range(read(arguments.traces, arguments.title), arguments)
    if arguments.output is None:
        # Of this user only, as the folder is: a page has somebody's graph in it. The browser reads it later.
        folder = tempfile.mkdtemp(prefix="tfvis-nb-")
        path = Path(folder, f"{file_stem(trace.title)}.html")
    write_page(trace, path, arguments)
    print(path, flush=True)  # noqa: T201
    if not arguments.no_browser and not shown(path):
        sys.stderr.write("tfvis-nb: no browser could be started here: open the file above in one\n")
    return 0


def write_page(trace: Trace, path: Path, arguments: argparse.Namespace) -> None:
    """Write a page as the arguments ask.

    Raises
    ------
    Failure
        If it cannot be written, or is too large, or no lane would be shown.
    """
    from tfvis_nb.cli.lane_filter import check_lane_filter
    from tfvis_nb.display.page import PageTooLargeError

    check_lane_filter(trace, arguments.lane_filter)
    options: dict[str, Any] = {name: getattr(arguments, name) for name in _OF_PAGES}
    options = {name: value for name, value in options.items() if value is not None}
    if arguments.any_size:
        options["max_bytes"] = None
    try:
        trace.to_html(path, **options)
    except PageTooLargeError as error:
        raise Failure(f"{path}: {in_options(str(error))}") from None
    except OSError as error:
        raise Failure(f"{path}: cannot be written: {error.strerror or error}") from None


def in_options(message: str) -> str:
    """Say what a message says of a call's arguments in the words of the command line.

    Examples
    --------
    >>> from tfvis_nb.cli.pages import in_options
    >>> in_options("write a part, such as time_range=(1, 2), or all of it with max_bytes=None")
    'write a part, such as --time-range 1:2, or all of it with --any-size'
    """
    message = re.sub(r"time_range=\((\d+), (\d+)\)", r"--time-range \1:\2", message)
    return message.replace("max_bytes=None", "--any-size")


def _check_writable(path: Path) -> None:
    from tfvis_nb.writable import writable

    try:
        writable(path)
    except OSError as error:
        raise Failure(str(error)) from None


def shown(path: Path) -> bool:
    """Show a file in a browser; return whether one was started."""
    on_desktop = sys.platform in ("darwin", "win32")
    # Without a display, what would start is a browser in this terminal, which draws no timeline.
    if not on_desktop and not any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER")):
        return False
    try:
        return webbrowser.open(path.resolve().as_uri())
    except webbrowser.Error:
        return False
