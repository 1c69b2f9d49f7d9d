"""``tfvis-nb open``: show traces as a page in a browser."""

import contextlib
import os
import stat
import sys
import tempfile
import time
import webbrowser
from pathlib import Path
from typing import Any

import click

from tfvis_nb.cli.errors import note
from tfvis_nb.cli.export import PAGE, check_writable, write_page
from tfvis_nb.cli.parameters import FILE
from tfvis_nb.cli.traces import ABOUT_TRACES, PART, TRACES, Source, read_part
from tfvis_nb.cli.verb import verb
from tfvis_nb.core.html_export import check_page_name
from tfvis_nb.core.plain_files import open_plain
from tfvis_nb.texts import Text, text_of

_EXAMPLES = """
tfvis-nb open step.pb
tfvis-nb open rank*.json --title allreduce
tfvis-nb open logs/ --time-range 1s:1500ms -o part.html
"""


KEPT_S = 3600
"""How long a page is kept: long after the browser has read it, so that it can be reloaded."""

_HEAD = 1 << 16
"""Bytes in which the page has its own names, behind its title."""

_MOST_STEM = 40
"""Letters have up to four bytes each; a file name has at most 255 bytes."""


def page_path(stem: str) -> Path:
    """Create an empty file for a page that only this user can read, and remove pages older than `KEPT_S`.

    It is in a folder that all calls of this user share; its name starts with `stem`.
    """
    folder = _folder()
    _remove_old(folder)
    handle, name = tempfile.mkstemp(prefix=f"{stem[:_MOST_STEM]}-", suffix=".html", dir=folder)
    os.close(handle)
    return Path(name)


def _folder() -> Path:
    """Return the shared folder, or a new one if someone else owns that name."""
    user = os.getuid() if hasattr(os, "getuid") else ""
    folder = Path(tempfile.gettempdir(), f"tfvis-nb-pages-{user}")
    with contextlib.suppress(FileExistsError):
        folder.mkdir(mode=0o700)
    return folder if _is_private(folder) else Path(tempfile.mkdtemp(prefix="tfvis-nb-"))


def _is_private(folder: Path) -> bool:
    # Anyone can create a folder or a link with this name in the shared temporary folder.
    status = folder.lstat()
    if not stat.S_ISDIR(status.st_mode):
        return False
    return not hasattr(os, "getuid") or (status.st_uid == os.getuid() and not status.st_mode & 0o077)


def _remove_old(folder: Path) -> None:
    before = time.time() - KEPT_S
    for page in folder.glob("*.html"):
        try:
            if page.lstat().st_mtime < before and _is_page(page):
                page.unlink()
        except OSError:
            # Another call removed it, or a browser on Windows has it open: the next call tries again.
            continue


def _is_page(path: Path) -> bool:
    """Return whether a file is a page of ours, because users may keep other files there."""
    with os.fdopen(open_plain(path), "rb") as file:
        return b"tfvis-root" in file.read(_HEAD)


@verb("open", ABOUT_TRACES, _EXAMPLES)
@TRACES
@click.option(
    "-o", "--output", metavar="FILE", type=FILE, help="Write the page there, not to a temporary file."
)
@click.option("--no-browser", is_flag=True, help="Only print where the page is.")
@PART
@PAGE
def command(
    traces: tuple[Source, ...],
    output: Path | None,
    title: str | None,
    time_range: str | None,
    *,
    max_unpacked: int | None,
    no_browser: bool,
    no_source: bool,
    anonymize: bool,
    **options: Any,
) -> int:
    """Write a page and show it; return the exit code."""
    from tfvis_nb.display.pages.page import file_stem

    if output is not None:
        try:
            check_page_name(output)
        except ValueError as error:
            raise click.UsageError(text_of(error)) from None
        check_writable(output)
    trace = read_part(traces, title, time_range, max_unpacked, no_source=no_source, anonymize=anonymize)
    if output is None:
        # Only this user may read the page, because it contains a graph. The browser reads it later.
        output = page_path(file_stem(trace.title))
        try:
            write_page(trace, output, **options)
        except BaseException:
            output.unlink(missing_ok=True)
            raise
    else:
        write_page(trace, output, **options)
    print(output, flush=True)  # noqa: T201
    if not no_browser and not shown(output):
        note(Text("browser_for_page"))
    return 0


def shown(path: Path) -> bool:
    """Show a file in a browser; return whether one was started."""
    on_desktop = sys.platform in ("darwin", "win32")
    # Without a display, a text browser would start in this terminal, which cannot draw a timeline.
    if not on_desktop and not any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER")):
        return False
    try:
        return webbrowser.open(path.resolve().as_uri())
    except webbrowser.Error:
        return False
